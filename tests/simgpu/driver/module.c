/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules and libraries. An image says which kernels and variables there are (image.h); one that could not be read
 * as a whole has every other function too that is asked for, and variables of 64 KiB.
 */
#include "module.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "device.h"
#include "driver_gen.h"
#include "engine.h"
#include "kernels_plugin.h"
#include "linker.h"
#include "memory.h"

enum { UNKNOWN_VARIABLE_BYTES = 65536 };

struct variable {
    struct variable *next;
    char *name;
    CUdeviceptr address;
    size_t bytes;
    bool managed;
};

struct sim_module {
    struct sim_object object;
    struct sim_image image;
    struct sim_function *functions;
    unsigned function_count;
    struct variable *variables; /* those that were asked for */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the lists of all modules */

struct sim_function *sim_function_check(const void *handle)
{
    return sim_object_check(handle, SIM_FUNCTION);
}

/* ---- loading ---------------------------------------------------------------------------------------------------- */

static struct sim_function *add_function(struct sim_module *module, const char *name,
                                         const struct sim_image_entry *entry)
{
    struct sim_function *function = sim_object_create(SIM_FUNCTION);

    if (function == NULL) {
        return NULL;
    }
    function->name = strdup(name); /* never freed: records may name it after the module is gone */
    if (function->name == NULL) {
        sim_object_destroy(function);
        return NULL;
    }
    function->module = module;
    function->entry = entry != NULL && entry->params_known ? entry : NULL;
    function->host = sim_kernels_find(name);
    function->cost = sim_model_kernel(name);
    function->next = module->functions;
    module->functions = function;
    module->function_count++;
    return function;
}

static void destroy(struct sim_module *module)
{
    while (module->functions != NULL) {
        struct sim_function *function = module->functions;

        module->functions = function->next;
        free(function->old_launch);
        sim_object_destroy(function);
    }
    while (module->variables != NULL) {
        struct variable *variable = module->variables;

        module->variables = variable->next;
        sim_memory_unmap(variable->address);
        free(variable->name);
        free(variable);
    }
    sim_image_finish(&module->image);
    sim_object_destroy(module);
}

static CUresult load(struct sim_module **out, const void *data)
{
    struct sim_module *module;
    CUresult result;

    if (out == NULL || data == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    module = sim_object_create(SIM_MODULE);
    if (module == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    result = sim_image_read(&module->image, data);
    for (unsigned i = module->image.entry_count; i > 0 && result == CUDA_SUCCESS; i--) {
        const struct sim_image_entry *entry = &module->image.entries[i - 1];

        if (add_function(module, entry->name, entry) == NULL) {
            result = CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    if (result != CUDA_SUCCESS) {
        destroy(module);
        return result;
    }
    *out = module;
    return CUDA_SUCCESS;
}

static CUresult load_file(struct sim_module **out, const char *path)
{
    CUresult result;
    size_t bytes;
    char *image;

    if (path == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    image = sim_image_file(path, &bytes);
    result = image == NULL ? CUDA_ERROR_FILE_NOT_FOUND : load(out, image);
    free(image);
    return result;
}

/* ---- looking things up ------------------------------------------------------------------------------------------ */

static CUresult find_function(struct sim_function **out, struct sim_module *module, const char *name)
{
    struct sim_function *function;
    bool may_add = module != NULL && !module->image.complete;

    if (module == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (out == NULL || name == NULL || *name == '\0') {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&lock);
    for (function = module->functions; function != NULL && strcmp(function->name, name) != 0;
         function = function->next) {
    }
    if (function == NULL && may_add) {
        function = add_function(module, name, NULL);
    }
    pthread_mutex_unlock(&lock);
    *out = function;
    if (function == NULL) {
        return may_add ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_NOT_FOUND;
    }
    return CUDA_SUCCESS;
}

/* Variables get their memory when they are first asked for, in the context that is current then. */
static CUresult add_variable_locked(struct variable **out, struct sim_module *module, const char *name)
{
    static const struct sim_image_variable unknown = {NULL, UNKNOWN_VARIABLE_BYTES, false};
    const struct sim_image_variable *found = module->image.complete ? NULL : &unknown;
    struct sim_context *context = sim_context_current();
    struct sim_range range = {.device = context->device, .context = context};
    struct variable *variable;
    CUresult result;

    for (unsigned i = 0; i < module->image.variable_count; i++) {
        if (strcmp(module->image.variables[i].name, name) == 0) {
            found = &module->image.variables[i];
        }
    }
    if (found == NULL || found->bytes == 0) {
        return CUDA_ERROR_NOT_FOUND;
    }
    range.bytes = found->bytes;
    range.kind = found->managed ? SIM_MEMORY_MANAGED : SIM_MEMORY_DEVICE;
    variable = calloc(1, sizeof(*variable));
    result = variable == NULL ? CUDA_ERROR_OUT_OF_MEMORY : sim_memory_map(&range);
    if (result == CUDA_SUCCESS) {
        *variable = (struct variable){module->variables, strdup(name), range.base, range.bytes, found->managed};
        module->variables = variable;
        *out = variable;
        return CUDA_SUCCESS;
    }
    free(variable);
    return result;
}

static CUresult find_variable(CUdeviceptr *address, size_t *bytes, struct sim_module *module, const char *name,
                              bool managed)
{
    struct variable *variable;
    CUresult result = CUDA_SUCCESS;

    if (module == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (name == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&lock);
    for (variable = module->variables; variable != NULL && (variable->name == NULL || strcmp(variable->name, name));
         variable = variable->next) {
    }
    if (variable == NULL) {
        result = add_variable_locked(&variable, module, name);
    }
    if (result == CUDA_SUCCESS && managed && !variable->managed) {
        result = CUDA_ERROR_NOT_FOUND;
    }
    if (result == CUDA_SUCCESS && address != NULL) {
        *address = variable->address;
    }
    if (result == CUDA_SUCCESS && bytes != NULL) {
        *bytes = variable->bytes;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

static CUresult enumerate(void **out, unsigned count, struct sim_module *module)
{
    struct sim_function *function;

    if (module == NULL || out == NULL) {
        return module == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&lock);
    for (function = module->functions; function != NULL && count > 0; function = function->next, count--) {
        *out++ = function;
    }
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

static CUresult count_functions(unsigned *count, struct sim_module *module)
{
    if (module == NULL || count == NULL) {
        return module == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&lock);
    *count = module->function_count;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

/* Work may still use the variables: as with any memory that is freed, that of their contexts is waited for. */
static CUresult unload(struct sim_module *module)
{
    struct sim_range range;

    if (module == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    for (const struct variable *variable = module->variables; variable != NULL; variable = variable->next) {
        if (sim_memory_find(variable->address, 1, &range)) { /* else it went with its context */
            sim_sync_context(range.context);
        }
    }
    pthread_mutex_lock(&lock);
    destroy(module);
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

static struct sim_module *check(const void *handle)
{
    return sim_object_check(handle, SIM_MODULE);
}

/* ---- the API: modules ------------------------------------------------------------------------------------------- */

CUresult sim_cuModuleLoad(CUmodule *module, const char *path)
{
    return load_file((struct sim_module **)module, path);
}

CUresult sim_cuModuleLoadData(CUmodule *module, const void *image)
{
    return load((struct sim_module **)module, image);
}

CUresult sim_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options,
                                void **values)
{
    sim_jit_answer(count, options, values);
    return load((struct sim_module **)module, image);
}

CUresult sim_cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
    return load((struct sim_module **)module, image);
}

CUresult sim_cuModuleUnload(CUmodule module)
{
    return unload(check(module));
}

CUresult sim_cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    return find_function((struct sim_function **)function, check(module), name);
}

CUresult sim_cuModuleGetFunctionCount(unsigned *count, CUmodule module)
{
    return count_functions(count, check(module));
}

CUresult sim_cuModuleEnumerateFunctions(CUfunction *functions, unsigned count, CUmodule module)
{
    return enumerate((void **)functions, count, check(module));
}

CUresult sim_cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name)
{
    return find_variable(address, bytes, check(module), name, false);
}

CUresult sim_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    if (mode == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}

/* ---- the API: libraries ----------------------------------------------------------------------------------------- */

CUresult sim_cuLibraryLoadData(CUlibrary *library, const void *image, CUjit_option *jit, void **jit_values,
                               unsigned jit_count, CUlibraryOption *options, void **values, unsigned count)
{
    sim_jit_answer(jit_count, jit, jit_values);
    return load((struct sim_module **)library, image);
}

CUresult sim_cuLibraryLoadFromFile(CUlibrary *library, const char *path, CUjit_option *jit, void **jit_values,
                                   unsigned jit_count, CUlibraryOption *options, void **values, unsigned count)
{
    sim_jit_answer(jit_count, jit, jit_values);
    return load_file((struct sim_module **)library, path);
}

CUresult sim_cuLibraryUnload(CUlibrary library)
{
    return unload(check(library));
}

CUresult sim_cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    return find_function((struct sim_function **)kernel, check(library), name);
}

CUresult sim_cuLibraryGetKernelCount(unsigned *count, CUlibrary library)
{
    return count_functions(count, check(library));
}

CUresult sim_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned count, CUlibrary library)
{
    return enumerate((void **)kernels, count, check(library));
}

CUresult sim_cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
    struct sim_module *found = check(library);

    if (found == NULL || module == NULL) {
        return found == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    }
    *module = (CUmodule)found;
    return CUDA_SUCCESS;
}

CUresult sim_cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name)
{
    return find_variable(address, bytes, check(library), name, false);
}

CUresult sim_cuLibraryGetManaged(CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name)
{
    return find_variable(address, bytes, check(library), name, true);
}
