/* SPDX-License-Identifier: Apache-2.0 */
/* Functions with signatures that an opaque thunk can get wrong; see awkward.cc. */
#ifndef WATCH_AWKWARD_H
#define WATCH_AWKWARD_H

#include <string>
#include <vector>

#define EXPORT __attribute__((noinline, noclone, visibility("default")))

struct Huge { long values[120]; }; /* 960 bytes by value */
struct Page { long values[510]; };
struct Large { long values[2500]; };   // 20 kB: what lies in the caller's frame is copied
struct Endless { long values[12500]; }; // 100 kB: too much of it, the call is left alone
struct Pair { long whole; double real; };
struct Quad { double values[4]; }; // aarch64: in four vector registers, result too
struct alignas(64) Aligned { double values[8]; };

struct Base {
    virtual int virtual_awkward(int x);
    virtual ~Base() {}
};

EXPORT long awkward_integers(int a, long b, char c, short d, void *e, unsigned f, int g, long h, int i, int j, int k,
                             int l, int m, int n, int o, int p, int q, int r, int s, int t);
EXPORT double awkward_doubles(double a, float b, double c, double d, double e, double f, double g, double h, double i,
                              double j, int k, float l);
EXPORT long awkward_huge(Huge huge, int x);
EXPORT long awkward_page(Page page, int x);
EXPORT long awkward_large(Large large, int x);
EXPORT long awkward_endless(Endless endless, int x);
EXPORT long awkward_near_endless(const Endless *endless, int x);
EXPORT Huge awkward_return_huge(int x);
EXPORT Pair awkward_pair(long whole, double real);
EXPORT std::string awkward_string(std::string text, std::vector<int> numbers);
EXPORT __int128 awkward_int128(__int128 a);
EXPORT long double awkward_long_double(long double a, int b);
EXPORT _Complex long double awkward_complex(long double a);
EXPORT double awkward_variadic(int n, ...);
EXPORT double awkward_aligned(Aligned a, int x);
EXPORT Quad awkward_quad(Quad a, Quad b, Quad c, int x);
// pairs, because a compiler calls a function itself without the symbol slot
EXPORT void awkward_throws(int depth);
EXPORT void awkward_throws_too(int depth);
EXPORT int awkward_catches(int depth);
EXPORT void awkward_jumps(int depth);
EXPORT void awkward_jumps_too(int depth);
EXPORT int awkward_lands(int depth);
EXPORT int awkward_recursive(int n);
EXPORT int awkward_recursive_too(int n);
EXPORT int awkward_tail(int x);
EXPORT int awkward_tail_end(int x);
EXPORT Base *awkward_make();
extern "C" EXPORT int awkward_in_thread(int x);
EXPORT void awkward_all();

#endif
