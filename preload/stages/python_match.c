/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of code objects; see python_match.h. Code objects have their qualified name since 3.11. Before, it is looked
 * for where the module keeps its functions and classes, if a rule could want it: by identity of the code, through
 * decorators that say what they wrap, with nothing called that belongs to the program (dictionaries of instances and
 * types are read as they are).
 */
#include "python_match.h"

#include <stdatomic.h>
#include <string.h>

#include "preload/record/thread.h"
#include "python_facts.h"

#define MAX_WRAPPED 16 /* decorators around one function */
#define TYPE_DICT 264  /* PyTypeObject.tp_dict, 3.8 to 3.10 */

enum { /* from 3.11 on; globals follow the function, and are compared */
    OBJECT_FRAME = 24,               /* PyFrameObject.f_frame */
    FUNCTION_3_11 = 0, FUNCTION = 16, /* _PyInterpreterFrame */
    FUNCTION_TAGS = 3,               /* 3.14 */
};

static intptr_t extra_index = -1;
static st_py name_of_module, name_of_code, name_of_function; /* "__name__", "co_name", "co_qualname" */
static st_py name_of_names;                                  /* "co_names" */
static st_py name_wrapped, name_func;
static _Atomic uint64_t matched_codes;
static atomic_flag extra_lock = ATOMIC_FLAG_INIT; /* code objects of free-threaded builds do not lock themselves */

/* ---- what is kept -------------------------------------------------------------------------------- */

static void lock_extra(void)
{
    while (st_py_api.is_gilless && atomic_flag_test_and_set_explicit(&extra_lock, memory_order_acquire)) continue;
}

static void unlock_extra(void)
{
    if (st_py_api.is_gilless) atomic_flag_clear_explicit(&extra_lock, memory_order_release);
}

bool st_python_match_init(void)
{
    if (extra_index >= 0) return true;
    name_of_module = st_py_api.text_of("__name__");
    name_of_code = st_py_api.text_of("co_name");
    name_of_function = st_py_api.text_of("co_qualname");
    name_of_names = st_py_api.text_of("co_names");
    name_wrapped = st_py_api.text_of("__wrapped__");
    name_func = st_py_api.text_of("func");
    if (!name_of_module || !name_of_code || !name_of_function || !name_of_names || !name_wrapped || !name_func)
        return false;
    extra_index = st_py_api.request_code_extra(NULL);
    return extra_index >= 0;
}

void st_python_match_forget(void)
{
    extra_index = -1;
}

uint64_t st_python_known(const void *code)
{
    void *extra = NULL;
    lock_extra();
    st_py_api.get_code_extra(code, extra_index, &extra);
    unlock_extra();
    return (uintptr_t)extra;
}

uint64_t st_python_pack(const struct st_stage_match *match)
{
    uint64_t known = ST_PYTHON_SEEN | ST_PYTHON_MATCHED | (uint64_t)match->rule << 16 | (uint64_t)match->name << 32;
    switch (st_stages_rule(match->rule)->role) {
    case ST_MAP_BEGIN:
    case ST_MAP_END:
    case ST_MAP_BEGIN_REQUEST:
    case ST_MAP_END_REQUEST:
        return known | ST_PYTHON_INSTANT;
    case ST_MAP_STEP_END:
        return known | ST_PYTHON_AT_EXIT;
    default:
        return known;
    }
}

uint64_t st_python_matched_codes(void)
{
    return atomic_load_explicit(&matched_codes, memory_order_relaxed);
}

/* ---- names before 3.11 --------------------------------------------------------------------------- */

bool st_python_rule_may_match(const struct st_map_rule *rule, const char *module, const char *name)
{
    char part[ST_PYTHON_NAME_BYTES];
    const char *colon = strrchr(rule->pattern, ':'), *last;
    size_t length = colon ? (size_t)(colon - rule->pattern) : 0;

    if (rule->source != ST_MAP_PYTHON) return false;
    if (!colon || length >= sizeof(part)) return true; /* a star for everything */
    last = strrchr(colon, '.');
    if (!st_map_glob(last ? last + 1 : colon + 1, name, NULL)) return false;
    memcpy(part, rule->pattern, length);
    part[length] = '\0';
    return st_map_glob(part, module, NULL);
}

static bool any_rule_may_match(const char *module, const char *name)
{
    const struct st_map_rule *rule;
    for (uint32_t n = 0; (rule = st_stages_rule(n)) != NULL; n++)
        if (st_python_rule_may_match(rule, module, name)) return true;
    return false;
}

