/* SPDX-License-Identifier: Apache-2.0 */
/* reach as one C program whose stages are static functions. */
#define REACH static __attribute__((noinline))
#include "reach_stages.cc"
