/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between processors, for preload/watch. The thunks themselves are in *_x86_64.S. */
#ifndef ST_WATCH_ARCH_H
#define ST_WATCH_ARCH_H

#if defined(__x86_64__)
#include "arch_x86_64.h"
#else
#error "stagetap's thunks are written for x86_64"
#endif

#endif
