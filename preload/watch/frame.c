/* SPDX-License-Identifier: Apache-2.0 */
/* Reading .eh_frame (DWARF call frame information as in the LSB), as far as the CFA goes; see frame.h. What is not
 * understood is not known. */
#include "frame.h"

#include <link.h>
#include <stddef.h>
#include <string.h>

#include "watch_private.h"

#define MAX_REMEMBERED 8

#if defined(__x86_64__)
enum { FRAME_POINTER = 6, STACK_POINTER = 7, ABOVE_ARGUMENTS = 8 /* the caller's return address is below its CFA */ };
#else
enum { FRAME_POINTER = 29, STACK_POINTER = 31, ABOVE_ARGUMENTS = 0 };
#endif

/* ---- the object ---- */

/* glibc ≥ 2.35: struct dl_find_object of dlfcn.h. */
struct found_object {
    unsigned long long flags;
    void *begin, *end;
    struct link_map *map;
    void *frame_header;
    unsigned long long reserved[7];
};
static int (*find_object)(void *, struct found_object *);

struct search {
    uintptr_t address;
    const uint8_t *header;  /* PT_GNU_EH_FRAME */
    uintptr_t begin, bytes; /* the loaded part that it lies in */
};
static struct search libc;

static int look_at_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *search = arg;
    const uint8_t *header = NULL;
    bool is_here = false;
    for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && search->address - begin < part->p_memsz) {
            search->begin = begin;
            search->bytes = part->p_memsz;
            is_here = true;
        }
        header = part->p_type == PT_GNU_EH_FRAME ? (const uint8_t *)(info->dlpi_addr + part->p_vaddr) : header;
    }
    search->header = is_here ? header : NULL;
    return is_here;
}

void st_frame_start(void)
{
    find_object = (int (*)(void *, struct found_object *))st_watch_find_function("_dl_find_object");
    libc.address = (uintptr_t)st_watch_find_function("makecontext");
    dl_iterate_phdr(look_at_object, &libc);
}

static const uint8_t *frame_header_of(uintptr_t address)
{
    struct search search = {.address = address};
    struct found_object found = {.flags = 0};
    if (find_object) {
        return find_object((void *)address, &found) == 0 ? found.frame_header : NULL;
    }
    if (!st_watch_is_blocked()) {
        dl_iterate_phdr(look_at_object, &search);
    }
    return search.header;
}

/* ---- bytes ---- */

struct bytes {
    const uint8_t *at, *end;
    bool failed; /* read beyond the end, or a form that is not known */
};

static uint64_t take(struct bytes *bytes, uint32_t count)
{
    uint64_t value = 0;
    if (bytes->failed || (size_t)(bytes->end - bytes->at) < count) {
        bytes->failed = true;
        return 0;
    }
    memcpy(&value, bytes->at, count); /* little-endian */
    bytes->at += count;
    return value;
}

static uint64_t take_leb(struct bytes *bytes, bool is_signed)
{
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
        uint64_t byte = take(bytes, 1);
        value |= (byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            bool is_negative = is_signed && (byte & 0x40) && shift + 7 < 64;
            return is_negative ? value | -(1ull << (shift + 7)) : value;
        }
    }
    bytes->failed = true;
    return 0;
}

static struct bytes take_block(struct bytes *bytes)
{
    uint64_t length = take_leb(bytes, false);
    struct bytes block = {bytes->at, bytes->at, bytes->failed};
    if (!bytes->failed && (uint64_t)(bytes->end - bytes->at) >= length) {
        block.end = bytes->at += length;
    } else {
        bytes->failed = block.failed = true;
    }
    return block;
}

/* Bytes of a pointer in this encoding (DW_EH_PE_…); 0: no fixed number. */
static uint32_t encoded_bytes(uint8_t encoding)
{
    static const uint8_t of[16] = {[0] = 8, [2] = 2, [3] = 4, [4] = 8, [8] = 8, [10] = 2, [11] = 4, [12] = 8};
    return of[encoding & 15];
}

/* ---- the entry of a function ---- */

struct entry {
    struct bytes common, own; /* instructions */
    uintptr_t begin;          /* of the code */
    uint64_t code_factor;
    int64_t data_factor;
};

static struct bytes take_record(const uint8_t *at)
{
    struct bytes head = {at, at + 4, false};
    uint64_t length = take(&head, 4);
    return (struct bytes){at + 4, at + 4 + length, length == 0 || length >= 0xfffffff0}; /* 64-bit records */
}

