/* SPDX-License-Identifier: Apache-2.0 */
/* See libraries.h. */
#include "libraries.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct wanted {
    const char *key, *name; /* `name` without its version */
} WANTED[] = {
    {"driver", "libcuda.so"},         {"runtime", "libcudart.so"},       {"cudnn", "libcudnn.so"},
    {"cublas", "libcublas.so"},       {"cufft", "libcufft.so"},          {"curand", "libcurand.so"},
    {"cusolver", "libcusolver.so"},   {"cusparse", "libcusparse.so"},    {"nccl", "libnccl.so"},
    {"nvrtc", "libnvrtc.so"},         {"nvjitlink", "libnvJitLink.so"},  {"tensorrt.library", "libnvinfer.so"},
};
enum { WANTED_COUNT = sizeof(WANTED) / sizeof(WANTED[0]) };

/* The first that came under each name. One writer at a time: the loader's lock. */
static struct {
    const char *key, *name;
    char file[512];
} noted[WANTED_COUNT];
static _Atomic uint32_t noted_count;

/* "12.8.90" in "libcudart.so.12.8.90" by "libcudart.so"; "" without a version; NULL: another name. */
static const char *version_in(const char *file_name, const char *name)
{
    size_t length = strlen(name);
    if (strncmp(file_name, name, length) != 0 || (file_name[length] != '\0' && file_name[length] != '.')) {
        return NULL;
    }
    return file_name[length] == '.' ? file_name + length + 1 : "";
}

static bool is_noted(const char *key)
{
    uint32_t count = atomic_load_explicit(&noted_count, memory_order_relaxed);
    for (uint32_t i = 0; i < count; i++) {
        if (noted[i].key == key) {
            return true;
        }
    }
    return false;
}

void st_library_note(const char *soname, const char *file)
{
    for (int i = 0; i < WANTED_COUNT; i++) {
        if (!version_in(soname, WANTED[i].name) || is_noted(WANTED[i].key)) {
            continue;
        }
        uint32_t n = atomic_load_explicit(&noted_count, memory_order_relaxed);
        noted[n].key = WANTED[i].key;
        noted[n].name = WANTED[i].name;
        snprintf(noted[n].file, sizeof(noted[n].file), "%s", file);
        atomic_store_explicit(&noted_count, n + 1, memory_order_release); /* pairs with the getter */
    }
}

bool st_library_get(uint32_t n, const char **ret_key, char ret_version[ST_LIBRARY_VERSION_BYTES])
{
    char path[PATH_MAX];
    if (n >= atomic_load_explicit(&noted_count, memory_order_acquire)) {
        return false;
    }
    const char *file = realpath(noted[n].file, path) ? path : noted[n].file;
    const char *slash = strrchr(file, '/');
    const char *version = version_in(slash ? slash + 1 : file, noted[n].name);
    *ret_key = noted[n].key;
    snprintf(ret_version, ST_LIBRARY_VERSION_BYTES, "%s", version ? version : "");
    return true;
}
