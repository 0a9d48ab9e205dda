/* SPDX-License-Identifier: Apache-2.0 */
/* Which file an address of this process comes from. */
#ifndef ST_PRELOAD_WHERE_H
#define ST_PRELOAD_WHERE_H

#include <stddef.h>

/*
 * "FILE+0xOFFSET" (the name without its folder; the offset from where the file is mapped first, as addr2line takes it
 * for a library), or "0xADDRESS" in memory of no file. Reads /proc/self/maps: no lock of the loader is taken, which
 * a fork on another thread would leave locked in its child. For the writer's thread.
 */
void st_where(const void *address, char *ret_text, size_t size);

#endif
