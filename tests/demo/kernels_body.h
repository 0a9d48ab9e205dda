/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each kernel computes for its element i: compiled for the device (kernels.cu) and for the host
 * (kernels_host.c), so that both give the same bytes. For that: float only, no library function but
 * square root and absolute value (exact in IEEE), no fused multiply-add (-fmad=false, -ffp-contract=off),
 * and every sum in a fixed order.
 *
 * The network is tiny and untrained, but has the parts of a real one: token embedding, mixing, pooling; a
 * time- and text-conditioned convolution net called twice a step (with and without the prompt); guidance;
 * a decoder that doubles the size three times.
 */
#ifndef DEMO_KERNELS_BODY_H
#define DEMO_KERNELS_BODY_H

#include "model.h"
#include <math.h>
#include <stdint.h>

#ifdef __CUDACC__
#define DEMO_FN static __device__ inline
#else
#define DEMO_FN static inline
#endif

/* A smooth step between -1 and 1. */
DEMO_FN float soft_sign(float x)
{
    return x / (1.0f + fabsf(x));
}

DEMO_FN uint32_t hash_u32(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    x ^= x >> 16;
    return x;
}

DEMO_FN int32_t clamp_index(int32_t at, int32_t limit)
{
    return at < 0 ? 0 : at >= limit ? limit - 1 : at;
}

/* i: token × dimension. */
DEMO_FN void text_embed_at(int32_t i, float *out, const float *table, const float *position, const int32_t *tokens)
{
    int32_t token = tokens[i / DEMO_TEXT_DIM];
    out[i] = table[token * DEMO_TEXT_DIM + i % DEMO_TEXT_DIM] + position[i];
}

/* i: token × dimension. Mixes the dimensions of a token, and a little of the token before it. */
DEMO_FN void text_mix_at(int32_t i, float *out, const float *in, const float *weight)
{
    int32_t token = i / DEMO_TEXT_DIM, dim = i % DEMO_TEXT_DIM;
    const float *row = in + token * DEMO_TEXT_DIM, *w = weight + dim * DEMO_TEXT_DIM;
    float sum = row[dim];
    for (int32_t k = 0; k < DEMO_TEXT_DIM; k++) {
        sum = sum + w[k] * row[k];
    }
    if (token > 0) {
        sum = sum + 0.25f * row[dim - DEMO_TEXT_DIM];
    }
    out[i] = soft_sign(sum);
}

/* i: token. */
DEMO_FN void text_norm_at(int32_t i, float *x)
{
    float *row = x + i * DEMO_TEXT_DIM, mean = 0.0f, square = 0.0f;
    for (int32_t k = 0; k < DEMO_TEXT_DIM; k++) {
        mean = mean + row[k];
    }
    mean = mean / (float)DEMO_TEXT_DIM;
    for (int32_t k = 0; k < DEMO_TEXT_DIM; k++) {
        square = square + (row[k] - mean) * (row[k] - mean);
    }
    float scale = sqrtf(square / (float)DEMO_TEXT_DIM + 1e-5f);
    for (int32_t k = 0; k < DEMO_TEXT_DIM; k++) {
        row[k] = (row[k] - mean) / scale;
    }
}

/* i: dimension. */
DEMO_FN void text_pool_at(int32_t i, float *out, const float *in)
{
    float sum = 0.0f;
    for (int32_t token = 0; token < DEMO_TOKENS; token++) {
        sum = sum + in[token * DEMO_TEXT_DIM + i];
    }
    out[i] = sum / (float)DEMO_TOKENS;
}

/* i: element of the latent. The sum of four uniform numbers is near enough to a normal one. */
DEMO_FN void latent_noise_at(int32_t i, float *latent, uint32_t seed)
{
    float sum = -2.0f;
    for (uint32_t k = 0; k < 4; k++) {
        sum = sum + (float)(hash_u32(seed ^ hash_u32((uint32_t)i * 4u + k)) >> 8) * (1.0f / 16777216.0f);
    }
    latent[i] = sum * 1.7320508f;
}

/* i: one scale or shift of one block. */
DEMO_FN void unet_time_at(int32_t i, float *out, const float *text, const float *weight, float time)
{
    const float *w = weight + i * (DEMO_TEXT_DIM + 1);
    float sum = w[DEMO_TEXT_DIM] * time;
    for (int32_t k = 0; k < DEMO_TEXT_DIM; k++) {
        sum = sum + w[k] * text[k];
    }
    out[i] = soft_sign(sum);
}

/* i: channel × pixel, as in the next four. */
DEMO_FN void unet_in_at(int32_t i, float *hidden, const float *latent, const float *weight, int32_t pixels)
{
    int32_t channel = i / pixels, pixel = i % pixels;
    float sum = 0.0f;
    for (int32_t k = 0; k < DEMO_LATENT; k++) {
        sum = sum + weight[channel * DEMO_LATENT + k] * latent[k * pixels + pixel];
    }
    hidden[i] = sum;
}

