/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between processors, for preload/watch. The thunks themselves are in the *.S files. */
#ifndef ST_WATCH_ARCH_H
#define ST_WATCH_ARCH_H

#if defined(__x86_64__)
#include "arch_x86_64.h"
#elif defined(__aarch64__)
#include "arch_aarch64.h"
#else
#error "stagetap's thunks are written for x86_64 and aarch64"
#endif

#endif
