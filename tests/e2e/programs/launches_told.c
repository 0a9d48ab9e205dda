/* SPDX-License-Identifier: Apache-2.0 */
/* launches_told: each byte on stdin is a number of launches; see static_teller.c. Says nothing. Exit status 7. */
#include <unistd.h>

#include "printer.h"

int main(void)
{
    char count;

    while (read(STDIN_FILENO, &count, 1) == 1) {
        printer_launch(count);
        if (write(STDIN_FILENO, &count, 1) != 1)
            return 9;
    }
    return 7;
}
