/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuGetProcAddress: the newest variant of a symbol that was introduced at or before the version asked for; the
 * per-thread variant if the flag asks for it and there is one. A symbol that is unknown, or younger than the
 * version, is not an error: success, and a NULL pointer. The first version had four arguments and no status.
 */
#include "gpa.h"

#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "device.h"
#include "driver_gen.h"

static int compare_symbol(const void *key, const void *row)
{
    return strcmp(key, ((const struct sim_gpa_row *)row)->symbol);
}

static CUdriverProcAddressQueryResult look_up(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
    const struct sim_gpa_row *row = bsearch(symbol, sim_gpa_rows, sim_gpa_row_count, sizeof(*row), compare_symbol);
    const struct sim_gpa_row *best = NULL;
    int per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;

    if (row == NULL) {
        return CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    }
    while (row > sim_gpa_rows && strcmp(row[-1].symbol, symbol) == 0) {
        row--;
    }
    for (; row < sim_gpa_rows + sim_gpa_row_count && strcmp(row->symbol, symbol) == 0; row++) {
        /* A newer ABI wins over the per-thread variant of an older one. */
        if (row->version <= version && (!row->per_thread || per_thread) &&
            (best == NULL || row->version > best->version ||
             (row->version == best->version && row->per_thread > best->per_thread))) {
            best = row;
        }
    }
    if (best == NULL) {
        return CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    }
    *pfn = best->function;
    return CU_GET_PROC_ADDRESS_SUCCESS;
}

CUresult sim_cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
                                 CUdriverProcAddressQueryResult *status)
{
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;

    if (pfn != NULL) {
        *pfn = NULL; /* programs that ask for what is newer look at the pointer only */
    }
    if (pfn == NULL || version > SIM_DRIVER_VERSION || flags > 2) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (symbol != NULL) {
        found = look_up(symbol, pfn, version, flags);
    }
    if (status != NULL) {
        *status = found;
    }
    return CUDA_SUCCESS;
}

CUresult sim_cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
    return sim_cuGetProcAddress_v2(symbol, pfn, version, flags, NULL);
}
