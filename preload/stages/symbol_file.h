/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that an ELF file on the disk names in its symbol table (.symtab: static and hidden ones too, unless the
 * file is stripped). The file is read, never mapped: it may be cut short under us. Plain C with system calls, no
 * malloc.
 */
#ifndef ST_STAGES_SYMBOL_FILE_H
#define ST_STAGES_SYMBOL_FILE_H

#include <stdbool.h>
#include <stdint.h>

enum st_symbol_file { ST_SYMBOL_FILE_READ, ST_SYMBOL_FILE_STRIPPED, ST_SYMBOL_FILE_UNREADABLE, ST_SYMBOL_FILE_OTHER };

/* `name` ends in front of the first dot behind its begin (.cold, .part.0, .constprop.0 are parts of the function);
 * `value` as in the file: add the object's base. */
typedef void (*st_symbol_file_fn)(void *context, const char *name, uint64_t value, uint64_t size);

/* `path` "" is this program. `headers_hash`: of the mapped object's program headers; another one in the file means that
 * it is not what is mapped (OTHER). `or_dynamic`: where there is no .symtab, the dynamic symbols. */
enum st_symbol_file st_symbol_file_read(const char *path, uint64_t headers_hash, bool or_dynamic,
                                        st_symbol_file_fn each, void *context);

#endif
