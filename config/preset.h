/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The presets compiled in from config/<name>.map. embed.py makes the list, and the fields from the lines
 * `# programs: …` and so on at the top of each. Constant data: any thread.
 */
#ifndef ST_CONFIG_PRESET_H
#define ST_CONFIG_PRESET_H

#include <stdbool.h>

#include "config/map.h"

struct st_preset {
    const char *name; /* file name without .map */
    const char *text;
    /* Lists that end with NULL. */
    const char *const *programs; /* globs of the base names of programs that it is taken for */
    const char *const *defines;  /* functions that such a program, or a library of it, has: else it is another one */
    const char *const *modules;  /* globs of Python modules that it is recognised by; its rules are all python rules */
    const char *const *with;     /* presets that belong to it: their rules come after its own */
    const char *const *over;     /* presets that do not count once this one is recognised */
    const char *checked;         /* "PACKAGE OLDEST NEWEST", joined with "; "; "" if there is no such line */
};

extern const struct st_preset st_presets[]; /* ends with a name of NULL */

/* NULL if there is none of that name. */
const struct st_preset *st_preset_find(const char *name);

/* The preset whose `# programs:` line lists this base name, or NULL. */
const struct st_preset *st_preset_for_program(const char *program);

/* Is `text` matched by a glob of the list? */
bool st_preset_lists(const char *const *globs, const char *text);

/* Append its rules and those of the presets that belong to it; as st_map_parse(). */
bool st_preset_parse(const struct st_preset *preset, struct st_map *map, struct st_map_error *ret_error);

#endif
