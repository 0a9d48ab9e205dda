/* SPDX-License-Identifier: Apache-2.0 */
/* See patch_code.h. */
#include "patch_code.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { COPY_BYTES = 64 };

static uint8_t *room; /* for copies: one page, filled from the front */
static size_t room_used;

static bool set_protection(uint8_t *code, int protection)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)code & ~(page - 1);
    uintptr_t end = ((uintptr_t)code + PATCH_BYTES + page - 1) & ~(page - 1);
    return mprotect((void *)begin, end - begin, protection) == 0;
}

static bool overwrite(uint8_t *code, const uint8_t *bytes)
{
    if (!set_protection(code, PROT_READ | PROT_WRITE | PROT_EXEC)) {
        return false;
    }
    memcpy(code, bytes, PATCH_BYTES);
    __builtin___clear_cache((char *)code, (char *)code + PATCH_BYTES);
    return set_protection(code, PROT_READ | PROT_EXEC);
}

static void put(uint8_t **at, const void *bytes, size_t count)
{
    memcpy(*at, bytes, count);
    *at += count;
}

#if defined(__x86_64__)

/* jmp *0(%rip) and the address: no register is touched. */
static void put_jump(uint8_t **at, const void *target)
{
    static const uint8_t CODE[] = {0xff, 0x25, 0, 0, 0, 0};
    put(at, CODE, sizeof(CODE));
    put(at, &target, sizeof(target));
}

/* Bytes of an instruction that may stand anywhere, 0: not known. What is in use knows hardly more. */
static size_t known_bytes(const uint8_t *code)
{
    if (code[0] == 0x90 || (code[0] >= 0x50 && code[0] <= 0x57)) { /* nop, which begins the fake driver; push */
        return 1;
    }
    return code[0] == 0x48 && code[1] == 0x81 && code[2] == 0xec ? 7 : 0; /* sub $N, %rsp */
}

#elif defined(__aarch64__)

/* ldr x17, 8; br x17; the address: x17 belongs to such veneers. */
static void put_jump(uint8_t **at, const void *target)
{
    static const uint32_t CODE[] = {0x58000051, 0xd61f0220};
    put(at, CODE, sizeof(CODE));
    put(at, &target, sizeof(target));
}

/* hint: nop, bti and more */
static size_t known_bytes(const uint8_t *code)
{
    uint32_t word;
    memcpy(&word, code, sizeof(word));
    return (word & 0xfffff01f) == 0xd503201f ? sizeof(word) : 0;
}

#endif

static bool make_original(struct patch *patch)
{
    if (!room) {
        room = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    if (room == MAP_FAILED || room_used + COPY_BYTES > 4096) {
        return false;
    }
    uint8_t *at = room + room_used;
    size_t done = 0, bytes;
    for (; done < PATCH_BYTES; done += bytes) {
        if ((bytes = known_bytes(patch->function + done)) == 0) {
            return false;
        }
        put(&at, patch->function + done, bytes);
    }
    put_jump(&at, patch->function + done);
    patch->original = room + room_used;
    __builtin___clear_cache(patch->original, (char *)at);
    room_used += COPY_BYTES;
    return true;
}

bool patch_apply(struct patch *patch, void *function, void *hook)
{
    uint8_t jump[PATCH_BYTES], *at = jump;
    patch->function = function;
    memcpy(patch->before, function, PATCH_BYTES);
    put_jump(&at, hook);
    return make_original(patch) && overwrite(patch->function, jump);
}

void patch_undo(const struct patch *patch)
{
    overwrite(patch->function, patch->before);
}
