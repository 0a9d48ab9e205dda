/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sizes of the demo's network, and where its weights lie. Plain constants and integers: included by
 * host and device code alike.
 */
#ifndef DEMO_MODEL_H
#define DEMO_MODEL_H

#include <stdint.h>

#define DEMO_VOCABULARY 2048
#define DEMO_TOKENS 16
#define DEMO_TEXT_DIM 32
#define DEMO_TEXT_LAYERS 2
#define DEMO_LATENT 4    /* channels of the latent */
#define DEMO_HIDDEN 8    /* channels inside the net */
#define DEMO_BLOCKS 2    /* of the net */
#define DEMO_STENCIL 5   /* the pixel and its four neighbours */
#define DEMO_PARTIALS 64 /* slices of the norm */
#define DEMO_SCALE 8     /* picture width / latent width */
#define DEMO_DOUBLINGS 3 /* log2 of it */
#define DEMO_MODULATIONS (DEMO_BLOCKS * 2 * DEMO_HIDDEN)

/* One block of floats per part of the model, as it is moved to the device; members are offsets in floats.
 * The position map of the net has one value a pixel, hence the dependence on the latent's size. */
struct demo_layout {
    uint32_t text_table, text_position, text_mix, text_floats;
    uint32_t unet_time, unet_in, unet_depthwise, unet_position, unet_mix, unet_out, unet_floats;
    uint32_t vae_gain, vae_rgb, vae_floats;
};

void demo_layout_set(struct demo_layout *layout, uint32_t latent_width);

/* Fill the three blocks (sizes: *_floats of the layout) from `seed`: same seed, same weights. */
void demo_weights_make(const struct demo_layout *layout, uint32_t latent_width, uint32_t seed, float *text,
                       float *unet, float *vae);

#endif
