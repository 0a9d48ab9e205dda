/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcublasLt: descriptors keep what a matrix product's work follows from, every algorithm is the same one. The public
 * header's descriptors are blocks of 64-bit words that the caller may provide; what is kept fits the smallest.
 */
#include <stdlib.h>
#include <string.h>

#include "blas.h"

enum { LAYOUT_TYPE = 0, LAYOUT_ROWS = 2, LAYOUT_COLS = 3, LAYOUT_LD = 4, LAYOUT_BATCH = 5 };
enum { DESC_TRANSA = 3, DESC_TRANSB = 4 };
enum { ALGO_WORDS = 8, DESC_BYTES = 256 };

struct layout { /* cublasLtMatrixLayout_t */
    uint64_t rows, cols;
    int64_t ld;
    int type, batch;
};
struct desc { /* cublasLtMatmulDesc_t */
    int compute, scale, transa, transb;
};
struct preference {
    uint64_t unused;
};
struct heuristic { /* cublasLtMatmulHeuristicResult_t */
    uint64_t algo[ALGO_WORDS];
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
};
_Static_assert(sizeof(struct layout) <= 64 && sizeof(struct desc) <= 64, "fit the header's blocks");

#define EXPORT(name, ...)  \
    int name(__VA_ARGS__); \
    int name(__VA_ARGS__)

EXPORT(cublasLtCreate, void **ret_handle)
{
    int status = ret_handle ? blas_start() : BLAS_INVALID_VALUE;
    if (status == BLAS_SUCCESS) {
        *ret_handle = calloc(1, 64);
        status = *ret_handle ? BLAS_SUCCESS : BLAS_ALLOC_FAILED;
    }
    return status;
}

EXPORT(cublasLtDestroy, void *handle)
{
    free(handle);
    return BLAS_SUCCESS;
}

size_t cublasLtGetVersion(void);
size_t cublasLtGetVersion(void)
{
    return BLAS_VERSION;
}

/* ---- descriptors ------------------------------------------------------------------------------------------------ */

static int init_layout(struct layout *layout, int type, uint64_t rows, uint64_t cols, int64_t ld)
{
    *layout = (struct layout){.rows = rows, .cols = cols, .ld = ld, .type = type, .batch = 1};
    return BLAS_SUCCESS;
}

EXPORT(cublasLtMatrixLayoutInit_internal, struct layout *layout, size_t bytes, int type, uint64_t rows, uint64_t cols,
       int64_t ld)
{
    return layout && bytes >= sizeof(*layout) ? init_layout(layout, type, rows, cols, ld) : BLAS_INVALID_VALUE;
}

EXPORT(cublasLtMatrixLayoutCreate, struct layout **ret_layout, int type, uint64_t rows, uint64_t cols, int64_t ld)
{
    *ret_layout = calloc(1, DESC_BYTES);
    return *ret_layout ? init_layout(*ret_layout, type, rows, cols, ld) : BLAS_ALLOC_FAILED;
}

EXPORT(cublasLtMatrixLayoutDestroy, struct layout *layout)
{
    free(layout);
    return BLAS_SUCCESS;
}

/* Where an attribute is kept, and its size; NULL: it changes nothing here. */
static void *layout_place(struct layout *layout, int attribute, size_t *bytes)
{
    switch (attribute) {
    case LAYOUT_TYPE:
        *bytes = sizeof(layout->type);
        return &layout->type;
    case LAYOUT_ROWS:
        *bytes = sizeof(layout->rows);
        return &layout->rows;
    case LAYOUT_COLS:
        *bytes = sizeof(layout->cols);
        return &layout->cols;
    case LAYOUT_LD:
        *bytes = sizeof(layout->ld);
        return &layout->ld;
    case LAYOUT_BATCH:
        *bytes = sizeof(layout->batch);
        return &layout->batch;
    default:
        return NULL;
    }
}

static void *desc_place(struct desc *desc, int attribute, size_t *bytes)
{
    *bytes = sizeof(desc->transa);
    return attribute == DESC_TRANSA ? &desc->transa : attribute == DESC_TRANSB ? &desc->transb : NULL;
}

static int set(void *place, size_t wanted, const void *from, size_t given)
{
    if (!from || (place && given < wanted)) {
        return BLAS_INVALID_VALUE;
    }
    if (place) {
        memcpy(place, from, wanted);
    }
    return BLAS_SUCCESS;
}

static int get(const void *place, size_t bytes, void *to, size_t room, size_t *written)
{
    if (written) {
        *written = place ? bytes : 0;
    }
    if (!place || !to || room < bytes) {
        return place && !to && room == 0 ? BLAS_SUCCESS : BLAS_INVALID_VALUE;
    }
    memcpy(to, place, bytes);
    return BLAS_SUCCESS;
}

EXPORT(cublasLtMatrixLayoutSetAttribute, struct layout *layout, int attribute, const void *from, size_t given)
{
    size_t bytes = 0;
    void *place = layout_place(layout, attribute, &bytes);
    return set(place, bytes, from, given);
}

EXPORT(cublasLtMatrixLayoutGetAttribute, struct layout *layout, int attribute, void *to, size_t room, size_t *written)
{
    size_t bytes = 0;
    void *place = layout_place(layout, attribute, &bytes);
    return get(place, bytes, to, room, written);
}

