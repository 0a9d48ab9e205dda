/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The PNG stage. By default fast compression; --slow-png spends what libpng can spend.
 */
#include "demo.h"
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

static void fail(const char *path, const char *what)
{
    fprintf(stderr, "generate: %s: %s\n", path, what);
    exit(1);
}

static void on_png_error(png_structp png, png_const_charp message)
{
    fail(png_get_error_ptr(png), message);
}

static void on_png_warning(png_structp png, png_const_charp message)
{
    fprintf(stderr, "generate: %s: %s\n", (const char *)png_get_error_ptr(png), message);
}

__attribute__((noinline)) void demo_write_png(struct demo *demo, const char *path)
{
    uint64_t start_ns = demo_stage_begin(demo, "write_png");
    png_uint_32 size = (png_uint_32)demo->settings.size;
    FILE *file = fopen(path, "wb");
    if (!file) {
        perror(path);
        exit(1);
    }
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, (void *)(uintptr_t)path, on_png_error,
                                              on_png_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info) {
        fail(path, "libpng could not start");
    }
    png_init_io(png, file);
    png_set_compression_level(png, demo->settings.slow_png ? Z_BEST_COMPRESSION : Z_BEST_SPEED);
    png_set_filter(png, 0, demo->settings.slow_png ? PNG_ALL_FILTERS : PNG_FILTER_SUB);
    png_set_IHDR(png, info, size, size, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (png_uint_32 y = 0; y < size; y++) {
        png_write_row(png, demo->rgb_host + (size_t)y * size * 3);
    }
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    if (fclose(file) != 0) {
        fail(path, "could not write all of it");
    }
    demo_stage_end(demo, "write_png", start_ns);
}
