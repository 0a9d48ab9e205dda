/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How lines get from `stagetap run --tee`, which copies what the programs below it print, into those that have the library
 * in them: a ring in shared memory with one writer. The launcher writes lines that a rule matches and nothing else; a
 * reader that is more than ST_TEE_LINES behind loses the oldest. Readers map it for reading only.
 */
#ifndef ST_CONFIG_TEE_H
#define ST_CONFIG_TEE_H

#include <stdatomic.h>
#include <stdint.h>

#include "config/line.h"

#define ST_TEE_VARIABLE "STAGETAP_INTERNAL_TEE" /* names a file: that ring */
#define ST_TEE_MAGIC 0x31656574u                /* "tee1" */
enum { ST_TEE_LINES = 128 };

struct st_tee_line {
    _Atomic uint64_t ready; /* its number + 1 once it is whole; 0 while it is written */
    uint64_t raw_ns;        /* CLOCK_MONOTONIC_RAW when the launcher had read it … */
    uint64_t late_ns;       /* … and how much earlier it may have been printed */
    char text[ST_LINE_BYTES];
};

struct st_tee {
    uint32_t magic, bytes; /* ST_TEE_MAGIC, sizeof(struct st_tee) */
    _Atomic uint64_t count; /* lines written so far; line n is at n % ST_TEE_LINES */
    struct st_tee_line lines[ST_TEE_LINES];
};

#endif