static int init_desc(struct desc *desc, int compute, int scale)
{
    *desc = (struct desc){.compute = compute, .scale = scale};
    return BLAS_SUCCESS;
}

EXPORT(cublasLtMatmulDescInit_internal, struct desc *desc, size_t bytes, int compute, int scale)
{
    return desc && bytes >= sizeof(*desc) ? init_desc(desc, compute, scale) : BLAS_INVALID_VALUE;
}

EXPORT(cublasLtMatmulDescCreate, struct desc **ret_desc, int compute, int scale)
{
    *ret_desc = calloc(1, DESC_BYTES);
    return *ret_desc ? init_desc(*ret_desc, compute, scale) : BLAS_ALLOC_FAILED;
}

EXPORT(cublasLtMatmulDescDestroy, struct desc *desc)
{
    free(desc);
    return BLAS_SUCCESS;
}

EXPORT(cublasLtMatmulDescSetAttribute, struct desc *desc, int attribute, const void *from, size_t given)
{
    size_t bytes;
    void *place = desc_place(desc, attribute, &bytes);
    return set(place, bytes, from, given);
}

EXPORT(cublasLtMatmulDescGetAttribute, struct desc *desc, int attribute, void *to, size_t room, size_t *written)
{
    size_t bytes;
    void *place = desc_place(desc, attribute, &bytes);
    return get(place, bytes, to, room, written);
}

EXPORT(cublasLtMatmulPreferenceInit_internal, struct preference *preference, size_t bytes)
{
    return preference && bytes >= sizeof(*preference) ? BLAS_SUCCESS : BLAS_INVALID_VALUE;
}

EXPORT(cublasLtMatmulPreferenceCreate, struct preference **ret_preference)
{
    *ret_preference = calloc(1, DESC_BYTES);
    return *ret_preference ? BLAS_SUCCESS : BLAS_ALLOC_FAILED;
}

EXPORT(cublasLtMatmulPreferenceDestroy, struct preference *preference)
{
    free(preference);
    return BLAS_SUCCESS;
}

EXPORT(cublasLtMatmulPreferenceSetAttribute, struct preference *preference, int attribute, const void *from,
       size_t given)
{
    return preference && from ? BLAS_SUCCESS : BLAS_INVALID_VALUE;
}

/* ---- algorithms ------------------------------------------------------------------------------------------------- */

static void fill_heuristic(struct heuristic *result)
{
    *result = (struct heuristic){.algo = {1}, .state = BLAS_SUCCESS, .waves = 1};
}

EXPORT(cublasLtMatmulAlgoGetHeuristic, void *handle, struct desc *desc, struct layout *a, struct layout *b,
       struct layout *c, struct layout *d, struct preference *preference, int wanted, struct heuristic *results,
       int *count)
{
    if (!desc || !a || !b || !c || !d || wanted <= 0 || !results || !count) {
        return BLAS_INVALID_VALUE;
    }
    fill_heuristic(&results[0]);
    *count = 1;
    return BLAS_SUCCESS;
}

EXPORT(cublasLtMatmulAlgoCheck, void *handle, struct desc *desc, struct layout *a, struct layout *b, struct layout *c,
       struct layout *d, const void *algo, struct heuristic *result)
{
    if (!desc || !result) {
        return BLAS_INVALID_VALUE;
    }
    fill_heuristic(result);
    return BLAS_SUCCESS;
}

EXPORT(cublasLtMatmulAlgoInit, void *handle, int compute, int scale, int a, int b, int c, int d, int id, uint64_t *algo)
{
    if (!algo) {
        return BLAS_INVALID_VALUE;
    }
    memset(algo, 0, ALGO_WORDS * sizeof(*algo));
    algo[0] = 1;
    return BLAS_SUCCESS;
}

/* ---- what launches ---------------------------------------------------------------------------------------------- */

EXPORT(cublasLtMatmul, void *handle, struct desc *desc, const void *alpha, const void *a, struct layout *a_layout,
       const void *b, struct layout *b_layout, const void *beta, const void *c, struct layout *c_layout, void *d,
       struct layout *d_layout, const void *algo, void *workspace, size_t workspace_bytes, void *stream)
{
    if (!desc || !a_layout || !b_layout || !d_layout) {
        return BLAS_INVALID_VALUE;
    }
    double depth = (double)(desc->transa ? a_layout->rows : a_layout->cols);
    double work = (double)d_layout->rows * (double)d_layout->cols * depth * d_layout->batch;
    return work > 0 ? blas_launch(BLAS_MATMUL, a_layout->type, work, stream) : BLAS_SUCCESS;
}

EXPORT(cublasLtMatrixTransform, void *handle, void *desc, const void *alpha, const void *a, struct layout *a_layout,
       const void *beta, const void *b, struct layout *b_layout, void *c, struct layout *c_layout, void *stream)
{
    if (!c_layout) {
        return BLAS_INVALID_VALUE;
    }
    return blas_launch(BLAS_VECTOR, c_layout->type, (double)c_layout->rows * (double)c_layout->cols * c_layout->batch,
                       stream);
}
