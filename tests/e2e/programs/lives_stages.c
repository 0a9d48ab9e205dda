/* SPDX-License-Identifier: Apache-2.0 */
/* The stage functions of lives.c. No tail calls: a stage must still be there while its work runs. */
#include "lives.h"

static void run(lives_work work, void *argument)
{
    work(argument);
    __asm__ volatile("");
}

void lives_request(lives_work work, void *argument)
{
    run(work, argument);
    __asm__ volatile("");
}

void lives_encode(lives_work work, void *argument)
{
    run(work, argument);
    __asm__ volatile("");
}

void lives_sample(lives_work work, void *argument)
{
    run(work, argument);
    __asm__ volatile("");
}

void lives_decode(lives_work work, void *argument)
{
    run(work, argument);
    __asm__ volatile("");
}