/* What an object wraps, borrowed or kept alive by it; NULL: nothing. */
static st_py wrapped_by(st_py object)
{
    st_py type = st_py_type(object), inner = NULL;
    if (type == st_py_api.static_method_type || type == st_py_api.class_method_type) {
        inner = st_py_api.attribute_named(object, "__func__");
    } else if (type != st_py_api.type_type && type != st_py_api.module_type) {
        st_py *dict = st_py_api.instance_dict(object);
        if (dict && *dict) {
            inner = st_py_api.dict_get(*dict, name_wrapped);
            if (!inner && type != st_py_api.function_type) inner = st_py_api.dict_get(*dict, name_func);
        }
        return inner;
    }
    if (inner) st_py_api.drop(inner); /* the object has it */
    return inner;
}

enum found { FOUND_NOT, FOUND_OTHER, FOUND_SAME }; /* the more the better */

static bool is_called(st_py code, st_py name)
{
    st_py own = st_py_api.attribute(code, name_of_code);
    const char *own_text = own ? st_py_api.utf8(own) : NULL, *text = st_py_api.utf8(name);
    bool is_same = own_text && text && strcmp(own_text, text) == 0;
    if (own) st_py_api.drop(own);
    return is_same;
}

/* Is this the function of `code`, perhaps decorated? FOUND_OTHER: it has the name, but is a function of another name,
 * as decorators make them that do not say what they wrap. */
static enum found compare(st_py object, st_py name, st_py code, int depth);

static enum found compare_property(st_py property, st_py name, st_py code, int depth)
{
    static const char *const FUNCTIONS[] = {"fget", "fset", "fdel"};
    enum found best = FOUND_NOT;
    for (size_t i = 0; i < sizeof(FUNCTIONS) / sizeof(FUNCTIONS[0]) && best != FOUND_SAME; i++) {
        st_py function = st_py_api.attribute_named(property, FUNCTIONS[i]);
        enum found found = function ? compare(function, name, code, depth) : FOUND_NOT;
        if (function) st_py_api.drop(function); /* the property has it */
        if (found > best) best = found;
    }
    return best;
}

static enum found compare(st_py object, st_py name, st_py code, int depth)
{
    for (; depth < MAX_WRAPPED && object && object != st_py_api.none; depth++) {
        if (st_py_type(object) == st_py_api.property_type) return compare_property(object, name, code, depth + 1);
        st_py own = st_py_type(object) == st_py_api.function_type ? st_py_api.function_code(object) : NULL;
        if (own == code) return FOUND_SAME;
        st_py inner = wrapped_by(object);
        if (!inner) return own && !is_called(own, name) ? FOUND_OTHER : FOUND_NOT;
        object = inner;
    }
    return FOUND_NOT;
}

static size_t append(char *text, size_t used, const char *more)
{
    size_t length = strlen(more), room = ST_PYTHON_NAME_BYTES - 1 - used;
    length = length < room ? length : room;
    memcpy(text + used, more, length);
    text[used + length] = '\0';
    return used + length;
}

static bool is_class(st_py object)
{
    return st_py_api.is_subtype(st_py_type(object), st_py_api.type_type);
}

/* Look for the code in the dictionary of a module or class; its place is written behind `used` bytes of `text`. */
static enum found search(st_py dict, st_py name, st_py code, int levels, char *text, size_t used)
{
    char other[ST_PYTHON_NAME_BYTES] = "";
    uint32_t others = 0;
    intptr_t at = 0;
    st_py key, value, direct = st_py_api.dict_get(dict, name);
    enum found found = direct ? compare(direct, name, code, 0) : FOUND_NOT;

    if (found != FOUND_NOT) append(text, used, st_py_api.utf8(name));
    if (found == FOUND_SAME) return FOUND_SAME;
    if (found == FOUND_OTHER) {
        strcpy(other, text);
        others++;
    }
    while (levels > 0 && st_py_api.dict_next(dict, &at, &key, &value)) {
        st_py inner = is_class(value) ? *(st_py *)((char *)value + TYPE_DICT) : NULL;
        const char *class_name = inner ? st_py_api.utf8(key) : NULL;
        if (!class_name) continue;
        size_t length = append(text, append(text, used, class_name), ".");
        found = search(inner, name, code, levels - 1, text, length);
        if (found == FOUND_SAME) return FOUND_SAME;
        if (found == FOUND_OTHER) {
            strcpy(other, text);
            others++;
        }
    }
    if (others != 1) return FOUND_NOT;
    strcpy(text, other); /* the only one of that name: decorated by something that does not say what it wraps */
    return FOUND_OTHER;
}

/* ---- what Dynamo compiled ------------------------------------------------------------------------- */

/*
 * torch.compile takes a decorated function from its decorator on, and what is decorated is no function of its own any
 * more. The new code has the decorator's name, but is for this one function, in which functools.wraps left what it
 * wraps.
 */
