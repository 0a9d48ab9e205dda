/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The preloaded side of the watch tests: preload/watch, calls and record with hooks that only count. At
 * exit it writes what was seen to the file named by WATCH_OUT. WATCH_MATCH: functions whose names contain
 * this text are stages. WATCH_CLOBBER: every stage entry runs plain C that destroys all vector registers.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload/calls/calls.h"
#include "preload/record/record.h"
#include "preload/watch/watch.h"
#include "spy_hooks.h"

static const char *out_path, *match_text;
static bool knows_main;
static int first_calls, inits, mains;
static bool environ_seen;

static void on_first_call(void)
{
    first_calls++;
}

static void on_init(void)
{
    inits++;
}

static void on_main(void)
{
    mains++;
    environ_seen = getenv("WATCH_OUT") != NULL;
}

static bool match(const char *symbol, uint16_t *ret_rule, uint32_t *ret_symbol)
{
    static uint32_t symbols;
    if (!strstr(symbol, match_text)) {
        return false;
    }
    *ret_rule = 7;
    *ret_symbol = symbols++;
    return true;
}

static void in_child(void)
{
    st_watch_fork_child();
    st_thread_fork_child();
}

static void start(int argc, char **argv, char **envp)
{
    for (; envp && *envp; envp++) {
        if (strncmp(*envp, "WATCH_OUT=", 10) == 0) {
            out_path = *envp + 10;
        } else if (strncmp(*envp, "WATCH_MATCH=", 12) == 0) {
            match_text = *envp + 12;
        } else if (strncmp(*envp, "WATCH_CLOBBER=", 14) == 0) {
            spy_clobber = true;
        }
    }
    st_clock_init();
    st_watch_set_hooks(&(struct st_watch_hooks){.on_first_call = on_first_call, .on_init = on_init,
                                                .stage_enter = spy_stage_enter, .stage_leave = spy_stage_leave});
    if (match_text) {
        st_watch_set_matcher(match);
    }
    pthread_atfork(NULL, NULL, in_child);
    st_watch_resolve();
    st_watch_start(argv);
    knows_main = st_watch_at_main(on_main);
}

__attribute__((section(".init_array"), used)) static void (*const constructor)(int, char **, char **) = start;

static void write_calls(FILE *out)
{
    static int seen[1024], inner[1024], has_inner[1024];
    for (struct st_thread *thread = st_threads; thread; thread = thread->next) {
        for (uint64_t n = 0; n < thread->head; n++) {
            const struct st_slot *slot = &thread->slots[n & thread->slot_mask];
            if (slot->kind == ST_SLOT_NAME) {
                fprintf(out, "name %d %llx %.*s\n", slot->code, (unsigned long long)slot->end, (int)slot->span,
                        (const char *)(slot + 1));
                n += (slot->span + 63) / 64;
            } else if (slot->kind == ST_SLOT_CALL) {
                seen[slot->code]++;
                inner[slot->code] += (slot->flags & ST_CALL_INNER) != 0;
                has_inner[slot->code] += (slot->flags & ST_CALL_HAS_INNER) != 0;
                fprintf(out, "call %s result %d direction %u a %llx b %llx c %llx d %llx\n", st_calls[slot->code].name,
                        slot->result, slot->flags >> ST_CALL_DIRECTION_SHIFT, (unsigned long long)slot->a,
                        (unsigned long long)slot->b, (unsigned long long)slot->c,
                        st_calls[slot->code].class_id == ST_CLASS_SYNC ? 0ull : (unsigned long long)slot->d);
            }
        }
        fprintf(out, "thread nested %llu open %u lost %llu\n", (unsigned long long)atomic_load(&thread->ring->nested),
                thread->frame_count, (unsigned long long)atomic_load(&thread->ring->lost));
    }
    for (int i = 0; i < st_call_count; i++) {
        if (seen[i]) {
            fprintf(out, "seen %s %d inner %d has_inner %d\n", st_calls[i].name, seen[i], inner[i], has_inner[i]);
        }
    }
}

__attribute__((destructor)) static void end(void)
{
    FILE *out = out_path ? fopen(out_path, "a") : NULL;
    if (!out) {
        return;
    }
    struct st_watch_stats stats;
    struct st_watch_provider provider;
    struct st_watch_miss miss;
    struct st_watch_unreached unreached;
    uint64_t key;
    const char *text;
    int kind;
    st_watch_get_stats(&stats);
    st_suppress++;
    write_calls(out);
    fprintf(out, "first_calls %d inits %d at_main %d mains %d environ %d\n", first_calls, inits, knows_main, mains,
            environ_seen);
    fprintf(out, "stages entered %d returned %d thrown %d abandoned %d unbounded %llu\n", spy_entered, spy_returned,
            spy_thrown, spy_abandoned, (unsigned long long)stats.unbounded);
    fprintf(out, "stats scans %llu edits %llu refused %llu slots %llu slots_refused %llu out_of_reach %llu\n",
            (unsigned long long)stats.scans, (unsigned long long)stats.edits, (unsigned long long)stats.edits_refused,
            (unsigned long long)stats.slots, (unsigned long long)stats.slots_refused,
            (unsigned long long)stats.out_of_reach);
    fprintf(out, "lookups asked %llu found %llu wrapped %llu passed %llu not_found %llu\n",
            (unsigned long long)stats.lookups_asked, (unsigned long long)stats.lookups_found,
            (unsigned long long)stats.lookups_wrapped, (unsigned long long)stats.lookups_passed,
            (unsigned long long)stats.lookups_not_found);
    for (uint32_t n = 0; st_watch_get_provider(n, &provider); n++) {
        fprintf(out, "provider %s layer %d functions %u mapped %d simulated %d far %d\n", provider.soname,
                provider.layer, provider.functions, provider.mapped, provider.simulated, provider.is_far);
    }
    st_watch_scan();
    for (uint32_t n = 0; st_watch_get_unreached(n, &unreached); n++) {
        fprintf(out, "unreached %s\n", unreached.soname);
    }
    const char *first = strrchr(st_watch_first_bound_before(), '/');
    fprintf(out, "audited %d bound_before %llu first %s\n", st_watch_is_audited(),
            (unsigned long long)stats.bound_before, first ? first + 1 : "-");
    for (uint32_t n = 0; st_watch_get_miss(n, &miss); n++) {
        const char *slash = strrchr(miss.caller, '/');
        fprintf(out, "miss %s %d %llu %s\n", miss.symbol, miss.version, (unsigned long long)miss.flags,
                slash ? slash + 1 : miss.caller);
    }
    for (uint32_t n = 0; st_call_early_name(n, &kind, &key, &text); n++) {
        fprintf(out, "early_name %d %s\n", kind, text);
    }
    fclose(out);
}
