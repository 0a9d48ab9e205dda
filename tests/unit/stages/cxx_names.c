/* SPDX-License-Identifier: Apache-2.0 */
/* One symbol a line in, the C++ function's name out, or "-"; for cxx_agree.py. */
#include <stdio.h>
#include <string.h>

#include "config/cxx_name.h"

int main(void)
{
    static char line[1 << 20];
    char name[ST_CXX_NAME_BYTES];

    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = '\0';
        puts(st_cxx_name(line, name, sizeof(name)) ? name : "-");
    }
    return 0;
}
