/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who says which stage a thread is in: the rules of the map in force, matched against the names of native
 * functions (preload/watch calls us) and of NVTX ranges (nvtx.c). A matched entry opens a span of the
 * recorder, its exit closes it. Rules are numbered as in the map (RULE.rule).
 */
#ifndef ST_STAGES_STAGES_H
#define ST_STAGES_STAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "config/map.h"
#include "preload/trace/table.h"

struct st_thread;

#define ST_STAGES_MAX_RULES 2048 /* later ones are never matched */

/* Take the map (kept; ours from now on) and give preload/watch the symbol matcher if there is a symbol rule, the answer
 * to NVTX if there is an nvtx rule. `is_automatic`: none was set, and presets may be recognised. Constructor, before
 * st_watch_start(). */
void st_stages_init(struct st_map *map, bool is_automatic);

/* Should Python be looked for: is there a rule for it, or may a preset for it be recognised? Any thread. */
bool st_stages_wants_python(void);

/* The process runs Python: if no map was set, the rules of all Python presets are taken in; each counts when its
 * preset is recognised (recognise.h). Is there any Python rule now? Plain C, no allocation; one thread at a time. */
bool st_stages_add_python(void);

/* Constructor, after st_watch_start(). `on_request` is called each time before a request opens (plain C). `tee`: what
 * ST_TEE_VARIABLE says, or NULL. */
void st_stages_start(void (*on_request)(void), const char *tee);


/* The program ends: the last that can be seen of it. Destructor. */
void st_stages_end(void);

/* In the child of fork(): nothing was printed yet. */
void st_stages_fork_child(void);
/* ---- hooks of preload/watch (st_watch_hooks), also used by the other sources ---- */

/*
 * A function or range that `rule` matched is entered; `name` is the row name that the match gave. Returns
 * a token for st_stage_leave(), or 0 (ST_WATCH_BYPASS) when there is nothing to be closed. General registers
 * only, no libc, no allocation.
 */
uint64_t st_stage_enter(uint16_t rule, uint32_t name);
void st_stage_leave(uint64_t token, int how); /* how: enum st_span_end */

/* An instant that `rule` matched (a mark): only `begin …`, `end …` and `step-end` mean something for it. */
void st_stage_instant(uint16_t rule, uint32_t name);

/* The same without counting it, on a thread that is claimed: what `rule` makes of an instant. General registers only. */
void st_stage_mark(struct st_thread *thread, uint16_t rule, uint32_t name);

/* ---- for the sources ---- */

struct st_stage_match {
    uint16_t rule;
    uint32_t name; /* row name, 0 where the role has none */
};

/* The first rule of `source` that matches `text`; false if none does. Whether the rule counts yet is looked at when it
 * is entered, so that an answer may be kept. `thread` (may be NULL) announces a new row name. Plain C, no allocation;
 * any thread. */
bool st_stages_match(enum st_map_source source, struct st_thread *thread, const char *text,
                     struct st_stage_match *ret_match);

/* The same for a text that may go on: a rule that makes its name of the text does not match yet. */
bool st_stages_match_part(enum st_map_source source, const char *text, struct st_stage_match *ret_match);

/* What the rule means, for a line as for any other source: a line never has an extent, so NAME is `begin NAME`, and so
 * on. */
enum st_map_role st_stages_role(uint16_t rule);

/* The rule matched once more. */
void st_stages_count(uint16_t rule);

/* Is there a rule of this source? */
bool st_stages_uses(enum st_map_source source);

/* The n-th rule of the map in force, NULL at the end; there may be more later (st_stages_add_python). */
const struct st_map_rule *st_stages_rule(uint32_t n);

/* ---- for the facts in the trace; any thread ---- */

/* Does the rule count: not one of a preset that was not recognised? */
bool st_stages_rule_counts(uint32_t rule);

/* How often rule `rule` was entered (kernel rules: 0, the reader counts). */
uint64_t st_stages_matched(uint32_t rule);

/* Append CAPABILITY rows: symbol, nvtx, and the others that a rule asks for. */
void st_stages_capabilities(struct st_rows *rows);

#endif
