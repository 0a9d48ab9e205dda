/* SPDX-License-Identifier: Apache-2.0 */
/* The presets compiled in: found by name, or by the program they are for; see preset.h. */
#include "config/preset.h"

#include <string.h>

const struct st_preset *st_preset_find(const char *name)
{
    for (const struct st_preset *preset = st_presets; preset->name != NULL; preset++)
        if (strcmp(preset->name, name) == 0) return preset;
    return NULL;
}

bool st_preset_lists(const char *const *globs, const char *text)
{
    for (; *globs != NULL; globs++)
        if (st_map_glob(*globs, text, NULL)) return true;
    return false;
}

const struct st_preset *st_preset_for_program(const char *program)
{
    for (const struct st_preset *preset = st_presets; preset->name != NULL; preset++)
        if (st_preset_lists(preset->programs, program)) return preset;
    return NULL;
}

bool st_preset_parse(const struct st_preset *preset, struct st_map *map, struct st_map_error *ret_error)
{
    uint32_t count = map->count;
    size_t used = map->arena_used;
    bool good = st_map_parse(map, preset->text, strlen(preset->text), preset->name, ret_error);

    for (const char *const *name = preset->with; good && *name != NULL; name++)
        good = st_preset_parse(st_preset_find(*name), map, ret_error);
    if (good) return true;
    map->count = count;
    map->arena_used = used;
    return false;
}
