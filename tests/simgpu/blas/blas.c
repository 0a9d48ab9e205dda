/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcublas: handles and what launches. Signatures are those of the public header, by family: the letter names the
 * element type, `_64` the variant whose sizes have 64 bits; tests/unit/simrt compares with the toolkit's header.
 */
#include <stdlib.h>

#include "blas.h"

struct handle {
    void *stream;
    int math_mode, pointer_mode, atomics_mode, sm_count_target;
};

#define EXPORT(name, ...)  \
    int name(__VA_ARGS__); \
    int name(__VA_ARGS__)

/* ---- handles ---------------------------------------------------------------------------------------------------- */

EXPORT(cublasCreate_v2, struct handle **ret_handle)
{
    int status = ret_handle ? blas_start() : BLAS_INVALID_VALUE;
    if (status == BLAS_SUCCESS) {
        *ret_handle = calloc(1, sizeof(**ret_handle));
        status = *ret_handle ? BLAS_SUCCESS : BLAS_ALLOC_FAILED;
    }
    return status;
}

EXPORT(cublasDestroy_v2, struct handle *handle)
{
    free(handle);
    return handle ? BLAS_SUCCESS : BLAS_NOT_INITIALIZED;
}

EXPORT(cublasGetVersion_v2, struct handle *handle, int *version)
{
    (void)handle;
    *version = BLAS_VERSION;
    return BLAS_SUCCESS;
}

/* libraryPropertyType: major, minor, patch */
EXPORT(cublasGetProperty, int type, int *value)
{
    if (type < 0 || type > 2 || !value) {
        return BLAS_INVALID_VALUE;
    }
    *value = type == 0 ? BLAS_VERSION / 10000 : type == 1 ? BLAS_VERSION / 100 % 100
                                                                 : BLAS_VERSION % 100;
    return BLAS_SUCCESS;
}

EXPORT(cublasSetWorkspace_v2, struct handle *handle, void *workspace, size_t bytes)
{
    (void)workspace;
    (void)bytes;
    return handle ? BLAS_SUCCESS : BLAS_NOT_INITIALIZED;
}

#define SETTING(field, type, set, get)                           \
    EXPORT(set, struct handle *handle, type value)               \
    {                                                            \
        if (!handle) {                                           \
            return BLAS_NOT_INITIALIZED;                         \
        }                                                        \
        handle->field = value;                                   \
        return BLAS_SUCCESS;                                     \
    }                                                            \
    EXPORT(get, struct handle *handle, type *ret_value)          \
    {                                                            \
        if (!handle || !ret_value) {                             \
            return handle ? BLAS_INVALID_VALUE : BLAS_NOT_INITIALIZED; \
        }                                                        \
        *ret_value = handle->field;                              \
        return BLAS_SUCCESS;                                     \
    }
SETTING(stream, void *, cublasSetStream_v2, cublasGetStream_v2)
SETTING(math_mode, int, cublasSetMathMode, cublasGetMathMode)
SETTING(pointer_mode, int, cublasSetPointerMode_v2, cublasGetPointerMode_v2)
SETTING(atomics_mode, int, cublasSetAtomicsMode, cublasGetAtomicsMode)
SETTING(sm_count_target, int, cublasSetSmCountTarget, cublasGetSmCountTarget)

const char *cublasGetStatusName(int status);
const char *cublasGetStatusName(int status)
{
    switch (status) {
    case BLAS_SUCCESS:
        return "CUBLAS_STATUS_SUCCESS";
    case BLAS_NOT_INITIALIZED:
        return "CUBLAS_STATUS_NOT_INITIALIZED";
    case BLAS_INVALID_VALUE:
        return "CUBLAS_STATUS_INVALID_VALUE";
    case BLAS_NOT_SUPPORTED:
        return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
        return "CUBLAS_STATUS_EXECUTION_FAILED";
    }
}

