/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choosing and checking a libcupti; see cupti_load.h. Runs once, in the target's thread, in plain C. A library
 * that was opened is never closed again.
 */
#include "cupti_load.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cupti_find.h"
#include "preload/watch/watch.h"

const char *st_cupti_error(const struct st_cupti_library *library, int result)
{
    static char number[32];
    const char *text = NULL;

    switch (result) { /* also said by a library that refuses every call */
    case ST_CUPTI_NOT_INITIALIZED:
        return "CUPTI_ERROR_NOT_INITIALIZED";
    case ST_CUPTI_INSUFFICIENT_PRIVILEGES:
        return "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES: allow it with the driver option "
               "NVreg_RestrictProfilingToAdminUsers=0, or run with CAP_SYS_ADMIN";
    default:
        break;
    }
    if (library->f.GetResultString != NULL && library->f.GetResultString(result, &text) == 0 && text != NULL)
        return text;
    snprintf(number, sizeof(number), "CUPTI error %d", result);
    return number;
}

__attribute__((format(printf, 3, 4))) static void note_tried(struct st_cupti_library *library, const char *path,
                                                             const char *format, ...)
{
    size_t used = strlen(library->tried);
    va_list arguments;

    used +=
        (size_t)snprintf(library->tried + used, sizeof(library->tried) - used, "%s%s: ", used > 0 ? "; " : "", path);
    if (used >= sizeof(library->tried)) return;
    va_start(arguments, format);
    vsnprintf(library->tried + used, sizeof(library->tried) - used, format, arguments);
    va_end(arguments);
}

static bool resolve(struct st_cupti_library *library, void *handle, const char *path)
{
    void *address;

#define RESOLVE(name, parameters, optional)                                                                            \
    address = st_watch_real_dlsym(handle, "cupti" #name);                                                              \
    if (address == NULL && !(optional)) {                                                                              \
        st_watch_real_dlerror();                                                                                       \
        note_tried(library, path, "it has no cupti" #name);                                                            \
        return false;                                                                                                  \
    }                                                                                                                  \
    memcpy(&library->f.name, &address, sizeof(address));
    ST_CUPTI_FUNCTIONS(RESOLVE)
#undef RESOLVE
    st_watch_real_dlerror(); /* a missing optional one must not be the target's next error text */
    return true;
}

static void ignore_callback(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
}

/* Subscribe and let go at once. Fills the refusal when another tool is there. */
static int probe_subscription(struct st_cupti_library *library)
{
    char holder[128] = "";
    struct st_cupti_subscriber_params params = {sizeof(params), "stagetap", holder, sizeof(holder)};
    void *subscriber = NULL;
    int result;

    if (library->f.Subscribe_v2 != NULL) {
        result = library->f.Subscribe_v2(&subscriber, ignore_callback, NULL, &params);
    } else {
        result = library->f.Subscribe(&subscriber, ignore_callback, NULL);
    }
    if (result == ST_CUPTI_SUCCESS) library->f.Unsubscribe(subscriber);
    holder[sizeof(holder) - 1] = '\0';
    if (result == ST_CUPTI_MULTIPLE_SUBSCRIBERS)
        snprintf(library->refusal, sizeof(library->refusal), "another tool holds the CUPTI subscription: %s",
                 holder[0] != '\0' ? holder : "it does not say its name");
    if (result == ST_CUPTI_INSUFFICIENT_PRIVILEGES)
        snprintf(library->refusal, sizeof(library->refusal), "%s", st_cupti_error(library, result));
    return result;
}

static bool try_library(const char *path, enum st_cupti_place place, void *arg)
{
    struct st_cupti_library *library = arg;
    void *handle = st_watch_real_dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int result;

    if (handle == NULL) {
        const char *text = st_watch_real_dlerror();
        if (place != ST_CUPTI_LOADER) note_tried(library, path, "%s", text != NULL ? text : "cannot be loaded");
        return false;
    }
    for (int i = 0; i < library->handle_count; i++)
        if (library->handles[i] == handle) return false; /* the same file by another path */
    if (library->handle_count < ST_CUPTI_MAX_TRIED) library->handles[library->handle_count++] = handle;
    if (!resolve(library, handle, path)) return false;
    result = library->f.GetVersion(&library->version);
    if (result == ST_CUPTI_SUCCESS) result = probe_subscription(library);
    if (result != ST_CUPTI_SUCCESS) {
        note_tried(library, path, "%s", st_cupti_error(library, result));
        return library->refusal[0] != '\0'; /* any other library would be told the same */
    }
    if (!st_cupti_measure(library->f.ActivityGetNextRecord, &library->sizes)) {
        note_tried(library, path, "its records cannot be walked");
        return false;
    }
    snprintf(library->path, sizeof(library->path), "%s", path);
    library->is_usable = true;
    return true;
}

bool st_cupti_load(const char *named, const char *cuda_home, struct st_cupti_library *library)
{
    int mapped = st_cupti_find(named, cuda_home, try_library, library);

    if (library->is_usable || library->refusal[0] != '\0') return library->is_usable;
    if (mapped > 1) {
        snprintf(library->refusal, sizeof(library->refusal),
                 "%d copies of libcupti are in the process; name the right one with STAGETAP_CUPTI", mapped);
    } else if (library->tried[0] != '\0') {
        snprintf(library->refusal, sizeof(library->refusal), "no usable libcupti: %.200s", library->tried);
    } else {
        snprintf(library->refusal, sizeof(library->refusal), "no libcupti found; name one with STAGETAP_CUPTI");
    }
    return false;
}

void st_cupti_release(uint32_t version, char *ret, size_t size)
{
    static const struct {
        uint32_t version;
        const char *text;
    } releases[] = {{18, "11.8"}, {19, "12.0"}, {20, "12.2"}, {21, "12.3"}, {22, "12.4"},
                    {23, "12.5"}, {24, "12.6"}, {26, "12.8"}, {27, "12.9"}, {28, "12.9"}};

    if (version >= ST_CUPTI_VERSION_CUDA13) {
        snprintf(ret, size, "%u.%u", version / 10000, version / 100 % 100);
        return;
    }
    snprintf(ret, size, "API %u", version);
    for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++)
        if (releases[i].version == version) snprintf(ret, size, "%s", releases[i].text);
}
