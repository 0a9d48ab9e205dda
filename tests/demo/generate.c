/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The demo generator's command line: reads the options, loads the model once, makes the images one after
 * another. Exit 0, 1 for an error of the device or a file, 2 for wrong usage.
 */
#include "demo.h"
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SIZE_MAX_PIXELS 2048

static const char help[] =
    "usage: generate [options]\n"
    "Makes pictures from noise with a tiny untrained diffusion model on a CUDA device.\n\n"
    "  --images N       how many, one after another (4)\n"
    "  --steps N        denoising iterations of each (20)\n"
    "  --size N         width and height, a multiple of 8 up to 2048 (256)\n"
    "  --seed N         of the first image; the next ones count up (1)\n"
    "  --prompt TEXT    (\"a lighthouse at dawn\")\n"
    "  --out WHERE      NAME.png (several: NAME-1.png …), a name with %d, or a folder (.)\n"
    "  --pageable       ordinary instead of page-locked host memory\n"
    "  --item-sync      read four bytes back after each step\n"
    "  --offload        move the net's weights to the host after each step\n"
    "  --slow-png       compress as hard as possible\n"
    "  --two-streams    run the two evaluations of the net side by side\n"
    "  --graphs         record the launches of each step once, as a CUDA graph, and replay it\n"
    "  --progress       print a line when a stage begins, and a bar of the steps\n"
    "  --timings FILE   write begin and end of each stage, one JSON object a line\n"
    "  --quiet          print nothing but errors\n"
    "  --help\n";

enum option_id {
    OPTION_IMAGES = 256, OPTION_STEPS, OPTION_SIZE, OPTION_SEED, OPTION_PROMPT, OPTION_OUT, OPTION_PAGEABLE,
    OPTION_ITEM_SYNC, OPTION_OFFLOAD, OPTION_SLOW_PNG, OPTION_TWO_STREAMS, OPTION_TIMINGS, OPTION_QUIET,
    OPTION_GRAPHS, OPTION_PROGRESS, OPTION_BREAK, OPTION_HELP
};

static const struct option options[] = {
    {"images", required_argument, NULL, OPTION_IMAGES}, {"steps", required_argument, NULL, OPTION_STEPS},
    {"size", required_argument, NULL, OPTION_SIZE}, {"seed", required_argument, NULL, OPTION_SEED},
    {"prompt", required_argument, NULL, OPTION_PROMPT}, {"out", required_argument, NULL, OPTION_OUT},
    {"pageable", no_argument, NULL, OPTION_PAGEABLE}, {"item-sync", no_argument, NULL, OPTION_ITEM_SYNC},
    {"offload", no_argument, NULL, OPTION_OFFLOAD}, {"slow-png", no_argument, NULL, OPTION_SLOW_PNG},
    {"two-streams", no_argument, NULL, OPTION_TWO_STREAMS}, {"timings", required_argument, NULL, OPTION_TIMINGS},
    {"quiet", no_argument, NULL, OPTION_QUIET}, {"graphs", no_argument, NULL, OPTION_GRAPHS},
    {"progress", no_argument, NULL, OPTION_PROGRESS},
    /* not in the help: leaves a wait out, so that tests see that the picture shows it */
    {"break", required_argument, NULL, OPTION_BREAK}, {"help", no_argument, NULL, OPTION_HELP}, {NULL, 0, NULL, 0}};

static _Noreturn void usage(const char *what, const char *value)
{
    fprintf(stderr, "generate: %s%s%s; see --help\n", what, value ? ": " : "", value ? value : "");
    exit(2);
}

static long number(const char *name, const char *text, long least, long most)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < least || value > most) {
        fprintf(stderr, "generate: --%s %s: a number from %ld to %ld is needed\n", name, text, least, most);
        exit(2);
    }
    return value;
}

static enum demo_broken broken(const char *text)
{
    if (strcmp(text, "wait") == 0) {
        return DEMO_BROKEN_WAIT;
    }
    if (strcmp(text, "join") != 0) {
        usage("--break is wait or join, not", text);
    }
    return DEMO_BROKEN_JOIN;
}

static void read_options(int argc, char **argv, struct demo_settings *settings, const char **ret_timings)
{
    int id;
    while ((id = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (id) {
        case OPTION_IMAGES: settings->images = (int)number("images", optarg, 1, 100000); break;
        case OPTION_STEPS: settings->steps = (int)number("steps", optarg, 1, 1000); break;
        case OPTION_SIZE: settings->size = (int)number("size", optarg, DEMO_SCALE, SIZE_MAX_PIXELS); break;
        case OPTION_SEED: settings->seed = (uint32_t)number("seed", optarg, 0, INT32_MAX); break;
        case OPTION_PROMPT: settings->prompt = optarg; break;
        case OPTION_OUT: settings->out = optarg; break;
        case OPTION_PAGEABLE: settings->pageable = true; break;
        case OPTION_ITEM_SYNC: settings->item_sync = true; break;
        case OPTION_OFFLOAD: settings->offload = true; break;
        case OPTION_SLOW_PNG: settings->slow_png = true; break;
        case OPTION_TWO_STREAMS: settings->two_streams = true; break;
        case OPTION_GRAPHS: settings->graphs = true; break;
        case OPTION_TIMINGS: *ret_timings = optarg; break;
        case OPTION_PROGRESS: settings->progress = true; break;
        case OPTION_QUIET: settings->verbose = false; break;
        case OPTION_BREAK: settings->broken = broken(optarg); break;
        case OPTION_HELP: fputs(help, stdout); exit(0);
        default: exit(2); /* getopt has said why */
        }
    }
    if (optind < argc) {
        usage("unexpected argument", argv[optind]);
    }
    if (settings->size % DEMO_SCALE) {
        usage("--size must be a multiple of 8", NULL);
    }
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* Where image number `image` goes; see --out in the help. */
static void picture_path(const struct demo_settings *settings, int image, char *ret, size_t size)
{
    const char *out = settings->out, *mark = strstr(out, "%d");
    int length;
    if (mark) {
        length = snprintf(ret, size, "%.*s%d%s", (int)(mark - out), out, image, mark + 2);
    } else if (!ends_with(out, ".png")) {
        length = snprintf(ret, size, "%s%simage-%d.png", out, ends_with(out, "/") ? "" : "/", image);
    } else if (settings->images > 1) {
        length = snprintf(ret, size, "%.*s-%d.png", (int)(strlen(out) - 4), out, image);
    } else {
        length = snprintf(ret, size, "%s", out);
    }
    if (length < 0 || (size_t)length >= size) {
        usage("--out is too long", NULL);
    }
}

int main(int argc, char **argv)
{
    struct demo demo = {.settings = {.images = 4, .steps = 20, .size = 256, .seed = 1, .out = ".", .verbose = true,
                                     .prompt = "a lighthouse at dawn"}};
    const char *timings = NULL;
    char path[PATH_MAX];
    read_options(argc, argv, &demo.settings, &timings);
    const char *out = demo.settings.out;
    if (!strstr(out, "%d") && !ends_with(out, ".png") && mkdir(out, 0777) != 0 && errno != EEXIST) {
        perror(out);
        return 1;
    }
    demo_load_weights(&demo);
    for (int image = 1; image <= demo.settings.images; image++) {
        picture_path(&demo.settings, image, path, sizeof(path));
        demo_make_image(&demo, image, path);
    }
    demo_unload(&demo);
    if (timings && !demo_timings_write(timings)) {
        perror(timings);
        return 1;
    }
    return 0;
}