const char *cublasGetStatusString(int status);
const char *cublasGetStatusString(int status)
{
    return cublasGetStatusName(status);
}

/* ---- what launches ---------------------------------------------------------------------------------------------- */

static int launch(const struct handle *handle, enum blas_operation operation, int type, double m, double n, double k,
                  double batch)
{
    if (!handle || m < 0 || n < 0 || k < 0 || batch < 0) {
        return handle ? BLAS_INVALID_VALUE : BLAS_NOT_INITIALIZED;
    }
    if (m * n * k * batch == 0) {
        return BLAS_SUCCESS;
    }
    return blas_launch(operation, type, m * n * k * batch, handle->stream);
}

/* Real cuBLAS takes the batch as one launch, too; group by group only in the grouped functions. */
#define PTR const void *
#define GEMM(name, size, type)                                                                                        \
    EXPORT(name, struct handle *handle, int transa, int transb, size m, size n, size k, PTR alpha, PTR a, size lda,   \
           PTR b, size ldb, PTR beta, void *c, size ldc)                                                              \
    {                                                                                                                 \
        return launch(handle, BLAS_GEMM, type, (double)m, (double)n, (double)k, 1);                                   \
    }
#define GEMM_BATCHED(name, size, type)                                                                                \
    EXPORT(name, struct handle *handle, int transa, int transb, size m, size n, size k, PTR alpha, PTR a, size lda,   \
           PTR b, size ldb, PTR beta, void *c, size ldc, size batch)                                                  \
    {                                                                                                                 \
        return launch(handle, BLAS_GEMM, type, (double)m, (double)n, (double)k, (double)batch);                       \
    }
#define GEMM_STRIDED(name, size, type)                                                                                \
    EXPORT(name, struct handle *handle, int transa, int transb, size m, size n, size k, PTR alpha, PTR a, size lda,   \
           long long stride_a, PTR b, size ldb, long long stride_b, PTR beta, void *c, size ldc, long long stride_c,  \
           size batch)                                                                                                \
    {                                                                                                                 \
        return launch(handle, BLAS_GEMM, type, (double)m, (double)n, (double)k, (double)batch);                       \
    }
#define GEMM_EX(name, size)                                                                                           \
    EXPORT(name, struct handle *handle, int transa, int transb, size m, size n, size k, PTR alpha, PTR a, int a_type, \
           size lda, PTR b, int b_type, size ldb, PTR beta, void *c, int c_type, size ldc, int compute, int algo)     \
    {                                                                                                                 \
        return launch(handle, BLAS_GEMM, a_type, (double)m, (double)n, (double)k, 1);                                 \
    }
#define GEMM_BATCHED_EX(name, size)                                                                                   \
    EXPORT(name, struct handle *handle, int transa, int transb, size m, size n, size k, PTR alpha, PTR a, int a_type, \
           size lda, PTR b, int b_type, size ldb, PTR beta, void *c, int c_type, size ldc, size batch, int compute,   \
           int algo)                                                                                                  \
    {                                                                                                                 \
        return launch(handle, BLAS_GEMM, a_type, (double)m, (double)n, (double)k, (double)batch);                     \
    }
#define GEMM_STRIDED_EX(name, size)                                                                                   \
    EXPORT(name, struct handle *handle, int transa, int transb, size m, size n, size k, PTR alpha, PTR a, int a_type, \
           size lda, long long stride_a, PTR b, int b_type, size ldb, long long stride_b, PTR beta, void *c,          \
           int c_type, size ldc, long long stride_c, size batch, int compute, int algo)                               \
    {                                                                                                                 \
        return launch(handle, BLAS_GEMM, a_type, (double)m, (double)n, (double)k, (double)batch);                     \
    }
