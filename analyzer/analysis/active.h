/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rows of one request have an operation running right now, kept up to date from start to start and
 * end to end, so that a sweep costs the depth of a row per event and not the number of operations.
 *
 *   ops of    sample/step [k1        ]           ST_OWNER_ROW   one top-level row runs: its deepest row
 *             decode            [k2      ]       ST_OWNER_SHARED two run
 *             (no stage)                  [k3 ]  ST_OWNER_UNATTRIBUTED
 *   owner     step        ------     -- decode
 *                               =====  shared    ST_OWNER_NONE  nothing of the request runs
 */
#ifndef ST_ANALYSIS_ACTIVE_H
#define ST_ANALYSIS_ACTIVE_H

#include "rowset.h"

enum st_owner { ST_OWNER_NONE, ST_OWNER_ROW, ST_OWNER_SHARED, ST_OWNER_UNATTRIBUTED };

enum { ST_BUSY_ANY, ST_BUSY_KERNEL, ST_BUSY_MEMSET, ST_BUSY_COPY, ST_BUSY_KINDS = ST_BUSY_COPY + ST_COPY_KINDS };

struct st_active_row {
    uint32_t running[ST_BUSY_KINDS]; /* operations of the row or below, by what they are */
    int64_t since_ns[ST_BUSY_KINDS]; /* when that became more than none */
    int64_t busy_ns[ST_BUSY_KINDS];  /* finished stretches */
    uint32_t direct;                 /* operations of exactly this row */
    int64_t latest_launch_ns;        /* of these, as far as seen: decides between rows of one depth */
};

struct st_active {
    struct st_rowset *set;
    struct st_active_row *rows; /* by local number */
    uint32_t *running;          /* local numbers of rows with direct > 0 */
    size_t running_count;
};

/* All rows of the operations that will be given must be in `set` by now. False: no memory. */
bool st_active_init(struct st_active *active, struct st_rowset *set);
void st_active_finish(struct st_active *active);

void st_active_start(struct st_active *active, const struct st_op *op, int64_t at_ns);
void st_active_end(struct st_active *active, const struct st_op *op, int64_t at_ns);

/* Whose time it is now; *ret_row: local number for ST_OWNER_ROW. */
enum st_owner st_active_owner(const struct st_active *active, uint32_t *ret_row);

#endif
