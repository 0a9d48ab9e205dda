/* SPDX-License-Identifier: Apache-2.0 */
/* hosts_number[]: 300 functions. */
#include "hosts.h"

#define ONE(n) \
    static void number_##n(void *counts) \
    { \
        ((int *)counts)[1##n - 1000]++; \
    }
#define TEN(n, do) do(n##0) do(n##1) do(n##2) do(n##3) do(n##4) do(n##5) do(n##6) do(n##7) do(n##8) do(n##9)
#define HUNDRED(n, do) \
    TEN(n##0, do) TEN(n##1, do) TEN(n##2, do) TEN(n##3, do) TEN(n##4, do) TEN(n##5, do) TEN(n##6, do) TEN(n##7, do) \
    TEN(n##8, do) TEN(n##9, do)
#define ALL(do) HUNDRED(0, do) HUNDRED(1, do) HUNDRED(2, do)
#define ITEM(n) number_##n,

ALL(ONE)
void (*const hosts_number[HOSTS_NUMBERS])(void *counts) = {ALL(ITEM)};
