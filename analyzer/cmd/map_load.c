/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading a stage map by name. One fixed arena for all parts, because the rules point into it. One thread.
 */
#include "analyzer/cmd/map_load.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/preset.h"

/* The library's own limits (preload/options.c): a map that passes here fits there. */
enum { MAX_FILE_BYTES = 256 << 10, MAX_RULES = 512, ARENA_BYTES = 512 << 10 };

/* Where what is wrong goes: the first mistake into `why`, or each to `say`. */
struct loader {
    struct st_map *map;
    char *why;
    size_t why_bytes;
    st_map_say_fn say;
    void *context;
    const char *origin;
};

static void tell(const struct loader *loader, const char *origin, int line, int column, const char *what)
{
    struct st_map_mistake mistake = {origin, line, column, what};

    if (loader->say != NULL) {
        loader->say(loader->context, &mistake);
    } else {
        st_map_mistake_text(&mistake, loader->why, loader->why_bytes);
    }
}

void st_map_mistake_text(const struct st_map_mistake *mistake, char *ret, size_t size)
{
    const char *between = mistake->origin[0] != '\0' ? ": " : "";

    if (mistake->line > 0) {
        snprintf(ret, size, "%s%sline %d, column %d: %s", mistake->origin, between, mistake->line, mistake->column,
                 mistake->what);
    } else {
        snprintf(ret, size, "%s%s%s", mistake->origin, between, mistake->what);
    }
}

static void tell_mistake(void *context, const struct st_map_error *error)
{
    const struct loader *loader = context;

    tell(loader, loader->origin, error->line, error->column, error->what);
}

static enum st_map_verdict parse(struct loader *loader, const char *text, size_t length, const char *origin)
{
    struct st_map_error error = {0};

    loader->origin = origin;
    if (loader->say != NULL) {
        return st_map_check(loader->map, text, length, origin, tell_mistake, loader) == 0 ? ST_MAP_RIGHT
                                                                                          : ST_MAP_MISTAKEN;
    }
    if (st_map_parse(loader->map, text, length, origin, &error)) return ST_MAP_RIGHT;
    tell_mistake(loader, &error);
    return ST_MAP_MISTAKEN;
}

static enum st_map_verdict read_file(struct loader *loader, FILE *file, const char *path)
{
    char *text = malloc(MAX_FILE_BYTES + 1);
    enum st_map_verdict verdict = ST_MAP_UNREADABLE;
    size_t length;

    if (text == NULL) {
        tell(loader, "", 0, 0, "out of memory");
        return ST_MAP_UNREADABLE;
    }
    length = fread(text, 1, MAX_FILE_BYTES + 1, file);
    if (ferror(file)) {
        tell(loader, path, 0, 0, "cannot be read");
    } else if (length > MAX_FILE_BYTES) {
        tell(loader, path, 0, 0, "larger than 256 KiB, this is no map");
    } else {
        verdict = parse(loader, text, length, path);
    }
    free(text);
    return verdict;
}

static enum st_map_verdict load_file(struct loader *loader, const char *path)
{
    FILE *file = fopen(path, "rce");
    enum st_map_verdict verdict = ST_MAP_UNREADABLE;
    struct stat status;

    if (file == NULL) {
        tell(loader, path, 0, 0, strerror(errno));
        return ST_MAP_UNREADABLE;
    }
    if (fstat(fileno(file), &status) == 0 && S_ISDIR(status.st_mode)) {
        tell(loader, path, 0, 0, "is a folder; name a map file");
    } else {
        verdict = read_file(loader, file, path);
    }
    fclose(file);
    return verdict;
}

static enum st_map_verdict parse_preset(struct loader *loader, const struct st_preset *preset)
{
    enum st_map_verdict verdict = parse(loader, preset->text, strlen(preset->text), preset->name);

    for (const char *const *name = preset->with; verdict == ST_MAP_RIGHT && *name != NULL; name++)
        verdict = parse_preset(loader, st_preset_find(*name));
    return verdict;
}

static enum st_map_verdict load_preset(struct loader *loader, const char *name)
{
    char names[256] = "", what[512];

    const struct st_preset *preset = st_preset_find(name);
    if (preset != NULL) return parse_preset(loader, preset);
    if (name[0] == '\0') {
        tell(loader, "", 0, 0, "an empty name; name a preset, a file or rules with ->");
        return ST_MAP_NO_PRESET;
    }
    for (const struct st_preset *each = st_presets; each->name != NULL; each++) {
        strncat(names, " ", sizeof(names) - strlen(names) - 1);
        strncat(names, each->name, sizeof(names) - strlen(names) - 1);
    }
    snprintf(what, sizeof(what), "\"%.160s\" is no preset; presets:%s; a file has a / in its name or ends in .map",
             name, names);
    tell(loader, "", 0, 0, what);
    return ST_MAP_NO_PRESET;
}

static enum st_map_verdict load_part(struct loader *loader, const struct st_map_part *part)
{
    char *name = strndup(part->text, part->length);
    enum st_map_verdict verdict = ST_MAP_UNREADABLE;

    if (part->kind == ST_MAP_PART_RULES) {
        verdict = parse(loader, part->text, part->length, "inline");
    } else if (name == NULL) {
        tell(loader, "", 0, 0, "out of memory");
    } else {
        verdict = part->kind == ST_MAP_PART_PATH ? load_file(loader, name) : load_preset(loader, name);
    }
    free(name);
    return verdict;
}

static enum st_map_verdict load(struct loader *loader, const char *value)
{
    struct st_map *map = loader->map;
    enum st_map_verdict worst = ST_MAP_RIGHT;
    struct st_map_part part;

    memset(map, 0, sizeof(*map));
    map->rules = calloc(MAX_RULES, sizeof(*map->rules));
    map->arena = malloc(ARENA_BYTES);
    map->capacity = MAX_RULES;
    map->arena_bytes = ARENA_BYTES;
    if (map->rules == NULL || map->arena == NULL) {
        tell(loader, "", 0, 0, "out of memory");
        return ST_MAP_UNREADABLE;
    }
    while ((worst == ST_MAP_RIGHT || loader->say != NULL) && st_map_next_part(&value, &part)) {
        enum st_map_verdict verdict = load_part(loader, &part);
        if (verdict > worst) worst = verdict;
    }
    return worst;
}

bool st_map_load(const char *value, struct st_map *ret, char *why, size_t why_bytes)
{
    struct loader loader = {.map = ret, .why = why, .why_bytes = why_bytes};

    return load(&loader, value) == ST_MAP_RIGHT;
}

enum st_map_verdict st_map_load_all(const char *value, struct st_map *ret, st_map_say_fn say, void *context)
{
    struct loader loader = {.map = ret, .say = say, .context = context};

    return load(&loader, value);
}

void st_map_load_finish(struct st_map *map)
{
    free(map->rules);
    free(map->arena);
    memset(map, 0, sizeof(*map));
}

bool st_map_load_check(const char *value, char *why, size_t why_bytes)
{
    struct st_map map;
    bool ok = st_map_load(value, &map, why, why_bytes);

    st_map_load_finish(&map);
    return ok;
}
