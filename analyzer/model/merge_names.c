/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One number in all traces for what has one name: rows, kernels, calls; and one for each device.
 *
 *   process 1    GPU0 = uuid A   GPU1 = uuid B            A is 0, B is 1
 *   process 2    GPU0 = uuid B   GPU1 = uuid C            B is 1, C is 2: its own 1 is taken
 *
 * A device keeps the ordinal that it has in the first trace that knows it, where no other has it. One without uuid is
 * its process's own: whether it is another's, too, is not known.
 */
#include <stdlib.h>
#include <string.h>

#include "merge.h"
#include "vec.h"

enum { MOST_DEVICES = INT16_MAX + 1 }; /* st_op.peer_device */

/* ---- names ---- */

bool st_merge_rows(struct st_model *const *models, size_t count, struct st_merge_map *maps, struct st_model *model)
{
    struct st_rows_table table;
    bool good = st_rows_table_init(&table, model->arena);
    for (size_t m = 0; good && m < count; m++) {
        maps[m].rows = malloc((models[m]->row_count + 1) * sizeof(*maps[m].rows));
        good = maps[m].rows != NULL;
        for (size_t i = 0; good && i < models[m]->row_count; i++) {
            maps[m].rows[i] = st_rows_table_intern(&table, models[m]->rows[i].name);
            good = maps[m].rows[i] != ST_NONE;
        }
    }
    model->rows = table.rows;
    model->row_count = table.count;
    st_rows_table_finish(&table);
    return good;
}

struct named { /* something of one trace */
    const char *name;
    uint32_t kind; /* equal names of different kinds are different things */
    uint32_t model, index;
};

static bool is_same(const struct named *a, const struct named *b)
{
    return a->kind == b->kind && strcmp(a->name, b->name) == 0;
}

static int by_name(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    if (order == 0) {
        order = (a->kind > b->kind) - (a->kind < b->kind);
    }
    if (order == 0) {
        order = (a->model > b->model) - (a->model < b->model);
    }
    return order ? order : (a->index > b->index) - (a->index < b->index);
}

bool st_merge_names(struct st_model *const *models, size_t count, struct st_merge_map *maps, struct st_model *model)
{
    size_t total = 0, at = 0;
    for (size_t m = 0; m < count; m++) {
        total += models[m]->name_count;
        maps[m].names = malloc((models[m]->name_count + 1) * sizeof(*maps[m].names));
        if (!maps[m].names) {
            return false;
        }
    }
    struct named *all = malloc((total + 1) * sizeof(*all));
    model->names = malloc((total + 1) * sizeof(*model->names));
    for (size_t m = 0; all && m < count; m++) {
        for (size_t i = 0; i < models[m]->name_count; i++) {
            all[at++] = (struct named){models[m]->names[i], 0, (uint32_t)m, (uint32_t)i};
        }
    }
    if (all) {
        st_vec_sort(all, total, sizeof(*all), by_name);
    }
    for (size_t i = 0; all && model->names && i < total; i++) {
        if (i == 0 || !is_same(&all[i], &all[i - 1])) {
            model->names[model->name_count++] = all[i].name;
        }
        maps[all[i].model].names[all[i].index] = (uint32_t)model->name_count - 1;
    }
    bool good = all && model->names;
    free(all);
    return good;
}

static uint32_t kind_of(const struct st_model_calldef *def)
{
    return (uint32_t)def->layer << 24 | (uint32_t)def->class << 16 | (uint32_t)def->does << 8 | def->blocks;
}

bool st_merge_calls(struct st_model *const *models, size_t count, struct st_merge_map *maps, struct st_model *model)
{
    size_t total = 0, at = 0;
    for (size_t m = 0; m < count; m++) {
        total += models[m]->calldef_count;
        maps[m].calls = malloc((models[m]->calldef_count + 1) * sizeof(*maps[m].calls));
        if (!maps[m].calls) {
            return false;
        }
    }
    struct named *all = malloc((total + 1) * sizeof(*all));
    model->calldefs = malloc((total + 1) * sizeof(*model->calldefs));
    for (size_t m = 0; all && m < count; m++) {
        for (size_t i = 0; i < models[m]->calldef_count; i++) {
            const struct st_model_calldef *def = &models[m]->calldefs[i];
            all[at++] = (struct named){def->name ? def->name : "", kind_of(def), (uint32_t)m, (uint32_t)i};
        }
    }
    if (all) {
        st_vec_sort(all, total, sizeof(*all), by_name);
    }
    for (size_t i = 0; all && model->calldefs && i < total; i++) {
        if (i == 0 || !is_same(&all[i], &all[i - 1])) {
            model->calldefs[model->calldef_count] = models[all[i].model]->calldefs[all[i].index];
            model->calldefs[model->calldef_count++].name = all[i].name;
        }
        maps[all[i].model].calls[all[i].index] = (uint32_t)model->calldef_count - 1;
    }
    bool good = all && model->calldefs;
    free(all);
    return good;
}

