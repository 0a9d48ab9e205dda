/* SPDX-License-Identifier: Apache-2.0 */
/* See aftermath.h. */
#include "analyzer/cmd/aftermath.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/doctor/proc.h"
#include "analyzer/reader/reader.h"
#include "preload/trace/notes.h"

enum { MOST_PROCESSES = 64 };
#define MORE " · stagetap doctor PID, while it runs, tells more"

/* ---- while it runs ---- */

void st_aftermath_begin(struct st_aftermath *aftermath, const char *run)
{
    int fd;

    *aftermath = (struct st_aftermath){.stranger = 0};
    snprintf(aftermath->notes, sizeof(aftermath->notes), ST_NOTES_PATH "%s", run);
    fd = open(aftermath->notes, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0) {
        aftermath->notes[0] = '\0';
    } else {
        close(fd);
    }
}

void st_aftermath_end(struct st_aftermath *aftermath)
{
    if (aftermath->notes[0] != '\0') unlink(aftermath->notes);
    aftermath->notes[0] = '\0';
}

static void look_at(struct st_aftermath *aftermath, pid_t pid)
{
    struct st_diagnosis diagnosis;
    struct st_proc proc;
    bool uses_cuda;

    if (!st_diagnosis_init(&diagnosis, "process", NULL)) return;
    if (st_proc_read(pid, diagnosis.arena, &proc) == ST_PROC_OK && st_doctor_lacks_library(&diagnosis, &proc)) {
        uses_cuda = st_proc_mapped(&proc, "libcuda.so") != NULL;
        if (uses_cuda || !aftermath->stranger_used_cuda) {
            aftermath->stranger = pid;
            aftermath->stranger_used_cuda = uses_cuda;
            aftermath->stranger_fault = diagnosis.findings[0].fault;
            snprintf(aftermath->stranger_name, sizeof(aftermath->stranger_name), "%s", proc.name);
            snprintf(aftermath->stranger_seen, sizeof(aftermath->stranger_seen), "%.500s", diagnosis.findings[0].seen);
        }
    }
    st_diagnosis_finish(&diagnosis);
}

void st_aftermath_look(void *aftermath, pid_t target)
{
    pid_t processes[MOST_PROCESSES] = {target};
    size_t count = 1;

    for (size_t i = 0; i < count; i++) {
        count += st_proc_children(processes[i], processes + count, MOST_PROCESSES - count);
        look_at(aftermath, processes[i]);
    }
}

/* ---- no trace ---- */

struct notes {
    size_t processes;
    char first[64];    /* program */
    char cuda[64];     /* a CUDA library that was mapped and not called; "" = none */
    char backends[96]; /* "" = none */
};

static void read_notes(const char *path, struct notes *ret)
{
    char line[ST_NOTE_BYTES + 2], *fields[4], *rest;
    FILE *file = path[0] != '\0' ? fopen(path, "re") : NULL;

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        size_t count = 0;

        line[strcspn(line, "\n")] = '\0';
        for (char *at = strtok_r(line, "\t", &rest); at != NULL && count < 4; at = strtok_r(NULL, "\t", &rest)) {
            fields[count++] = at;
        }
        if (count < 4) continue;
        if (ret->processes++ == 0) snprintf(ret->first, sizeof(ret->first), "%s", fields[1]);
        if (strcmp(fields[2], "-") != 0) snprintf(ret->cuda, sizeof(ret->cuda), "%s", fields[2]);
        if (strcmp(fields[3], "-") != 0) snprintf(ret->backends, sizeof(ret->backends), "%s", fields[3]);
    }
    if (file != NULL) fclose(file);
}

/* What the processes with the library said of themselves. */
static void explain_notes(const struct notes *notes, char ret[ST_REASON_BYTES])
{
    const char *also = notes->backends[0] != '\0' ? "; another back-end was loaded, which is not collected: " : "";

    if (notes->cuda[0] != '\0') {
        snprintf(ret, ST_REASON_BYTES, "%s was loaded and never called%s%s" MORE, notes->cuda, also, notes->backends);
    } else {
        char who[128];

        snprintf(who, sizeof(who), "%s", notes->first);
        if (notes->processes > 1) {
            snprintf(who, sizeof(who), "none of %zu processes (%s first)", notes->processes, notes->first);
        }
        snprintf(ret, ST_REASON_BYTES, "%s loaded %s CUDA library, and no request rule matched%s%s" MORE, who,
                 notes->processes > 1 ? "a" : "no", also, notes->backends);
    }
}

/* A script that seems to lose LD_PRELOAD; the first such line. */
static bool explain_script(const char *path, char ret[ST_REASON_BYTES])
{
    struct st_diagnosis diagnosis;
    bool found = false;

    if (!st_diagnosis_init(&diagnosis, "program", path)) return false;
    if (st_doctor_program(&diagnosis, path) && diagnosis.finding_count > 0) {
        const struct st_doctor_finding *finding = &diagnosis.findings[0];

        found = finding->fault == ST_FAULT_PRELOAD_MISSING || finding->fault == ST_FAULT_PRELOAD_REPLACED;
        snprintf(ret, ST_REASON_BYTES, "%.300s, %.300s [%s]: the library may be lost there · stagetap doctor %s", path,
                 finding->seen, st_faults[finding->fault].id, path);
    }
    st_diagnosis_finish(&diagnosis);
    return found;
}

