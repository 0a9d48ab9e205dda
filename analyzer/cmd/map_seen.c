/* SPDX-License-Identifier: Apache-2.0 */
/* Names from SEEN rows, from device records, and from rules that name one function; see map_seen.h. */
#include "analyzer/cmd/map_seen.h"

#include <stdlib.h>
#include <string.h>

enum { SEEN_MOST_BYTES = 119 }; /* preload/stages/seen.h: a name of this length was cut, or may have been */

struct collecting {
    struct st_map_names *names;
    size_t capacity;
    bool failed;
};

static void add(struct collecting *at, struct st_map_name name)
{
    struct st_map_names *names = at->names;

    if (name.text[0] == '\0') return; /* no rule can name it alone */
    if (names->count == at->capacity) {
        size_t capacity = at->capacity * 2 + 256;
        struct st_map_name *items = realloc(names->items, capacity * sizeof(*items));

        if (items == NULL) {
            at->failed = true;
            return;
        }
        names->items = items;
        at->capacity = capacity;
    }
    names->items[names->count++] = name;
}

static int by_source_and_text(const void *left, const void *right)
{
    const struct st_map_name *a = left, *b = right;

    return a->source != b->source ? (int)a->source - (int)b->source : strcmp(a->text, b->text);
}

/* One entry for each name, with the sums. */
static void unite(struct st_map_names *names)
{
    size_t kept = 0;

    if (names->count == 0) return;
    qsort(names->items, names->count, sizeof(*names->items), by_source_and_text);
    for (size_t i = 1; i < names->count; i++) {
        struct st_map_name *last = &names->items[kept], *next = &names->items[i];

        if (by_source_and_text(last, next) != 0) {
            names->items[++kept] = *next;
            continue;
        }
        last->count += next->count;
        last->device_ns += next->device_ns;
        if (last->rule == NULL) last->rule = next->rule;
    }
    names->count = kept + 1;
}

bool st_map_rule_entries(const struct st_model *model, uint32_t trace, const struct st_model_rule *rule,
                         int64_t *ret_count)
{
    const struct st_model_trace *of = &model->traces[trace];

    *ret_count = rule->matched;
    for (uint32_t i = of->span_first; rule->matched == 0 && i < of->span_end; i++) {
        *ret_count += model->spans[i].rule == rule->rule;
    }
    return *ret_count > 0 || of->summary.has_end;
}

/* The first rule of the trace's own map for a name. */
static const struct st_model_rule *rule_for(const struct st_model_trace *trace, uint8_t source, const char *text)
{
    for (size_t i = 0; i < trace->rule_count; i++) {
        if (trace->rules[i].source == source && st_map_glob(trace->rules[i].pattern, text, NULL)) {
            return &trace->rules[i];
        }
    }
    return NULL;
}

static bool is_seen(const struct st_model_trace *trace, uint8_t source, const char *text)
{
    for (size_t i = 0; i < trace->seen_count; i++) {
        if (trace->seen[i].source == source && strcmp(trace->seen[i].name, text) == 0) return true;
    }
    return false;
}

/* What SEEN rows tell, and functions that a rule without wildcards was met for. */
static void add_of_trace(struct collecting *at, const struct st_model *model, uint32_t number)
{
    const struct st_model_trace *trace = &model->traces[number];

    for (size_t i = 0; i < trace->seen_count; i++) {
        const struct st_model_seen *seen = &trace->seen[i];

        add(at, (struct st_map_name){.source = seen->source,
                                     .text = seen->name,
                                     .count = seen->count,
                                     .is_cut = strlen(seen->name) >= SEEN_MOST_BYTES,
                                     .rule = rule_for(trace, seen->source, seen->name)});
    }
    for (size_t i = 0; i < trace->rule_count; i++) {
        const struct st_model_rule *rule = &trace->rules[i];
        int64_t count;

        if (rule->source == ST_MAP_KERNEL || strpbrk(rule->pattern, "*?") != NULL) continue;
        if (!st_map_rule_entries(model, number, rule, &count) || count == 0) continue;
        if (is_seen(trace, rule->source, rule->pattern)) continue;
        add(at, (struct st_map_name){.source = rule->source, .text = rule->pattern, .count = count, .rule = rule});
    }
}

/* Device records hold each launch: sum up by name. */
static void add_kernels(struct collecting *at, const struct st_model *model, uint32_t number)
{
    struct st_map_name *kernels = calloc(model->name_count + 1, sizeof(*kernels));

    at->failed = at->failed || kernels == NULL;
    for (size_t i = 0; kernels != NULL && i < model->op_count; i++) {
        const struct st_op *op = &model->ops[i];

        if (op->kind != ST_OP_KERNEL || op->trace != number || op->name >= model->name_count) continue;
        kernels[op->name].count++;
        kernels[op->name].device_ns += op->end_ns - op->start_ns;
    }
    for (size_t i = 0; kernels != NULL && i < model->name_count; i++) {
        if (kernels[i].count == 0 || model->names[i] == NULL) continue;
        kernels[i].source = ST_MAP_KERNEL;
        kernels[i].text = model->names[i];
        kernels[i].rule = rule_for(&model->traces[number], ST_MAP_KERNEL, model->names[i]);
        add(at, kernels[i]);
    }
    free(kernels);
}

bool st_map_names_collect(const struct st_model *model, uint32_t trace, struct st_map_names *ret)
{
    struct collecting at = {.names = ret};

    *ret = (struct st_map_names){0};
    for (uint32_t i = 0; i < model->trace_count; i++) {
        if (trace != ST_NONE && trace != i) continue;
        add_of_trace(&at, model, i);
        add_kernels(&at, model, i);
    }
    if (!at.failed) unite(ret);
    return !at.failed;
}

void st_map_names_finish(struct st_map_names *names)
{
    free(names->items);
    *names = (struct st_map_names){0};
}
