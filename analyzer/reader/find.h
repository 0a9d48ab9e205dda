/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which trace files the words on the command line mean (surface §2): a file, a folder (its newest run), a
 * process id, or nothing (the newest run in the current folder). One thread.
 */
#ifndef ST_READER_FIND_H
#define ST_READER_FIND_H

#include <stdbool.h>
#include <stddef.h>

#include "analyzer/reader/status.h"

/* One file: of a folder the newest trace. `word` may be NULL. *ret_guessed: the file was not named itself, so its name
 * belongs on the first line. ST_NOT_FOUND with a hint when there is none. */
enum st_status st_reader_find(const char *word, char *ret_path, size_t size, bool *ret_guessed, struct st_err *err);

struct st_run_lines {
    char **items;
    size_t count;
};
struct st_run_files {
    struct st_run_lines paths;    /* at least one */
    bool guessed;                 /* not all of them were named */
    struct st_run_lines copies;   /* a line for each that holds the same process as another one */
    struct st_run_lines left_out; /* … and for each that belongs to the run and cannot be shown with it */
};

/*
 * All files of one run: of a folder, or of the current one if there is no word, every process of the newest run. A word
 * that is no trace is among the paths when other words are: opening it tells what is wrong. ST_NOT_FOUND as above;
 * ST_USAGE when the files are of different runs, or of one run on different machines, whose clocks have nothing in
 * common; ST_NO_MEMORY. The caller finishes *ret on ST_OK.
 */
enum st_status st_reader_find_run(const char *const *words, size_t count, struct st_run_files *ret, struct st_err *err);
/* One more line in left_out: a file that could not be read, and why. False: out of memory. */
bool st_run_files_leave_out(struct st_run_files *files, const struct st_err *err);
void st_run_files_finish(struct st_run_files *files); /* zeroed is fine */

#endif
