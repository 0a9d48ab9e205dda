/* SPDX-License-Identifier: Apache-2.0 */
/* simgpu's own declarations against the toolkit's: prints every difference; exit 1 if there is one. */
#include <stdio.h>

#include "check_values.h"
#include "cuda_min.h"

const struct check_value own_values[] = {
#include "cuda_values.def"
};
const unsigned own_value_count = sizeof(own_values) / sizeof(own_values[0]);

int main(void)
{
    int different = 0;

    for (unsigned i = 0; i < own_value_count; i++) {
        if (own_values[i].value != toolkit_values[i].value) {
            printf("%s: %llu here, %llu in cuda.h\n", own_values[i].what, own_values[i].value, toolkit_values[i].value);
            different = 1;
        }
    }
    return different;
}
