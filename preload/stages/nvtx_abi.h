/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What we need of the public injection interface of NVTX 3, declared by ourselves so that no NVIDIA header
 * is needed; the names and numbers are those of nvtx3/nvtxDetail/nvtxTypes.h and nvToolsExt.h.
 * tests/unit/stages/test_nvtx_abi.c compares them where the headers are installed.
 */
#ifndef ST_STAGES_NVTX_ABI_H
#define ST_STAGES_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

enum { ST_NVTX_TABLE_CALLBACKS = 1 }; /* NVTX_ETID_CALLBACKS */
enum { ST_NVTX_MODULE_CORE = 1, ST_NVTX_MODULE_CORE2 = 5 };

/* Indices into the function table of module CORE … */
enum {
    ST_NVTX_MARK_EX = 1,
    ST_NVTX_MARK_A = 2,
    ST_NVTX_MARK_W = 3,
    ST_NVTX_RANGE_START_EX = 4,
    ST_NVTX_RANGE_START_A = 5,
    ST_NVTX_RANGE_START_W = 6,
    ST_NVTX_RANGE_END = 7,
    ST_NVTX_RANGE_PUSH_EX = 8,
    ST_NVTX_RANGE_PUSH_A = 9,
    ST_NVTX_RANGE_PUSH_W = 10,
    ST_NVTX_RANGE_POP = 11,
};
/* … and of CORE2. */
enum {
    ST_NVTX_DOMAIN_MARK_EX = 1,
    ST_NVTX_DOMAIN_RANGE_START_EX = 2,
    ST_NVTX_DOMAIN_RANGE_END = 3,
    ST_NVTX_DOMAIN_RANGE_PUSH_EX = 4,
    ST_NVTX_DOMAIN_RANGE_POP = 5,
    ST_NVTX_DOMAIN_REGISTER_STRING_A = 10,
    ST_NVTX_DOMAIN_REGISTER_STRING_W = 11,
    ST_NVTX_DOMAIN_CREATE_A = 12,
    ST_NVTX_DOMAIN_CREATE_W = 13,
};

typedef void (*st_nvtx_function)(void);

struct st_nvtx_callbacks {
    size_t struct_bytes;
    /* *ret_table: pointers to the library's function pointers; *ret_count: how many. 0 = no such module. */
    int (*get_module_table)(int module, st_nvtx_function ***ret_table, unsigned *ret_count);
};

typedef const void *(*st_nvtx_get_table_fn)(uint32_t table);
typedef int (*st_nvtx_init_fn)(st_nvtx_get_table_fn get_table);

enum st_nvtx_message_type { ST_NVTX_ASCII = 1, ST_NVTX_UNICODE = 2, ST_NVTX_REGISTERED = 3 };

struct st_nvtx_attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t reserved;
    uint64_t payload;
    int32_t message_type; /* enum st_nvtx_message_type */
    union {
        const char *ascii;
        const wchar_t *unicode;
        void *registered;
    } message;
};

_Static_assert(offsetof(struct st_nvtx_attributes, message_type) == 32, "nvtxEventAttributes_v2 layout");
_Static_assert(offsetof(struct st_nvtx_attributes, message) == 40, "nvtxEventAttributes_v2 layout");

#endif
