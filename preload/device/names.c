/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interning of kernel names; see names.h. Two open-addressing hash tables (text → number, pointer → number in
 * this round), both doubled at half load. One thread.
 */
#include "names.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE_BYTES 4096u
#define FIRST_SLOTS 256u

struct name_entry {
    size_t offset; /* in texts */
    size_t length;
    uint64_t hash;
};

struct pointer_entry {
    const char *pointer;
    uint32_t number;
    uint32_t round; /* entries of another round are free */
};

/* FNV-1a, 64 bit. */
static uint64_t hash_bytes(const char *bytes, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3u;
    return hash ^ hash >> 32;
}

/* A zeroed array of `count` elements in *ret. */
static bool make_zeroed(struct st_buffer *ret, size_t count, size_t element_bytes)
{
    *ret = (struct st_buffer){0};
    if (!st_buffer_reserve(ret, count * element_bytes)) return false;
    memset(ret->bytes, 0, count * element_bytes);
    ret->length = count * element_bytes;
    return true;
}

static uint32_t name_count(const struct st_names *names)
{
    return (uint32_t)(names->entries.length / sizeof(struct name_entry));
}

static void put_slot(struct st_buffer *slots, uint64_t hash, uint32_t number)
{
    uint32_t *table = (uint32_t *)(void *)slots->bytes;
    size_t mask = slots->length / sizeof(*table) - 1;
    size_t i = hash & mask;
    while (table[i] != 0) i = (i + 1) & mask;
    table[i] = number;
}

static bool grow_slots(struct st_names *names)
{
    const struct name_entry *entries = (const struct name_entry *)(const void *)names->entries.bytes;
    uint32_t count = name_count(names);
    size_t size = names->slots.length / sizeof(uint32_t);
    struct st_buffer bigger;

    if (size > 2u * count) return true;
    if (!make_zeroed(&bigger, size == 0 ? FIRST_SLOTS : 2 * size, sizeof(uint32_t))) return false;
    for (uint32_t number = 1; number <= count; number++) put_slot(&bigger, entries[number - 1].hash, number);
    st_buffer_finish(&names->slots);
    names->slots = bigger;
    return true;
}

static uint32_t find_name(const struct st_names *names, const char *text, size_t length, uint64_t hash)
{
    const uint32_t *table = (const uint32_t *)(const void *)names->slots.bytes;
    const struct name_entry *entries = (const struct name_entry *)(const void *)names->entries.bytes;
    size_t mask = names->slots.length / sizeof(*table) - 1;

    for (size_t i = hash & mask; table[i] != 0; i = (i + 1) & mask) {
        const struct name_entry *entry = &entries[table[i] - 1];
        if (entry->hash == hash && entry->length == length &&
            memcmp(names->texts.bytes + entry->offset, text, length) == 0)
            return table[i];
    }
    return 0;
}

uint32_t st_names_intern(struct st_names *names, const char *text, size_t length, struct st_rows *strings)
{
    struct name_entry entry = {.offset = names->texts.length, .length = length, .hash = hash_bytes(text, length)};
    struct st_text row_text = {text, (uint32_t)length};
    uint32_t number;

    if (!grow_slots(names)) return 0;
    number = find_name(names, text, length, entry.hash);
    if (number != 0) return number;
    number = name_count(names) + 1;
    if (!st_buffer_reserve(&names->texts, length) || !st_buffer_reserve(&names->entries, sizeof(entry))) return 0;
    if (!st_rows_add(strings, (const int64_t[]){number, 0}, &row_text)) return 0;
    st_buffer_append(&names->texts, text, length);
    st_buffer_append(&names->entries, &entry, sizeof(entry));
    put_slot(&names->slots, entry.hash, number);
    return number;
}