/* Each channel by itself: the pixel and its four neighbours. */
DEMO_FN void unet_depthwise_at(int32_t i, float *out, const float *in, const float *weight, int32_t width)
{
    int32_t pixels = width * width, channel = i / pixels, y = i % pixels / width, x = i % width;
    const float *plane = in + channel * pixels, *w = weight + channel * DEMO_STENCIL;
    float sum = w[0] * plane[y * width + x];
    sum = sum + w[1] * plane[clamp_index(y - 1, width) * width + x];
    sum = sum + w[2] * plane[clamp_index(y + 1, width) * width + x];
    sum = sum + w[3] * plane[y * width + clamp_index(x - 1, width)];
    sum = sum + w[4] * plane[y * width + clamp_index(x + 1, width)];
    out[i] = sum;
}

DEMO_FN void unet_modulate_at(int32_t i, float *hidden, const float *modulation, const float *position,
                              int32_t pixels)
{
    int32_t channel = i / pixels;
    float x = hidden[i] * (1.0f + modulation[channel]) + modulation[DEMO_HIDDEN + channel] * position[i];
    hidden[i] = soft_sign(x);
}

DEMO_FN void unet_mix_at(int32_t i, float *hidden, const float *in, const float *weight, int32_t pixels)
{
    int32_t channel = i / pixels, pixel = i % pixels;
    float sum = hidden[i];
    for (int32_t k = 0; k < DEMO_HIDDEN; k++) {
        sum = sum + weight[channel * DEMO_HIDDEN + k] * in[k * pixels + pixel];
    }
    hidden[i] = sum;
}

/* The predicted noise: most of what is there, less what the net would like to see. */
DEMO_FN void unet_out_at(int32_t i, float *noise, const float *latent, const float *hidden, const float *weight,
                         int32_t pixels)
{
    int32_t channel = i / pixels, pixel = i % pixels;
    float sum = 0.0f;
    for (int32_t k = 0; k < DEMO_HIDDEN; k++) {
        sum = sum + weight[channel * DEMO_HIDDEN + k] * hidden[k * pixels + pixel];
    }
    noise[i] = 0.92f * latent[i] - sum;
}

/* Classifier-free guidance. i: element, as in the next one. */
DEMO_FN void guide_at(int32_t i, float *noise, const float *without, float scale)
{
    noise[i] = without[i] + scale * (noise[i] - without[i]);
}

DEMO_FN void sampler_step_at(int32_t i, float *latent, const float *noise, float keep, float add)
{
    latent[i] = keep * latent[i] + add * noise[i];
}

/* Sum of squares in two stages. i: one of DEMO_PARTIALS slices; then only 0. */
DEMO_FN void latent_partial_at(int32_t i, float *partial, const float *latent, int32_t elements)
{
    float sum = 0.0f;
    for (int32_t k = i; k < elements; k += DEMO_PARTIALS) {
        sum = sum + latent[k] * latent[k];
    }
    partial[i] = sum;
}

DEMO_FN void latent_norm_at(int32_t i, float *norm, const float *partial, int32_t elements)
{
    float sum = 0.0f;
    for (int32_t k = 0; k < DEMO_PARTIALS; k++) {
        sum = sum + partial[k];
    }
    norm[i] = sqrtf(sum / (float)elements);
}

/* i: channel × pixel of the larger picture. Bilinear between the four nearest of the smaller one. */
DEMO_FN void vae_upsample_at(int32_t i, float *out, const float *in, const float *gain, int32_t width)
{
    int32_t large = width * 2, channel = i / (large * large), y = i % (large * large) / large, x = i % large;
    const float *plane = in + channel * width * width;
    int32_t near_y = y / 2, near_x = x / 2;
    int32_t far_y = clamp_index(y % 2 ? near_y + 1 : near_y - 1, width);
    int32_t far_x = clamp_index(x % 2 ? near_x + 1 : near_x - 1, width);
    float near_row = 0.75f * plane[near_y * width + near_x] + 0.25f * plane[near_y * width + far_x];
    float far_row = 0.75f * plane[far_y * width + near_x] + 0.25f * plane[far_y * width + far_x];
    out[i] = soft_sign(gain[channel] * (0.75f * near_row + 0.25f * far_row)) * 1.5f;
}

/* i: pixel. Three bytes each. */
DEMO_FN void vae_to_rgb_at(int32_t i, uint8_t *rgb, const float *in, const float *weight, int32_t pixels)
{
    for (int32_t color = 0; color < 3; color++) {
        const float *w = weight + color * (DEMO_LATENT + 1);
        float sum = w[DEMO_LATENT];
        for (int32_t k = 0; k < DEMO_LATENT; k++) {
            sum = sum + w[k] * in[k * pixels + i];
        }
        float level = 127.5f + 127.5f * soft_sign(sum);
        rgb[i * 3 + color] = (uint8_t)(level < 0.0f ? 0.0f : level > 255.0f ? 255.0f : level);
    }
}

#endif
