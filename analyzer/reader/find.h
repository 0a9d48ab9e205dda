/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which trace file the words on the command line mean (surface §2): a file, a folder (its newest run), a
 * process id, or nothing (the newest run in the current folder). One thread.
 */
#ifndef ST_READER_FIND_H
#define ST_READER_FIND_H

#include <stdbool.h>
#include <stddef.h>

#include "analyzer/reader/status.h"

/* `word` may be NULL. *ret_guessed: the file was not named itself, so its name belongs on the first line.
 * ST_NOT_FOUND with a hint when there is none. */
enum st_status st_reader_find(const char *word, char *ret_path, size_t size, bool *ret_guessed, struct st_err *err);

#endif
