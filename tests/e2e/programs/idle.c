/* SPDX-License-Identifier: Apache-2.0 */
/* idle [SECONDS]: says "ready" and waits; nothing of CUDA. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    puts("ready");
    fflush(stdout);
    if (argc > 1) sleep((unsigned)atoi(argv[1]));
    return 3;
}
