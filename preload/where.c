/* SPDX-License-Identifier: Apache-2.0 */
#include "where.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = PATH_MAX + 128 };

void st_where(const void *address, char *ret_text, size_t size)
{
    snprintf(ret_text, size, "%p", address);
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[LINE_BYTES], first_path[LINE_BYTES] = "";
    unsigned long long first = 0, begin, end;
    while (maps && fgets(line, sizeof(line), maps)) {
        char *path = strchr(line, '/');
        if (sscanf(line, "%llx-%llx", &begin, &end) != 2) {
            continue;
        }
        line[strcspn(line, "\n")] = '\0';
        if (path && strcmp(path, first_path) != 0) {
            strcpy(first_path, path);
            first = begin;
        }
        if ((uintptr_t)address >= begin && (uintptr_t)address < end) {
            if (path) {
                snprintf(ret_text, size, "%s+0x%llx", strrchr(path, '/') + 1, (uintptr_t)address - first);
            }
            break;
        }
    }
    if (maps) {
        fclose(maps);
    }
}
