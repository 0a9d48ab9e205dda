/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the LD_AUDIT shim (preload/audit) and the preloaded library share: one variable that the library exports
 * and the shim finds by name in the library's own symbol table. The shim lives in a link namespace of its
 * own, so nothing else connects the two.
 */
#ifndef ST_WATCH_AUDIT_H
#define ST_WATCH_AUDIT_H

#include <stdbool.h>

/* The number is that of the layout: a shim of another layout finds nothing and stays idle. */
#define ST_AUDIT_VARIABLE stagetap_audit_1

struct st_audit {
    /* Called for each object that was mapped, in any namespace, before anything binds to it; by the thread
     * that loads it, with the loader's lock held. NULL until the library's constructor has run. */
    void (*_Atomic on_object)(void);
    bool is_loaded; /* set by the shim before the library is relocated; constant from the constructor on */
};
extern struct st_audit ST_AUDIT_VARIABLE;

#endif
