/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of CPython that the Python source of stages uses, found in the process: one library for every version,
 * without Python's headers. Filled once, then constant. Objects are opaque; "borrowed" and "new" are as in Python's own
 * manual. Everything but has_gil() and the functions that say so needs the GIL (or an attached thread, where there is
 * none).
 */
#ifndef ST_STAGES_PYTHON_API_H
#define ST_STAGES_PYTHON_API_H

#include <stdbool.h>
#include <stdint.h>

struct st_py_object;
typedef struct st_py_object *st_py;

struct st_py_method {
    const char *name;
    st_py (*function)(st_py self, st_py const *arguments, intptr_t count);
    int flags; /* ST_PY_FASTCALL */
    const char *doc;
};
#define ST_PY_FASTCALL 0x80

/* X(result, name of the member, arguments, symbol, the symbol in other versions or NULL) */
#define ST_PY_NEEDED(X)                                                                                                \
    X(int, is_initialized, (void), "Py_IsInitialized", NULL) /* any thread */                                          \
    X(const char *, version, (void), "Py_GetVersion", NULL)                                                            \
    X(void *, this_thread, (void), "PyGILState_GetThisThreadState", NULL) /* any thread */                             \
    X(void *, running_thread, (void), "PyThreadState_GetUnchecked", "_PyThreadState_UncheckedGet") /* any thread */    \
    X(void *, interpreter, (void), "PyInterpreterState_Get", "_PyInterpreterState_Get")                                \
    X(void *, main_interpreter, (void), "PyInterpreterState_Main", NULL)                                               \
    X(int, add_pending, (int (*)(void *), void *), "Py_AddPendingCall", NULL) /* any thread */                         \
    X(int, at_exit, (void (*)(void)), "Py_AtExit", NULL)                                                               \
    X(void, take_reference, (st_py), "Py_IncRef", NULL)                                                                \
    X(void, drop, (st_py), "Py_DecRef", NULL)                                                                          \
    X(void, fetch_error, (st_py *, st_py *, st_py *), "PyErr_Fetch", NULL)                                             \
    X(void, restore_error, (st_py, st_py, st_py), "PyErr_Restore", NULL)                                               \
    X(void, clear_error, (void), "PyErr_Clear", NULL)                                                                  \
    X(st_py, attribute, (st_py, st_py), "PyObject_GetAttr", NULL)                                                      \
    X(st_py, attribute_named, (st_py, const char *), "PyObject_GetAttrString", NULL)                                   \
    X(st_py, call_method, (st_py, const char *, const char *, ...), "PyObject_CallMethod", NULL)                       \
    X(st_py, text_of, (const char *), "PyUnicode_InternFromString", NULL)                                              \
    X(const char *, utf8, (st_py), "PyUnicode_AsUTF8", NULL)                                                           \
    X(long, number, (st_py), "PyLong_AsLong", NULL)                                                                    \
    X(st_py, dict_get, (st_py, st_py), "PyDict_GetItemWithError", NULL) /* borrowed */                                 \
    X(int, dict_next, (st_py, intptr_t *, st_py *, st_py *), "PyDict_Next", NULL) /* borrowed */                       \
    X(st_py *, instance_dict, (st_py), "_PyObject_GetDictPtr", NULL)                                                   \
    X(intptr_t, tuple_size, (st_py), "PyTuple_Size", NULL)                                                             \
    X(st_py, tuple_item, (st_py, intptr_t), "PyTuple_GetItem", NULL) /* borrowed */                                    \
    X(int, is_subtype, (st_py, st_py), "PyType_IsSubtype", NULL)                                                       \
    X(st_py, new_function, (struct st_py_method *, st_py, st_py), "PyCFunction_NewEx", NULL)                           \
    X(st_py, function_code, (st_py), "PyFunction_GetCode", NULL) /* borrowed */                                        \
    X(st_py, sys_object, (const char *), "PySys_GetObject", NULL) /* borrowed */                                       \
    X(st_py, modules, (void), "PyImport_GetModuleDict", NULL) /* borrowed */                                           \
    X(st_py, module_dict, (st_py), "PyModule_GetDict", NULL) /* borrowed */                                            \
    X(st_py, frame, (void), "PyEval_GetFrame", NULL) /* borrowed; NULL outside of Python code */                       \
    X(st_py, globals, (void), "PyEval_GetGlobals", NULL) /* borrowed, of the running function */                       \
    X(intptr_t, request_code_extra, (void (*)(void *)), "PyUnstable_Eval_RequestCodeExtraIndex",                       \
      "_PyEval_RequestCodeExtraIndex")                                                                                 \
    X(int, get_code_extra, (const void *, intptr_t, void **), "PyUnstable_Code_GetExtra", "_PyCode_GetExtra")          \
    X(int, set_code_extra, (const void *, intptr_t, void *), "PyUnstable_Code_SetExtra", "_PyCode_SetExtra")

/* NULL where a version has none. */
#define ST_PY_WANTED(X)                                                                                                \
    X(st_py, previous_frame, (st_py), "PyFrame_GetBack", NULL) /* new; ≥ 3.9 */                                        \
    X(void, set_eval, (void *, void *), "_PyInterpreterState_SetEvalFrameFunc", NULL) /* ≥ 3.9 */                      \
    X(void *, get_eval, (void *), "_PyInterpreterState_GetEvalFrameFunc", NULL)                                        \
    X(st_py, eval_default, (void *, void *, int), "_PyEval_EvalFrameDefault", NULL)                                    \
    X(int, recursion_limit, (void), "Py_GetRecursionLimit", NULL)

struct st_py_api {
    int minor; /* of 3.x */
    bool is_gilless; /* a free-threaded build */
    char version_text[32]; /* "3.11.7" */
#define ST_PY_MEMBER(result, name, arguments, symbol, other) result(*name) arguments;
    ST_PY_NEEDED(ST_PY_MEMBER)
    ST_PY_WANTED(ST_PY_MEMBER)
#undef ST_PY_MEMBER
    /* types and the like, borrowed */
    st_py none, code_type, function_type, static_method_type, class_method_type, property_type, module_type, type_type,
        dict_type, text_type;
    const char *runtime; /* _PyRuntime, or NULL */
};
extern struct st_py_api st_py_api;

/* Find a CPython in the process; true from then on. False: none (yet), or *ret_why says what is in the way (then it is
 * for ever). Plain C, any thread, not two at a time. */
bool st_py_find(const char **ret_why);

/* Does the calling thread run Python code of the main interpreter right now? Any thread, after st_py_find(). */
bool st_py_has_gil(void);

/* The type of an object, borrowed. The header has the reference count first, in a free-threaded build more. */
static inline st_py st_py_type(const void *object)
{
    return *(st_py const *)((const char *)object + (st_py_api.is_gilless ? 24 : 8));
}

#endif
