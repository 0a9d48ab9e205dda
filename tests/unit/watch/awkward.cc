// SPDX-License-Identifier: Apache-2.0
// A library whose functions call each other through its own symbol slots, with arguments and results in every
// place that the ABIs of x86_64 and aarch64 know. It prints what comes out; a profiler must not change a byte of it.
#include "awkward.h"

#include <csetjmp>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <stdexcept>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

long awkward_integers(int a, long b, char c, short d, void *e, unsigned f, int g, long h, int i, int j, int k, int l,
                      int m, int n, int o, int p, int q, int r, int s, int t)
{
    return a + 3 * b + 5 * c + 7 * d + 11 * (long)(intptr_t)e + 13l * f + 17 * g + 19 * h + 23 * i + 29 * j + 31 * k +
           37 * l + 41 * m + 43 * n + 47 * o + 53 * p + 59 * q + 61 * r + 67 * s + 71 * t;
}

double awkward_doubles(double a, float b, double c, double d, double e, double f, double g, double h, double i,
                       double j, int k, float l)
{
    return a + 3 * b + 5 * c + 7 * d + 11 * e + 13 * f + 17 * g + 19 * h + 23 * i + 29 * j + 31 * k + 37 * l;
}

long awkward_huge(Huge huge, int x)
{
    long sum = x;
    for (long value : huge.values) {
        sum = sum * 3 + value;
    }
    huge.values[0] = -1; // the copy is ours
    return sum;
}

long awkward_page(Page page, int x)
{
    long sum = x;
    for (long value : page.values) {
        sum = sum * 3 + value;
    }
    return sum;
}

template <typename T> static long sum_up(const T &what, int x)
{
    long sum = x;
    for (long value : what.values) {
        sum = sum * 3 + value;
    }
    return sum;
}

long awkward_large(Large large, int x)
{
    return sum_up(large, x);
}

long awkward_endless(Endless endless, int x)
{
    return sum_up(endless, x);
}

// Its symbol says that there is no structure: seen whatever the frame of the caller.
long awkward_near_endless(const Endless *endless, int x)
{
    return sum_up(*endless, x);
}

Huge awkward_return_huge(int x)
{
    Huge huge;
    for (int i = 0; i < 120; i++) {
        huge.values[i] = (long)x * i;
    }
    return huge;
}

Pair awkward_pair(long whole, double real)
{
    return {whole + 1, real + 0.5};
}

std::string awkward_string(std::string text, std::vector<int> numbers)
{
    return text + " and " + std::to_string(numbers.size());
}

__int128 awkward_int128(__int128 a)
{
    return a * 3;
}

long double awkward_long_double(long double a, int b)
{
    return a * b;
}

_Complex long double awkward_complex(long double a)
{
    _Complex long double result;
    __real__ result = a;
    __imag__ result = -2 * a;
    return result;
}

double awkward_variadic(int n, ...)
{
    va_list list;
    double sum = 0;
    va_start(list, n);
    for (int i = 0; i < n; i++) {
        sum = sum * 2 + (i % 2 ? va_arg(list, double) : (double)va_arg(list, int));
    }
    va_end(list);
    return sum;
}

double awkward_aligned(Aligned a, int x)
{
    double sum = x;
    for (double value : a.values) {
        sum = sum * 2 + value;
    }
    return (uintptr_t)&a % 64 ? -1 : sum;
}

Quad awkward_quad(Quad a, Quad b, Quad c, int x)
{
    Quad sum;
    for (int i = 0; i < 4; i++) {
        sum.values[i] = a.values[i] + 3 * b.values[i] + 5 * c.values[i] + x;
    }
    return sum;
}

void awkward_throws(int depth)
{
    if (depth == 0) {
        throw std::runtime_error("from below");
    }
    awkward_throws_too(depth - 1);
    std::puts("never");
}

void awkward_throws_too(int depth)
{
    awkward_throws(depth);
    std::puts("never");
}

int awkward_catches(int depth)
{
    try {
        awkward_throws(depth);
    } catch (const std::exception &error) {
        std::printf("caught %s\n", error.what());
        return depth;
    }
    return -1;
}

static thread_local std::jmp_buf landing;

void awkward_jumps(int depth)
{
    if (depth == 0) {
        std::longjmp(landing, 7);
    }
    awkward_jumps_too(depth - 1);
    std::puts("never");
}

void awkward_jumps_too(int depth)
{
    awkward_jumps(depth);
    std::puts("never");
}

int awkward_lands(int depth)
{
    int how = setjmp(landing);
    if (how == 0) {
        awkward_jumps(depth);
    }
    return how;
}

int awkward_recursive(int n)
{
    return n ? 1 + awkward_recursive_too(n - 1) : 0;
}

int awkward_recursive_too(int n)
{
    return n ? 1 + awkward_recursive(n - 1) : 0;
}

int awkward_tail_end(int x)
{
    return x + 1;
}

int awkward_tail(int x)
{
    return awkward_tail_end(2 * x);
}

int Base::virtual_awkward(int x)
{
    return 5 * x;
}

Base *awkward_make()
{
    return new Base;
}

static int (*const functions[])(int) = {awkward_tail, awkward_recursive};

