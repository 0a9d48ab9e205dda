/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The presets compiled in from config/<name>.map: found by name, or by the program they are for. The texts
 * are generated into presets.c by embed.py. Constant data: any thread.
 */
#include "config/map.h"
#include "config/preset.h"

#include <string.h>

#define PROGRAMS "# programs:"

const char *st_map_preset(const char *name)
{
    for (const struct st_preset *preset = st_presets; preset->name != NULL; preset++)
        if (strcmp(preset->name, name) == 0) return preset->text;
    return NULL;
}

/* Is `program` matched by one of the words between `at` and the end of the line? */
static bool lists_program(const char *at, const char *program)
{
    while (*at != '\n' && *at != '\0') {
        char word[128];
        size_t length = strcspn(at, " ,\n");
        if (length > 0 && length < sizeof(word)) {
            memcpy(word, at, length);
            word[length] = '\0';
            if (st_map_glob(word, program, NULL)) return true;
        }
        at += length;
        at += strspn(at, " ,");
    }
    return false;
}

const char *st_map_preset_for_program(const char *program, const char **ret_name)
{
    for (const struct st_preset *preset = st_presets; preset->name != NULL; preset++) {
        const char *line = preset->text;
        for (; *line == '#'; line += strcspn(line, "\n"), line += *line == '\n') {
            if (strncmp(line, PROGRAMS, strlen(PROGRAMS)) != 0) continue;
            if (!lists_program(line + strlen(PROGRAMS), program)) continue;
            *ret_name = preset->name;
            return preset->text;
        }
    }
    return NULL;
}