/* Like memcpy, but false instead of a fault. [from, from + length) must lie in one page. */
static bool copy_checked(char *to, const char *from, size_t length)
{
    struct iovec local = {to, length};
    struct iovec remote = {(void *)(uintptr_t)from, length};
    int saved_errno = errno;
    long copied = syscall(SYS_process_vm_readv, getpid(), &local, 1ul, &remote, 1ul, 0ul);
    bool refused = copied < 0 && (errno == ENOSYS || errno == EPERM);

    errno = saved_errno;
    if (refused) memcpy(to, from, length); /* the call itself is forbidden here: as any other CUPTI client reads it */
    return refused || copied == (long)length;
}

bool st_names_read(struct st_names *names, const char *pointer, struct st_text *ret_text)
{
    struct st_buffer *scratch = &names->scratch;
    const char *end = NULL;

    if (pointer == NULL) return false;
    for (scratch->length = 0; end == NULL && scratch->length < ST_MAX_TEXT_BYTES;) {
        const char *from = pointer + scratch->length;
        size_t piece = PAGE_BYTES - ((uintptr_t)from & (PAGE_BYTES - 1));
        if (!st_buffer_reserve(scratch, piece)) return false;
        char *to = (char *)scratch->bytes + scratch->length;
        if (!copy_checked(to, from, piece)) return false;
        end = memchr(to, 0, piece);
        scratch->length += end != NULL ? (size_t)(end - to) : piece;
    }
    if (scratch->length > ST_MAX_TEXT_BYTES) scratch->length = ST_MAX_TEXT_BYTES;
    *ret_text = (struct st_text){(const char *)scratch->bytes, (uint32_t)scratch->length};
    return true;
}

static struct pointer_entry *find_pointer(struct st_buffer *pointers, uint32_t round, const char *pointer)
{
    struct pointer_entry *table = (struct pointer_entry *)(void *)pointers->bytes;
    size_t mask = pointers->length / sizeof(*table) - 1;
    size_t i = (size_t)(((uintptr_t)pointer >> 3) * 0x9e3779b97f4a7c15u >> 32) & mask;

    while (table[i].round == round && table[i].pointer != pointer) i = (i + 1) & mask;
    return &table[i];
}

static bool grow_pointers(struct st_names *names)
{
    size_t size = names->pointers.length / sizeof(struct pointer_entry);
    const struct pointer_entry *old = (const struct pointer_entry *)(const void *)names->pointers.bytes;
    struct st_buffer bigger;

    if (size > 2u * names->pointer_count) return true;
    if (!make_zeroed(&bigger, size == 0 ? FIRST_SLOTS : 2 * size, sizeof(*old))) return false;
    for (size_t i = 0; i < size; i++)
        if (old[i].round == names->round) *find_pointer(&bigger, names->round, old[i].pointer) = old[i];
    st_buffer_finish(&names->pointers);
    names->pointers = bigger;
    return true;
}

uint32_t st_names_intern_pointer(struct st_names *names, const char *pointer, struct st_rows *strings)
{
    struct pointer_entry *entry;
    struct st_text text;

    if (pointer == NULL) return 0;
    if (names->round == 0) names->round = 1; /* a fresh table is all zeroes: round 0 means free */
    if (!grow_pointers(names)) return 0;
    entry = find_pointer(&names->pointers, names->round, pointer);
    if (entry->round == names->round) return entry->number;
    *entry = (struct pointer_entry){pointer, 0, names->round};
    names->pointer_count++;
    if (st_names_read(names, pointer, &text)) entry->number = st_names_intern(names, text.bytes, text.length, strings);
    return entry->number;
}

void st_names_next_round(struct st_names *names)
{
    names->round++;
    names->pointer_count = 0;
}

void st_names_finish(struct st_names *names)
{
    st_buffer_finish(&names->texts);
    st_buffer_finish(&names->entries);
    st_buffer_finish(&names->slots);
    st_buffer_finish(&names->pointers);
    st_buffer_finish(&names->scratch);
    *names = (struct st_names){0};
}
