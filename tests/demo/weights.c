/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The demo's weights: random numbers from a fixed seed, of a size that keeps the picture lively, and a smooth
 * position map. Only + - * / on floats, so that every machine makes the same.
 */
#include "model.h"
#include <math.h>

static uint32_t take(uint32_t *at, uint32_t floats)
{
    uint32_t begin = *at;
    *at += floats;
    return begin;
}

void demo_layout_set(struct demo_layout *layout, uint32_t latent_width)
{
    uint32_t at = 0;
    layout->text_table = take(&at, DEMO_VOCABULARY * DEMO_TEXT_DIM);
    layout->text_position = take(&at, DEMO_TOKENS * DEMO_TEXT_DIM);
    layout->text_mix = take(&at, DEMO_TEXT_LAYERS * DEMO_TEXT_DIM * DEMO_TEXT_DIM);
    layout->text_floats = at;
    at = 0;
    layout->unet_time = take(&at, DEMO_MODULATIONS * (DEMO_TEXT_DIM + 1));
    layout->unet_in = take(&at, DEMO_HIDDEN * DEMO_LATENT);
    layout->unet_depthwise = take(&at, DEMO_BLOCKS * DEMO_HIDDEN * DEMO_STENCIL);
    layout->unet_mix = take(&at, DEMO_BLOCKS * DEMO_HIDDEN * DEMO_HIDDEN);
    layout->unet_out = take(&at, DEMO_LATENT * DEMO_HIDDEN);
    layout->unet_position = take(&at, DEMO_BLOCKS * DEMO_HIDDEN * latent_width * latent_width);
    layout->unet_floats = at;
    at = 0;
    layout->vae_gain = take(&at, DEMO_DOUBLINGS * DEMO_LATENT);
    layout->vae_rgb = take(&at, 3 * (DEMO_LATENT + 1));
    layout->vae_floats = at;
}

/* In [-1, 1). */
static float random_float(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) * (2.0f / 16777216.0f) - 1.0f;
}

static void fill(float *to, uint32_t floats, float middle, float range, uint32_t *state)
{
    for (uint32_t i = 0; i < floats; i++) {
        to[i] = middle + range * random_float(state);
    }
}

/* A wave between -1 and 1 made of parabolas: like a sine, but exact everywhere. Period 1. */
static float wave(float x)
{
    float phase = x - floorf(x);
    float half = phase < 0.5f ? phase : phase - 0.5f;
    float arc = 16.0f * half * (0.5f - half);
    return phase < 0.5f ? arc : -arc;
}

/* One smooth plane per channel: a few slanted waves. */
static void fill_position(float *to, uint32_t width, uint32_t *state)
{
    for (uint32_t channel = 0; channel < DEMO_BLOCKS * DEMO_HIDDEN; channel++) {
        float x_rate = 1.5f * random_float(state), y_rate = 1.5f * random_float(state);
        float bend = 0.4f * random_float(state), shift = random_float(state);
        for (uint32_t y = 0; y < width; y++) {
            for (uint32_t x = 0; x < width; x++) {
                float u = (float)x / (float)width, v = (float)y / (float)width;
                *to++ = 1.5f * wave(u * x_rate + v * y_rate + bend * wave(u + v * 2.0f) + shift);
            }
        }
    }
}

void demo_weights_make(const struct demo_layout *layout, uint32_t latent_width, uint32_t seed, float *text,
                       float *unet, float *vae)
{
    uint32_t state = seed * 2654435761u + 12345u;
    fill(text + layout->text_table, DEMO_VOCABULARY * DEMO_TEXT_DIM, 0.0f, 1.5f, &state);
    fill(text + layout->text_position, DEMO_TOKENS * DEMO_TEXT_DIM, 0.0f, 0.3f, &state);
    fill(text + layout->text_mix, DEMO_TEXT_LAYERS * DEMO_TEXT_DIM * DEMO_TEXT_DIM, 0.0f, 0.4f, &state);
    fill(unet + layout->unet_time, DEMO_MODULATIONS * (DEMO_TEXT_DIM + 1), 0.0f, 1.2f, &state);
    fill(unet + layout->unet_in, DEMO_HIDDEN * DEMO_LATENT, 0.0f, 0.7f, &state);
    fill(unet + layout->unet_depthwise, DEMO_BLOCKS * DEMO_HIDDEN * DEMO_STENCIL, 0.2f, 0.15f, &state);
    fill(unet + layout->unet_mix, DEMO_BLOCKS * DEMO_HIDDEN * DEMO_HIDDEN, 0.0f, 0.5f, &state);
    fill(unet + layout->unet_out, DEMO_LATENT * DEMO_HIDDEN, 0.0f, 0.25f, &state);
    fill_position(unet + layout->unet_position, latent_width, &state);
    fill(vae + layout->vae_gain, DEMO_DOUBLINGS * DEMO_LATENT, 1.6f, 0.3f, &state);
    fill(vae + layout->vae_rgb, 3 * (DEMO_LATENT + 1), 0.0f, 1.2f, &state);
}
