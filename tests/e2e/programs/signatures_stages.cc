// SPDX-License-Identifier: Apache-2.0
// Stage functions in a library that calls itself by its symbols. What each got is printed: a profiler in between must
// not change it.
#include "signatures.h"

#include <csetjmp>
#include <cstdarg>
#include <cstdio>
#include <stdexcept>

#if defined(__x86_64__)
#include <immintrin.h>
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

namespace {

std::jmp_buf landing;

// Logs its stage however it is left, but for longjmp.
class Logged {
public:
    Logged(const char *stage, const Work *work, int step = -1) : stage(stage), image(work->image), step(step) {}
    ~Logged() { e2e_log(stage, image, step, start_ns); }

private:
    const char *stage;
    int image, step;
    uint64_t start_ns = e2e_now_ns();
};

void launch(const Work *work, int count)
{
    for (int i = 0; i < count; i++) e2e_launch(work->kernel, work->stream);
    e2e_spin_us(100);
}

} // namespace

namespace sd {

Latent encode(Work *work, std::string prompt, __int128 seed)
{
    Logged logged("encode", work);
    Latent latent;
    launch(work, 2);
    for (int i = 0; i < 20; i++) latent.values[i] = (double)(i * seed) + (double)prompt.size();
    return latent;
}

#if defined(__x86_64__)
EXPORT __attribute__((target("avx"))) __m256d blend(Work *work, __m256d a, __m256d b, __m256d c, __m256d d, __m256d e,
                                                    __m256d f, __m256d g, __m256d h, __m256d i)
{
    Logged logged("blend", work);
    launch(work, 1);
    return a + b + c + d + e + f + g + h * i;
}

static __attribute__((target("avx"))) double wide(Work *work)
{
    double out[4];
    __m256d v[9];
    for (int i = 0; i < 9; i++) v[i] = _mm256_set_pd(i, 2 * i, 3 * i, 4 * i);
    _mm256_storeu_pd(out, blend(work, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8]));
    return out[0] + 10 * out[1] + 100 * out[2] + 1000 * out[3];
}
#endif

EXPORT double blend(Work *work, Quad a, Quad b)
{
    Logged logged("blend", work);
    launch(work, 1);
    return a.values[0] + 10 * b.values[3];
}

static double blended(Work *work)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx")) return wide(work);
#endif
    return blend(work, Quad{{1, 2, 3, 4}}, Quad{{5, 6, 7, 8}});
}

double step(Work *work, int number, int count, ...)
{
    Logged logged("step", work, number);
    va_list list;
    double sum = 0;
    va_start(list, count);
    for (int i = 0; i < count; i++) sum = 2 * sum + va_arg(list, double);
    va_end(list);
    launch(work, 2);
    return sum;
}

long double sample(Work *work, Latent latent, int left)
{
    if (left == SIGNATURES_STEPS) {
        Logged logged("sample", work);
        launch(work, 1);
        long double sum = sample(work, latent, left - 1);
        launch(work, 1);
        return sum;
    }
    latent.values[left]++;
    double value = step(work, SIGNATURES_STEPS - 1 - left, 10, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5);
    return value * latent.values[left] + (left ? sample(work, latent, left - 1) : 0.25L);
}

Image decode(Work *work, Image image, long double scale, Quad quad)
{
    Logged logged("decode", work);
    launch(work, 2);
    for (unsigned &pixel : image.pixels) pixel = 3 * pixel + (unsigned)(scale * quad.values[2]);
    return image;
}

void check(Work *work, int depth)
{
    if (depth == 2) {
        Logged logged("check", work);
        launch(work, 1);
        check_too(work, depth - 1);
    }
    if (depth == 0) throw std::runtime_error("not safe for work");
    check_too(work, depth - 1);
}

void check_too(Work *work, int depth)
{
    check(work, depth);
}

void retry(Work *work)
{
    uint64_t start_ns = e2e_now_ns();
    launch(work, 1);
    e2e_log("retry", work->image, -1, start_ns);
    std::longjmp(landing, 7);
}

int save(Work *work, int value)
{
    Logged logged("save", work);
    launch(work, 1);
    return value + 1;
}

int finish(Work *work, int value)
{
    uint64_t start_ns = e2e_now_ns();
    launch(work, 1);
    e2e_log("finish", work->image, -1, start_ns); // before save(), which is called by a jump
    return save(work, 2 * value);
}

unsigned frame(Work *work, Canvas canvas)
{
    unsigned sum = 0;
    launch(work, 1);
    for (unsigned pixel : canvas.pixels) sum = 3 * sum + pixel;
    return sum;
}

static void __attribute__((noinline)) show_decoded(Work *work)
{
    Image image;
    unsigned sum = 0;
    for (int i = 0; i < 3000; i++) image.pixels[i] = (unsigned)i;
    for (unsigned pixel : decode(work, image, 2.5L, Quad{{1, 2, 3, 4}}).pixels) sum = 3 * sum + pixel;
    std::printf("decoded %u\n", sum);
}

static void __attribute__((noinline)) show_frame(Work *work)
{
    Canvas canvas;
    for (int i = 0; i < 40000; i++) canvas.pixels[i] = 7u * (unsigned)i;
    std::printf("frame %u\n", frame(work, canvas));
}

static void __attribute__((noinline)) show_retry(Work *work)
{
    int how = setjmp(landing);
    if (how == 0) retry(work);
    std::printf("finished %d %d\n", how, finish(work, how));
}

void picture(Work *work)
{
    Logged logged("request", work);
    Latent latent = encode(work, "a text that is long enough for the heap", ((__int128)7 << 64) + work->image);
    std::printf("encoded %g\n", latent.values[19]);
    std::printf("sampled %Lg blended %g\n", sample(work, latent, SIGNATURES_STEPS), blended(work));
    show_decoded(work);
    try {
        check(work, 2);
    } catch (const std::exception &error) {
        std::printf("caught %s\n", error.what());
    }
    show_retry(work);
    show_frame(work);
    CHECK(cuCtxSynchronize());
}

} // namespace sd
