/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a report says was collected and found: capabilities, other back-ends, settings that distort, the manifest,
 * rules that matched nothing. What all processes of a run say alike is told once.
 */
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "config/map.h"
#include "config/surroundings.h"

/* ---- capabilities ---- */

static const char *state_name(unsigned state)
{
    static const char *const names[] = {[ST_CAP_NOT_COLLECTED] = "not_collected",
                                        [ST_CAP_REQUESTED] = "requested",
                                        [ST_CAP_ACCEPTED] = "accepted",
                                        [ST_CAP_SEEN] = "seen",
                                        [ST_CAP_DEGRADED] = "degraded"};
    return state < sizeof(names) / sizeof(names[0]) ? names[state] : "not_collected";
}

static bool is_same_state(const struct st_model_capability *a, const struct st_model_capability *b)
{
    return a && b && a->state == b->state && strcmp(a->source, b->source) == 0 && strcmp(a->why, b->why) == 0;
}

/* Is this so in every process of the run? Then it is told once, by the first. */
static bool is_common(const struct st_model *model, const struct st_model_capability *capability)
{
    for (size_t i = 0; i < model->trace_count; i++) {
        if (!is_same_state(capability, st_model_capability(&model->traces[i], capability->kind))) {
            return false;
        }
    }
    return true;
}

static bool has_equal_reason(const struct st_report_capability *a, const struct st_report_capability *b)
{
    return strcmp(a->why, b->why) == 0 && (a->process == b->process ||
                                           (a->process && b->process && strcmp(a->process, b->process) == 0));
}

static bool is_lacking(const struct st_report_capability *told)
{
    return strcmp(told->state, "not_collected") == 0 || strcmp(told->state, "degraded") == 0;
}

/* "kernel, memcpy (no libcupti)": those that share a reason stand together. */
static bool list_not_collected(struct st_answer *answer)
{
    struct st_report *report = answer->report;
    struct st_name_list *list = &report->not_collected;
    list->items = st_arena_array(answer->arena, report->capability_count, sizeof(*list->items));
    for (size_t i = 0; list->items && i < report->capability_count; i++) {
        const struct st_report_capability *told = &report->capabilities[i];
        const char *kinds = told->kind;
        bool is_first = is_lacking(told);
        for (size_t k = 0; is_first && k < i; k++) {
            is_first = !told->why[0] || !is_lacking(&report->capabilities[k]) ||
                       !has_equal_reason(&report->capabilities[k], told);
        }
        if (!is_first) {
            continue;
        }
        for (size_t k = i + 1; kinds && k < report->capability_count; k++) {
            const struct st_report_capability *other = &report->capabilities[k];
            if (told->why[0] && is_lacking(other) && has_equal_reason(other, told)) {
                kinds = st_arena_format(answer->arena, "%s, %s", kinds, other->kind);
            }
        }
        const char *of = told->process ? "process " : "", *process = told->process ? told->process : "";
        bool has_reason = told->why[0] || told->process;
        list->items[list->count++] =
            !kinds || !has_reason
                ? kinds
                : st_arena_format(answer->arena, "%s (%s%s%s%s)", kinds, told->why,
                                  told->why[0] && told->process ? ", " : "", of, process);
    }
    return list->items != NULL;
}

static bool fill_capabilities(struct st_answer *answer)
{
    const struct st_model *model = answer->model;
    struct st_report *report = answer->report;
    size_t total = 0;
    for (size_t i = 0; i < model->trace_count; i++) {
        total += model->traces[i].capability_count;
    }
    report->capabilities = st_arena_array(answer->arena, total, sizeof(*report->capabilities));
    if (!report->capabilities) {
        return false;
    }
    for (size_t i = 0; i < model->trace_count; i++) {
        for (size_t k = 0; k < model->traces[i].capability_count; k++) {
            const struct st_model_capability *capability = &model->traces[i].capabilities[k];
            bool common = is_common(model, capability);
            if (common && i > 0) {
                continue;
            }
            struct st_report_capability *told = &report->capabilities[report->capability_count++];
            *told = (struct st_report_capability){capability->kind, state_name(capability->state), capability->source,
                                                  capability->why, common ? NULL : model->traces[i].process};
        }
    }
    if (!list_not_collected(answer)) {
        return false;
    }
    report->device_time = st_model_has_device_time(model) ? "measured" : "not_collected";
    if (report->cuda_work_seen && model->op_count == 0) {
        for (size_t i = 0; i < model->trace_count; i++) {
            report->device_time_why = model->traces[i].lacks_records     ? "no device record in the trace"
                                      : model->traces[i].has_device_time ? "no device record in the trace yet"
                                                                         : report->device_time_why;
        }
    }
    for (size_t i = 0; i < model->trace_count && !report->device_time_source; i++) {
        const char *version = st_model_key(&model->traces[i], ST_KEY_FOUND, "cupti.version");
        if (model->traces[i].has_device_time && version) {
            report->device_time_source = st_arena_format(answer->arena, "CUPTI %s", version);
        }
    }
    return true;
}

