/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telling images apart, and the containers: nvcc's wrapper (magic, version, pointer) refers to a fat binary (magic,
 * version, size of the header, size of the rest), which is a row of parts, each with a header of its own.
 */
#include "image.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MAGIC_ELF = 0x464c457f, MAGIC_WRAPPER = 0x466243b1, PART_COMPRESSED = 0xa000, TEXT_BYTES_MAX = 256 << 20 };
static const uint64_t no_limit = 1ull << 40;

bool sim_image_fetch(uintptr_t from, void *to, size_t bytes)
{
    struct iovec local = {to, bytes}, remote = {(void *)from, bytes};

    return bytes == 0 || process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

/* ---- what is read ----------------------------------------------------------------------------------------------- */

struct sim_image_entry *sim_image_add_entry(struct sim_image *image, const char *name)
{
    struct sim_image_entry *grown = realloc(image->entries, (image->entry_count + 1) * sizeof(*grown));
    char *copy = strdup(name);

    if (grown != NULL) {
        image->entries = grown;
    }
    if (grown == NULL || copy == NULL) {
        free(copy);
        return NULL;
    }
    grown[image->entry_count] = (struct sim_image_entry){.name = copy};
    return &grown[image->entry_count++];
}

/* In any order of indices; what is left out has 0 bytes. */
bool sim_image_set_param(struct sim_image_entry *entry, unsigned index, unsigned bytes, unsigned offset)
{
    if (index >= entry->param_count) {
        size_t count = index + 1, old = entry->param_count;
        unsigned *sizes = realloc(entry->sizes, count * sizeof(unsigned));
        unsigned *offsets = realloc(entry->offsets, count * sizeof(unsigned));

        entry->sizes = sizes != NULL ? sizes : entry->sizes;
        entry->offsets = offsets != NULL ? offsets : entry->offsets;
        if (sizes == NULL || offsets == NULL) {
            return false;
        }
        memset(sizes + old, 0, (count - old) * sizeof(unsigned));
        memset(offsets + old, 0, (count - old) * sizeof(unsigned));
        entry->param_count = (unsigned)count;
    }
    entry->sizes[index] = bytes;
    entry->offsets[index] = offset;
    return true;
}

bool sim_image_add_variable(struct sim_image *image, const char *name, size_t bytes, bool managed)
{
    struct sim_image_variable *grown = realloc(image->variables, (image->variable_count + 1) * sizeof(*grown));
    char *copy = strdup(name);

    if (grown != NULL) {
        image->variables = grown;
    }
    if (grown == NULL || copy == NULL) {
        free(copy);
        return false;
    }
    grown[image->variable_count++] = (struct sim_image_variable){copy, bytes, managed};
    return true;
}

static void finish_entry(struct sim_image_entry *entry)
{
    free(entry->name);
    free(entry->sizes);
    free(entry->offsets);
}

void sim_image_finish(struct sim_image *image)
{
    for (unsigned i = 0; i < image->entry_count; i++) {
        finish_entry(&image->entries[i]);
    }
    for (unsigned i = 0; i < image->variable_count; i++) {
        free(image->variables[i].name);
    }
    free(image->entries);
    free(image->variables);
    *image = (struct sim_image){0};
}

/* ---- fat binaries ----------------------------------------------------------------------------------------------- */

static bool has_entry(const struct sim_image *image, const char *name)
{
    for (unsigned i = 0; i < image->entry_count; i++) {
        if (strcmp(image->entries[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_variable(const struct sim_image *image, const char *name)
{
    for (unsigned i = 0; i < image->variable_count; i++) {
        if (strcmp(image->variables[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* The parts are the same program for different devices: each adds what the ones before it lack. False: no memory. */
static bool merge(struct sim_image *image, const struct sim_image *part)
{
    for (unsigned i = 0; i < part->entry_count; i++) {
        const struct sim_image_entry *from = &part->entries[i];
        struct sim_image_entry *entry;

        if (has_entry(image, from->name)) {
            continue;
        }
        entry = sim_image_add_entry(image, from->name);
        if (entry == NULL) {
            return false;
        }
        entry->params_known = from->params_known;
        for (unsigned p = 0; p < from->param_count; p++) {
            if (!sim_image_set_param(entry, p, from->sizes[p], from->offsets[p])) {
                return false;
            }
        }
    }
    for (unsigned i = 0; i < part->variable_count; i++) {
        const struct sim_image_variable *from = &part->variables[i];

        if (!has_variable(image, from->name) &&
            !sim_image_add_variable(image, from->name, from->bytes, from->managed)) {
            return false;
        }
    }
    return true;
}

bool sim_ptx_read(struct sim_image *image, uintptr_t at, uint64_t bytes)
{
    char *text = bytes <= TEXT_BYTES_MAX ? malloc(bytes + 1) : NULL;
    bool read = text != NULL && sim_image_fetch(at, text, bytes);

    if (read) {
        text[bytes] = '\0';
        read = sim_ptx_parse(image, text);
    }
    free(text);
    return read;
}

/* False: it cannot be read, or is compressed. */
static bool read_part(struct sim_image *image, uintptr_t at, const struct sim_fatbin_part *part)
{
    struct sim_image own = {0};
    bool complete;

    if (part->compressed_bytes != 0 || (part->flags & PART_COMPRESSED) != 0) {
        return false;
    }
    if (part->kind == SIM_PART_PTX) {
        own.complete = sim_ptx_read(&own, at + part->header_bytes, part->bytes);
    } else if (part->kind == SIM_PART_ELF) {
        sim_elf_read(&own, at + part->header_bytes, part->bytes);
    }
    complete = merge(image, &own) && own.complete;
    sim_image_finish(&own);
    return complete;
}

static void read_fatbin(struct sim_image *image, uintptr_t at)
{
    bool complete = true;
    struct sim_fatbin fatbin;
    struct sim_fatbin_part part;

    if (!sim_image_fetch(at, &fatbin, sizeof(fatbin)) || fatbin.bytes > no_limit) {
        return;
    }
    at += fatbin.header_bytes;
    while (fatbin.bytes > 0) {
        uint64_t whole;

        if (fatbin.bytes < sizeof(part) || !sim_image_fetch(at, &part, sizeof(part)) ||
            part.header_bytes < sizeof(part) || __builtin_add_overflow(part.bytes, part.header_bytes, &whole) ||
            whole > fatbin.bytes) {
            return;
        }
        complete = read_part(image, at, &part) && complete;
        at += whole;
        fatbin.bytes -= whole;
    }
    image->complete = complete;
}

/* ---- any image -------------------------------------------------------------------------------------------------- */

/* The fat binary that nvcc's wrapper refers to; 0: none. */
static uintptr_t unwrap(uintptr_t wrapper)
{
    uint32_t magic;
    uint64_t data;

    return sim_image_fetch(wrapper + 8, &data, sizeof(data)) && sim_image_fetch(data, &magic, sizeof(magic)) &&
                   magic == SIM_FATBIN_MAGIC
               ? data
               : 0;
}

CUresult sim_image_read(struct sim_image *image, const void *data)
{
    uintptr_t at = (uintptr_t)data;
    const char *text = data;
    uint32_t magic;

    *image = (struct sim_image){0};
    while (isspace((unsigned char)*text)) {
        text++;
    }
    if (*text == '.' || *text == '/') {
        image->complete = sim_ptx_parse(image, text);
        return image->complete ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX;
    }
    if (*text == '\0' || !sim_image_fetch(at, &magic, sizeof(magic))) {
        return CUDA_ERROR_INVALID_IMAGE;
    }
    if (magic == MAGIC_WRAPPER) {
        at = unwrap(at);
        magic = at == 0 ? 0 : SIM_FATBIN_MAGIC;
    }
    if (magic == MAGIC_ELF) {
        sim_elf_read(image, at, no_limit);
    } else if (magic == SIM_FATBIN_MAGIC) {
        read_fatbin(image, at);
    } else {
        return CUDA_ERROR_INVALID_IMAGE;
    }
    return CUDA_SUCCESS;
}

char *sim_image_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "re");
    char *image = NULL;
    long size;

    if (file == NULL) {
        return NULL;
    }
    if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0 &&
        (image = calloc(1, (size_t)size + 4)) != NULL) {
        *bytes = fread(image, 1, (size_t)size, file);
    }
    fclose(file);
    return image;
}
