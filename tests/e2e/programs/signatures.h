/* SPDX-License-Identifier: Apache-2.0 */
/* A generator whose stage functions have every signature and every way out; see signatures_stages.cc. */
#ifndef E2E_SIGNATURES_H
#define E2E_SIGNATURES_H

extern "C" {
#include "cuda_few.h"
#include "stage_log.h"
}
#include <string>

#define SIGNATURES_STEPS 3
#define EXPORT __attribute__((noinline, visibility("default")))

struct Work {
    CUfunction kernel;
    CUstream stream;
    int image;
};

struct Latent { double values[20]; };      // comes back in memory
struct Image { unsigned pixels[3000]; };   // 12 kB, passed by value
struct Canvas { unsigned pixels[40000]; }; // 160 kB, passed by value: no thunk copies it
struct Quad { double values[4]; };

namespace sd {

EXPORT Latent encode(Work *work, std::string prompt, __int128 seed);
EXPORT long double sample(Work *work, Latent latent, int left); // calls itself
EXPORT double step(Work *work, int number, int count, ...);     // doubles
EXPORT Image decode(Work *work, Image image, long double scale, Quad quad);
EXPORT void check(Work *work, int depth);   // throws through three stages
EXPORT void check_too(Work *work, int depth);
EXPORT void retry(Work *work);              // leaves by longjmp
EXPORT int finish(Work *work, int value);   // calls save() as the last thing
EXPORT int save(Work *work, int value);
EXPORT unsigned frame(Work *work, Canvas canvas);
EXPORT void picture(Work *work);

} // namespace sd

#endif