/* ---- devices ---- */

struct device {
    const char *uuid;  /* "" = not recorded */
    size_t last_model; /* that has it */
};
struct device_table {
    struct device *devices; /* by number; uuid NULL = free */
    uint32_t *order;        /* numbers in use */
    size_t count;
    int32_t first_free; /* all below are taken */
};

/* The number that another trace's device of this uuid has, or -1. */
static int32_t number_of(const struct device_table *table, const char *uuid, size_t model)
{
    for (size_t i = 0; uuid[0] && i < table->count; i++) {
        const struct device *device = &table->devices[table->order[i]];
        if (device->last_model != model && strcmp(device->uuid, uuid) == 0) {
            return (int32_t)table->order[i];
        }
    }
    return -1;
}

/* A number for one more device: `ordinal`, if that is free. When there is none left, `ordinal` all the same. */
static int32_t new_number(struct device_table *table, int32_t ordinal, const char *uuid, size_t model)
{
    int32_t number = ordinal;
    if (table->devices[number].uuid) {
        while (table->first_free < MOST_DEVICES && table->devices[table->first_free].uuid) {
            table->first_free++;
        }
        if (table->first_free == MOST_DEVICES) {
            return ordinal;
        }
        number = table->first_free;
    }
    table->devices[number] = (struct device){uuid, model};
    table->order[table->count++] = (uint32_t)number;
    return number;
}

static void number_devices(struct device_table *table, struct st_model *source, size_t model, int32_t *numbers)
{
    struct st_model_trace *trace = source->traces;
    for (size_t i = 0; i < trace->device_count; i++) {
        struct st_model_device *device = &trace->devices[i];
        if (device->ordinal < 0 || device->ordinal >= MOST_DEVICES) {
            device->device = -1; /* no operation can name it */
            continue;
        }
        int32_t number = number_of(table, device->uuid, model);
        if (number < 0) {
            number = new_number(table, (int32_t)device->ordinal, device->uuid, model);
        }
        table->devices[number].last_model = model;
        device->device = numbers[device->ordinal] = number;
    }
    for (size_t i = 0; i < source->op_count; i++) { /* devices without a row of their own */
        const int32_t used[] = {source->ops[i].device, source->ops[i].peer_device};
        for (int k = 0; k < 2; k++) {
            if (used[k] >= 0 && numbers[used[k]] < 0) {
                numbers[used[k]] = new_number(table, used[k], "", model);
            }
        }
    }
}

/* One more than the largest ordinal that the trace names. */
static size_t ordinal_count(const struct st_model *source)
{
    int64_t largest = 0;
    for (size_t i = 0; i < source->traces->device_count; i++) {
        int64_t ordinal = source->traces->devices[i].ordinal;
        largest = ordinal < MOST_DEVICES && ordinal > largest ? ordinal : largest;
    }
    for (size_t i = 0; i < source->op_count; i++) {
        largest = source->ops[i].device > largest ? source->ops[i].device : largest;
        largest = source->ops[i].peer_device > largest ? source->ops[i].peer_device : largest;
    }
    return (size_t)largest + 1;
}

bool st_merge_devices(struct st_model *const *models, size_t count, struct st_merge_map *maps)
{
    struct device_table table = {.devices = calloc(MOST_DEVICES, sizeof(*table.devices)),
                                 .order = malloc(MOST_DEVICES * sizeof(*table.order))};
    bool good = table.devices && table.order;
    for (size_t m = 0; good && m < count; m++) {
        size_t ordinals = ordinal_count(models[m]);
        maps[m].devices = malloc(ordinals * sizeof(*maps[m].devices));
        good = maps[m].devices != NULL;
        if (good) {
            memset(maps[m].devices, 0xff, ordinals * sizeof(*maps[m].devices));
            number_devices(&table, models[m], m, maps[m].devices);
        }
    }
    free(table.devices);
    free(table.order);
    return good;
}