/* ---- surroundings ---- */

static bool is_listed(const struct st_name_list *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i], text) == 0) {
            return true;
        }
    }
    return false;
}

static bool fill_backends(struct st_answer *answer)
{
    struct st_report *report = answer->report;
    struct st_name_list *list = &report->other_backends;
    list->items = st_arena_array(answer->arena, report->capability_count, sizeof(*list->items));
    for (size_t i = 0; list->items && i < report->capability_count; i++) {
        const char *kind = report->capabilities[i].kind;
        if (st_is_backend(kind) && !is_listed(list, kind)) {
            list->items[list->count++] = kind;
        }
    }
    return list->items != NULL;
}

/* "CUDA_LAUNCH_BLOCKING=1 (every launch waits …)": of all processes, each once. */
static bool fill_distortions(struct st_answer *answer)
{
    static const char PREFIX[] = "env."; /* so the library writes variables of the allow-list */
    const struct st_model *model = answer->model;
    struct st_name_list *list = &answer->report->distortions;
    size_t total = 0;
    for (size_t i = 0; i < model->trace_count; i++) {
        total += model->traces[i].key_count;
    }
    list->items = st_arena_array(answer->arena, total, sizeof(*list->items));
    bool good = list->items != NULL;
    for (size_t i = 0; good && i < model->trace_count; i++) {
        for (size_t k = 0; good && k < model->traces[i].key_count; k++) {
            const struct st_model_key *key = &model->traces[i].keys[k];
            bool is_variable = key->group == ST_KEY_FOUND && strncmp(key->key, PREFIX, strlen(PREFIX)) == 0;
            const char *name = key->key + strlen(PREFIX);
            const char *effect = is_variable ? st_distortion(name, key->value) : NULL;
            if (!effect) {
                continue;
            }
            const char *text = st_arena_format(answer->arena, "%s=%s (%s)", name, key->value, effect);
            good = text != NULL;
            if (good && !is_listed(list, text)) {
                list->items[list->count++] = text;
            }
        }
    }
    return good;
}

/* ---- manifest ---- */

/* Does an earlier trace say the same of this key? */
static bool is_told(const struct st_model *model, size_t trace, const struct st_model_key *key)
{
    for (size_t i = 0; i < trace; i++) {
        const char *value = st_model_key(&model->traces[i], key->group, key->key);
        if (value && strcmp(value, key->value) == 0) {
            return true;
        }
    }
    return false;
}

/* The value of a key in one trace, the latest, goes beside what other processes said: "python3 | generate". */
static bool add_fact(struct st_answer *answer, struct st_text_list *list, size_t trace, const struct st_model_key *key)
{
    const struct st_model *model = answer->model;
    size_t at = 0;
    if (st_model_key(&model->traces[trace], key->group, key->key) != key->value) {
        return true; /* said again later */
    }
    while (at < list->count && strcmp(list->items[at].key, key->key) != 0) {
        at++;
    }
    if (at == list->count) {
        list->items[list->count++] = (struct st_report_text){key->key, key->value};
    } else if (!is_told(model, trace, key)) {
        list->items[at].value = st_arena_format(answer->arena, "%s | %s", list->items[at].value, key->value);
    }
    return list->items[at].value != NULL;
}

/* What a comparison needs to know (C6), and the found fact that also tells it. */
static const struct {
    const char *word, *found;
} NEEDED[] = {
    {"code", NULL},
    {"weights", NULL},
    {"prompt_id", NULL},
    {"size", NULL},
    {"batch", NULL},
    {"steps", NULL},
    {"scheduler", NULL},
    {"precision", NULL},
    {"seed", NULL},
    {"compile", NULL},
    {"cache", NULL},
    {"offload", NULL},
    {"tf32", "env.NVIDIA_TF32_OVERRIDE"},
    {"cudnn_benchmark", NULL},
    {"allocator", "env.PYTORCH_CUDA_ALLOC_CONF"},
    {"driver", "driver"},
    {"runtime", "runtime"},
    {"cupti", "cupti.version"},
};

static bool has_fact(const struct st_text_list *list, const char *key)
{
    for (size_t i = 0; key && i < list->count; i++) {
        if (strcmp(list->items[i].key, key) == 0) {
            return true;
        }
    }
    return false;
}

static bool list_not_recorded(struct st_answer *answer)
{
    struct st_report *report = answer->report;
    size_t count = sizeof(NEEDED) / sizeof(NEEDED[0]);
    report->not_recorded.items = st_arena_array(answer->arena, count, sizeof(*report->not_recorded.items));
    for (size_t i = 0; report->not_recorded.items && i < count; i++) {
        if (!has_fact(&report->declared, NEEDED[i].word) && !has_fact(&report->found, NEEDED[i].found)) {
            report->not_recorded.items[report->not_recorded.count++] = NEEDED[i].word;
        }
    }
    return report->not_recorded.items != NULL;
}

