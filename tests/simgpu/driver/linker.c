/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The linker makes a fat binary of what it is given: its parts are all there, and loading it finds the names of each.
 * Compilers' logs are empty. A state is used by one thread at a time, as the API asks of its users.
 */
#include "linker.h"

#include <stdlib.h>
#include <string.h>

#include "driver_gen.h"
#include "image.h"
#include "object.h"

struct linker {
    struct sim_object object;
    struct sim_fatbin *output;
    bool failed;
};

void sim_jit_answer(unsigned count, const CUjit_option *options, void **values)
{
    char *logs[2] = {NULL, NULL};

    for (unsigned i = 0; options != NULL && values != NULL && i < count; i++) {
        if (options[i] == CU_JIT_INFO_LOG_BUFFER || options[i] == CU_JIT_ERROR_LOG_BUFFER) {
            logs[options[i] == CU_JIT_ERROR_LOG_BUFFER] = values[i];
        }
    }
    for (unsigned i = 0; options != NULL && values != NULL && i < count; i++) {
        if (options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES || options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
            char *log = logs[options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];

            if (log != NULL && values[i] != NULL) {
                *log = '\0';
            }
            values[i] = NULL; /* the number of bytes written */
        }
    }
}

/* Room for so many bytes more at the end of the output; NULL: no memory. */
static char *extend(struct linker *linker, size_t bytes)
{
    size_t used = sizeof(*linker->output) + linker->output->bytes;
    struct sim_fatbin *grown = realloc(linker->output, used + bytes);

    if (grown == NULL) {
        return NULL;
    }
    linker->output = grown;
    grown->bytes += bytes;
    return (char *)grown + used;
}

static CUresult add_part(struct linker *linker, unsigned kind, const void *data, size_t bytes)
{
    struct sim_fatbin_part part = {.kind = (uint16_t)kind, .version = 0x101, .header_bytes = sizeof(part),
                                   .bytes = (bytes + 7) / 8 * 8};
    char *at = extend(linker, sizeof(part) + part.bytes);

    if (at == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memset(at + sizeof(part) + bytes, 0, part.bytes - bytes);
    memcpy(at, &part, sizeof(part));
    return sim_image_fetch((uintptr_t)data, at + sizeof(part), bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The parts of a fat binary become parts of the output. */
static CUresult add_fatbin(struct linker *linker, const void *data, size_t bytes)
{
    struct sim_fatbin fatbin;
    char *at;

    if (bytes < sizeof(fatbin) || !sim_image_fetch((uintptr_t)data, &fatbin, sizeof(fatbin)) ||
        fatbin.magic != SIM_FATBIN_MAGIC || fatbin.header_bytes > bytes || fatbin.bytes > bytes - fatbin.header_bytes) {
        return CUDA_ERROR_INVALID_IMAGE;
    }
    at = extend(linker, fatbin.bytes);
    if (at == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return sim_image_fetch((uintptr_t)data + fatbin.header_bytes, at, fatbin.bytes) ? CUDA_SUCCESS
                                                                                   : CUDA_ERROR_INVALID_VALUE;
}

static CUresult check_ptx(const char *data, size_t bytes)
{
    struct sim_image image = {0};
    CUresult result = CUDA_ERROR_INVALID_PTX;

    if (sim_ptx_read(&image, (uintptr_t)data, bytes)) {
        result = CUDA_SUCCESS;
    }
    sim_image_finish(&image);
    return result;
}

static CUresult add(struct linker *linker, CUjitInputType type, const void *data, size_t bytes)
{
    CUresult result = CUDA_SUCCESS;

    if (data == NULL || bytes == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    switch (type) {
    case CU_JIT_INPUT_PTX:
        result = check_ptx(data, bytes);
        return result != CUDA_SUCCESS ? result : add_part(linker, SIM_PART_PTX, data, bytes);
    case CU_JIT_INPUT_CUBIN:
        return add_part(linker, SIM_PART_ELF, data, bytes);
    case CU_JIT_INPUT_FATBINARY:
        return add_fatbin(linker, data, bytes);
    case CU_JIT_INPUT_OBJECT:
    case CU_JIT_INPUT_LIBRARY:
        return add_part(linker, SIM_PART_UNREADABLE, NULL, 0);
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult sim_cuLinkCreate_v2(unsigned count, CUjit_option *options, void **values, CUlinkState *out)
{
    struct linker *linker;

    if (out == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    linker = sim_object_create(SIM_LINKER);
    if (linker == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    linker->failed = false;
    linker->output = malloc(sizeof(*linker->output));
    if (linker->output == NULL) {
        sim_object_destroy(linker);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *linker->output = (struct sim_fatbin){SIM_FATBIN_MAGIC, 1, sizeof(*linker->output), 0};
    sim_jit_answer(count, options, values);
    *out = (CUlinkState)linker;
    return CUDA_SUCCESS;
}

CUresult sim_cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t bytes, const char *name,
                              unsigned count, CUjit_option *options, void **values)
{
    struct linker *linker = sim_object_check(state, SIM_LINKER);
    CUresult result = linker == NULL ? CUDA_ERROR_INVALID_HANDLE : add(linker, type, data, bytes);

    if (linker != NULL) {
        linker->failed = linker->failed || result != CUDA_SUCCESS;
        sim_jit_answer(count, options, values);
    }
    return result;
}

CUresult sim_cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path, unsigned count,
                              CUjit_option *options, void **values)
{
    size_t bytes;
    char *data = path == NULL ? NULL : sim_image_file(path, &bytes);
    CUresult result;

    if (data == NULL) {
        return path == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_FILE_NOT_FOUND;
    }
    result = sim_cuLinkAddData_v2(state, type, data, bytes, path, count, options, values);
    free(data);
    return result;
}

CUresult sim_cuLinkComplete(CUlinkState state, void **image, size_t *bytes)
{
    struct linker *linker = sim_object_check(state, SIM_LINKER);

    if (linker == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (image == NULL || linker->failed || linker->output->bytes == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *image = linker->output;
    if (bytes != NULL) {
        *bytes = sizeof(*linker->output) + linker->output->bytes;
    }
    return CUDA_SUCCESS;
}

CUresult sim_cuLinkDestroy(CUlinkState state)
{
    struct linker *linker = sim_object_check(state, SIM_LINKER);

    if (linker == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    free(linker->output);
    sim_object_destroy(linker);
    return CUDA_SUCCESS;
}
