/* SPDX-License-Identifier: Apache-2.0 */
/* Presets that the modules of a Python program tell; see recognise.h. */
#include "recognise.h"

#include <stdio.h>
#include <string.h>

#include "config/preset.h"

enum { MAX_MODULE_BYTES = 128 };

_Atomic uint8_t st_recognise_known[ST_RECOGNISE_MAX] = {ST_RECOGNISED};

static const struct st_preset *presets[ST_RECOGNISE_MAX];
static _Atomic uint32_t preset_end; /* owners from 1 to here; 0 = none were taken in */
static _Atomic bool is_claimed[ST_RECOGNISE_MAX]; /* a thread has recognised it and writes down by what */
static char modules[ST_RECOGNISE_MAX][MAX_MODULE_BYTES]; /* constant once ST_RECOGNISED */

void st_recognise_add_rules(struct st_map *map, uint8_t *owners, uint32_t owner_count)
{
    uint32_t end = 1;
    for (const struct st_preset *preset = st_presets; preset->name && end < ST_RECOGNISE_MAX; preset++) {
        struct st_map_error error;
        uint32_t rule = map->count;
        if (!*preset->modules || !st_map_parse(map, preset->text, strlen(preset->text), preset->name, &error)) {
            continue; /* the presets are parsed by a test */
        }
        presets[end] = preset;
        for (; rule < map->count && rule < owner_count; rule++) {
            owners[rule] = (uint8_t)end;
        }
        end++;
    }
    atomic_store_explicit(&preset_end, end, memory_order_release);
}

static void recognise(uint32_t owner, uint32_t end, const char *module)
{
    if (atomic_exchange(&is_claimed[owner], true)) {
        return;
    }
    strcpy(modules[owner], module);
    for (uint32_t i = 1; i < end; i++) {
        if (st_preset_lists(presets[owner]->over, presets[i]->name)) {
            atomic_fetch_or(&st_recognise_known[i], ST_OVERRULED);
        }
    }
    atomic_fetch_or(&st_recognise_known[owner], ST_RECOGNISED);
}

void st_recognise_see(const char *text)
{
    char module[MAX_MODULE_BYTES];
    size_t length = strcspn(text, ":");
    uint32_t end = atomic_load_explicit(&preset_end, memory_order_acquire);
    if (end == 0 || length >= sizeof(module)) {
        return;
    }
    memcpy(module, text, length);
    module[length] = '\0';
    for (uint32_t i = 1; i < end; i++) {
        bool is_over = atomic_load_explicit(&is_claimed[i], memory_order_relaxed);
        if (!is_over && st_preset_lists(presets[i]->modules, module)) {
            recognise(i, end, module);
        }
    }
}

uint32_t st_recognise_count(void)
{
    uint32_t end = atomic_load_explicit(&preset_end, memory_order_acquire), count = 0;
    for (uint32_t i = 1; i < end; i++) {
        count += (atomic_load(&st_recognise_known[i]) & ST_RECOGNISED) != 0;
    }
    return count;
}

static void append(char *to, size_t size, const char *separator, const char *text)
{
    size_t used = strlen(to);
    snprintf(to + used, size - used, "%s%s", used > 0 ? separator : "", text);
}

void st_recognise_tell(struct st_recognised *ret)
{
    uint32_t end = atomic_load_explicit(&preset_end, memory_order_acquire);
    *ret = (struct st_recognised){0};
    for (uint32_t i = 1; i < end; i++) {
        char why[MAX_MODULE_BYTES + 32];
        if (atomic_load(&st_recognise_known[i]) != ST_RECOGNISED) {
            continue;
        }
        snprintf(why, sizeof(why), "module %s was imported", modules[i]);
        append(ret->names, sizeof(ret->names), "+", presets[i]->name);
        append(ret->why, sizeof(ret->why), ", ", why);
        if (presets[i]->checked[0] != '\0') {
            append(ret->checked, sizeof(ret->checked), "; ", presets[i]->checked);
        }
    }
}