static bool fill_manifest(struct st_answer *answer)
{
    const struct st_model *model = answer->model;
    struct st_report *report = answer->report;
    size_t total = 0;
    for (size_t i = 0; i < model->trace_count; i++) {
        total += model->traces[i].key_count;
    }
    report->declared.items = st_arena_array(answer->arena, total, sizeof(*report->declared.items));
    report->found.items = st_arena_array(answer->arena, total, sizeof(*report->found.items));
    bool good = report->declared.items && report->found.items;
    for (size_t i = 0; good && i < model->trace_count; i++) {
        for (size_t k = 0; good && k < model->traces[i].key_count; k++) {
            const struct st_model_key *key = &model->traces[i].keys[k];
            if (key->group == ST_KEY_DECLARED || key->group == ST_KEY_FOUND) {
                good = add_fact(answer, key->group == ST_KEY_FOUND ? &report->found : &report->declared, i, key);
            } else if (key->group == ST_KEY_NOTE) {
                good = st_answer_note(answer, st_arena_format(answer->arena, "%s: %s", key->key, key->value));
            }
        }
    }
    return good && list_not_recorded(answer);
}

/* ---- rules ---- */

enum { MOST_RULES = 1 << 16 }; /* numbers above are not believed */

/* Which rules of a trace were met, into met[0 … rule_count). A span that a rule opened proves that it matched, whatever
 * its count says. opened: MOST_RULES of them, all false before and after. */
static void find_met(const struct st_model *model, const struct st_model_trace *trace, bool *opened, bool *met)
{
    for (size_t i = trace->span_first; i < trace->span_end; i++) {
        if (model->spans[i].rule < MOST_RULES) {
            opened[model->spans[i].rule] = true;
        }
    }
    for (size_t i = 0; i < trace->rule_count; i++) {
        const struct st_model_rule *rule = &trace->rules[i];
        bool is_kernel = rule->source == ST_MAP_KERNEL;
        met[i] = rule->matched > 0 || (is_kernel && !trace->has_device_time) ||
                 (!is_kernel && rule->rule < MOST_RULES && opened[rule->rule]);
    }
    memset(opened, 0, MOST_RULES * sizeof(*opened));
}

struct rule {
    const char *line;
    bool is_met, is_open; /* is_open: its count is not written yet, as the trace was not closed */
};

/* A rule that one process met is met: a parent that only starts workers meets none. */
static bool list_unmatched(struct st_answer *answer, const struct rule *rules, size_t count)
{
    struct st_name_list *list = &answer->report->unmatched_rules;
    bool is_silent = false;
    for (size_t i = 0; i < count; i++) {
        bool is_met = rules[i].is_met, is_open = false;
        if (is_met || is_listed(list, rules[i].line)) {
            continue;
        }
        for (size_t k = 0; !is_met && k < count; k++) {
            bool is_same = strcmp(rules[k].line, rules[i].line) == 0;
            is_met = is_same && rules[k].is_met;
            is_open = is_open || (is_same && rules[k].is_open);
        }
        if (!is_met && is_open) {
            is_silent = true;
        } else if (!is_met) {
            list->items[list->count++] = rules[i].line;
        }
    }
    return !is_silent || st_answer_note(answer, "unmatched_rules: not told, as the trace was not closed");
}

static bool fill_unmatched_rules(struct st_answer *answer)
{
    const struct st_model *model = answer->model;
    struct st_name_list *list = &answer->report->unmatched_rules;
    size_t total = 0, count = 0;
    for (size_t i = 0; i < model->trace_count; i++) {
        total += model->traces[i].rule_count;
    }
    list->items = st_arena_array(answer->arena, total, sizeof(*list->items));
    bool *opened = calloc(MOST_RULES, sizeof(*opened)), *met = calloc(total + 1, sizeof(*met));
    struct rule *rules = calloc(total + 1, sizeof(*rules));
    bool good = list->items && opened && met && rules;
    for (size_t i = 0; good && i < model->trace_count; i++) {
        const struct st_model_trace *trace = &model->traces[i];
        find_met(model, trace, opened, met);
        for (size_t k = 0; k < trace->rule_count; k++) {
            rules[count++] = (struct rule){trace->rules[k].line, met[k], !trace->summary.has_end};
        }
    }
    good = good && list_unmatched(answer, rules, count);
    free(opened);
    free(met);
    free(rules);
    return good;
}

bool st_answer_collected(struct st_answer *answer)
{
    return fill_capabilities(answer) && fill_backends(answer) && fill_distortions(answer) && fill_manifest(answer) &&
           fill_unmatched_rules(answer);
}
