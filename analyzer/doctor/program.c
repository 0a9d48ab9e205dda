/* SPDX-License-Identifier: Apache-2.0 */
/* See program.h. */
#include "program.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#endif

struct program {
    bool is_elf, is_ours; /* is_ours: of this word size and processor */
    bool is_dynamic;      /* names an interpreter */
    int bits, machine;
    char interpreter[256];
};

static bool read_at(int fd, void *bytes, size_t length, uint64_t offset)
{
    return offset < INT64_MAX && pread(fd, bytes, length, (off_t)offset) == (ssize_t)length;
}

static void read_segments(int fd, const Elf64_Ehdr *header, struct program *program)
{
    for (uint32_t i = 0; i < header->e_phnum && header->e_phentsize == sizeof(Elf64_Phdr); i++) {
        Elf64_Phdr segment;
        size_t length;

        if (!read_at(fd, &segment, sizeof(segment), header->e_phoff + i * sizeof(segment))) return;
        if (segment.p_type != PT_INTERP) continue;
        program->is_dynamic = true;
        length = segment.p_filesz < sizeof(program->interpreter) ? (size_t)segment.p_filesz
                                                                 : sizeof(program->interpreter) - 1;
        if (!read_at(fd, program->interpreter, length, segment.p_offset)) program->interpreter[0] = '\0';
    }
}

static void read_program(int fd, struct program *program)
{
    Elf64_Ehdr header;

    if (!read_at(fd, &header, sizeof(Elf32_Ehdr), 0) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return;
    program->is_elf = true;
    program->bits = header.e_ident[EI_CLASS] == ELFCLASS32 ? 32 : 64;
    program->machine = header.e_machine;
    program->is_ours = program->bits == 64 && program->machine == OWN_MACHINE &&
                       read_at(fd, &header, sizeof(header), 0);
    if (program->is_ours) read_segments(fd, &header, program);
}

/* The loader itself may be the program: `ld-linux-x86-64.so.2 ./generate`. */
static bool is_loader(const char *path)
{
    const char *slash = strrchr(path, '/');

    return strncmp(slash != NULL ? slash + 1 : path, "ld-", 3) == 0;
}

static bool is_privileged(int fd, char *seen, const char *name)
{
    struct stat status;

    if (fstat(fd, &status) != 0) return false;
    if (status.st_mode & S_ISUID && status.st_uid != geteuid()) {
        snprintf(seen, ST_SEEN_BYTES, "%.300s is set-uid", name);
        return true;
    }
    if (status.st_mode & S_ISGID && status.st_mode & S_IXGRP && status.st_gid != getegid()) {
        snprintf(seen, ST_SEEN_BYTES, "%.300s is set-gid", name);
        return true;
    }
    if (geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0) {
        snprintf(seen, ST_SEEN_BYTES, "%.300s has file capabilities", name);
        return true;
    }
    return false;
}

static bool judge(const struct program *program, const char *path, const char *name, enum st_fault *ret_fault,
                  char *seen)
{
    const char *slash = strrchr(program->interpreter, '/');
    const char *interpreter = slash != NULL ? slash + 1 : program->interpreter;

    if (!program->is_elf) return false;
    if (!program->is_ours) {
        *ret_fault = ST_FAULT_WORD_SIZE;
        snprintf(seen, ST_SEEN_BYTES, "%.300s is a %d-bit program for processor %d", name, program->bits,
                 program->machine);
        return true;
    }
    if (!program->is_dynamic) {
        *ret_fault = ST_FAULT_STATIC;
        snprintf(seen, ST_SEEN_BYTES, "%.300s is statically linked", name);
        return !is_loader(path);
    }
    if (strncmp(interpreter, "ld-linux", 8) != 0 && strncmp(interpreter, "ld-2.", 5) != 0) {
        *ret_fault = ST_FAULT_OTHER_LIBC;
        snprintf(seen, ST_SEEN_BYTES, "%.300s is run by %.150s", name, program->interpreter);
        return true;
    }
    return false;
}

bool st_program_refuses(const char *path, const char *name, enum st_fault *ret_fault, char ret_seen[ST_SEEN_BYTES])
{
    struct program program = {.is_elf = false};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool refuses;

    if (fd < 0) return false;
    read_program(fd, &program);
    refuses = judge(&program, path, name, ret_fault, ret_seen);
    if (!refuses && program.is_elf && is_privileged(fd, ret_seen, name)) {
        *ret_fault = ST_FAULT_SECURE;
        refuses = true;
    }
    close(fd);
    return refuses;
}