#define SGEMM_EX(name, size)                                                                                          \
    EXPORT(name, struct handle *handle, int transa, int transb, size m, size n, size k, PTR alpha, PTR a, int a_type, \
           size lda, PTR b, int b_type, size ldb, PTR beta, void *c, int c_type, size ldc)                            \
    {                                                                                                                 \
        return launch(handle, BLAS_GEMM, a_type, (double)m, (double)n, (double)k, 1);                                 \
    }
#define GEMV(name, size, type)                                                                                        \
    EXPORT(name, struct handle *handle, int trans, size m, size n, PTR alpha, PTR a, size lda, PTR x, size incx,      \
           PTR beta, void *y, size incy)                                                                              \
    {                                                                                                                 \
        return launch(handle, BLAS_GEMV, type, (double)m, (double)n, 1, 1);                                           \
    }
/* Solving: of an m × m matrix on the left or an n × n one on the right, half is used. */
#define TRSM(name, size, type)                                                                                        \
    EXPORT(name, struct handle *handle, int side, int uplo, int trans, int diagonal, size m, size n, PTR alpha,       \
           PTR a, size lda, void *b, size ldb)                                                                        \
    {                                                                                                                 \
        return launch(handle, BLAS_TRSM, type, (double)m, (double)n, (side == 0 ? (double)m : (double)n) / 2, 1);     \
    }
#define TRSM_BATCHED(name, size, type)                                                                                \
    EXPORT(name, struct handle *handle, int side, int uplo, int trans, int diagonal, size m, size n, PTR alpha,       \
           PTR a, size lda, PTR b, size ldb, size batch)                                                              \
    {                                                                                                                 \
        return launch(handle, BLAS_TRSM, type, (double)m, (double)n, (side == 0 ? (double)m : (double)n) / 2,         \
                      (double)batch);                                                                                 \
    }
#define AXPY(name, size, type)                                                                                        \
    EXPORT(name, struct handle *handle, size n, PTR alpha, PTR x, size incx, void *y, size incy)                      \
    {                                                                                                                 \
        return launch(handle, BLAS_VECTOR, type, (double)n, 1, 1, 1);                                                 \
    }
#define SCAL(name, size, type)                                                                                        \
    EXPORT(name, struct handle *handle, size n, PTR alpha, void *x, size incx)                                        \
    {                                                                                                                 \
        return launch(handle, BLAS_VECTOR, type, (double)n, 1, 1, 1);                                                 \
    }

#define BOTH(family, name, ...) family(name, int, ##__VA_ARGS__) family(name##_64, int64_t, ##__VA_ARGS__)
#define LETTER(l, type)                               \
    BOTH(GEMM, cublas##l##gemm_v2, type)              \
    BOTH(GEMM_BATCHED, cublas##l##gemmBatched, type)  \
    BOTH(GEMM_STRIDED, cublas##l##gemmStridedBatched, type) \
    BOTH(GEMV, cublas##l##gemv_v2, type)              \
    BOTH(TRSM, cublas##l##trsm_v2, type)              \
    BOTH(TRSM_BATCHED, cublas##l##trsmBatched, type)  \
    BOTH(AXPY, cublas##l##axpy_v2, type)              \
    BOTH(SCAL, cublas##l##scal_v2, type)

LETTER(S, BLAS_R_32F)
LETTER(D, BLAS_R_64F)
LETTER(C, BLAS_C_32F)
LETTER(Z, BLAS_C_64F)
BOTH(GEMM, cublasHgemm, BLAS_R_16F)
BOTH(GEMM_BATCHED, cublasHgemmBatched, BLAS_R_16F)
BOTH(GEMM_STRIDED, cublasHgemmStridedBatched, BLAS_R_16F)
BOTH(GEMM_EX, cublasGemmEx)
BOTH(GEMM_BATCHED_EX, cublasGemmBatchedEx)
BOTH(GEMM_STRIDED_EX, cublasGemmStridedBatchedEx)
BOTH(SGEMM_EX, cublasSgemmEx)
BOTH(SGEMM_EX, cublasCgemmEx)
