/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `stagetap doctor`: what is wrong with a running process, a trace, or this machine before any run. Exit 0: nothing;
 * 1: something was found; 2: usage; 3: it cannot be looked at. Main thread.
 */
#include <argp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/cmd/cmd.h"
#include "analyzer/cmd/library.h"
#include "analyzer/doctor/doctor.h"
#include "analyzer/render/json.h"
#include "analyzer/util/text.h"

enum { KEY_JSON = 0x2000, FACT_COLUMNS = 15 };

struct doctor_options {
    const char *word;
    bool json;
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct doctor_options *options = state->input;

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

/* ---- showing ---- */

/* Names and values of others, fit for a terminal. */
static void print_line(const char *before, const char *text, const char *after)
{
    char *printable = st_text_printable(text, strlen(text), 0);

    printf("%s%s%s\n", before, printable != NULL ? printable : "?", after);
    free(printable);
}

static void print_text(const struct st_diagnosis *diagnosis)
{
    print_line("", diagnosis->target != NULL ? diagnosis->target : "this machine",
               diagnosis->simulated ? ": SIMULATED" : "");
    for (size_t i = 0; i < diagnosis->fact_count; i++) {
        char head[64];

        snprintf(head, sizeof(head), "  %-*s ", FACT_COLUMNS, diagnosis->facts[i].name);
        print_line(head, diagnosis->facts[i].value, "");
    }
    printf(diagnosis->finding_count == 0 ? "nothing was found\n" : "\nfound, with what it means and what to do:\n");
    for (size_t i = 0; i < diagnosis->finding_count; i++) {
        const struct st_fault_row *row = &st_faults[diagnosis->findings[i].fault];
        char head[64];

        snprintf(head, sizeof(head), "\n%s: ", row->id);
        print_line(head, diagnosis->findings[i].seen, "");
        printf("  %s\n  -> %s\n", row->symptom, row->correction);
    }
    if (diagnosis->finding_count > 0) printf("\nman stagetap-faults has the whole table\n");
}

static void print_json(const struct st_diagnosis *diagnosis)
{
    struct st_json json;

    st_json_init(&json, stdout, 2);
    st_json_object(&json, NULL);
    st_json_string(&json, "schema", "stagetap.doctor/1");
    st_json_string(&json, "verdict", diagnosis->finding_count > 0 ? "found" : "nothing");
    st_json_string(&json, "subject", diagnosis->subject);
    st_json_string(&json, "target", diagnosis->target);
    st_json_bool(&json, "simulated", diagnosis->simulated);
    st_json_array(&json, "facts");
    for (size_t i = 0; i < diagnosis->fact_count; i++) {
        st_json_object(&json, NULL);
        st_json_string(&json, "name", diagnosis->facts[i].name);
        st_json_string(&json, "value", diagnosis->facts[i].value);
        st_json_end(&json);
    }
    st_json_end(&json);
    st_json_array(&json, "findings");
    for (size_t i = 0; i < diagnosis->finding_count; i++) {
        const struct st_fault_row *row = &st_faults[diagnosis->findings[i].fault];

        st_json_object(&json, NULL);
        st_json_string(&json, "id", row->id);
        st_json_string(&json, "seen", diagnosis->findings[i].seen);
        st_json_string(&json, "means", row->symptom);
        st_json_string(&json, "test", row->test);
        st_json_string(&json, "do", row->correction);
        st_json_end(&json);
    }
    st_json_end(&json);
    st_json_end(&json);
}

/* ---- looking ---- */

static pid_t parse_pid(const char *word)
{
    char *end;
    long pid = strtol(word, &end, 10);

    return *end == '\0' && pid > 0 && pid <= INT32_MAX && access(word, F_OK) != 0 ? (pid_t)pid : 0;
}

static enum st_status look_at_traces(struct st_diagnosis *diagnosis, const char *word, struct st_err *err)
{
    struct st_run_files files;
    enum st_status status = st_reader_find_run(&word, 1, &files, err);

    if (status != ST_OK) return status;
    diagnosis->subject = "trace";
    for (size_t i = 0; i < files.left_out.count; i++) {
        st_doctor_fact(diagnosis, "not read", "%s", files.left_out.items[i]);
    }
    status = st_doctor_traces(diagnosis, &files, err);
    st_run_files_finish(&files);
    return status;
}

static enum st_status look_at(struct st_diagnosis *diagnosis, const char *word, struct st_err *err)
{
    struct st_err other = {.offset = -1};
    pid_t pid = word != NULL ? parse_pid(word) : 0;
    enum st_status status;

    if (word == NULL) {
        char library[PATH_MAX], version[64] = "of no known version";
        bool has_library = st_library_find(library);

        st_doctor_machine(diagnosis, has_library ? library : NULL, STAGETAP_VERSION);
        if (has_library && (!st_library_version(library, version, sizeof(version)) ||
                            strcmp(version, STAGETAP_VERSION) != 0)) {
            st_doctor_find(diagnosis, ST_FAULT_VERSION, "program " STAGETAP_VERSION ", library %s", version);
        }
        return ST_OK;
    }
    if (pid == 0 && st_doctor_program(diagnosis, word)) return ST_OK;
    if (pid == 0) return look_at_traces(diagnosis, word, err);
    status = st_doctor_process(diagnosis, pid, err);
    /* of one that is gone there may be a trace */
    return status == ST_NOT_FOUND && look_at_traces(diagnosis, word, &other) == ST_OK ? ST_OK : status;
}

static int run(int argc, char **argv)
{
    static const struct argp_option argp_options[] = {
        {"json", KEY_JSON, NULL, 0, "the answer as JSON (stagetap.doctor/1)", 0}, {0}};
    static const struct argp argp = {
        argp_options, parse_option, "[PID|FILE]",
        "Say why a process is not traced, or what is wrong with a trace; without an argument: whether this machine is "
        "ready. Each finding has an id of the table in stagetap-faults(7).\v"
        "PID: a process that runs. FILE: a trace, a folder (its newest run), the id of a process that left one here, "
        "or a program or script before it runs. Exit status: 0 nothing found, 1 something was found, 3 it cannot be "
        "looked at."};
    struct doctor_options options = {0};
    struct st_diagnosis diagnosis;
    struct st_err err = {.offset = -1};
    enum st_status status;
    int code = ST_EXIT_UNREADABLE;

    argp_parse(&argp, argc, argv, 0, NULL, &options);
    if (!st_diagnosis_init(&diagnosis, options.word != NULL ? "process" : "machine", options.word)) {
        st_say_error("out of memory");
        return ST_EXIT_UNREADABLE;
    }
    status = look_at(&diagnosis, options.word, &err);
    if (status == ST_OK) {
        if (options.json) {
            print_json(&diagnosis);
        } else {
            print_text(&diagnosis);
        }
        code = diagnosis.finding_count > 0 ? ST_EXIT_FOUND : ST_EXIT_OK;
    } else {
        st_say_err(&err);
        if (status == ST_USAGE) code = ST_EXIT_USAGE;
    }
    st_diagnosis_finish(&diagnosis);
    return code;
}

const struct st_command st_command_doctor = {
    "doctor", "[PID|FILE]", "why is a process not traced, what is wrong with a trace, is this machine ready?", run};