void st_aftermath_explain(const struct st_aftermath *aftermath, const char *command, char ret[ST_REASON_BYTES])
{
    char path[PATH_MAX], seen[ST_SEEN_BYTES];
    enum st_fault fault;
    struct notes notes = {.processes = 0};

    bool has_path = st_program_find(command, path, sizeof(path));

    read_notes(aftermath->notes, &notes);
    if (notes.processes == 0 && has_path && st_program_refuses(path, command, &fault, seen)) {
        snprintf(ret, ST_REASON_BYTES, "%s [%s], so the library was not in it · stagetap doctor %s", seen,
                 st_faults[fault].id, path);
    } else if (aftermath->stranger != 0 && (notes.cuda[0] == '\0' || aftermath->stranger_used_cuda)) {
        snprintf(ret, ST_REASON_BYTES, "%s (pid %d) ran without the library: %s [%s]" MORE, aftermath->stranger_name,
                 (int)aftermath->stranger, aftermath->stranger_seen, st_faults[aftermath->stranger_fault].id);
    } else if (has_path && notes.cuda[0] == '\0' && explain_script(path, ret)) {
        return;
    } else if (notes.processes > 0) {
        explain_notes(&notes, ret);
    } else {
        snprintf(ret, ST_REASON_BYTES, "%s used no CUDA, or it ended without its exit handlers and said nothing" MORE,
                 command);
    }
}

/* ---- traces without work ---- */

/* Which calls of CALLDEF start work, and was there one? */
struct work {
    bool starts[UINT16_MAX + 1];
    bool seen;
};

static const enum st_status ENOUGH = ST_USAGE; /* anything but ST_OK ends a pass */

static int64_t get(const struct st_table *table, unsigned column, uint32_t row)
{
    return table->ints[column] != NULL ? table->ints[column][row] : 0;
}

static void note_calldef(struct work *work, const struct st_table *table, uint32_t row)
{
    int64_t call = get(table, ST_CALLDEF_C_call, row), class = get(table, ST_CALLDEF_C_class, row);

    if (call < 0 || call > UINT16_MAX) return;
    work->starts[call] = class == ST_CLASS_LAUNCH || class == ST_CLASS_GRAPH_LAUNCH || class == ST_CLASS_COPY ||
                         class == ST_CLASS_MEMSET;
}

static enum st_status look_for_work(void *context, const struct st_chunk_head *head, const struct st_table *table)
{
    struct work *work = context;

    for (uint32_t i = 0; i < table->rows && !work->seen; i++) {
        int64_t call = table->id == ST_T_CALL ? get(table, ST_CALL_C_call, i) : -1;

        if (table->id == ST_T_CALLDEF) note_calldef(work, table, i);
        work->seen = table->id == ST_T_KERNEL || (call >= 0 && call <= UINT16_MAX && work->starts[call] &&
                                                  get(table, ST_CALL_C_result, i) == 0);
    }
    return work->seen ? ENOUGH : ST_OK;
}

/* Reads as far as the first work; a trace that cannot be read, or has lost events, is taken to have some. */
static bool has_work(const char *path)
{
    struct work *work = calloc(1, sizeof(*work));
    struct st_reader *reader = NULL;
    bool seen = true;

    if (work != NULL && st_reader_open(path, &reader, NULL) == ST_OK) {
        seen = st_reader_run(reader, look_for_work, work, NULL) != ST_OK || work->seen ||
               st_reader_summary(reader)->lost_total > 0;
        st_reader_close(reader);
    }
    free(work);
    return seen;
}

bool st_aftermath_lacks_work(char *const *paths, size_t count, char ret[ST_REASON_BYTES])
{
    struct st_run_files files = {.paths = {(char **)paths, count}};
    struct st_diagnosis diagnosis;
    struct st_err err = {.offset = -1}; /* nobody asks: what cannot be read has no reason to tell */
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        if (has_work(paths[i])) return false;
    }
    ret[0] = '\0';
    if (!st_diagnosis_init(&diagnosis, "trace", NULL)) return true;
    if (st_doctor_traces(&diagnosis, &files, &err) == ST_OK) {
        for (size_t i = 0; i < diagnosis.finding_count && used < ST_REASON_BYTES; i++) {
            const struct st_doctor_finding *finding = &diagnosis.findings[i];

            if (finding->fault != ST_FAULT_CUDA_FAILED && finding->fault != ST_FAULT_OTHER_BACKEND) continue;
            used += (size_t)snprintf(ret + used, ST_REASON_BYTES - used, "%s%.200s [%s]", used > 0 ? " · " : "",
                                     finding->seen, st_faults[finding->fault].id);
        }
    }
    st_diagnosis_finish(&diagnosis);
    return true;
}
