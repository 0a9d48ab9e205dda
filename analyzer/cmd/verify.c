/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `stagetap verify`: is the file whole? Reads every frame with its checksum and says where the readable part
 * ends. Exit 0: whole and nothing lost; 1: cut, damaged or with losses; 3: the header is damaged or not ours. Main
 * thread.
 */
#include <argp.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/cmd/cmd.h"
#include "analyzer/reader/find.h"
#include "analyzer/reader/reader.h"
#include "analyzer/render/json.h"

enum { KEY_JSON = 0x2000 };

struct verify_options {
    const char *word;
    bool json;
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct verify_options *options = state->input;

    switch (key) {
    case KEY_JSON:
        options->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (options->word != NULL) argp_error(state, "%s: one argument too many", argument);
        options->word = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool is_damaged(const struct st_reader_summary *summary)
{
    return summary->damaged_chunks > 0 || summary->missing_chunks > 0 || summary->skipped_bytes > 0 ||
           summary->index_faults > 0;
}

/* One word for the state of the file. */
static const char *verdict_of(const struct st_reader_summary *summary)
{
    if (is_damaged(summary)) return "damaged";
    if (summary->live) return "growing";
    if (summary->trailing_bytes > 0 || (summary->has_end && !summary->has_index)) return "cut";
    if (!summary->has_end) return "not closed";
    if (summary->lost_total > 0 || summary->ring_lost > 0) return "whole, with losses";
    return "whole";
}

static bool is_fine(const struct st_reader_summary *summary)
{
    /* a process that ends in order writes the index last */
    return (summary->live || (st_reader_is_complete(summary) && summary->has_index)) && !is_damaged(summary) &&
           summary->lost_total == 0 && summary->ring_lost == 0;
}

static void print_text(const char *path, const struct st_trace_header *header, const struct st_reader_summary *summary)
{
    printf("%s: %s\n", path, verdict_of(summary));
    printf("  format %d.%d, process %" PRIu32 "\n", header->version_major, header->version_minor, header->pid);
    printf("  readable to byte %" PRIu64 " of %" PRIu64 "%s%s\n", summary->end_offset, summary->file_bytes,
           summary->has_index ? ", index found" : ", no index", summary->has_end ? ", closed in order" : "");
    printf("  chunks: %" PRIu64 " read with their checksums, %" PRIu64 " damaged, %" PRIu64 " missing; %" PRIu64
           " bytes unpacked\n",
           summary->chunks, summary->damaged_chunks, summary->missing_chunks, summary->decoded_bytes);
    if (summary->trailing_bytes > 0)
        printf("  behind it: %" PRIu64 " bytes of a cut or unreadable frame\n", summary->trailing_bytes);
    if (summary->index_faults > 0) printf("  index: %" PRIu64 " disagreements\n", summary->index_faults);
    if (summary->skipped_bytes > 0) printf("  stepped over: %" PRIu64 " bytes\n", summary->skipped_bytes);
    if (summary->ring_count > 0) {
        printf("  rings in memory: %" PRIu64 " with %" PRIu64 " slots that the file does not have yet\n",
               summary->ring_count, summary->ring_slots);
    }
    printf("  lost while recording: %" PRIu64 " events\n",
           summary->lost_total > summary->ring_lost ? summary->lost_total : summary->ring_lost);
    for (uint32_t i = 0; i < summary->problem_count && i < ST_READER_MAX_PROBLEMS; i++) {
        const struct st_reader_problem *problem = &summary->problems[i];

        if (problem->offset >= 0) {
            printf("  at byte %" PRId64 ": %s\n", problem->offset, problem->what);
        } else {
            printf("  %s\n", problem->what);
        }
    }
}

static void print_json(const char *path, const struct st_trace_header *header, const struct st_reader_summary *summary)
{
    struct st_json json;

    st_json_init(&json, stdout, 1);
    st_json_object(&json, NULL);
    st_json_string(&json, "schema", "stagetap.verify/1");
    st_json_string(&json, "file", path);
    st_json_string(&json, "verdict", verdict_of(summary));
    st_json_bool(&json, "fine", is_fine(summary));
    st_json_int(&json, "pid", header->pid);
    st_json_int(&json, "version_major", header->version_major);
    st_json_int(&json, "version_minor", header->version_minor);
    st_json_int(&json, "file_bytes", (int64_t)summary->file_bytes);
    st_json_int(&json, "end_offset", (int64_t)summary->end_offset);
    st_json_int(&json, "trailing_bytes", (int64_t)summary->trailing_bytes);
    st_json_int(&json, "skipped_bytes", (int64_t)summary->skipped_bytes);
    st_json_int(&json, "chunks", (int64_t)summary->chunks);
    st_json_int(&json, "damaged_chunks", (int64_t)summary->damaged_chunks);
    st_json_int(&json, "missing_chunks", (int64_t)summary->missing_chunks);
    st_json_int(&json, "decoded_bytes", (int64_t)summary->decoded_bytes);
    st_json_int(&json, "lost", (int64_t)summary->lost_total);
    st_json_int(&json, "rings", (int64_t)summary->ring_count);
    st_json_int(&json, "ring_slots", (int64_t)summary->ring_slots);
    st_json_int(&json, "ring_lost", (int64_t)summary->ring_lost);
    st_json_int(&json, "index_faults", (int64_t)summary->index_faults);
    st_json_bool(&json, "has_index", summary->has_index);
    st_json_bool(&json, "has_end", summary->has_end);
    st_json_bool(&json, "live", summary->live);
    st_json_array(&json, "problems");
    for (uint32_t i = 0; i < summary->problem_count && i < ST_READER_MAX_PROBLEMS; i++) {
        st_json_object(&json, NULL);
        st_json_int(&json, "offset", summary->problems[i].offset);
        st_json_string(&json, "what", summary->problems[i].what);
        st_json_end(&json);
    }
    st_json_end(&json);
    st_json_end(&json);
}

static int run(int argc, char **argv)
{
    static const struct argp_option argp_options[] = {
        {"json", KEY_JSON, NULL, 0, "the verdict as JSON (stagetap.verify/1)"}, {0}};
    static const struct argp argp = {
        argp_options, parse_option, "FILE",
        "Read every frame of a trace with its checksum and compare the index; say whether the file is whole, cut or "
        "damaged and where the readable part ends.\vExit status: 0 whole, 1 something was found, 3 the header is "
        "damaged, or of no trace."};
    struct verify_options options = {0};
    struct st_reader_summary summary;
    struct st_trace_header header;
    struct st_err err = {.offset = -1};
    char path[PATH_MAX];
    bool guessed;

    argp_parse(&argp, argc, argv, 0, NULL, &options);
    if (options.word == NULL) {
        st_say_error("verify: name a file; stagetap verify FILE");
        return ST_EXIT_USAGE;
    }
    if (st_reader_find(options.word, path, sizeof(path), &guessed, &err) != ST_OK ||
        st_reader_verify(path, &header, &summary, &err) != ST_OK) {
        st_say_err(&err);
        return ST_EXIT_UNREADABLE;
    }
    if (options.json) {
        print_json(path, &header, &summary);
    } else {
        print_text(path, &header, &summary);
    }
    return is_fine(&summary) ? ST_EXIT_OK : ST_EXIT_FOUND;
}

const struct st_command st_command_verify = {"verify", "FILE", "is the file whole, and where does it end?", run};
