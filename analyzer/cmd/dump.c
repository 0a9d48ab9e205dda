/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `stagetap dump`: every row of a trace as it was written, table by table, straight from the reader. Generic
 * over tables.def: a new column needs nothing here. A cut or damaged file is dumped as far as it can be
 * read, and what is missing is said. Main thread.
 */
#include <argp.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyzer/cmd/cmd.h"
#include "analyzer/reader/find.h"
#include "analyzer/reader/reader.h"
#include "analyzer/render/json.h"
#include "analyzer/util/text.h"

enum { KEY_JSON = 0x2000, KEY_TABLE };

struct dump {
    const char *word;
    const char *table; /* only this one; NULL = all */
    bool json;
    char **call_names; /* by call number, from the CALLDEF rows seen so far; NULL = not seen */
    size_t call_count;
};

static const char *const table_names[] = {
#define ST_TABLE(id, NAME) #NAME,
#define ST_COLUMN(TABLE, id, NAME, TYPE, ENC)
#define ST_TABLE_END(NAME)
#include "preload/trace/tables.def"
#undef ST_TABLE
#undef ST_COLUMN
#undef ST_TABLE_END
};
#define TABLE_COUNT (sizeof(table_names) / sizeof(table_names[0]))

/* The table of that name, in any case. NULL = none; `known` lists all then. */
static const char *find_table(const char *name, char known[1024])
{
    known[0] = '\0';
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        if (strcasecmp(name, table_names[i]) == 0) return table_names[i];
        snprintf(known + strlen(known), 1024 - strlen(known), " %s", table_names[i]);
    }
    return NULL;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct dump *dump = state->input;
    char known[1024];

    switch (key) {
    case KEY_JSON:
        dump->json = true;
        return 0;
    case KEY_TABLE:
        dump->table = find_table(argument, known);
        if (dump->table == NULL) argp_error(state, "--table=%s: no such table; there are:%s", argument, known);
        return 0;
    case ARGP_KEY_ARG:
        if (dump->word != NULL) argp_error(state, "%s: one argument too many", argument);
        dump->word = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

enum { MOST_CALLS = 1 << 16 }; /* a number beyond comes from a damaged row */

/* Keep the names of the calls, for the rows behind. */
static bool keep_call_names(struct dump *dump, const struct st_table *table)
{
    const int64_t *numbers = table->ints[ST_CALLDEF_C_call];
    const struct st_text *names = table->texts[ST_CALLDEF_C_name];

    for (uint32_t row = 0; numbers != NULL && names != NULL && row < table->rows; row++) {
        if (numbers[row] < 0 || numbers[row] >= MOST_CALLS) continue;
        while (dump->call_count <= (size_t)numbers[row]) {
            size_t count = dump->call_count * 2 + 256;
            char **more = realloc(dump->call_names, count * sizeof(*more));

            if (more == NULL) return false;
            memset(more + dump->call_count, 0, (count - dump->call_count) * sizeof(*more));
            dump->call_names = more;
            dump->call_count = count;
        }
        free(dump->call_names[numbers[row]]);
        dump->call_names[numbers[row]] = st_text_printable(names[row].bytes, names[row].length, 0);
    }
    return true;
}

static void free_call_names(struct dump *dump)
{
    for (size_t i = 0; i < dump->call_count; i++) free(dump->call_names[i]);
    free(dump->call_names);
}

/* The name behind a call number; NULL = the column holds none, or its CALLDEF row was not seen yet. */
static const char *call_name(const struct dump *dump, const struct st_table *table, int column, uint32_t row)
{
    const struct st_table_def *def = table->def;

    if (strcmp(def->columns[column].name, "call") != 0 || strcmp(def->name, "CALLDEF") == 0) return NULL;
    if (table->ints[column][row] < 0 || (uint64_t)table->ints[column][row] >= dump->call_count) return NULL;
    return dump->call_names[table->ints[column][row]];
}

static bool is_text_column(const struct st_table_def *def, int column)
{
    return def->columns[column].type == ST_TYPE_TEXT;
}

static void print_text_cell(const struct st_text *text)
{
    char *printable = st_text_printable(text->bytes, text->length, 0);

    printf("\"%s\"", printable != NULL ? printable : "");
    free(printable);
}

/* "CALL 12 thread=1 call=7(cuInit) begin_ticks=…": the chunk's sequence, then column by column; "?" is a column
 * that the file does not have. */
static void print_row(const struct dump *dump, const struct st_chunk_head *head, const struct st_table *table,
                      uint32_t row)
{
    if (head->sequence == UINT32_MAX) {
        printf("%s ring", table->def->name);
    } else {
        printf("%s %" PRIu32, table->def->name, head->sequence);
    }
    if (head->kind == ST_CHUNK_EVENTS) printf(" ring=%" PRIu32 " thread=%" PRIu32, head->ring, head->thread);
    for (int column = 0; column < table->def->column_count; column++) {
        printf(" %s=", table->def->columns[column].name);
        if (is_text_column(table->def, column) && table->texts[column] != NULL) {
            print_text_cell(&table->texts[column][row]);
        } else if (!is_text_column(table->def, column) && table->ints[column] != NULL) {
            const char *name = call_name(dump, table, column, row);
            printf("%" PRId64, table->ints[column][row]);
            if (name != NULL) printf("(%s)", name);
        } else {
            putchar('?');
        }
    }
    putchar('\n');
}

static void print_row_json(const struct dump *dump, const struct st_chunk_head *head, const struct st_table *table,
                           uint32_t row)
{
    struct st_json json;

    st_json_init(&json, stdout, 0);
    st_json_object(&json, NULL);
    st_json_string(&json, "table", table->def->name);
    if (head->sequence == UINT32_MAX) {
        st_json_null(&json, "chunk");
    } else {
        st_json_int(&json, "chunk", head->sequence);
    }
    if (head->kind == ST_CHUNK_EVENTS) {
        st_json_int(&json, "from_ring", head->ring);
        st_json_int(&json, "from_thread", head->thread);
    }
    for (int column = 0; column < table->def->column_count; column++) {
        const char *name = table->def->columns[column].name;

        if (is_text_column(table->def, column) && table->texts[column] != NULL) {
            st_json_text(&json, name, table->texts[column][row].bytes, table->texts[column][row].length);
        } else if (!is_text_column(table->def, column) && table->ints[column] != NULL) {
            st_json_int(&json, name, table->ints[column][row]);
            if (call_name(dump, table, column, row) != NULL) {
                st_json_string(&json, "call_name", call_name(dump, table, column, row));
            }
        } else {
            st_json_null(&json, name);
        }
    }
    st_json_end(&json);
}

static enum st_status dump_table(void *context, const struct st_chunk_head *head, const struct st_table *table)
{
    struct dump *dump = context;

    if (ferror(stdout)) return ST_IO; /* nobody reads any more: do not go on through a large file */
    if (table->def == NULL) {
        if (dump->table != NULL) return ST_OK;
        if (dump->json) {
            printf("{\"table\": null, \"id\": %d, \"rows\": %" PRIu32 "}\n", table->id, table->rows);
        } else {
            printf("? table %d with %" PRIu32 " rows: written by a later version\n", table->id, table->rows);
        }
        return ST_OK;
    }
    if (strcmp(table->def->name, "CALLDEF") == 0 && !keep_call_names(dump, table)) return ST_NO_MEMORY;
    if (dump->table != NULL && strcmp(dump->table, table->def->name) != 0) return ST_OK;
    for (uint32_t row = 0; row < table->rows; row++) {
        if (dump->json) {
            print_row_json(dump, head, table, row);
        } else {
            print_row(dump, head, table, row);
        }
    }
    return ST_OK;
}

static void print_header(const struct dump *dump, const char *path, const struct st_trace_header *header)
{
    struct st_json json;

    if (!dump->json) {
        printf("HEADER version=%d.%d pid=%" PRIu32 " flags=%" PRIu32 " start_ticks=%" PRIu64
               " start_monotonic_ns=%" PRIu64 " start_realtime_ns=%" PRIu64 " ticks_per_second=%" PRIu64 "\n",
               header->version_major, header->version_minor, header->pid, header->flags, header->start_ticks,
               header->start_monotonic_ns, header->start_realtime_ns, header->ticks_per_second);
        return;
    }
    st_json_init(&json, stdout, 0);
    st_json_object(&json, NULL);
    st_json_string(&json, "table", "HEADER");
    st_json_string(&json, "file", path);
    st_json_int(&json, "version_major", header->version_major);
    st_json_int(&json, "version_minor", header->version_minor);
    st_json_int(&json, "pid", header->pid);
    st_json_int(&json, "flags", header->flags);
    st_json_int(&json, "start_ticks", (int64_t)header->start_ticks);
    st_json_int(&json, "start_monotonic_ns", (int64_t)header->start_monotonic_ns);
    st_json_int(&json, "start_raw_ns", (int64_t)header->start_raw_ns);
    st_json_int(&json, "start_realtime_ns", (int64_t)header->start_realtime_ns);
    st_json_int(&json, "ticks_per_second", (int64_t)header->ticks_per_second);
    st_json_end(&json);
}

/* What is missing goes to stderr, so that the rows stay a clean stream. */
static void say_missing(const char *path, const struct st_reader_summary *summary)
{
    if (summary->trailing_bytes > 0) {
        st_say_error("%s: cut: %" PRIu64 " bytes of an unfinished frame (at byte %" PRIu64
                     "); what came before is complete",
                     path, summary->trailing_bytes, summary->end_offset);
    }
    if (summary->damaged_chunks + summary->missing_chunks + summary->skipped_bytes > 0) {
        st_say_error("%s: damaged: %" PRIu64 " chunks unreadable, %" PRIu64 " missing, %" PRIu64
                     " bytes stepped over; `stagetap verify` says where",
                     path, summary->damaged_chunks, summary->missing_chunks, summary->skipped_bytes);
    }
    if (summary->lost_total > 0) {
        st_say_error("%s: %" PRIu64 " events were lost while recording; table LOST says why", path,
                     summary->lost_total);
    }
}

static int run(int argc, char **argv)
{
    static const struct argp_option argp_options[] = {
        {"json", KEY_JSON, NULL, 0, "one JSON object a line"},
        {"table", KEY_TABLE, "NAME", 0, "only this table (call, kernel, clock …)"},
        {0}};
    static const struct argp argp = {argp_options, parse_option, "FILE",
                                     "Every row of a trace as it was written, table by table. A cut or damaged file is "
                                     "dumped as far as it can be read; what is missing is said on stderr."};
    struct dump dump = {0};
    struct st_reader *reader = NULL;
    struct st_err err = {.offset = -1};
    enum st_status status;
    char path[PATH_MAX];
    bool guessed;

    argp_parse(&argp, argc, argv, 0, NULL, &dump);
    if (dump.word == NULL) {
        st_say_error("dump: name a file; stagetap dump FILE");
        return ST_EXIT_USAGE;
    }
    status = st_reader_find(dump.word, path, sizeof(path), &guessed, &err);
    if (status == ST_OK) status = st_reader_open(path, &reader, &err);
    if (status == ST_OK) {
        if (dump.table == NULL) print_header(&dump, path, st_reader_header(reader));
        status = st_reader_run(reader, dump_table, &dump, &err);
        if (status == ST_IO && ferror(stdout)) status = ST_OK; /* said once, by the check of the output */
        say_missing(path, st_reader_summary(reader));
    }
    st_reader_close(reader);
    free_call_names(&dump);
    if (status == ST_OK) return ST_EXIT_OK;
    st_say_err(&err);
    return ST_EXIT_UNREADABLE;
}

const struct st_command st_command_dump = {"dump", "[OPTION…] FILE", "every row as it was written", run};
