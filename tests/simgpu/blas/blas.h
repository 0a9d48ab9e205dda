/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside simgpu's libcublas and libcublasLt: a matrix operation is one launch of a named kernel, through the driver, on
 * the stream that the caller chose – so that it is captured, timed and traced like any launch. The kernel computes
 * nothing; it gets its work in thousands of floating-point operations as its only argument, from which the model
 * makes its duration. Any thread.
 */
#ifndef SIMGPU_BLAS_H
#define SIMGPU_BLAS_H

#include <stddef.h>
#include <stdint.h>

#include "../cuda_major.h"

#define BLAS_VERSION SIM_IN_12(120804) SIM_IN_13(130001) /* as cublasGetVersion() tells it */

/* cublasStatus_t */
enum {
    BLAS_SUCCESS = 0,
    BLAS_NOT_INITIALIZED = 1,
    BLAS_ALLOC_FAILED = 3,
    BLAS_INVALID_VALUE = 7,
    BLAS_EXECUTION_FAILED = 13,
    BLAS_INTERNAL_ERROR = 14,
    BLAS_NOT_SUPPORTED = 15,
};

/* cudaDataType, as far as kernels are told apart by it */
enum {
    BLAS_R_32F = 0,
    BLAS_R_64F = 1,
    BLAS_R_16F = 2,
    BLAS_R_8I = 3,
    BLAS_C_32F = 4,
    BLAS_C_64F = 5,
    BLAS_R_16BF = 14,
    BLAS_R_8F_E4M3 = 28,
    BLAS_R_8F_E5M2 = 29,
};

enum blas_operation { BLAS_GEMM, BLAS_MATMUL, BLAS_GEMV, BLAS_TRSM, BLAS_VECTOR, BLAS_OPERATIONS };

/* Find the driver, make a context current if the thread has none, load the kernels. A cublasStatus_t. */
int blas_start(void);

/* Launch the kernel of `operation` on elements of `type`, for so many multiply-and-adds. A cublasStatus_t. */
int blas_launch(enum blas_operation operation, int type, double multiply_adds, void *stream);

#endif
