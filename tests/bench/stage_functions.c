/* SPDX-License-Identifier: Apache-2.0 */
/* The library of stage_cost.c. */
void stage_plain(int number);
void stage_exact(int number);

void stage_plain(int number)
{
    __asm__ volatile("");
}

void stage_exact(int number)
{
    __asm__ volatile("");
}