static bool is_compiled(st_py code)
{
    static const char PREFIX[] = "__compiled_fn_"; /* of the graph that it calls */
    st_py names = st_py_api.minor >= 11 ? st_py_api.attribute(code, name_of_names) : NULL;
    bool is_found = false;
    for (intptr_t i = names ? st_py_api.tuple_size(names) : 0; i-- > 0 && !is_found;) {
        const char *name = st_py_api.utf8(st_py_api.tuple_item(names, i));
        is_found = name && strncmp(name, PREFIX, sizeof(PREFIX) - 1) == 0;
    }
    if (names) st_py_api.drop(names);
    return is_found;
}

const void *st_python_inner_frame(st_py frame)
{
    return st_py_api.is_gilless ? NULL : *(void *const *)((const char *)frame + OBJECT_FRAME);
}

/* The function that runs in a frame, borrowed; NULL where frames look otherwise. */
static st_py function_in(const void *frame, st_py globals)
{
    size_t offset = st_py_api.minor == 11 ? FUNCTION_3_11 : FUNCTION;
    if (!frame && st_py_api.frame()) frame = st_python_inner_frame(st_py_api.frame());
    if (!frame || st_py_api.is_gilless || *(st_py const *)((const char *)frame + offset + sizeof(void *)) != globals)
        return NULL;
    uintptr_t function = *(const uintptr_t *)((const char *)frame + offset) & ~(uintptr_t)FUNCTION_TAGS;
    return function && st_py_type((st_py)function) == st_py_api.function_type ? (st_py)function : NULL;
}

/* Of what the function in the frame decorates. */
static bool name_of_decorated(const void *frame, st_py globals, char *text)
{
    st_py outer = function_in(frame, globals), function = outer ? wrapped_by(outer) : NULL;
    st_py module = function ? st_py_api.attribute_named(function, "__module__") : NULL;
    st_py name = function ? st_py_api.attribute_named(function, "__qualname__") : NULL;
    const char *module_text = module && st_py_type(module) == st_py_api.text_type ? st_py_api.utf8(module) : NULL;
    const char *name_text = name ? st_py_api.utf8(name) : NULL;

    if (module_text && name_text) append(text, append(text, append(text, 0, module_text), ":"), name_text);
    if (module) st_py_api.drop(module);
    if (name) st_py_api.drop(name);
    return module_text && name_text;
}

/* ---- first sight --------------------------------------------------------------------------------- */

/* "module:qualname" into `text`, or "module:name" where that is enough to know that no rule wants it. */
static bool name_of(st_py code, st_py globals, char *text)
{
    st_py module = globals ? st_py_api.dict_get(globals, name_of_module) : NULL; /* borrowed */
    const char *module_text = module ? st_py_api.utf8(module) : NULL;
    bool has_qualified = st_py_api.minor >= 11;
    st_py name = st_py_api.attribute(code, has_qualified ? name_of_function : name_of_code);
    const char *name_text = name ? st_py_api.utf8(name) : NULL;
    size_t used;

    text[0] = '\0';
    if (name_text) {
        used = append(text, append(text, 0, module_text ? module_text : ""), ":");
        if (has_qualified || !globals || !any_rule_may_match(module_text ? module_text : "", name_text)) {
            append(text, used, name_text);
        } else if (search(globals, name, code, 2, text, used) == FOUND_NOT) {
            append(text, append(text, used, "<locals>."), name_text);
        }
    }
    if (name) st_py_api.drop(name);
    return name_text != NULL;
}

static bool is_wanted(bool has_name, const char *text, struct st_stage_match *ret_match)
{
    return has_name && st_stages_match(ST_MAP_PYTHON, st_thread_current, text, ret_match);
}

uint64_t st_python_first_sight(st_py code, st_py globals, const void *frame, bool keeps_all)
{
    char text[ST_PYTHON_NAME_BYTES];
    struct st_stage_match match;
    uint64_t known = ST_PYTHON_SEEN;
    st_py type, value, traceback;

    st_py_api.fetch_error(&type, &value, &traceback);
    if (is_wanted(name_of(code, globals, text), text, &match) ||
        (is_compiled(code) && is_wanted(name_of_decorated(frame, globals, text), text, &match))) {
        known = st_python_pack(&match);
        st_python_facts_look();
        atomic_fetch_add_explicit(&matched_codes, 1, memory_order_relaxed);
    }
    if (keeps_all || (known & ST_PYTHON_MATCHED)) {
        lock_extra();
        st_py_api.set_code_extra(code, extra_index, (void *)(uintptr_t)known);
        unlock_extra();
    }
    st_py_api.clear_error();
    st_py_api.restore_error(type, value, traceback);
    return known;
}
