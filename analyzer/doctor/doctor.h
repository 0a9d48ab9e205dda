/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `stagetap doctor` finds out about a running process, a trace, or this machine: facts, and findings that name
 * a row of the table of measurement faults (faults.def). Nothing is changed, no CUDA function is called. One thread.
 */
#ifndef ST_DOCTOR_DOCTOR_H
#define ST_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "analyzer/model/arena.h"
#include "analyzer/reader/find.h"

enum st_fault {
#define ST_FAULT(ID, id, symptom, test, correction) ST_FAULT_##ID,
#include "faults.def"
#undef ST_FAULT
    ST_FAULT_COUNT
};

struct st_fault_row {
    const char *id, *symptom, *test, *correction;
};
extern const struct st_fault_row st_faults[ST_FAULT_COUNT];

struct st_doctor_fact {
    const char *name, *value;
};
struct st_doctor_finding {
    enum st_fault fault;
    const char *seen; /* the evidence, one line */
};

#define ST_DOCTOR_MOST 64 /* facts, and findings; more are dropped */

struct st_diagnosis {
    const char *subject; /* "process", "trace", "program", "machine" */
    const char *target;  /* "4711", the file; NULL: none */
    bool simulated;
    struct st_doctor_fact facts[ST_DOCTOR_MOST];
    size_t fact_count;
    struct st_doctor_finding findings[ST_DOCTOR_MOST];
    size_t finding_count;
    struct st_arena *arena; /* owns the texts; NULL after st_diagnosis_finish() */
};

/* False: out of memory. The caller finishes it. */
bool st_diagnosis_init(struct st_diagnosis *diagnosis, const char *subject, const char *target);
void st_diagnosis_finish(struct st_diagnosis *diagnosis);
void st_doctor_fact(struct st_diagnosis *diagnosis, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A fault is told once, with what was seen of it each time, as far as there is room. */
void st_doctor_find(struct st_diagnosis *diagnosis, enum st_fault fault, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* NAME=VALUE of an environment: does it distort, is it a setting of ours that is not understood? */
void st_doctor_variable(struct st_diagnosis *diagnosis, const char *entry);
bool st_doctor_has(const struct st_diagnosis *diagnosis, enum st_fault fault);

/* A program file before it runs; nothing is run. False: the file is neither a program nor a script. */
bool st_doctor_program(struct st_diagnosis *diagnosis, const char *path);
struct st_proc;
/* Is the library not in the process? Then the reason is a finding. */
bool st_doctor_lacks_library(struct st_diagnosis *diagnosis, const struct st_proc *proc);
/* A running process, with its trace as far as it goes. Fails with ST_NOT_FOUND: no such process; ST_IO: this user may
 * not look at it. */
enum st_status st_doctor_process(struct st_diagnosis *diagnosis, pid_t pid, struct st_err *err);
/* The traces of one run. Fails with what reading them fails with. */
enum st_status st_doctor_traces(struct st_diagnosis *diagnosis, const struct st_run_files *files, struct st_err *err);
/* This machine, before any run. `library`: the preloaded library beside this program, NULL = not found. */
void st_doctor_machine(struct st_diagnosis *diagnosis, const char *library, const char *version);

#endif
