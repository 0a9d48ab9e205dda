/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin: calls in its constructor, in a callback that nobody looks up, and in a function found by dlsym. */
#include <stddef.h>
#include <stdint.h>

typedef void (*callback_fn)(void);
extern callback_fn registered_callback; /* of the program */

int cuMemcpyHtoD_v2(uint64_t target, const void *source, size_t bytes);
__attribute__((visibility("default"))) void plugin_run(void);

static void copy(int times)
{
    for (int i = 0; i < times; i++) {
        cuMemcpyHtoD_v2(0x7000, &registered_callback, 16);
    }
}

static void callback(void)
{
    copy(100);
}

__attribute__((constructor)) static void start(void)
{
    copy(5);
    registered_callback = callback;
}

void plugin_run(void)
{
    copy(7);
}
