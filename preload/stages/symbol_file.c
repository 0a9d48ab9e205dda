/* SPDX-License-Identifier: Apache-2.0 */
/* Reading .symtab; see symbol_file.h. Nothing in the file is believed: every offset is checked. */
#include "symbol_file.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/watch/watch.h"

#define MAX_PART_BYTES (512u << 20) /* of symbols or of names */
#define SYMBOLS_AT_ONCE 512

struct file {
    int fd;
    ElfW(Ehdr) header;
};

static bool read_at(const struct file *file, void *to, uint64_t bytes, uint64_t offset)
{
    char *at = to;
    while (bytes > 0) {
        ssize_t got = pread(file->fd, at, bytes, (off_t)offset);
        if (got <= 0) return false;
        at += got;
        offset += (uint64_t)got;
        bytes -= (uint64_t)got;
    }
    return true;
}

static bool is_mapped_file(const struct file *file, uint64_t headers_hash)
{
    ElfW(Phdr) headers[32];
    uint32_t count = file->header.e_phnum;

    return count <= sizeof(headers) / sizeof(headers[0]) && file->header.e_phentsize == sizeof(headers[0]) &&
           read_at(file, headers, count * sizeof(headers[0]), file->header.e_phoff) &&
           st_watch_hash(headers, count * sizeof(headers[0])) == headers_hash;
}

static bool read_section(const struct file *file, uint32_t index, ElfW(Shdr) *ret)
{
    return index < file->header.e_shnum &&
           read_at(file, ret, sizeof(*ret), file->header.e_shoff + index * sizeof(*ret));
}

static bool find_section(const struct file *file, uint32_t type, ElfW(Shdr) *ret)
{
    for (uint32_t i = 1; i < file->header.e_shnum; i++)
        if (read_section(file, i, ret) && ret->sh_type == type && ret->sh_entsize == sizeof(ElfW(Sym))) return true;
    return false;
}

/* ---- symbols ---- */

static void tell(const ElfW(Sym) *symbol, char *names, uint64_t name_bytes, st_symbol_file_fn each, void *context)
{
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF || symbol->st_size == 0 ||
        symbol->st_name >= name_bytes || names[symbol->st_name] == '\0')
        return;
    char *name = names + symbol->st_name, *dot = strchr(name + 1, '.');
    if (dot != NULL) *dot = '\0';
    each(context, name, symbol->st_value, symbol->st_size);
    if (dot != NULL) *dot = '.'; /* names may share their ends */
}

static enum st_symbol_file tell_all(const struct file *file, const ElfW(Shdr) *symbols, st_symbol_file_fn each,
                                    void *context)
{
    ElfW(Shdr) strings;
    uint64_t total = symbols->sh_size / sizeof(ElfW(Sym));

    if (!read_section(file, symbols->sh_link, &strings) || strings.sh_size == 0 || strings.sh_size > MAX_PART_BYTES ||
        symbols->sh_size > MAX_PART_BYTES)
        return ST_SYMBOL_FILE_UNREADABLE;
    size_t bytes = SYMBOLS_AT_ONCE * sizeof(ElfW(Sym)) + strings.sh_size; /* stacks of threads may be small */
    ElfW(Sym) *some = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (some == MAP_FAILED) return ST_SYMBOL_FILE_UNREADABLE;
    char *names = (char *)(some + SYMBOLS_AT_ONCE);
    bool good = read_at(file, names, strings.sh_size, strings.sh_offset);
    names[strings.sh_size - 1] = '\0';
    for (uint64_t first = 0; good && first < total; first += SYMBOLS_AT_ONCE) {
        uint64_t count = total - first < SYMBOLS_AT_ONCE ? total - first : SYMBOLS_AT_ONCE;
        good = read_at(file, some, count * sizeof(some[0]), symbols->sh_offset + first * sizeof(some[0]));
        for (uint64_t i = 0; good && i < count; i++) tell(&some[i], names, strings.sh_size, each, context);
    }
    munmap(some, bytes);
    return good ? ST_SYMBOL_FILE_READ : ST_SYMBOL_FILE_UNREADABLE;
}

enum st_symbol_file st_symbol_file_read(const char *path, uint64_t headers_hash, bool or_dynamic,
                                        st_symbol_file_fn each, void *context)
{
    struct file file = {.fd = open(path[0] != '\0' ? path : "/proc/self/exe", O_RDONLY | O_CLOEXEC)};
    ElfW(Shdr) symbols;
    enum st_symbol_file result = ST_SYMBOL_FILE_UNREADABLE;

    if (file.fd < 0) return result;
    if (read_at(&file, &file.header, sizeof(file.header), 0) &&
        memcmp(file.header.e_ident, ELFMAG, SELFMAG) == 0 && file.header.e_ident[EI_CLASS] == ELFCLASS64) {
        if (!is_mapped_file(&file, headers_hash)) {
            result = ST_SYMBOL_FILE_OTHER;
        } else if (file.header.e_shentsize != sizeof(ElfW(Shdr)) || file.header.e_shnum == 0) {
            result = ST_SYMBOL_FILE_STRIPPED;
        } else if (find_section(&file, SHT_SYMTAB, &symbols)) {
            result = tell_all(&file, &symbols, each, context);
        } else {
            if (or_dynamic && find_section(&file, SHT_DYNSYM, &symbols)) tell_all(&file, &symbols, each, context);
            result = ST_SYMBOL_FILE_STRIPPED;
        }
    }
    close(file.fd);
    return result;
}
