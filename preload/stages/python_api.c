/* SPDX-License-Identifier: Apache-2.0 */
/* Finding CPython's functions; see python_api.h. */
#include "python_api.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "preload/watch/watch.h"

struct st_py_api st_py_api;

static const struct wanted {
    const char *symbol, *other;
    size_t member;
    bool is_needed;
} WANTED[] = {
#define MEMBER(result, name, arguments, symbol, other) {symbol, other, offsetof(struct st_py_api, name), true},
    ST_PY_NEEDED(MEMBER)
#undef MEMBER
#define MEMBER(result, name, arguments, symbol, other) {symbol, other, offsetof(struct st_py_api, name), false},
    ST_PY_WANTED(MEMBER)
#undef MEMBER
    {"_Py_NoneStruct", NULL, offsetof(struct st_py_api, none), true},
    {"PyCode_Type", NULL, offsetof(struct st_py_api, code_type), true},
    {"PyFunction_Type", NULL, offsetof(struct st_py_api, function_type), true},
    {"PyStaticMethod_Type", NULL, offsetof(struct st_py_api, static_method_type), true},
    {"PyClassMethod_Type", NULL, offsetof(struct st_py_api, class_method_type), true},
    {"PyProperty_Type", NULL, offsetof(struct st_py_api, property_type), true},
    {"PyModule_Type", NULL, offsetof(struct st_py_api, module_type), true},
    {"PyType_Type", NULL, offsetof(struct st_py_api, type_type), true},
    {"PyDict_Type", NULL, offsetof(struct st_py_api, dict_type), true},
    {"PyUnicode_Type", NULL, offsetof(struct st_py_api, text_type), true},
    {"_PyRuntime", NULL, offsetof(struct st_py_api, runtime), false},
};

struct search {
    uintptr_t address;
    char path[1024];
};

static int find_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *wanted = arg;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && wanted->address - begin < info->dlpi_phdr[i].p_memsz) {
            snprintf(wanted->path, sizeof(wanted->path), "%s", info->dlpi_name);
            return 1;
        }
    }
    return 0;
}

/* Through which everything is found: the library, which may have been loaded for itself (RTLD_LOCAL) and must stay from
 * now on, also where the program unloads it; or the program itself. */
static void *find_handle(const void *is_initialized)
{
    struct search wanted = {.address = (uintptr_t)is_initialized};
    dl_iterate_phdr(find_object, &wanted);
    return wanted.path[0] ? st_watch_real_dlopen(wanted.path, RTLD_LAZY | RTLD_NOLOAD) : RTLD_DEFAULT;
}

static bool fill(void *handle, struct st_py_api *api, const char **ret_missing)
{
    for (size_t i = 0; i < sizeof(WANTED) / sizeof(WANTED[0]); i++) {
        void *address = st_watch_real_dlsym(handle, WANTED[i].symbol);
        if (!address && WANTED[i].other) address = st_watch_real_dlsym(handle, WANTED[i].other);
        if (!address) {
            st_watch_real_dlerror();
            *ret_missing = WANTED[i].symbol;
            if (WANTED[i].is_needed) return false;
        }
        memcpy((char *)api + WANTED[i].member, &address, sizeof(address));
    }
    return true;
}

bool st_py_find(const char **ret_why)
{
    static char why[128];
    static struct st_py_api api;
    const char *missing = "", *text;
    void *is_initialized, *handle;
    int major, minor;

    if (st_py_api.is_initialized) return true;
    is_initialized = st_watch_find_function("Py_IsInitialized");
    handle = is_initialized ? find_handle(is_initialized) : NULL;
    void *version = is_initialized ? st_watch_real_dlsym(handle, "Py_GetVersion") : NULL;
    if (!version) return false;
    memcpy(&api.version, &version, sizeof(version));
    text = api.version();
    if (sscanf(text, "%d.%d", &major, &minor) != 2) return false;
    snprintf(api.version_text, sizeof(api.version_text), "%.*s", (int)strcspn(text, " "), text);
    if (major != 3 || minor < 8) {
        snprintf(why, sizeof(why), "Python %s: only 3.8 and newer are followed", api.version_text);
        *ret_why = why;
        return false;
    }
    if (!fill(handle, &api, &missing)) {
        snprintf(why, sizeof(why), "Python %s does not export %s", api.version_text, missing);
        *ret_why = why;
        return false;
    }
    api.minor = minor;
    api.is_gilless = strstr(text, "free-threading") != NULL;
    st_py_api = api;
    return true;
}

bool st_py_has_gil(void)
{
    void *running = st_py_api.running_thread();
    return running && running == st_py_api.this_thread() && st_py_api.interpreter() == st_py_api.main_interpreter();
}
