/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the driver only through a library's tables, which the linker copied into this program (a COPY relocation). */
#include <stdio.h>

#include "table.h"

int main(void)
{
    printf("version %d %d\n", driver_table.version, driver_constants.version);
    if (!table_is_copied(&driver_table)) {
        printf("the table was not copied: nothing is tested\n");
        return 1;
    }
    for (int i = 0; i < 5; i++) {
        printf("copy %d\n", driver_table.copy(1, "copied", 7));
    }
    printf("copy %d\n", driver_constants.copy(1, "constant", 9));
    printf("wait %d\n", driver_table.wait(NULL));
    printf("unused %d\n", driver_table.unused != NULL);
    table_report();
    return 0;
}
