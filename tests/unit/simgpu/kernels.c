/* SPDX-License-Identifier: Apache-2.0 */
/* Host functions for the tests' kernels: a plug-in as the demo has one. */
#include <stdint.h>

#include "tests/simgpu/kernels.h"

/* add_1ms(int32_t *data, int32_t value, int32_t count): data[i] += value */
static void run_add(void *const *params, const unsigned grid[3], const unsigned block[3])
{
    int32_t *data = *(int32_t *const *)params[0];
    int32_t value = *(const int32_t *)params[1];
    int32_t count = *(const int32_t *)params[2];

    for (int32_t i = 0; i < count; i++) {
        data[i] += value;
    }
}

/* twice_1ms(struct { int32_t *data; int64_t count; char pad[8]; } arguments): data[i] *= 2 */
struct twice {
    int32_t *data;
    int64_t count;
    char pad[8];
};

static void run_twice(void *const *params, const unsigned grid[3], const unsigned block[3])
{
    const struct twice *arguments = params[0];

    for (int64_t i = 0; i < arguments->count; i++) {
        arguments->data[i] *= 2;
    }
}

const struct simgpu_kernel simgpu_kernels[] = {
    {"add_1ms", run_add, 3, {8, 4, 4}},
    {"twice_1ms", run_twice, 1, {24}},
    {"disagrees_1ms", run_twice, 1, {24}},
    {0},
};
