/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The demo generator: a program that knows nothing of any profiler. Its stages are functions of a shared
 * library (libdemo_stages.so), exported and called through the PLT even inside the library, as the parts of
 * a real generator that come from several libraries are. One thread.
 */
#ifndef DEMO_DEMO_H
#define DEMO_DEMO_H

#include "model.h"
#include <stdbool.h>
#include <stdint.h>

/* Deliberately wrong variants, for the tests: a missing wait must show in the picture. */
enum demo_broken { DEMO_BROKEN_NOTHING, DEMO_BROKEN_WAIT, DEMO_BROKEN_JOIN };

struct demo_settings {
    int images, steps, size; /* size: picture width = height, a multiple of DEMO_SCALE */
    uint32_t seed;
    const char *prompt, *out;
    bool pageable, item_sync, offload, slow_png, two_streams, graphs, verbose, progress;
    enum demo_broken broken;
};

/* One of the two evaluations of the net in a step: with the prompt and without it. */
struct demo_branch {
    float *text;   /* pooled embedding */
    float *noise;  /* predicted noise */
    float *hidden, *other, *modulation;
    void *stream;
};

struct demo {
    struct demo_settings settings;
    struct demo_layout layout;
    uint32_t latent_width;
    int image, step; /* from 1, as printed */
    int32_t *tokens_host;
    float *unet_host; /* where the net's weights go in --offload */
    uint8_t *rgb_host;
    float *text_weights, *unet_weights, *vae_weights;
    int32_t *tokens;
    float *token_rows, *token_rows_other;
    float *latent, *partial, *norm;
    float *pixels, *pixels_other;
    uint8_t *rgb;
    struct demo_branch with_prompt, without_prompt;
    void *stream, *second_stream, *fork_event, *join_event;
    void **step_graphs; /* --graphs: of each step, from the first image on that made it; else NULL */
};

/* The stages. Errors end the program with a message and exit 1. */
void demo_load_weights(struct demo *demo);
void demo_make_image(struct demo *demo, int image, const char *path);
void demo_encode(struct demo *demo, const char *prompt);
void demo_sample(struct demo *demo, uint32_t seed);
void demo_step(struct demo *demo, int step);
void demo_decode(struct demo *demo);
void demo_output(struct demo *demo, const char *path);
void demo_copy_back(struct demo *demo);
void demo_write_png(struct demo *demo, const char *path);
void demo_unload(struct demo *demo);

/*
 * What the generator tells of its stages. Its own log (--timings), an independent measure of host times:
 * CLOCK_MONOTONIC from the first thing in begin to the first in end, kept in memory until written. NVTX ranges of the
 * same names, as many programs have them; they do nothing without a tool. Lines (--progress). Begin returns the time
 * that end wants.
 */
uint64_t demo_now_ns(void);
uint64_t demo_stage_begin(const struct demo *demo, const char *stage);
void demo_stage_end(const struct demo *demo, const char *stage, uint64_t start_ns);
bool demo_timings_write(const char *path);

#endif