/* The record that functions of one kind share. */
static void read_common(struct entry *entry, const uint8_t *at, uint8_t *ret_encoding, bool *ret_has_data)
{
    struct bytes r = take_record(at), data;
    bool is_common = take(&r, 4) == 0;
    uint64_t version = take(&r, 1);
    const char *kind = (const char *)r.at;
    while (take(&r, 1) != 0 && !r.failed) continue;
    entry->code_factor = take_leb(&r, false);
    entry->data_factor = (int64_t)take_leb(&r, true);
    version == 1 ? take(&r, 1) : take_leb(&r, false); /* where the return address is */
    *ret_encoding = 0;
    *ret_has_data = *kind == 'z';
    r.failed |= !is_common || (version != 1 && version != 3) || (*kind != 'z' && *kind != '\0');
    if (*ret_has_data && !r.failed) {
        data = take_block(&r);
        while (*++kind != '\0' && !data.failed) {
            uint8_t byte = strchr("RPL", *kind) ? (uint8_t)take(&data, 1) : 0;
            if (*kind == 'R') {
                *ret_encoding = byte;
            } else if (*kind == 'P') { /* the personality, in front of the rest */
                data.failed |= encoded_bytes(byte) == 0 || (byte & 0x70) == 0x50;
                take(&data, encoded_bytes(byte));
            } else if (!strchr("LSB", *kind)) {
                data.failed = true;
            }
        }
        r.failed |= data.failed;
    }
    entry->common = r;
}

static bool read_entry(struct entry *entry, const uint8_t *at, uintptr_t begin, uintptr_t address)
{
    struct bytes r = take_record(at);
    const uint8_t *back_from = r.at;
    uint64_t back = take(&r, 4);
    uint8_t encoding;
    bool has_data;
    if (r.failed || back == 0) {
        return false;
    }
    read_common(entry, back_from - back, &encoding, &has_data);
    r.failed |= entry->common.failed || encoded_bytes(encoding) == 0;
    take(&r, encoded_bytes(encoding)); /* where it begins: the table has told */
    uint64_t size = take(&r, encoded_bytes(encoding));
    if (has_data) {
        take_block(&r);
    }
    entry->begin = begin;
    entry->own = r;
    return !r.failed && address - begin < size;
}

