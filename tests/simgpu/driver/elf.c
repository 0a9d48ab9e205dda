/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cubins: ELF files whose symbol table names the kernels (functions that are marked as entries) and the variables.
 * A section `.nv.info.KERNEL` is a list of attributes: format, number, two bytes of size or value, then so many
 * bytes. One kind of them is a parameter's ordinal, offset and size.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"

enum { MACHINE = 190, OTHER_MANAGED = 0x04, OTHER_ENTRY = 0x10, TABLE_BYTES_MAX = 64 << 20 };
/* In the second kind of parameter the size has bits of its own; in the first it is the upper part of a word. */
enum { FORMAT_SIZED = 4, PARAM = 0x17, PARAM_LARGE = 0x45, PARAM_BYTES = 12 };

struct file {
    uintptr_t at;
    uint64_t limit;
    Elf64_Shdr *sections;
    unsigned section_count;
    char *section_names;
    size_t section_name_bytes;
};

/* A copy of part of the file, ended by a 0; NULL: it is not all there. */
static void *copy_of(const struct file *file, uint64_t offset, uint64_t bytes)
{
    char *copy;

    if (bytes > TABLE_BYTES_MAX || offset > file->limit || bytes > file->limit - offset) {
        return NULL;
    }
    copy = malloc(bytes + 1);
    if (copy != NULL && !sim_image_fetch(file->at + offset, copy, bytes)) {
        free(copy);
        return NULL;
    }
    if (copy != NULL) {
        copy[bytes] = '\0';
    }
    return copy;
}

static void *section_copy(const struct file *file, unsigned index, size_t *bytes)
{
    const Elf64_Shdr *section = &file->sections[index];

    if (index >= file->section_count || section->sh_type == SHT_NOBITS) {
        return NULL;
    }
    *bytes = section->sh_size;
    return copy_of(file, section->sh_offset, section->sh_size);
}

static const char *section_name(const struct file *file, unsigned index)
{
    size_t offset = index < file->section_count ? file->sections[index].sh_name : SIZE_MAX;

    return offset < file->section_name_bytes ? file->section_names + offset : "";
}

static bool open_file(struct file *file)
{
    Elf64_Ehdr header;

    if (file->limit < sizeof(header) || !sim_image_fetch(file->at, &header, sizeof(header)) ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_machine != MACHINE || header.e_shentsize != sizeof(Elf64_Shdr)) {
        return false;
    }
    file->sections = copy_of(file, header.e_shoff, (uint64_t)header.e_shnum * sizeof(Elf64_Shdr));
    file->section_count = file->sections == NULL ? 0 : header.e_shnum;
    file->section_names = section_copy(file, header.e_shstrndx, &file->section_name_bytes);
    return file->section_names != NULL;
}

/* ---- parameters ------------------------------------------------------------------------------------------------- */

static bool read_param(struct sim_image_entry *entry, unsigned kind, const unsigned char *payload)
{
    uint16_t ordinal, offset, bytes;
    uint32_t word;

    memcpy(&ordinal, payload + 4, sizeof(ordinal));
    memcpy(&offset, payload + 6, sizeof(offset));
    memcpy(&bytes, payload + 8, sizeof(bytes));
    memcpy(&word, payload + 8, sizeof(word));
    return ordinal < SIM_IMAGE_PARAMS_MAX &&
           sim_image_set_param(entry, ordinal, kind == PARAM ? word >> 18 : bytes, offset);
}

/* False: not understood. */
static bool read_info(struct sim_image_entry *entry, const unsigned char *info, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        uint16_t size = 0;

        if (bytes - at < 4) {
            return false;
        }
        if (info[at] == FORMAT_SIZED) {
            memcpy(&size, info + at + 2, sizeof(size));
        }
        if (info[at] > FORMAT_SIZED || size > bytes - at - 4) {
            return false;
        }
        if (info[at] == FORMAT_SIZED && (info[at + 1] == PARAM || info[at + 1] == PARAM_LARGE) &&
            (size != PARAM_BYTES || !read_param(entry, info[at + 1], info + at + 4))) {
            return false;
        }
        at += 4 + (size_t)size;
    }
    for (unsigned i = 0; i < entry->param_count; i++) {
        if (entry->sizes[i] == 0) {
            return false;
        }
    }
    return true;
}

static void read_params(const struct file *file, struct sim_image_entry *entry)
{
    static const char prefix[] = ".nv.info.";
    unsigned char *info;
    size_t bytes;

    for (unsigned i = 0; i < file->section_count; i++) {
        const char *name = section_name(file, i);

        if (strncmp(name, prefix, sizeof(prefix) - 1) == 0 && strcmp(name + sizeof(prefix) - 1, entry->name) == 0) {
            info = section_copy(file, i, &bytes);
            entry->params_known = info != NULL && read_info(entry, info, bytes);
            free(info);
            return;
        }
    }
}

/* ---- symbols ---------------------------------------------------------------------------------------------------- */

static bool holds_variables(const char *section)
{
    return strcmp(section, ".nv.global") == 0 || strcmp(section, ".nv.global.init") == 0 ||
           strcmp(section, ".nv.constant3") == 0;
}

/* False: no memory. */
static bool read_symbol(const struct file *file, struct sim_image *image, const Elf64_Sym *symbol, const char *name)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);

    if (*name == '\0' || symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= file->section_count) {
        return true;
    }
    if (type == STT_FUNC && (symbol->st_other & OTHER_ENTRY) != 0) {
        struct sim_image_entry *entry = sim_image_add_entry(image, name);

        if (entry != NULL) {
            read_params(file, entry);
        }
        return entry != NULL;
    }
    if (type == STT_OBJECT && symbol->st_size > 0 && holds_variables(section_name(file, symbol->st_shndx))) {
        return sim_image_add_variable(image, name, symbol->st_size, (symbol->st_other & OTHER_MANAGED) != 0);
    }
    return true;
}

/* False: there is no symbol table that could be read. */
static bool read_symbols(const struct file *file, struct sim_image *image, unsigned table)
{
    size_t bytes, string_bytes = 0;
    Elf64_Sym *symbols = section_copy(file, table, &bytes);
    char *strings = section_copy(file, file->sections[table].sh_link, &string_bytes);
    bool read = symbols != NULL && strings != NULL;

    for (size_t i = 0; read && i < bytes / sizeof(*symbols); i++) {
        read = symbols[i].st_name < string_bytes && read_symbol(file, image, &symbols[i], strings + symbols[i].st_name);
    }
    free(strings);
    free(symbols);
    return read;
}

void sim_elf_read(struct sim_image *image, uintptr_t at, uint64_t limit)
{
    struct file file = {.at = at, .limit = limit};

    if (open_file(&file)) {
        for (unsigned i = 0; i < file.section_count; i++) {
            if (file.sections[i].sh_type == SHT_SYMTAB) {
                image->complete = read_symbols(&file, image, i);
                break;
            }
        }
    }
    free(file.section_names);
    free(file.sections);
}
