/* SPDX-License-Identifier: Apache-2.0 */
/* Versions from sys.modules; see python_facts.h. */
#include "python_facts.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

#include "python_api.h"

#define VALUE_BYTES 64

static const struct wanted {
    const char *key, *module, *attribute;
} WANTED[] = {
    {"torch", "torch", "__version__"},
    {"torch.cuda", "torch.version", "cuda"},
    {"diffusers", "diffusers", "__version__"},
    {"transformers", "transformers", "__version__"},
    {"accelerate", "accelerate", "__version__"},
    {"xformers", "xformers", "__version__"},
    {"safetensors", "safetensors", "__version__"},
    {"bitsandbytes", "bitsandbytes", "__version__"},
    {"flash_attn", "flash_attn", "__version__"},
    {"sageattention", "sageattention", "__version__"},
    {"triton", "triton", "__version__"},
    {"tensorrt", "tensorrt", "__version__"},
    {"onnxruntime", "onnxruntime", "__version__"},
    {"optimum", "optimum.version", "__version__"},
    {"jax", "jax.version", "__version__"},
    {"numpy", "numpy", "__version__"},
    {"pillow", "PIL", "__version__"},
    {"comfyui", "comfyui_version", "__version__"},
    {"invokeai", "invokeai.version", "__version__"},
};
enum { WANTED_COUNT = sizeof(WANTED) / sizeof(WANTED[0]) };

/* Filled in the order in which they were found. */
static struct {
    const char *key;
    char value[VALUE_BYTES];
} facts[WANTED_COUNT];
static _Atomic uint32_t fact_count;
static bool is_found[WANTED_COUNT];
static st_py names[WANTED_COUNT][2], name_objects; /* strings of Python, made once */

static bool make_names(void)
{
    if (name_objects) return true;
    for (int i = 0; i < WANTED_COUNT; i++) {
        names[i][0] = st_py_api.text_of(WANTED[i].module);
        names[i][1] = st_py_api.text_of(WANTED[i].attribute);
        if (!names[i][0] || !names[i][1]) return false;
    }
    name_objects = st_py_api.text_of("_objects");
    return name_objects != NULL;
}

void st_python_facts_forget(void)
{
    name_objects = NULL;
}

/* What the module's dictionary has of that name, borrowed. A lazy module, as diffusers and transformers make them,
 * keeps what it was given in a dictionary of its own. */
static st_py value_in(st_py module, st_py name)
{
    st_py dict, value, objects;
    if (!st_py_api.is_subtype(st_py_type(module), st_py_api.module_type)) return NULL;
    dict = st_py_api.module_dict(module);
    value = st_py_api.dict_get(dict, name);
    objects = value ? NULL : st_py_api.dict_get(dict, name_objects);
    if (objects && st_py_type(objects) == st_py_api.dict_type) value = st_py_api.dict_get(objects, name);
    return value;
}

void st_python_facts_look(void)
{
    static atomic_flag is_busy = ATOMIC_FLAG_INIT; /* where there is no GIL */
    if (atomic_flag_test_and_set_explicit(&is_busy, memory_order_acquire)) return;
    st_py modules = st_py_api.modules();
    bool is_ready = modules && make_names();
    for (int i = 0; is_ready && i < WANTED_COUNT; i++) {
        st_py module = is_found[i] ? NULL : st_py_api.dict_get(modules, names[i][0]);
        st_py value = module ? value_in(module, names[i][1]) : NULL;
        if (!value || !st_py_api.is_subtype(st_py_type(value), st_py_api.text_type)) continue;
        const char *text = st_py_api.utf8(value);
        if (!text) continue;
        uint32_t n = atomic_load_explicit(&fact_count, memory_order_relaxed);
        facts[n].key = WANTED[i].key;
        snprintf(facts[n].value, VALUE_BYTES, "%s", text);
        is_found[i] = true;
        atomic_store_explicit(&fact_count, n + 1, memory_order_release);
    }
    st_py_api.clear_error();
    atomic_flag_clear_explicit(&is_busy, memory_order_release);
}

bool st_python_fact(uint32_t n, const char **ret_key, const char **ret_value)
{
    if (n >= atomic_load_explicit(&fact_count, memory_order_acquire)) return false;
    *ret_key = facts[n].key;
    *ret_value = facts[n].value;
    return true;
}
