/* SPDX-License-Identifier: Apache-2.0 */
/* The search for libcupti; see cupti_find.h. Runs once, in the target's thread, in plain C. */
#include "cupti_find.h"

#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_FOLDERS 4

/* Sonames, newest first. Before 12 the minor version was part of it. */
static const char *const sonames[] = {
    "libcupti.so.13",   "libcupti.so.12",   "libcupti.so.11.8", "libcupti.so.11.7",
    "libcupti.so.11.6", "libcupti.so.11.5", "libcupti.so.11.4", "libcupti.so.11.3",
    "libcupti.so.11.2", "libcupti.so.11.1", "libcupti.so.11.0",
};
#define SONAME_COUNT (sizeof(sonames) / sizeof(sonames[0]))

/* Below the folder of a mapped libcuda or libcudart: itself, and where Python wheels put it. */
static const char *const beside[] = {"", "/../../cuda_cupti/lib"};
static const char *const below_toolkit[] = {
    "/extras/CUPTI/lib64",
    "/lib64",
    "/lib",
#if defined(__aarch64__)
    "/targets/sbsa-linux/lib",
    "/targets/aarch64-linux/lib", /* servers, Jetson */
#else
    "/targets/x86_64-linux/lib",
#endif
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct {
    char mapped[PATH_MAX]; /* the first libcupti in the process */
    int mapped_count;
    char folders[MAX_FOLDERS][PATH_MAX];
    int folder_count;
    char path[PATH_MAX];
} found;

static void note_folder(const char *path, size_t length)
{
    if (found.folder_count == MAX_FOLDERS) return;
    for (int i = 0; i < found.folder_count; i++)
        if (strncmp(found.folders[i], path, length) == 0 && found.folders[i][length] == '\0') return;
    memcpy(found.folders[found.folder_count], path, length);
    found.folders[found.folder_count++][length] = '\0';
}

static int look_at_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    const char *slash = info->dlpi_name != NULL ? strrchr(info->dlpi_name, '/') : NULL;

    if (slash == NULL || strlen(info->dlpi_name) >= PATH_MAX) return 0;
    if (strncmp(slash + 1, "libcupti.so", 11) == 0) {
        if (found.mapped_count++ == 0) strcpy(found.mapped, info->dlpi_name);
    } else if (strncmp(slash + 1, "libcuda.so", 10) == 0 || strncmp(slash + 1, "libcudart.so", 12) == 0) {
        note_folder(info->dlpi_name, (size_t)(slash - info->dlpi_name));
    }
    return 0;
}

static bool try_folder(const char *folder, const char *below, enum st_cupti_place place, st_cupti_try_fn try, void *arg)
{
    for (size_t i = 0; i < SONAME_COUNT; i++) {
        int length = snprintf(found.path, sizeof(found.path), "%s%s/%s", folder, below, sonames[i]);
        if (length < 0 || (size_t)length >= sizeof(found.path) || access(found.path, R_OK) != 0) continue;
        if (try(found.path, place, arg)) return true;
    }
    return false;
}

int st_cupti_find(const char *named, const char *cuda_home, st_cupti_try_fn try, void *arg)
{
    memset(&found, 0, sizeof(found));
    dl_iterate_phdr(look_at_object, NULL);
    if (found.mapped_count == 1 && try(found.mapped, ST_CUPTI_MAPPED, arg)) return found.mapped_count;
    if (named != NULL && try(named, ST_CUPTI_NAMED, arg)) return found.mapped_count;
    if (found.mapped_count > 1) return found.mapped_count;
    for (int i = 0; i < found.folder_count; i++)
        for (size_t j = 0; j < COUNT(beside); j++)
            if (try_folder(found.folders[i], beside[j], ST_CUPTI_NEIGHBOUR, try, arg)) return found.mapped_count;
    for (size_t i = 0; i < SONAME_COUNT; i++)
        if (try(sonames[i], ST_CUPTI_LOADER, arg)) return found.mapped_count;
    if (cuda_home != NULL && cuda_home[0] != '\0')
        for (size_t j = 0; j < COUNT(below_toolkit); j++)
            if (try_folder(cuda_home, below_toolkit[j], ST_CUPTI_TOOLKIT, try, arg)) return found.mapped_count;
    return found.mapped_count;
}
