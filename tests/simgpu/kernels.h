/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a program gives the simulated GPU host functions for its kernels. A plug-in `simgpu-kernels.so`
 * beside simgpu's libcuda.so.1 exports `simgpu_kernels`, a table ended by a row whose name is NULL.
 * A function is called with the arguments as they were when the kernel was launched, at the kernel's place
 * in the simulated order of execution, on whatever thread drives the simulation then: one at a time, never
 * concurrently. It must not call CUDA. Device pointers in its arguments are plain host addresses.
 */
#ifndef SIMGPU_KERNELS_H
#define SIMGPU_KERNELS_H

#define SIMGPU_KERNEL_PARAMS_MAX 32

struct simgpu_kernel {
    const char *name; /* the `.entry` name (mangled for C++) */
    /* params[i] points to the copied bytes of parameter i, as with cuLaunchKernel's kernelParams. */
    void (*fn)(void *const *params, const unsigned grid[3], const unsigned block[3]);
    unsigned param_count;
    unsigned param_sizes[SIMGPU_KERNEL_PARAMS_MAX]; /* bytes */
};

/* Defined by the plug-in, default visibility. */
extern const struct simgpu_kernel simgpu_kernels[];

#endif
