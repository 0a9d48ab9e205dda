/* SPDX-License-Identifier: Apache-2.0 */
/* Objects are noted inside the loader's lock and their files read outside of it; see hidden.h. */
#include "hidden.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "preload/watch/watch.h"
#include "stages.h"
#include "symbol_file.h"
#include "symbols.h"

#define MAX_OBJECTS 2048
#define MAX_FOUND 8192
#define PATH_ARENA_BYTES (256u << 10)

/* ---- objects ---- */

static struct known {
    struct st_hidden_object public;
    uint32_t id;
    bool is_mapped, is_read;
} known[MAX_OBJECTS];
static uint32_t known_count, stripped_count;
static char paths[PATH_ARENA_BYTES];
static size_t path_bytes;

static void note_object(void *context, const struct st_watch_object *object)
{
    size_t length = strlen(object->path) + 1;

    for (uint32_t i = known_count; i-- > 0;) {
        if (known[i].id != object->id) continue;
        known[i].is_mapped = true;
        return;
    }
    if (known_count == MAX_OBJECTS || length > sizeof(paths) - path_bytes) return;
    memcpy(paths + path_bytes, object->path, length);
    known[known_count++] = (struct known){
        .public = {paths + path_bytes, object->base, object->end, object->headers_hash, object->is_ours},
        .id = object->id,
        .is_mapped = true,
    };
    path_bytes += length;
}

bool st_hidden_object(uint32_t n, struct st_hidden_object *ret)
{
    if (n >= known_count) return false;
    *ret = known[n].public;
    return true;
}

uint32_t st_hidden_stripped_count(void)
{
    return stripped_count;
}

/* ---- functions ---- */

static struct found {
    struct st_hidden function;
    uint32_t object;
} found[MAX_FOUND];
static uint32_t found_count;
static bool follows_all;
static bool is_exact[ST_STAGES_MAX_RULES];      /* a dynamic function matches */
static uint32_t first_object[ST_STAGES_MAX_RULES]; /* + 1 */
static _Atomic(struct st_hidden_table *) published;

void st_hidden_init(bool every_rule)
{
    follows_all = every_rule;
}

static void note_exact(void *context, const struct st_watch_stage *stage)
{
    is_exact[stage->rule] = true;
}

static void note_function(void *context, const char *name, uint64_t value, uint64_t size)
{
    uint32_t object = *(const uint32_t *)context, row;
    uint16_t rule;

    if (!st_symbols_match(name, &rule, &row)) return;
    if (first_object[rule] == 0) first_object[rule] = object + 1;
    if (found_count == MAX_FOUND || (is_exact[rule] && !follows_all)) return;
    uintptr_t begin = known[object].public.base + value;
    if (begin + size > known[object].public.end || begin < known[object].public.base) return;
    found[found_count++] = (struct found){{begin, begin + size, row, rule}, object};
}

static bool wants_files(void)
{
    for (uint16_t rule = 0; rule < ST_STAGES_MAX_RULES; rule++)
        if (st_symbols_is_rule(rule) && (follows_all || !is_exact[rule])) return true;
    return false;
}

static bool read_new_files(void)
{
    uint32_t before = found_count;

    for (uint32_t i = 0; i < known_count; i++) {
        if (known[i].is_read || known[i].public.is_ours || !known[i].is_mapped) continue;
        known[i].is_read = true;
        stripped_count += st_symbol_file_read(known[i].public.path, known[i].public.headers_hash, false, note_function,
                                              &i) != ST_SYMBOL_FILE_READ;
    }
    return found_count != before;
}

/* ---- the table ---- */

static bool is_behind(const struct st_hidden *a, const struct st_hidden *b)
{
    return a->begin != b->begin ? a->begin > b->begin : a->rule > b->rule;
}

/* Shell's way: qsort() may allocate. */
static void sort(struct st_hidden *functions, uint32_t count)
{
    for (uint32_t gap = count / 2; gap > 0; gap /= 2)
        for (uint32_t i = gap; i < count; i++) {
            struct st_hidden moved = functions[i];
            uint32_t at = i;
            for (; at >= gap && is_behind(&functions[at - gap], &moved); at -= gap) functions[at] = functions[at - gap];
            functions[at] = moved;
        }
}

/* Two names of one function: the earlier rule counts. */
static uint32_t drop_overlaps(struct st_hidden *functions, uint32_t count)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++)
        if (kept == 0 || functions[i].begin >= functions[kept - 1].end) functions[kept++] = functions[i];
    return kept;
}

/* The one before is left as it is: other threads may look into it. */
static void publish(void)
{
    size_t bytes = sizeof(struct st_hidden_table) + found_count * sizeof(struct st_hidden);
    struct st_hidden_table *table = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (table == MAP_FAILED) return;
    for (uint32_t i = 0; i < found_count; i++)
        if (known[found[i].object].is_mapped) table->functions[table->count++] = found[i].function;
    sort(table->functions, table->count);
    table->count = drop_overlaps(table->functions, table->count);
    atomic_store_explicit(&published, table, memory_order_release);
}

bool st_hidden_update(void)
{
    static atomic_flag is_running = ATOMIC_FLAG_INIT;
    bool was_mapped[MAX_OBJECTS], is_changed = false;

    if (atomic_flag_test_and_set(&is_running)) return false;
    uint32_t before = known_count;
    for (uint32_t i = 0; i < before; i++) {
        was_mapped[i] = known[i].is_mapped;
        known[i].is_mapped = false;
    }
    bool is_done = st_watch_each_object(note_object, NULL) && st_watch_each_stage(false, note_exact, NULL);
    if (is_done) {
        for (uint32_t i = 0; i < before; i++) is_changed |= known[i].is_mapped != was_mapped[i];
        is_changed = (wants_files() && read_new_files()) || (is_changed && found_count > 0);
        if (is_changed) publish();
    } else {
        for (uint32_t i = 0; i < before; i++) known[i].is_mapped = was_mapped[i];
    }
    atomic_flag_clear(&is_running);
    return is_done;
}

const struct st_hidden_table *st_hidden_table(void)
{
    return atomic_load_explicit(&published, memory_order_acquire);
}

uint32_t st_hidden_find(const struct st_hidden_table *table, uintptr_t address)
{
    uint32_t low = 0, high = table->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (table->functions[middle].end <= address) low = middle + 1;
        else high = middle;
    }
    return low < table->count && table->functions[low].begin <= address ? low + 1 : 0;
}

const char *st_hidden_where(uint16_t rule)
{
    return first_object[rule] > 0 ? known[first_object[rule] - 1].public.path : NULL;
}
