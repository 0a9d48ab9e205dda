/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What simgpu reads of a module's image - PTX text, an ELF cubin, a fat binary of both: the kernels with their
 * parameters, and the variables. Nothing of an image is trusted: every byte but those of a PTX text is fetched in a
 * way that survives wrong addresses. No state; any thread.
 */
#ifndef SIMGPU_IMAGE_H
#define SIMGPU_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_min.h"

enum { SIM_IMAGE_PARAMS_MAX = 8192 };

struct sim_image_entry {
    char *name;
    bool params_known;
    unsigned param_count;
    unsigned *sizes, *offsets; /* bytes */
};

struct sim_image_variable {
    char *name;
    size_t bytes;
    bool managed;
};

struct sim_image {
    struct sim_image_entry *entries;
    unsigned entry_count;
    struct sim_image_variable *variables;
    unsigned variable_count;
    bool complete; /* all names are here; else the image has whatever is asked for */
};

#define SIM_FATBIN_MAGIC 0xba55ed50u

struct sim_fatbin {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes; /* of the parts, which follow the header */
};

enum { SIM_PART_UNREADABLE = 0, SIM_PART_PTX = 1, SIM_PART_ELF = 2 };

struct sim_fatbin_part {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t bytes; /* after the header */
    uint32_t compressed_bytes, options[5];
    uint64_t flags;
    uint64_t more[2];
};

/* INVALID_IMAGE or INVALID_PTX when it is none; `image` is to be finished either way. */
CUresult sim_image_read(struct sim_image *image, const void *data);
void sim_image_finish(struct sim_image *image);
/* A file's bytes and a zero; NULL: it cannot be read. */
char *sim_image_file(const char *path, size_t *bytes);

/* For the readers of formats. The names are copied; false or NULL: no memory. */
struct sim_image_entry *sim_image_add_entry(struct sim_image *image, const char *name);
bool sim_image_set_param(struct sim_image_entry *entry, unsigned index, unsigned bytes, unsigned offset);
bool sim_image_add_variable(struct sim_image *image, const char *name, size_t bytes, bool managed);
/* Copies bytes of the program's memory; false where there is none. */
bool sim_image_fetch(uintptr_t from, void *to, size_t bytes);

/* ptx.c. False: not PTX, or no memory. */
bool sim_ptx_parse(struct sim_image *image, const char *text);
/* The same of so many bytes somewhere. */
bool sim_ptx_read(struct sim_image *image, uintptr_t at, uint64_t bytes);
/* elf.c. An ELF file in memory of at most `limit` bytes; what cannot be understood leaves the image incomplete. */
void sim_elf_read(struct sim_image *image, uintptr_t file, uint64_t limit);

#endif
