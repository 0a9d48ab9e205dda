/* SPDX-License-Identifier: Apache-2.0 */
/* See surroundings.h. */
#include "surroundings.h"

#include <stddef.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
    const char *prefix, *backend;
} libraries[] = {
    {"libvulkan.so", "Vulkan"},
    {"libamdhip64.so", "HIP"},
    {"libze_loader.so", "Level Zero"},
    {"libOpenCL.so", "OpenCL"},
};

const char *st_backend_of(const char *name)
{
    for (size_t i = 0; i < COUNT(libraries); i++) {
        if (strncmp(name, libraries[i].prefix, strlen(libraries[i].prefix)) == 0) {
            return libraries[i].backend;
        }
    }
    return NULL;
}

bool st_is_backend(const char *word)
{
    for (size_t i = 0; i < COUNT(libraries); i++) {
        if (strcmp(word, libraries[i].backend) == 0) {
            return true;
        }
    }
    return false;
}

/* value NULL: every one but "" and "0". */
static const struct {
    const char *variable, *value, *effect;
} distortions[] = {
    {"CUDA_LAUNCH_BLOCKING", NULL, "every launch waits for its kernel"},
    {"CUDA_CACHE_DISABLE", NULL, "kernels are compiled at every start"},
    {"CUDA_DEVICE_MAX_CONNECTIONS", "1", "streams run one after another"},
    {"PYTORCH_NO_CUDA_MEMORY_CACHING", NULL, "every tensor is allocated by the driver"},
};

const char *st_distortion(const char *variable, const char *value)
{
    bool is_on = value[0] != '\0' && strcmp(value, "0") != 0;
    for (size_t i = 0; i < COUNT(distortions); i++) {
        if (strcmp(variable, distortions[i].variable) == 0 &&
            (distortions[i].value ? strcmp(value, distortions[i].value) == 0 : is_on)) {
            return distortions[i].effect;
        }
    }
    return NULL;
}
