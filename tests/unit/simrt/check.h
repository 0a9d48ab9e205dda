/* SPDX-License-Identifier: Apache-2.0 */
/* A check that names itself and ends the program: what a test program of this folder stands on. */
#ifndef SIMRT_CHECK_H
#define SIMRT_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                                  \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

#define CHECK_EQ(actual, expected)                                                                                     \
    do {                                                                                                               \
        long long a_ = (long long)(actual), e_ = (long long)(expected);                                                \
        if (a_ != e_) {                                                                                                \
            fprintf(stderr, "%s:%d: %s is %lld, expected %lld\n", __FILE__, __LINE__, #actual, a_, e_);                \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

#endif
