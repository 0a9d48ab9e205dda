/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few device functions that the demo needs, twice: device_driver.c (driver API, PTX loaded at run time)
 * and device_runtime.cu (nvcc's <<<>>> and the CUDA runtime). One device, one context; called from one
 * thread. Every error ends the program: one line on stderr with the call and CUDA's name of the error, exit 1.
 */
#ifndef DEMO_DEVICE_H
#define DEMO_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KERNEL_1(name, A) DEMO_KERNEL_##name,
#define KERNEL_2(name, A, B) DEMO_KERNEL_##name,
#define KERNEL_3(name, A, B, C) DEMO_KERNEL_##name,
#define KERNEL_4(name, A, B, C, D) DEMO_KERNEL_##name,
#define KERNEL_5(name, A, B, C, D, E) DEMO_KERNEL_##name,
enum demo_kernel {
#include "kernels.def"
    DEMO_KERNEL_COUNT
};
#undef KERNEL_1
#undef KERNEL_2
#undef KERNEL_3
#undef KERNEL_4
#undef KERNEL_5

/* "driver API" or "runtime API". */
extern const char demo_device_api[];

/* Take device 0 and load the kernels. Writes the device's name. */
void demo_device_open(char *ret_name, size_t size);
void demo_device_close(void);

/* Device memory; what it holds at first is not defined. NULL-safe free. */
void *demo_device_alloc(size_t bytes);
void demo_device_free(void *memory);
/* Page-locked host memory. */
void *demo_device_alloc_pinned(size_t bytes);
void demo_device_free_pinned(void *memory);

void *demo_device_stream_create(void);
void demo_device_stream_destroy(void *stream);
/* Wait on the host until all work of the stream is done. */
void demo_device_stream_wait(void *stream);
/* Work given to `later` from now on starts only after all that was given to `earlier` so far. `event` is
 * from demo_device_event_create() and may be used again. */
void demo_device_join(void *later, void *earlier, void *event);
void *demo_device_event_create(void);
void demo_device_event_destroy(void *event);

/* From begin on, work given to `stream`, and to streams that join it, is recorded instead of run; end makes a graph of
 * it, parameters and all, that may be launched again and again. */
void demo_device_capture_begin(void *stream);
void *demo_device_capture_end(void *stream);
void demo_device_graph_launch(void *graph, void *stream);
void demo_device_graph_destroy(void *graph);

/* Blocking copy to the device, from any host memory. */
void demo_device_upload_now(void *device, const void *host, size_t bytes);
/* In the order of the stream; the host memory must stay untouched until the stream got there. */
void demo_device_upload(void *device, const void *host, size_t bytes, void *stream);
void demo_device_download(void *host, const void *device, size_t bytes, void *stream);
void demo_device_zero(void *device, size_t bytes, void *stream);

/* Run a kernel over `count` elements. `params`: addresses of the parameters of kernels.def, then of count;
 * they are copied before the call returns. */
void demo_device_launch(enum demo_kernel kernel, int32_t count, void **params, void *stream);

#ifdef __cplusplus
}
#endif

#endif
