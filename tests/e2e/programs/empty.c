/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is only there: its soname stands for another back-end. */
int e2e_empty(void);

int e2e_empty(void)
{
    return 0;
}
