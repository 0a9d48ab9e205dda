/* SPDX-License-Identifier: Apache-2.0 */
/* The program behind the simgpu tests: runs the case named by its argument. test_simgpu.py sets the scene. */
#include "cases.h"

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"default-stream", case_default_stream}, {"per-thread", case_per_thread}, {"events", case_events},
        {"copy-engines", case_copy_engines}, {"pageable", case_pageable}, {"queue", case_queue},
        {"host-function", case_host_function}, {"data-order", case_data_order}, {"arguments", case_arguments},
        {"geometry", case_geometry}, {"memory", case_memory}, {"peer", case_peer}, {"errors", case_errors},
        {"ptx", case_ptx}, {"launch-fail", case_launch_fail}, {"malloc-fail", case_malloc_fail},
        {"launches", case_launches}, {"fork", case_fork}, {"forever", case_forever}, {"init", case_init},
        {"serial", case_serial}, {"threads", case_threads}, {"capture-basics", case_capture_basics},
        {"capture-unsafe", case_capture_unsafe}, {"capture-threads", case_capture_threads},
        {"capture-legacy", case_capture_legacy}, {"capture-events", case_capture_events},
        {"graph-fork", case_graph_fork}, {"graph-made", case_graph_made}, {"graph-update", case_graph_update},
        {"graph-nested", case_graph_nested}, {"graph-devices", case_graph_devices}, {"graph-queue", case_graph_queue},
        {"graph-objects", case_graph_objects},
        {"vmm", case_vmm}, {"vmm-handles", case_vmm_handles}, {"pools", case_pools},
        {"large-memory", case_large_memory}, {"argument-time", case_argument_time}, {"small-d2h", case_small_d2h},
        {"nvml", case_nvml}, {"device", case_device},
    };

    for (size_t i = 0; argc == 2 && i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            return 0;
        }
    }
    fprintf(stderr, "usage: %s CASE\n", argv[0]);
    return 2;
}
