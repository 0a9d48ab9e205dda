/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device code of the demo. kernels.ptx is made from this file (make_ptx.sh) and embedded in generate;
 * generate_rt compiles it together with device_runtime.cu. C names, so that both find the same kernels.
 */
#include "kernels_body.h"

#define DEMO_ELEMENT ((int32_t)(blockIdx.x * blockDim.x + threadIdx.x))
#define KERNEL_1(name, A)                                                                                    \
    extern "C" __global__ void name(A a, int32_t count)                                                      \
    {                                                                                                        \
        if (DEMO_ELEMENT < count) {                                                                          \
            name##_at(DEMO_ELEMENT, a);                                                                      \
        }                                                                                                    \
    }
#define KERNEL_2(name, A, B)                                                                                 \
    extern "C" __global__ void name(A a, B b, int32_t count)                                                 \
    {                                                                                                        \
        if (DEMO_ELEMENT < count) {                                                                          \
            name##_at(DEMO_ELEMENT, a, b);                                                                   \
        }                                                                                                    \
    }
#define KERNEL_3(name, A, B, C)                                                                              \
    extern "C" __global__ void name(A a, B b, C c, int32_t count)                                            \
    {                                                                                                        \
        if (DEMO_ELEMENT < count) {                                                                          \
            name##_at(DEMO_ELEMENT, a, b, c);                                                                \
        }                                                                                                    \
    }
#define KERNEL_4(name, A, B, C, D)                                                                           \
    extern "C" __global__ void name(A a, B b, C c, D d, int32_t count)                                       \
    {                                                                                                        \
        if (DEMO_ELEMENT < count) {                                                                          \
            name##_at(DEMO_ELEMENT, a, b, c, d);                                                             \
        }                                                                                                    \
    }
#define KERNEL_5(name, A, B, C, D, E)                                                                        \
    extern "C" __global__ void name(A a, B b, C c, D d, E e, int32_t count)                                  \
    {                                                                                                        \
        if (DEMO_ELEMENT < count) {                                                                          \
            name##_at(DEMO_ELEMENT, a, b, c, d, e);                                                          \
        }                                                                                                    \
    }
#include "kernels.def"
#undef KERNEL_1
#undef KERNEL_2
#undef KERNEL_3
#undef KERNEL_4
#undef KERNEL_5
