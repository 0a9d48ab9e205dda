/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that loads Python by dlopen() and gives it one function, launch(NAME): no extension module, and so no
 * further dlopen(), before the first CUDA call. embeds LIBPYTHON local|global held|released SCRIPT [LIVES [HOOK]]
 * Python is initialised LIVES times. HOOK: a library (eval_hook.c) that takes the frame evaluation before the script.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "cuda_few.h"

typedef void *object;
struct method {
    const char *name;
    object (*function)(object, object);
    int flags;
    const char *doc;
};
enum { METH_O = 8 };

static void *python;
static bool is_released;
static CUmodule module;
static const char IMAGE[] = PTX_HEAD PTX_ENTRY("k_none") PTX_ENTRY("k_encode") PTX_ENTRY("k_decode");

static void *find(const char *name)
{
    void *address = dlsym(python, name);
    if (!address) {
        fprintf(stderr, "no %s\n", name);
        exit(1);
    }
    return address;
}
#define CALL(name, result, types, ...) ((result(*) types)find(name))(__VA_ARGS__)

static object launch(object self, object argument)
{
    char name[32];
    object none = CALL("Py_BuildValue", object, (const char *, ...), "");
    snprintf(name, sizeof(name), "k_%s", CALL("PyUnicode_AsUTF8", const char *, (object), argument));
    void *state = is_released ? CALL("PyEval_SaveThread", void *, (void)) : NULL;
    if (!module) {
        e2e_context();
        CHECK(cuModuleLoadData(&module, IMAGE));
    }
    e2e_launch(e2e_function(module, name), NULL);
    if (state)
        CALL("PyEval_RestoreThread", void, (void *), state);
    return none;
}

static void *take_evaluation(const char *path)
{
    void (*take)(void), *hook = dlopen(path, RTLD_NOW);
    *(void **)&take = hook ? dlsym(hook, "eval_hook_take") : NULL;
    if (!take) {
        fprintf(stderr, "%s: no hook\n", path);
        exit(1);
    }
    take();
    return hook;
}

static int live(const char *script)
{
    static struct method method = {"launch", launch, METH_O, NULL};
    object function = CALL("PyCFunction_NewEx", object, (struct method *, object, object), &method, NULL, NULL);
    object main_module = CALL("PyImport_AddModule", object, (const char *), "__main__");
    CALL("PyObject_SetAttrString", int, (object, const char *, object), main_module, "launch", function);
    return CALL("PyRun_SimpleString", int, (const char *), script);
}

int main(int argc, char **argv)
{
    int lives = argc > 5 ? atoi(argv[5]) : 1, status = 0;
    python = dlopen(argv[1], RTLD_NOW | (strcmp(argv[2], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL));
    if (!python) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    int *no_site = dlsym(python, "Py_NoSiteFlag");
    if (no_site)
        *no_site = 1; /* what is installed here may bring extension modules */
    is_released = strcmp(argv[3], "released") == 0;
    for (; lives > 0 && status == 0; lives--) {
        CALL("Py_InitializeEx", void, (int), 0);
        void *hook = argc > 6 ? take_evaluation(argv[6]) : NULL;
        status = live(argv[4]);
        if (hook) {
            long (*give_back)(void) = (long (*)(void))dlsym(hook, "eval_hook_give_back");
            printf("the hook saw frames: %s\n", give_back() ? "yes" : "no");
        }
        CALL("Py_Finalize", void, (void));
    }
    return status ? 1 : 0;
}
