// SPDX-License-Identifier: Apache-2.0
// One picture: encode (2 launches), sample (3 times a step of 2 launches, and 1 in between), decode (2 launches; it may
// throw, and is called again inside itself). REACH says how the stage functions are declared; also compiled as C, where
// vae::encode is vae_encode.
#include "reach.h"

#include <unistd.h>

#ifdef REACH_INLINED
#define REACH inline __attribute__((always_inline))
#elif !defined(REACH)
#define REACH __attribute__((noinline))
#endif

#ifdef __cplusplus
#include <cstdio>
#include <stdexcept>
#endif

static void launch(struct reach_work *work, CUfunction function)
{
    if (work->is_slow) usleep(1500);
    CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, work->stream, NULL, NULL));
    work->sum = 3 * work->sum + 1;
}

/* Too large for registers: it comes back in memory. */
struct latent {
    long values[12];
};

#ifdef __cplusplus
namespace vae {
#else
#define encode vae_encode
#define decode vae_decode
#define sample unet_sample
#define step unet_step
#endif

REACH struct latent encode(struct reach_work *work, double scale)
{
    struct latent result = {{0}};
    launch(work, work->encoding);
    launch(work, work->encoding);
    for (int i = 0; i < 12; i++) result.values[i] = (long)(scale * i);
    return result;
}

REACH void decode(struct reach_work *work, int again)
{
    launch(work, work->decoding);
#ifdef REACH_INLINED
    if (again) launch(work, work->decoding);
#else
    if (again) {
        decode(work, 0);
        return;
    }
#endif
#ifdef __cplusplus
    if (work->throws) throw std::runtime_error("decode");
#endif
    __asm__ volatile("");
}

#ifdef __cplusplus
}
namespace {
#endif

REACH int step(struct reach_work *work, struct latent latent, long double strength)
{
    launch(work, work->stepping);
    launch(work, work->stepping);
    return (int)(latent.values[3] * strength);
}

#ifdef __cplusplus
}
namespace unet {
struct Sampler {
    REACH int sample(struct reach_work *work, const struct latent *latent);
};
#define sample Sampler::sample
#endif

REACH int sample(struct reach_work *work, const struct latent *latent)
{
    int sum = 0;
    for (int i = 0; i < REACH_STEPS; i++) {
        sum += step(work, *latent, 1.5L);
        launch(work, work->between);
    }
    return sum;
}

#ifdef __cplusplus
}
#undef sample
#endif

#ifdef __cplusplus
extern "C" {
#endif

void reach_spare(struct reach_work *work)
{
    launch(work, work->between);
}

void reach_unused(struct reach_work *work)
{
    launch(work, work->between);
}

__attribute__((noinline)) void reach_picture(struct reach_work *work)
{
#ifdef __cplusplus
    struct latent latent = vae::encode(work, 2.5);
    work->sum += (unsigned)unet::Sampler().sample(work, &latent);
    try {
        vae::decode(work, 1);
    } catch (const std::exception &error) {
        std::printf("caught %s\n", error.what());
    }
#else
    struct latent latent = vae_encode(work, 2.5);
    work->sum += (unsigned)unet_sample(work, &latent);
    vae_decode(work, 1);
#endif
    __asm__ volatile("");
}

#ifdef __cplusplus
}
#endif
