/* SPDX-License-Identifier: Apache-2.0 */
/* No loader, so no preload: out of reach, and unharmed. */
#include <stdio.h>

int main(void)
{
    printf("static\n");
    return 0;
}
