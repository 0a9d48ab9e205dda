/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime and CUPTI are built once for each major version of CUDA from the same sources: 12 (as 12.8) and 13
 * (as 13.0), which is also what tests are compiled for unless they say otherwise. What only one of them has is in
 * SIM_IN_12(…) or SIM_IN_13(…).
 */
#ifndef SIMGPU_CUDA_MAJOR_H
#define SIMGPU_CUDA_MAJOR_H

#ifndef SIM_CUDA_MAJOR
#define SIM_CUDA_MAJOR 13
#endif

#if SIM_CUDA_MAJOR == 12
#define SIM_CUDA_VERSION 12080
#define SIM_IN_12(...) __VA_ARGS__
#define SIM_IN_13(...)
#else
#define SIM_CUDA_VERSION 13000
#define SIM_IN_12(...)
#define SIM_IN_13(...) __VA_ARGS__
#endif

/* A function that 13 has by its plain name and 12 with a suffix, beside an older one of the plain name. */
#define SIM_NEWER(name, suffix) SIM_IN_12(name##suffix) SIM_IN_13(name)

#endif
