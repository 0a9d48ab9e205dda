/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stages of the demo generator. Each one logs its own time (timings.c) from its first to its last line.
 * Nothing waits for the device but the end of copy_back (and, with --item-sync, the read in each step), so
 * that the host runs ahead of the device, as in real generators. All exported: see demo.h.
 */
#include "demo.h"
#include "device.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE __attribute__((noinline))
#define WEIGHTS_SEED 20240229u
#define TRAIN_STEPS 1000
#define GUIDANCE 4.0f
#define LAUNCH(kernel, count, stream, ...)                                                                   \
    do {                                                                                                     \
        int32_t count_ = (int32_t)(count);                                                                   \
        demo_device_launch(DEMO_KERNEL_##kernel, count_, (void *[]){__VA_ARGS__, &count_}, stream);          \
    } while (0)

static void *allocate_host(size_t bytes, bool pinned)
{
    void *memory = pinned ? demo_device_alloc_pinned(bytes) : calloc(1, bytes);
    if (!memory) {
        fprintf(stderr, "generate: out of memory (%zu bytes)\n", bytes);
        exit(1);
    }
    return memory;
}

static void free_host(void *memory, bool pinned)
{
    if (pinned) {
        demo_device_free_pinned(memory);
    } else {
        free(memory);
    }
}

static void say(const struct demo *demo, const char *stage, const char *detail, uint64_t start_ns)
{
    if (demo->settings.verbose) {
        printf("  %-7s %-34s %9.2f ms\n", stage, detail, (double)(demo_now_ns() - start_ns) / 1e6);
        fflush(stdout);
    }
}

static void branch_create(struct demo_branch *branch, uint32_t pixels, void *stream)
{
    branch->text = demo_device_alloc(DEMO_TEXT_DIM * sizeof(float));
    branch->noise = demo_device_alloc((size_t)DEMO_LATENT * pixels * sizeof(float));
    branch->hidden = demo_device_alloc((size_t)DEMO_HIDDEN * pixels * sizeof(float));
    branch->other = demo_device_alloc((size_t)DEMO_HIDDEN * pixels * sizeof(float));
    branch->modulation = demo_device_alloc(DEMO_MODULATIONS * sizeof(float));
    branch->stream = stream;
}

static void branch_destroy(struct demo_branch *branch)
{
    demo_device_free(branch->text);
    demo_device_free(branch->noise);
    demo_device_free(branch->hidden);
    demo_device_free(branch->other);
    demo_device_free(branch->modulation);
}

static float *upload_weights(const float *host, uint32_t floats)
{
    float *device = demo_device_alloc(floats * sizeof(float));
    demo_device_upload_now(device, host, floats * sizeof(float));
    return device;
}

static void create_buffers(struct demo *demo)
{
    bool pinned = !demo->settings.pageable;
    uint32_t pixels = demo->latent_width * demo->latent_width;
    size_t picture = (size_t)demo->settings.size * (size_t)demo->settings.size;
    demo->stream = demo_device_stream_create();
    if (demo->settings.two_streams) {
        demo->second_stream = demo_device_stream_create();
        demo->fork_event = demo_device_event_create();
        demo->join_event = demo_device_event_create();
    }
    branch_create(&demo->with_prompt, pixels, demo->stream);
    branch_create(&demo->without_prompt, pixels, demo->second_stream ? demo->second_stream : demo->stream);
    demo->tokens = demo_device_alloc(DEMO_TOKENS * sizeof(int32_t));
    demo->token_rows = demo_device_alloc(DEMO_TOKENS * DEMO_TEXT_DIM * sizeof(float));
    demo->token_rows_other = demo_device_alloc(DEMO_TOKENS * DEMO_TEXT_DIM * sizeof(float));
    demo->latent = demo_device_alloc((size_t)DEMO_LATENT * pixels * sizeof(float));
    demo->partial = demo_device_alloc(DEMO_PARTIALS * sizeof(float));
    demo->norm = demo_device_alloc(sizeof(float));
    demo->pixels = demo_device_alloc(DEMO_LATENT * picture * sizeof(float));
    demo->pixels_other = demo_device_alloc(DEMO_LATENT * picture * sizeof(float));
    demo->rgb = demo_device_alloc(picture * 3);
    demo->tokens_host = allocate_host(2 * DEMO_TOKENS * sizeof(int32_t), pinned);
    demo->rgb_host = allocate_host(picture * 3, pinned);
    if (demo->settings.graphs) {
        demo->step_graphs = allocate_host((size_t)demo->settings.steps * sizeof(void *), false);
    }
    if (demo->settings.offload) {
        demo->unet_host = allocate_host(demo->layout.unet_floats * sizeof(float), pinned);
    }
}

STAGE void demo_load_weights(struct demo *demo)
{
    uint64_t start_ns = demo_stage_begin(demo, "load");
    char name[128], detail[64];
    demo_device_open(name, sizeof(name));
    if (demo->settings.verbose) {
        printf("generate: %s, %s\n", name, demo_device_api);
    }
    demo->latent_width = (uint32_t)demo->settings.size / DEMO_SCALE;
    struct demo_layout *layout = &demo->layout;
    demo_layout_set(layout, demo->latent_width);
    size_t floats = (size_t)layout->text_floats + layout->unet_floats + layout->vae_floats;
    float *text = allocate_host(floats * sizeof(float), false);
    float *unet = text + layout->text_floats, *vae = unet + layout->unet_floats;
    demo_weights_make(layout, demo->latent_width, WEIGHTS_SEED, text, unet, vae);
    demo->text_weights = upload_weights(text, layout->text_floats);
    demo->unet_weights = upload_weights(unet, layout->unet_floats);
    demo->vae_weights = upload_weights(vae, layout->vae_floats);
    free_host(text, false);
    create_buffers(demo);
    snprintf(detail, sizeof(detail), "weights %.2f MB", (double)floats * sizeof(float) / 1e6);
    say(demo, "load", detail, start_ns);
    demo_stage_end(demo, "load", start_ns);
}

/* Words to numbers: a hash of each word; 0 fills the rest. Returns how many words were used. */
static int tokenize(const char *prompt, int32_t tokens[DEMO_TOKENS])
{
    int count = 0;
    memset(tokens, 0, DEMO_TOKENS * sizeof(*tokens));
    while (*prompt && count < DEMO_TOKENS) {
        size_t length = strcspn(prompt, " \t\n");
        if (length > 0) {
            uint32_t hash = 2166136261u;
            for (size_t i = 0; i < length; i++) {
                hash = (hash ^ (unsigned char)prompt[i]) * 16777619u;
            }
            tokens[count++] = 1 + (int32_t)(hash % (DEMO_VOCABULARY - 1));
        }
        prompt += length;
        prompt += strspn(prompt, " \t\n");
    }
    return count;
}

static void encode_one(struct demo *demo, const int32_t *tokens, float *pooled)
{
    const struct demo_layout *layout = &demo->layout;
    float *table = demo->text_weights + layout->text_table, *position = demo->text_weights + layout->text_position;
    float *rows = demo->token_rows, *other = demo->token_rows_other;
    demo_device_upload(demo->tokens, tokens, DEMO_TOKENS * sizeof(*tokens), demo->stream);
    LAUNCH(text_embed, DEMO_TOKENS * DEMO_TEXT_DIM, demo->stream, &rows, &table, &position, &demo->tokens);
    for (int layer = 0; layer < DEMO_TEXT_LAYERS; layer++) {
        float *mix = demo->text_weights + layout->text_mix + layer * DEMO_TEXT_DIM * DEMO_TEXT_DIM;
        LAUNCH(text_mix, DEMO_TOKENS * DEMO_TEXT_DIM, demo->stream, &other, &rows, &mix);
        LAUNCH(text_norm, DEMO_TOKENS, demo->stream, &other);
        float *swap = rows;
        rows = other;
        other = swap;
    }
    LAUNCH(text_pool, DEMO_TEXT_DIM, demo->stream, &pooled, &rows);
}

STAGE void demo_encode(struct demo *demo, const char *prompt)
{
    uint64_t start_ns = demo_stage_begin(demo, "encode");
    char detail[32];
    int words = tokenize(prompt, demo->tokens_host);
    tokenize("", demo->tokens_host + DEMO_TOKENS);
    encode_one(demo, demo->tokens_host, demo->with_prompt.text);
    encode_one(demo, demo->tokens_host + DEMO_TOKENS, demo->without_prompt.text);
    snprintf(detail, sizeof(detail), "%d tokens", words);
    say(demo, "encode", detail, start_ns);
    demo_stage_end(demo, "encode", start_ns);
}

/* What is left of the signal at a point of the noise schedule, 0 = start of training … TRAIN_STEPS. */
static double signal_left(int at)
{
    double product = 1.0;
    for (int i = 0; i < at; i++) {
        product *= 1.0 - (0.00085 + (0.012 - 0.00085) * i / (TRAIN_STEPS - 1));
    }
    return product;
}

/* The scheduler's arithmetic on the host (DDIM): factors of latent and noise for one step; returns the time. */
static float schedule(int step, int steps, float *ret_keep, float *ret_add)
{
    int now = TRAIN_STEPS * (steps - step + 1) / steps, next = TRAIN_STEPS * (steps - step) / steps;
    double left_now = signal_left(now), left_next = signal_left(next);
    double keep = sqrt(left_next / left_now);
    *ret_keep = (float)keep;
    *ret_add = (float)(sqrt(1.0 - left_next) - keep * sqrt(1.0 - left_now));
    return (float)now / TRAIN_STEPS;
}

static void predict_noise(struct demo *demo, struct demo_branch *branch, float time)
{
    const struct demo_layout *layout = &demo->layout;
    float *weights = demo->unet_weights;
    int32_t width = (int32_t)demo->latent_width, pixels = width * width, elements = DEMO_HIDDEN * pixels;
    float *w_time = weights + layout->unet_time, *w_in = weights + layout->unet_in;
    float *w_out = weights + layout->unet_out;
    LAUNCH(unet_time, DEMO_MODULATIONS, branch->stream, &branch->modulation, &branch->text, &w_time, &time);
    LAUNCH(unet_in, elements, branch->stream, &branch->hidden, &demo->latent, &w_in, &pixels);
    for (int block = 0; block < DEMO_BLOCKS; block++) {
        float *w_near = weights + layout->unet_depthwise + block * DEMO_HIDDEN * DEMO_STENCIL;
        float *w_mix = weights + layout->unet_mix + block * DEMO_HIDDEN * DEMO_HIDDEN;
        float *position = weights + layout->unet_position + block * elements;
        float *modulation = branch->modulation + block * 2 * DEMO_HIDDEN;
        LAUNCH(unet_depthwise, elements, branch->stream, &branch->other, &branch->hidden, &w_near, &width);
        LAUNCH(unet_modulate, elements, branch->stream, &branch->other, &modulation, &position, &pixels);
        LAUNCH(unet_mix, elements, branch->stream, &branch->hidden, &branch->other, &w_mix, &pixels);
    }
    LAUNCH(unet_out, DEMO_LATENT * pixels, branch->stream, &branch->noise, &demo->latent, &branch->hidden, &w_out,
           &pixels);
}

/* The net's weights leave the device after a step and come back before the next one. */
static void offload(struct demo *demo, bool back)
{
    size_t bytes = demo->layout.unet_floats * sizeof(float);
    if (back) {
        demo_device_upload(demo->unet_weights, demo->unet_host, bytes, demo->stream);
    } else {
        demo_device_download(demo->unet_host, demo->unet_weights, bytes, demo->stream);
        demo_device_zero(demo->unet_weights, bytes, demo->stream);
    }
}

/* Reads four bytes: that waits for all work so far, and from then on the device has nothing to do. */
static float read_norm(struct demo *demo)
{
    int32_t elements = DEMO_LATENT * (int32_t)(demo->latent_width * demo->latent_width);
    float norm = 0.0f;
    LAUNCH(latent_partial, DEMO_PARTIALS, demo->stream, &demo->partial, &demo->latent, &elements);
    LAUNCH(latent_norm, 1, demo->stream, &demo->norm, &demo->partial, &elements);
    demo_device_download(&norm, demo->norm, sizeof(norm), demo->stream);
    demo_device_stream_wait(demo->stream);
    return norm;
}

/* The step's launches: both evaluations of the net, guidance, update. */
static void denoise(struct demo *demo, float time, float keep, float add)
{
    const struct demo_settings *settings = &demo->settings;
    int32_t elements = DEMO_LATENT * (int32_t)(demo->latent_width * demo->latent_width);
    float guidance = GUIDANCE;
    bool join = settings->two_streams && settings->broken != DEMO_BROKEN_JOIN;
    if (join) {
        demo_device_join(demo->second_stream, demo->stream, demo->fork_event);
    }
    predict_noise(demo, &demo->without_prompt, time);
    predict_noise(demo, &demo->with_prompt, time);
    if (join) {
        demo_device_join(demo->stream, demo->second_stream, demo->join_event);
    }
    float *noise = demo->with_prompt.noise, *without = demo->without_prompt.noise;
    LAUNCH(guide, elements, demo->stream, &noise, &without, &guidance);
    LAUNCH(sampler_step, elements, demo->stream, &demo->latent, &noise, &keep, &add);
}

/* Times and factors depend on the step alone, so that its graph serves all images. */
static void replay(struct demo *demo, int step, float time, float keep, float add)
{
    void **graph = &demo->step_graphs[step - 1];
    if (!*graph) {
        demo_device_capture_begin(demo->stream);
        denoise(demo, time, keep, add);
        *graph = demo_device_capture_end(demo->stream);
    }
    demo_device_graph_launch(*graph, demo->stream);
}

STAGE void demo_step(struct demo *demo, int step)
{
    demo->step = step;
    uint64_t start_ns = demo_stage_begin(demo, "step");
    const struct demo_settings *settings = &demo->settings;
    float keep, add;
    float time = schedule(step, settings->steps, &keep, &add);
    if (settings->offload && (step > 1 || demo->image > 1)) {
        offload(demo, true);
    }
    if (settings->graphs) {
        replay(demo, step, time, keep, add);
    } else {
        denoise(demo, time, keep, add);
    }
    if (settings->offload) {
        offload(demo, false);
    }
    if (settings->item_sync && !isfinite(read_norm(demo))) {
        fprintf(stderr, "generate: the latent is not finite at step %d\n", step);
        exit(1);
    }
    demo_stage_end(demo, "step", start_ns);
    demo->step = 0;
}

STAGE void demo_sample(struct demo *demo, uint32_t seed)
{
    uint64_t start_ns = demo_stage_begin(demo, "sample");
    char detail[32];
    LAUNCH(latent_noise, DEMO_LATENT * demo->latent_width * demo->latent_width, demo->stream, &demo->latent, &seed);
    for (int step = 1; step <= demo->settings.steps; step++) {
        demo_step(demo, step);
    }
    snprintf(detail, sizeof(detail), "%d steps", demo->settings.steps);
    say(demo, "sample", detail, start_ns);
    demo_stage_end(demo, "sample", start_ns);
}

STAGE void demo_decode(struct demo *demo)
{
    uint64_t start_ns = demo_stage_begin(demo, "decode");
    char detail[32];
    int32_t width = (int32_t)demo->latent_width, size = demo->settings.size, pixels = size * size;
    float *from = demo->latent, *to = demo->pixels, *spare = demo->pixels_other;
    for (int i = 0; i < DEMO_DOUBLINGS; i++) {
        float *gain = demo->vae_weights + demo->layout.vae_gain + i * DEMO_LATENT;
        LAUNCH(vae_upsample, DEMO_LATENT * width * width * 4, demo->stream, &to, &from, &gain, &width);
        from = to;
        to = spare;
        spare = from;
        width *= 2;
    }
    float *mix = demo->vae_weights + demo->layout.vae_rgb;
    LAUNCH(vae_to_rgb, pixels, demo->stream, &demo->rgb, &from, &mix, &pixels);
    snprintf(detail, sizeof(detail), "%d x %d", size, size);
    say(demo, "decode", detail, start_ns);
    demo_stage_end(demo, "decode", start_ns);
}

STAGE void demo_copy_back(struct demo *demo)
{
    uint64_t start_ns = demo_stage_begin(demo, "copy_back");
    size_t bytes = (size_t)demo->settings.size * (size_t)demo->settings.size * 3;
    demo_device_download(demo->rgb_host, demo->rgb, bytes, demo->stream);
    if (demo->settings.broken != DEMO_BROKEN_WAIT) {
        demo_device_stream_wait(demo->stream);
    }
    demo_stage_end(demo, "copy_back", start_ns);
}

STAGE void demo_output(struct demo *demo, const char *path)
{
    uint64_t start_ns = demo_stage_begin(demo, "output");
    demo_copy_back(demo);
    demo_write_png(demo, path);
    say(demo, "output", path, start_ns);
    demo_stage_end(demo, "output", start_ns);
}

STAGE void demo_make_image(struct demo *demo, int image, const char *path)
{
    uint64_t start_ns = demo_stage_begin(demo, "request");
    char detail[32];
    uint32_t seed = demo->settings.seed + (uint32_t)image - 1;
    demo->image = image;
    demo_encode(demo, demo->settings.prompt);
    demo_sample(demo, seed);
    demo_decode(demo);
    demo_output(demo, path);
    snprintf(detail, sizeof(detail), "%d of %d, seed %u", image, demo->settings.images, seed);
    say(demo, "image", detail, start_ns);
    demo_stage_end(demo, "request", start_ns);
    demo->image = 0;
}

void demo_unload(struct demo *demo)
{
    bool pinned = !demo->settings.pageable;
    demo_device_stream_wait(demo->stream);
    for (int i = 0; demo->step_graphs && i < demo->settings.steps; i++) {
        demo_device_graph_destroy(demo->step_graphs[i]);
    }
    free_host(demo->step_graphs, false);
    branch_destroy(&demo->with_prompt);
    branch_destroy(&demo->without_prompt);
    void *device[] = {demo->text_weights, demo->unet_weights, demo->vae_weights, demo->tokens, demo->token_rows,
                      demo->token_rows_other, demo->latent, demo->partial, demo->norm, demo->pixels,
                      demo->pixels_other, demo->rgb};
    for (size_t i = 0; i < sizeof(device) / sizeof(device[0]); i++) {
        demo_device_free(device[i]);
    }
    free_host(demo->tokens_host, pinned);
    free_host(demo->rgb_host, pinned);
    free_host(demo->unet_host, pinned);
    demo_device_event_destroy(demo->fork_event);
    demo_device_event_destroy(demo->join_event);
    demo_device_stream_destroy(demo->second_stream);
    demo_device_stream_destroy(demo->stream);
    demo_device_close();
}
