/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the analyzer's library code reports failure: a status, and the words for it in a struct st_err. It
 * never prints and never exits; the command prints "stagetap: FILE: what (at byte N); hint" once.
 */
#ifndef ST_READER_STATUS_H
#define ST_READER_STATUS_H

#include <stdint.h>

enum st_status {
    ST_OK = 0,
    ST_NO_MEMORY = -1,
    ST_IO = -2,          /* a system call failed */
    ST_NOT_FOUND = -3,   /* no such file, or no trace where one was looked for */
    ST_NOT_A_TRACE = -4, /* no readable header */
    ST_TOO_NEW = -5,     /* written by a later major version */
    ST_USAGE = -7,       /* the caller's input (an option's value) is wrong */
};

struct st_err {
    char file[512]; /* "" = no file */
    int64_t offset; /* byte in the file, -1 = none */
    char what[256]; /* one line: what is wrong */
    char hint[160]; /* one line: what to do; "" = nothing */
};

/* Fill *err (may be NULL) and return `status`, so that a failing function ends with `return st_fail(…)`. */
enum st_status st_fail(struct st_err *err, enum st_status status, const char *file, int64_t offset, const char *hint,
                       const char *what_format, ...) __attribute__((format(printf, 6, 7)));

#endif
