/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime functions that only pass their arguments on (forward.def). They are not typed one by one: six
 * integer argument registers go through as they came, which on x86_64 and aarch64 carries any mix of
 * integers, handles and pointers. Any thread.
 */
#include "runtime.h"

typedef int (*forward_fn)(long, long, long, long, long, long);

/* One step more, so that the name may be a SIM_NEWER(…). */
#define FWD(...) DO_FWD(__VA_ARGS__)
#define FWD_SZ(...) DO_FWD_SZ(__VA_ARGS__)

#define DO_FWD(level, name, driver_name, version) static forward_fn name##_to;
#define DO_FWD_SZ(level, name, driver_name, version) static forward_fn name##_to, name##_ptsz_to;
#include "forward.def"
#undef DO_FWD
#undef DO_FWD_SZ

void sim_forward_resolve(void)
{
#define DO_FWD(level, name, driver_name, version) name##_to = (forward_fn)sim_rt_lookup(#driver_name, version, 0);
#define DO_FWD_SZ(level, name, driver_name, version)                                                                   \
    DO_FWD(level, name, driver_name, version)                                                                          \
    name##_ptsz_to = (forward_fn)sim_rt_lookup(#driver_name, version, 2);
#include "forward.def"
#undef DO_FWD
#undef DO_FWD_SZ
}

static int pass_on(forward_fn function, long a, long b, long c, long d, long e, long f)
{
    return function ? function(a, b, c, d, e, f) : SIM_NOT_SUPPORTED;
}

#define ONE(level, mode, name, to)                                                                                     \
    int name(long a, long b, long c, long d, long e, long f);                                                          \
    int name(long a, long b, long c, long d, long e, long f)                                                           \
    {                                                                                                                  \
        SIM_FRAME(level, mode, pass_on(to, a, b, c, d, e, f))                                                          \
    }
#define DO_FWD(level, name, driver_name, version) ONE(level, 0, name, name##_to)
#define DO_FWD_SZ(level, name, driver_name, version)                                                                   \
    ONE(level, 0, name, name##_to)                                                                                     \
    ONE(level, 1, name##_ptsz, name##_ptsz_to)
#include "forward.def"
