/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of simgpu's libcublas and libcublasLt of one major version: products on a stream, in a capture, by
 * descriptors. test_blas.py holds the simulator's truth against what is launched here.
 * usage: blas_client FOLDER MAJOR
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

#include "check.h"

static void *library(const char *folder, const char *name, const char *major)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/lib%s.so.%s", folder, name, major);
    void *handle = dlopen(path, RTLD_NOW);
    CHECK(handle != NULL);
    return handle;
}

#define FUNCTION(handle, result, name, ...) result (*name)(__VA_ARGS__) = (result(*)(__VA_ARGS__))dlsym(handle, #name)

int main(int argc, char **argv)
{
    enum { F32 = 0, F16 = 2, NOT_SUPPORTED = 15, NOT_INITIALIZED = 1, TRANSA = 3, RELAXED = 2 };
    CHECK_EQ(argc, 3);
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *blas = library(argv[1], "cublas", argv[2]);
    void *lt = library(argv[1], "cublasLt", argv[2]);
    FUNCTION(blas, int, cublasCreate_v2, void **);
    FUNCTION(blas, int, cublasDestroy_v2, void *);
    FUNCTION(blas, int, cublasGetVersion_v2, void *, int *);
    FUNCTION(blas, int, cublasSetStream_v2, void *, void *);
    FUNCTION(blas, int, cublasSgemm_v2, void *, int, int, int, int, int, const void *, const void *, int, const void *,
             int, const void *, void *, int);
    FUNCTION(blas, int, cublasGemmStridedBatchedEx, void *, int, int, int, int, int, const void *, const void *, int,
             int, long long, const void *, int, int, long long, const void *, void *, int, int, long long, int, int,
             int);
    FUNCTION(blas, int, cublasSsyrk_v2, void);
    FUNCTION(blas, const char *, cublasGetStatusName, int);
    FUNCTION(lt, int, cublasLtMatmulDescCreate, void **, int, int);
    FUNCTION(lt, int, cublasLtMatmulDescSetAttribute, void *, int, const void *, size_t);
    FUNCTION(lt, int, cublasLtMatrixLayoutCreate, void **, int, uint64_t, uint64_t, int64_t);
    FUNCTION(lt, int, cublasLtMatmul, void *, void *, const void *, const void *, void *, const void *, void *,
             const void *, const void *, void *, void *, void *, const void *, void *, size_t, void *);
    FUNCTION(cuda, int, cuStreamCreate, void **, unsigned);
    FUNCTION(cuda, int, cuStreamSynchronize, void *);
    FUNCTION(cuda, int, cuStreamBeginCapture_v2, void *, int);
    FUNCTION(cuda, int, cuStreamEndCapture, void *, void **);
    FUNCTION(cuda, int, cuGraphInstantiateWithFlags, void **, void *, unsigned long long);
    FUNCTION(cuda, int, cuGraphLaunch, void *, void *);
    void *handle, *stream, *graph, *made, *desc, *a, *b, *d;
    int version = 0, one = 1;
    float alpha = 1, beta = 0;

    CHECK_EQ(cublasCreate_v2(&handle), 0);
    CHECK_EQ(cublasGetVersion_v2(handle, &version), 0);
    CHECK_EQ(version / 10000, argv[2][1] - '0' + 10);
    CHECK_EQ(cuStreamCreate(&stream, 1), 0);
    CHECK_EQ(cublasSetStream_v2(handle, stream), 0);
    /* 2 × 1000 × 1000 × 1000: 2 000 000 thousand operations */
    CHECK_EQ(cublasSgemm_v2(handle, 0, 0, 1000, 1000, 1000, &alpha, NULL, 1000, NULL, 1000, &beta, NULL, 1000), 0);
    CHECK_EQ(cublasSgemm_v2(handle, 0, 0, 0, 1000, 1000, &alpha, NULL, 1, NULL, 1000, &beta, NULL, 1), 0); /* nothing */
    CHECK_EQ(cublasSgemm_v2(NULL, 0, 0, 1, 1, 1, &alpha, NULL, 1, NULL, 1, &beta, NULL, 1), NOT_INITIALIZED);
    CHECK_EQ(cuStreamBeginCapture_v2(stream, RELAXED), 0);
    CHECK_EQ(cublasGemmStridedBatchedEx(handle, 0, 0, 100, 100, 50, &alpha, NULL, F16, 100, 5000, NULL, F16, 50, 5000,
                                        &beta, NULL, F16, 100, 10000, 8, 68, -1), 0); /* 8 000 thousand, a launch */
    CHECK_EQ(cuStreamEndCapture(stream, &graph), 0);
    CHECK_EQ(cuGraphInstantiateWithFlags(&made, graph, 0), 0);
    CHECK_EQ(cuGraphLaunch(made, stream), 0);
    CHECK_EQ(cuGraphLaunch(made, stream), 0);
    CHECK_EQ(cublasLtMatmulDescCreate(&desc, 68, F32), 0);
    CHECK_EQ(cublasLtMatmulDescSetAttribute(desc, TRANSA, &one, sizeof(one)), 0);
    CHECK_EQ(cublasLtMatrixLayoutCreate(&a, F32, 500, 200, 500), 0); /* transposed: 200 × 500 */
    CHECK_EQ(cublasLtMatrixLayoutCreate(&b, F32, 500, 300, 500), 0);
    CHECK_EQ(cublasLtMatrixLayoutCreate(&d, F32, 200, 300, 200), 0); /* 60 000 thousand */
    CHECK_EQ(cublasLtMatmul(handle, desc, &alpha, NULL, a, NULL, b, &beta, NULL, d, NULL, d, NULL, NULL, 0, stream), 0);
    CHECK_EQ(cuStreamSynchronize(stream), 0);
    CHECK_EQ(cublasSsyrk_v2(), NOT_SUPPORTED);
    CHECK(cublasGetStatusName(NOT_SUPPORTED)[0] == 'C');
    CHECK_EQ(cublasDestroy_v2(handle), 0);
    return 0;
}
