/* SPDX-License-Identifier: Apache-2.0 */
/* The search for libcupti; see cupti_find.h. Runs once, in the target's thread, in plain C. */
#include "cupti_find.h"

#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_FOLDERS 4

/* Sonames, newest first; those of the mapped runtime's major version come before them all. Before 12 the minor version
 * was part of it. */
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
    int runtime_major; /* of the newest libcudart in the process, 0: none */
    size_t order[SONAME_COUNT];
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

/* "….so.12" → 12; 0 if the name does not tell. */
static int major_of(const char *name)
{
    const char *at = strstr(name, ".so.");
    return at != NULL ? atoi(at + 4) : 0;
}

static void order_sonames(void)
{
    size_t count = 0;
    for (int others = 0; others <= 1; others++)
        for (size_t i = 0; i < SONAME_COUNT; i++)
            if ((major_of(sonames[i]) != found.runtime_major) == others) found.order[count++] = i;
}

static int look_at_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    const char *slash = info->dlpi_name != NULL ? strrchr(info->dlpi_name, '/') : NULL;

    if (slash == NULL || strlen(info->dlpi_name) >= PATH_MAX) return 0;
    if (strncmp(slash + 1, "libcupti.so", 11) == 0) {
        if (found.mapped_count++ == 0) strcpy(found.mapped, info->dlpi_name);
    } else if (strncmp(slash + 1, "libcuda.so", 10) == 0 || strncmp(slash + 1, "libcudart.so", 12) == 0) {
        note_folder(info->dlpi_name, (size_t)(slash - info->dlpi_name));
        int major = strncmp(slash + 1, "libcudart", 9) == 0 ? major_of(slash + 1) : 0;
        if (major > found.runtime_major) found.runtime_major = major;
    }
    return 0;
}

static bool try_folder(const char *folder, const char *below, enum st_cupti_place place, st_cupti_try_fn try, void *arg)
{
    for (size_t i = 0; i < SONAME_COUNT; i++) {
        const char *soname = sonames[found.order[i]];
        int length = snprintf(found.path, sizeof(found.path), "%s%s/%s", folder, below, soname);
        if (length < 0 || (size_t)length >= sizeof(found.path) || access(found.path, R_OK) != 0) continue;
        if (try(found.path, place, arg)) return true;
    }
    return false;
}

int st_cupti_find(const char *named, const char *cuda_home, st_cupti_try_fn try, void *arg)
{
    memset(&found, 0, sizeof(found));
    dl_iterate_phdr(look_at_object, NULL);
    order_sonames();
    if (found.mapped_count == 1 && try(found.mapped, ST_CUPTI_MAPPED, arg)) return found.mapped_count;
    if (named != NULL && try(named, ST_CUPTI_NAMED, arg)) return found.mapped_count;
    if (found.mapped_count > 1) return found.mapped_count;
    for (int i = 0; i < found.folder_count; i++)
        for (size_t j = 0; j < COUNT(beside); j++)
            if (try_folder(found.folders[i], beside[j], ST_CUPTI_NEIGHBOUR, try, arg)) return found.mapped_count;
    for (size_t i = 0; i < SONAME_COUNT; i++)
        if (try(sonames[found.order[i]], ST_CUPTI_LOADER, arg)) return found.mapped_count;
    if (cuda_home != NULL && cuda_home[0] != '\0')
        for (size_t j = 0; j < COUNT(below_toolkit); j++)
            if (try_folder(cuda_home, below_toolkit[j], ST_CUPTI_TOOLKIT, try, arg)) return found.mapped_count;
    return found.mapped_count;
}