int awkward_in_thread(int x)
{
    return x + 1;
}

#if defined(__x86_64__)
#pragma GCC diagnostic ignored "-Wpsabi"
EXPORT __attribute__((target("avx"))) __m256d awkward_avx(__m256d a, __m256d b, __m256d c, __m256d d, __m256d e,
                                                          __m256d f, __m256d g, __m256d h, __m256d i)
{
    return a + b + c + d + e + f + g + h * i;
}

EXPORT __attribute__((target("avx512f"))) __m512d awkward_avx512(__m512d a, __m512d b)
{
    return a * b;
}

__attribute__((target("avx"))) static void show_avx()
{
    __m256d v[9];
    double out[4];
    for (int i = 0; i < 9; i++) {
        v[i] = _mm256_set_pd(i, 2 * i, 3 * i, 4 * i);
    }
    _mm256_storeu_pd(out, awkward_avx(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8]));
    std::printf("avx %g %g %g %g\n", out[0], out[1], out[2], out[3]);
}

__attribute__((target("avx512f"))) static void show_avx512()
{
    double out[8];
    _mm512_storeu_pd(out, awkward_avx512(_mm512_set1_pd(1.5), _mm512_set_pd(1, 2, 3, 4, 5, 6, 7, 8)));
    std::printf("avx512 %g %g\n", out[0], out[7]);
}

static void show_vectors()
{
    if (__builtin_cpu_supports("avx")) {
        show_avx();
    }
    if (__builtin_cpu_supports("avx512f")) {
        show_avx512();
    }
}
#else
static void show_vectors() {}
#endif

// A caller that no unwind information tells of: its call is left alone.
extern "C" int awkward_bare(int x);
__asm__(".text\n.hidden awkward_bare\n.globl awkward_bare\n"
#if defined(__x86_64__)
        "awkward_bare: subq $8, %rsp\n call awkward_in_thread@PLT\n addq $8, %rsp\n ret\n"
#else
        "awkward_bare: stp x29, x30, [sp, #-16]!\n bl awkward_in_thread\n ldp x29, x30, [sp], #16\n ret\n"
#endif
);

static void __attribute__((noinline)) show_large(int depth)
{
    Large large;
    for (int i = 0; i < 2500; i++) {
        large.values[i] = i + depth;
    }
    std::printf("large %ld\n", awkward_large(large, 3));
}

static void __attribute__((noinline)) show_endless()
{
    Endless endless;
    for (int i = 0; i < 12500; i++) {
        endless.values[i] = 7 * i;
    }
    std::printf("endless %ld near %ld\n", awkward_endless(endless, 3), awkward_near_endless(&endless, 4));
}

void awkward_all()
{
    show_large(1);
    show_endless();
    std::printf("bare %d\n", awkward_bare(7));
    std::printf("integers %ld\n",
                awkward_integers(1, 2, 3, 4, (void *)5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20));
    std::printf("doubles %g\n", awkward_doubles(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
    Huge huge;
    for (int i = 0; i < 120; i++) {
        huge.values[i] = (long)i * i;
    }
    std::printf("huge %ld", awkward_huge(huge, 3));
    std::printf(" kept %ld\n", huge.values[0]);
    Page page;
    for (int i = 0; i < 510; i++) {
        page.values[i] = i;
    }
    std::printf("page %ld\n", awkward_page(page, 3));
    std::printf("returned huge %ld\n", awkward_return_huge(4).values[119]);
    Pair pair = awkward_pair(4, 2.25);
    std::printf("pair %ld %g\n", pair.whole, pair.real);
    std::printf("string %s\n", awkward_string("a text long enough for the heap", {1, 2, 3}).c_str());
    __int128 wide = awkward_int128(((__int128)7 << 64) + 5);
    std::printf("int128 %lx %lx\n", (long)(wide >> 64), (long)wide);
    std::printf("long double %Lg\n", awkward_long_double(1.25L, 3));
    _Complex long double complex = awkward_complex(2.5L);
    std::printf("complex %Lg %Lg\n", __real__ complex, __imag__ complex);
    std::printf("variadic %g\n", awkward_variadic(12, 1, 2.5, 3, 4.5, 5, 6.5, 7, 8.5, 9, 10.5, 11, 12.5));
    Aligned aligned;
    for (int i = 0; i < 8; i++) {
        aligned.values[i] = i;
    }
    std::printf("aligned %g\n", awkward_aligned(aligned, 1));
    Quad quad = awkward_quad({{1, 2, 3, 4}}, {{5, 6, 7, 8}}, {{9, 10, 11, 12}}, 2);
    std::printf("quad %g %g %g %g\n", quad.values[0], quad.values[1], quad.values[2], quad.values[3]);
    show_vectors();
    std::printf("catches %d %d\n", awkward_catches(0), awkward_catches(3));
    std::printf("lands %d %d\n", awkward_lands(0), awkward_lands(3));
    std::printf("recursive %d deep %d\n", awkward_recursive(20), awkward_recursive(500));
    std::printf("tail %d table %d %d\n", awkward_tail(5), functions[0](3), functions[1](4));
    Base *base = awkward_make();
    std::printf("virtual %d\n", base->virtual_awkward(6));
    delete base;
}
