/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the subcommands of `stagetap` share: the command table's row, exit codes, and how errors are said.
 * Commands run on the main thread only.
 */
#ifndef ST_CMD_CMD_H
#define ST_CMD_CMD_H

#include <stdbool.h>

struct st_err;

struct st_command {
    const char *name;
    const char *synopsis; /* what follows the name in a usage line */
    const char *doc;      /* one line */
    /* argv[0] is "stagetap NAME" for messages; returns an exit code, or exits after --help. */
    int (*run)(int argc, char **argv);
};

enum st_exit {
    ST_EXIT_OK = 0,
    ST_EXIT_FOUND = 1, /* a verdict command found something; --strict: data lost or not collected */
    ST_EXIT_USAGE = 2,
    ST_EXIT_UNREADABLE = 3, /* no readable header or frame */
    ST_EXIT_OUTPUT = 6,     /* the answer could not be written (disk full, closed pipe) */
    ST_EXIT_RUN_FAILED = 125,
    ST_EXIT_CANNOT_EXECUTE = 126,
    ST_EXIT_NOT_FOUND = 127,
};

extern const struct st_command st_command_doctor;
extern const struct st_command st_command_dump;
extern const struct st_command st_command_gaps;
extern const struct st_command st_command_kernels;
extern const struct st_command st_command_map;
extern const struct st_command st_command_report;
extern const struct st_command st_command_rounds;
extern const struct st_command st_command_run;
extern const struct st_command st_command_stage;
extern const struct st_command st_command_syncs;
extern const struct st_command st_command_transfers;
extern const struct st_command st_command_verify;

/* The command of that name, NULL = none. */
const struct st_command *st_command_find(const char *name);

/* Print "stagetap: …" and a newline to stderr. Texts from outside are made printable. */
void st_say_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same for a failed call of the library: "stagetap: FILE: what (at byte N); hint". */
void st_say_err(const struct st_err *err);

#endif
