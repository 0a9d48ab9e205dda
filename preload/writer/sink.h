/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output file: its name (surface §1, STAGETAP_OUT) and appending to it so that it always ends with a
 * whole frame. Writer thread only, after st_sink_open().
 */
#ifndef ST_WRITER_SINK_H
#define ST_WRITER_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ST_SINK_PATH_BYTES 2048

struct st_sink_request {
    const char *pattern; /* STAGETAP_OUT, or NULL for the default */
    const char *folder;  /* the process's first working folder */
    const char *program; /* for %e */
    const char *temporary; /* TMPDIR, or NULL */
    uint64_t limit_bytes; /* 0 = default */
    const uint8_t *run;   /* 16 bytes: the run that this process belongs to; NULL = not known */
    uint64_t process_start_ns; /* CLOCK_REALTIME, rounded down: tells the trace of an image before exec */
};

struct st_sink {
    int fd; /* -1: no file. The target may close it behind our back and get the number for a file of its own */
    uint64_t device, inode; /* what the file is */
    char path[ST_SINK_PATH_BYTES]; /* absolute */
    bool is_elsewhere;             /* the wanted folder could not be written: path lies in TMPDIR or /tmp */
    uint64_t offset;               /* end of the last whole frame */
    uint64_t limit_bytes;
    int last_errno;                /* of the last failure, 0 = none so far */
};

/* Choose the name and create the file (0600, never overwriting). False: no file could be made anywhere. */
bool st_sink_open(struct st_sink *sink, const struct st_sink_request *request);

/* Append whole frames. False: nothing of them is in the file (cut back), last_errno says why. */
bool st_sink_append(struct st_sink *sink, const void *bytes, size_t length);

void st_sink_close(struct st_sink *sink);

#endif
