/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside simgpu's libcudart: the table of driver functions, the frame of an API function, and what the
 * files share. The driver is reached as the real runtime reaches it: dlopen("libcuda.so.1"), dlsym of
 * cuGetProcAddress_v2, every other pointer from that. Any thread.
 */
#ifndef SIMGPU_RUNTIME_H
#define SIMGPU_RUNTIME_H

#include "../driver/cuda_min.h" /* CUlaunchConfig, CUDA_MEMCPY2D, CUDA_MEMCPY3D */
#include "types.h"

/* Streams as the application gives them; sim_driver[1] holds the per-thread-default-stream variants. */
struct sim_driver {
#define DRV(name, version, params) int(*name) params;
#include "driver.def"
#undef DRV
};

enum sim_level {
    SIM_DRIVER,  /* cuInit done */
    SIM_CONTEXT, /* and a context is current on the thread */
};

/*
 * Brings the process and the thread to `level`. Returns the driver table for mode 0 (legacy default stream)
 * or 1 (per-thread default stream), or NULL with the error left for sim_rt_failed().
 */
const struct sim_driver *sim_rt_enter(enum sim_level level, int mode);
int sim_rt_failed(void);
/* After CUDA_ERROR_INVALID_CONTEXT: makes the primary context current again; 1 if the call is worth repeating. */
int sim_rt_rebind(void);
/* Notes an error as the thread's last error; returns it. */
int sim_rt_leave(int result);
/* Tables without entering, for use after a successful enter. */
extern struct sim_driver sim_driver_table[2];
/* One look-up through cuGetProcAddress_v2; NULL if the driver has no such function. */
void *sim_rt_lookup(const char *name, int version, unsigned long long flags);
/* The driver's own answer, for cudaGetDriverEntryPoint*; after a successful enter. */
int sim_rt_proc_address(const char *name, void **function, int version, unsigned long long flags, int *status);
/* All look-ups of the one-to-one functions (forward.c); called once while the driver is initialised. */
void sim_forward_resolve(void);

/* Device of the calling thread; the primary context of `device`, retained on first use (0 or an error). */
int sim_rt_device(void);
int sim_rt_primary(int device, void **context);

/* register.c: kernel and variable that a host address stands for. */
int sim_kernel_of(const void *host_function, void **kernel);
int sim_symbol_of(const void *host_variable, uint64_t *address, size_t *bytes);
/* Any cudaKernel_t handed to the application may be given to a launch in place of a host address. */
void sim_kernel_known(void *kernel);

/* copy.c: the driver's description of a copy (0 or an error). */
int sim_memcpy3d_of(const struct sim_memcpy3d_parms *parms, CUDA_MEMCPY3D *copy);

#define SIM_ARGS(...) __VA_ARGS__

#define SIM_FRAME(level, mode, call)                                                                                   \
    const struct sim_driver *drv = sim_rt_enter(level, mode);                                                          \
    if (!drv) return sim_rt_leave(sim_rt_failed());                                                                    \
    int result = call;                                                                                                 \
    if (result == SIM_INVALID_CONTEXT && sim_rt_rebind()) result = call;                                               \
    return sim_rt_leave(result);

/*
 * SIM_API(level, cudaName, (argument names), parameters) { body }: an exported function. The body sees the
 * parameters and `drv`, and returns a cudaError_t. SIM_API_SZ also exports cudaName + suffix (_ptsz, _ptds),
 * the variant that nvcc --default-stream per-thread calls, with the same body on the other table. The name may be
 * a SIM_NEWER(…).
 */
#define SIM_API(...) SIM_API_NAMED(__VA_ARGS__)
#define SIM_API_SZ(...) SIM_API_SZ_NAMED(__VA_ARGS__)
#define SIM_API_NAMED(level, name, args, ...)                                                                          \
    int name(__VA_ARGS__);                                                                                             \
    static int name##_body(const struct sim_driver *drv, __VA_ARGS__);                                                 \
    int name(__VA_ARGS__)                                                                                              \
    {                                                                                                                  \
        SIM_FRAME(level, 0, name##_body(drv, SIM_ARGS args))                                                           \
    }                                                                                                                  \
    static int name##_body(const struct sim_driver *drv, __VA_ARGS__)

#define SIM_API_SZ_NAMED(level, name, suffix, args, ...)                                                               \
    int name(__VA_ARGS__);                                                                                             \
    int name##suffix(__VA_ARGS__);                                                                                     \
    static int name##_body(const struct sim_driver *drv, __VA_ARGS__);                                                 \
    int name(__VA_ARGS__)                                                                                              \
    {                                                                                                                  \
        SIM_FRAME(level, 0, name##_body(drv, SIM_ARGS args))                                                           \
    }                                                                                                                  \
    int name##suffix(__VA_ARGS__)                                                                                      \
    {                                                                                                                  \
        SIM_FRAME(level, 1, name##_body(drv, SIM_ARGS args))                                                           \
    }                                                                                                                  \
    static int name##_body(const struct sim_driver *drv, __VA_ARGS__)

#endif