/* The sorted table of a PT_GNU_EH_FRAME: pairs of 32-bit distances from its own begin. */
static bool find_entry(struct entry *entry, const uint8_t *header, uintptr_t address)
{
    enum { VERSION = 1, POINTER_4 = 0x1b, COUNT_4 = 0x03, TABLE_4 = 0x3b };
    const struct {
        int32_t begin, entry;
    } *table = (const void *)(header + 12);
    uint32_t low = 0, high;
    if (header[0] != VERSION || header[1] != POINTER_4 || header[2] != COUNT_4 || header[3] != TABLE_4) {
        return false;
    }
    memcpy(&high, header + 8, sizeof(high));
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((uintptr_t)header + (uintptr_t)(intptr_t)table[middle].begin <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && read_entry(entry, header + table[low - 1].entry,
                                 (uintptr_t)header + (uintptr_t)(intptr_t)table[low - 1].begin, address);
}

/* ---- what it says ---- */

struct rule {
    uint64_t base; /* register */
    int64_t offset;
    struct bytes expression; /* .at NULL: none */
};

struct run {
    struct rule now, remembered[MAX_REMEMBERED];
    uint32_t remembered_count;
    uintptr_t location;
};

static void skip_operands(struct bytes *r, const char *kinds)
{
    for (; *kinds; kinds++) {
        if (*kinds == 'b') {
            take_block(r);
        } else {
            take_leb(r, false);
        }
    }
}

static void run_rest(struct run *run, const struct entry *entry, struct bytes *r, uint8_t code)
{
    switch (code) {
    case 0x0a: /* remember_state */
        r->failed |= run->remembered_count == MAX_REMEMBERED;
        if (!r->failed) {
            run->remembered[run->remembered_count++] = run->now;
        }
        break;
    case 0x0b: /* restore_state */
        r->failed |= run->remembered_count == 0;
        if (!r->failed) {
            run->now = run->remembered[--run->remembered_count];
        }
        break;
    case 0x0c: /* def_cfa, and with a factor */
    case 0x12:
        run->now.base = take_leb(r, false);
        run->now.expression.at = NULL;
        run->now.offset = (int64_t)take_leb(r, code == 0x12) * (code == 0x12 ? entry->data_factor : 1);
        break;
    case 0x0d: /* def_cfa_register */
        run->now.base = take_leb(r, false);
        break;
    case 0x0e: /* def_cfa_offset, and with a factor */
    case 0x13:
        run->now.offset = (int64_t)take_leb(r, code == 0x13) * (code == 0x13 ? entry->data_factor : 1);
        break;
    case 0x0f: /* def_cfa_expression */
        run->now.expression = take_block(r);
        break;
    case 0x00: case 0x2d: /* nop, negate_ra_state */
        break;
    case 0x06: case 0x07: case 0x08: case 0x2e: /* restore_extended, undefined, same_value, args_size */
        skip_operands(r, "n");
        break;
    case 0x05: case 0x09: case 0x11: case 0x14: case 0x15: case 0x2f: /* offset_extended, register, val_offset … */
        skip_operands(r, "nn");
        break;
    case 0x10: case 0x16: /* expression, val_expression */
        skip_operands(r, "nb");
        break;
    default:
        r->failed = true;
    }
}

/* Up to the row that holds at `address`. False: something is not known. */
static bool run_instructions(struct run *run, const struct entry *entry, struct bytes r, uintptr_t address)
{
    while (!r.failed && r.at < r.end) {
        uint8_t code = (uint8_t)take(&r, 1), high = code & 0xc0;
        if (high == 0x40 || (code >= 0x02 && code <= 0x04)) { /* advance_loc */
            uint64_t delta = high ? code & 0x3f : take(&r, 1u << (code - 0x02));
            run->location += delta * entry->code_factor;
            if (run->location > address) {
                return !r.failed;
            }
        } else if (high == 0x80) { /* offset */
            skip_operands(&r, "n");
        } else if (high == 0) {
            run_rest(run, entry, &r, code);
        } /* else restore */
    }
    return !r.failed;
}

/* ---- the CFA ---- */

static uintptr_t register_of(const struct st_frame_call *call, uint64_t number, bool *is_known)
{
    *is_known &= number == STACK_POINTER || number == FRAME_POINTER;
    return number == STACK_POINTER ? call->stack : call->frame_pointer;
}

/* Register and offset, what is stored there, more offset: where the stack is realigned. */
static bool evaluate(const struct st_frame_call *call, struct bytes r, uintptr_t *ret_value)
{
    bool is_known = true;
    uint64_t code = take(&r, 1);
    is_known = code >= 0x70 && code < 0x90; /* breg */
    uintptr_t value = register_of(call, code - 0x70, &is_known);
    value += (uintptr_t)take_leb(&r, true);
    while (is_known && !r.failed && r.at < r.end) {
        code = take(&r, 1);
        if (code == 0x06) { /* deref */
            is_known = value >= call->stack && value % sizeof(value) == 0;
            value = is_known ? *(const uintptr_t *)value : 0;
        } else if (code == 0x23) { /* plus_uconst */
            value += (uintptr_t)take_leb(&r, false);
        } else {
            is_known = false;
        }
    }
    *ret_value = value;
    return is_known && !r.failed;
}

static bool find_end(const struct st_frame_call *call, uintptr_t *ret_end)
{
    uintptr_t address = call->return_address - 1; /* in the call instruction */
    const uint8_t *header = frame_header_of(address);
    struct entry entry;
    struct run run = {.now = {.base = UINT64_MAX}};
    bool is_known = true;
    if (!header || !find_entry(&entry, header, address)) {
        return false;
    }
    run.location = entry.begin;
    if (!run_instructions(&run, &entry, entry.common, UINTPTR_MAX) ||
        !run_instructions(&run, &entry, entry.own, address)) {
        return false;
    }
    if (run.now.expression.at) {
        return evaluate(call, run.now.expression, ret_end);
    }
    *ret_end = register_of(call, run.now.base, &is_known) + (uintptr_t)run.now.offset;
    return is_known;
}

void st_frame_measure(void *arg)
{
    struct st_frame_call *call = arg;
    uintptr_t end;
    call->ret_words = UINT64_MAX;
    call->ret_is_libc = call->return_address - libc.begin < libc.bytes;
    if (find_end(call, &end) && end - ABOVE_ARGUMENTS >= call->stack) {
        call->ret_words = (end - ABOVE_ARGUMENTS - call->stack) / 8;
    }
}
