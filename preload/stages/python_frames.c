/* SPDX-License-Identifier: Apache-2.0 */
/* Frames as they lie in memory; see python_frames.h. */
#include "python_frames.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define PATH_BYTES 1024
#define MAX_STEPS 100000u
#define CLOSE_BY 4 /* frames of the interpreter's own that may lie above the one that Python tells of */

/* Offsets; 0 in thread_c_frame: the thread has the frame itself. 64-bit, without debugging fields. */
static struct layout {
    uint32_t thread_frame, thread_c_frame, c_frame_frame;
    uint32_t frame_code, frame_previous;
    uint32_t code_file, code_name;
    uint32_t string_length, string_text;
} layout;
static _Atomic bool is_ready;
static char main_file[PATH_BYTES];
static _Atomic bool has_main;

/* Until 3.12 the layout is known by version. */
static const struct layout LAYOUTS[] = {
    [8] = {.thread_frame = 24, .frame_code = 32, .frame_previous = 24, .code_file = 104, .code_name = 112},
    [9] = {.thread_frame = 24, .frame_code = 32, .frame_previous = 24, .code_file = 104, .code_name = 112},
    [10] = {.thread_frame = 24, .frame_code = 32, .frame_previous = 24, .code_file = 104, .code_name = 112},
    [11] = {.thread_c_frame = 56, .c_frame_frame = 8, .frame_code = 32, .frame_previous = 48, .code_file = 112,
            .code_name = 128},
    [12] = {.thread_c_frame = 56, .c_frame_frame = 0, .frame_code = 0, .frame_previous = 8, .code_file = 112,
            .code_name = 128},
};

/* From 3.13 on Python tells it itself (_Py_DebugOffsets, at the beginning of _PyRuntime), at places that differ. */
static const struct places {
    int minor;
    uint16_t thread_frame, frame_previous, frame_code, code_file, code_name;
} PLACES[] = {
    {13, 184, 232, 240, 280, 296},
    {14, 208, 256, 264, 320, 336},
    {15, 208, 320, 328, 384, 400},
};

#define WORD(base, offset) (*(uintptr_t const *)((const char *)(base) + (offset)))

static bool is_pointer(uintptr_t word)
{
    return word >= 4096 && word < (uintptr_t)1 << 47 && (word & 7) == 0;
}

/* ---- reading ------------------------------------------------------------------------------------- */

void st_python_frames_begin(struct st_python_walk *walk)
{
    const char *thread = st_py_api.this_thread();

    *walk = (struct st_python_walk){0};
    if (!is_pointer((uintptr_t)thread)) return;
    if (layout.thread_c_frame) {
        uintptr_t c_frame = WORD(thread, layout.thread_c_frame);
        walk->frame = is_pointer(c_frame) ? WORD(c_frame, layout.c_frame_frame) : 0;
    } else {
        walk->frame = WORD(thread, layout.thread_frame);
    }
}

bool st_python_frames_next(struct st_python_walk *walk, struct st_python_frame *ret)
{
    while (is_pointer(walk->frame) && walk->steps++ < MAX_STEPS) {
        uintptr_t frame = walk->frame;
        uintptr_t code = WORD(frame, layout.frame_code) & ~(uintptr_t)7; /* marked in the low bits since 3.14 */
        walk->frame = WORD(frame, layout.frame_previous);
        if (!is_pointer(code) || st_py_type((const void *)code) != st_py_api.code_type) continue;
        *ret = (struct st_python_frame){.frame = (const void *)frame,
                                        .code = (const void *)code,
                                        .name = (const void *)WORD(code, layout.code_name),
                                        .file = (const void *)WORD(code, layout.code_file)};
        return true;
    }
    return false;
}

void st_python_frame_text(const void *string, char *ret, uint32_t size)
{
    const char *text = (const char *)string + layout.string_text;
    ret[0] = '\0';
    if (!is_pointer((uintptr_t)string)) return;
    uintptr_t length = WORD(string, layout.string_length);
    if (length >= size) return;
    for (uintptr_t i = 0; i < length; i++) {
        if (text[i] < 0x20 || text[i] > 0x7e) {
            ret[0] = '\0'; /* text that is not ASCII lies elsewhere */
            return;
        }
        ret[i] = text[i];
    }
    ret[length] = '\0';
}

/* ---- modules ------------------------------------------------------------------------------------- */

/* Behind the last MARK of the path, or NULL. */
static const char *behind_last(const char *path, const char *mark)
{
    const char *found = NULL, *at = path;
    while ((at = strstr(at, mark)) != NULL) found = at += strlen(mark);
    return found;
}

/* "a/b/__init__.py" → "a.b"; false: no Python file. */
static bool dotted(const char *path, char *ret, uint32_t size)
{
    size_t length = strlen(path);
    ret[0] = '\0';
    if (length < 4 || length >= size || strcmp(path + length - 3, ".py") != 0) return false;
    length -= 3;
    if (length > 9 && memcmp(path + length - 9, "/__init__", 9) == 0) length -= 9;
    for (size_t i = 0; i < length; i++) ret[i] = path[i] == '/' ? '.' : path[i];
    ret[length] = '\0';
    return true;
}

void st_python_frame_module(const char *file, char *ret, uint32_t size)
{
    char own_library[] = "/python3.NN/";
    const char *part = behind_last(file, "site-packages/");

    ret[0] = '\0';
    if (atomic_load_explicit(&has_main, memory_order_acquire) && strcmp(file, main_file) == 0) {
        memcpy(ret, "__main__", size < 9 ? 0 : 9);
        return;
    }
    if (!part) part = behind_last(file, "dist-packages/");
    if (!part) {
        size_t used = strlen("/python3.");
        if (st_py_api.minor >= 10) own_library[used++] = (char)('0' + st_py_api.minor / 10);
        own_library[used++] = (char)('0' + st_py_api.minor % 10);
        own_library[used++] = '/';
        own_library[used] = '\0';
        part = behind_last(file, own_library);
    }
    if (part) dotted(part, ret, size);
}

bool st_python_frame_module_guess(const char *file, uint32_t count, char *ret, uint32_t size)
{
    const char *at = file + strlen(file);
    if (count == 1 && at - file > 12 && strcmp(at - 12, "/__init__.py") == 0) return false;
    for (; count > 0; count--) {
        if (at == file) return false;
        for (at--; at > file && at[-1] != '/';) at--;
        if (count > 1 && at > file) at--;
    }
    return dotted(at, ret, size);
}

/* ---- preparing, with the GIL --------------------------------------------------------------------- */

static bool find_layout(void)
{
    if (st_py_api.minor < (int)(sizeof(LAYOUTS) / sizeof(LAYOUTS[0]))) {
        layout = LAYOUTS[st_py_api.minor];
        return !st_py_api.is_gilless;
    }
    if (!st_py_api.runtime || memcmp(st_py_api.runtime, "xdebugpy", 8) != 0) return false;
    for (size_t i = 0; i < sizeof(PLACES) / sizeof(PLACES[0]); i++) {
        const struct places *at = &PLACES[i];
        if (at->minor != st_py_api.minor) continue;
        layout = (struct layout){.thread_frame = (uint32_t)WORD(st_py_api.runtime, at->thread_frame),
                                 .frame_previous = (uint32_t)WORD(st_py_api.runtime, at->frame_previous),
                                 .frame_code = (uint32_t)WORD(st_py_api.runtime, at->frame_code),
                                 .code_file = (uint32_t)WORD(st_py_api.runtime, at->code_file),
                                 .code_name = (uint32_t)WORD(st_py_api.runtime, at->code_name)};
        return layout.thread_frame < 4096 && layout.frame_previous < 256 && layout.frame_code < 256 &&
               layout.code_file < 1024 && layout.code_name < 1024;
    }
    return false;
}

static bool find_string_layout(void)
{
    st_py text = st_py_api.text_of("__name__");
    const char *utf8 = text ? st_py_api.utf8(text) : NULL;
    if (!utf8) return false;
    layout.string_text = (uint32_t)(utf8 - (const char *)text);
    layout.string_length = st_py_api.is_gilless ? 32 : 16;
    bool is_right = layout.string_text < 256 && WORD(text, layout.string_length) == strlen("__name__");
    st_py_api.drop(text);
    return is_right;
}

static bool is_attribute(const void *object, const char *name, const void *value)
{
    st_py found = st_py_api.attribute_named((st_py)(uintptr_t)object, name);
    bool is_same = found == value;
    if (found) st_py_api.drop(found);
    return is_same;
}

/* The next frame with this code, among the first few. */
static bool find_code(struct st_python_walk *walk, const void *code, struct st_python_frame *ret)
{
    for (int i = 0; i < CLOSE_BY && st_python_frames_next(walk, ret); i++)
        if (ret->code == code) return true;
    return false;
}

/* Does what lies in memory agree with what Python says of this frame and the one that called it? */
static bool agrees(st_py frame)
{
    const char *name = st_py_api.minor >= 11 ? "co_qualname" : "co_name";
    st_py code = st_py_api.attribute_named(frame, "f_code"), back = st_py_api.attribute_named(frame, "f_back");
    st_py back_code = back && back != st_py_api.none ? st_py_api.attribute_named(back, "f_code") : NULL;
    struct st_python_walk walk;
    struct st_python_frame found;

    st_python_frames_begin(&walk);
    bool is_right = code && find_code(&walk, code, &found) && is_attribute(code, "co_filename", found.file) &&
                    is_attribute(code, name, found.name) && (!back_code || find_code(&walk, back_code, &found));
    if (back_code) st_py_api.drop(back_code);
    if (back) st_py_api.drop(back);
    if (code) st_py_api.drop(code);
    return is_right;
}

enum st_python_installed st_python_frames_prepare(const char **ret_why)
{
    st_py frame = st_py_api.frame();
    if (atomic_load_explicit(&is_ready, memory_order_relaxed)) return ST_PYTHON_INSTALLED;
    if (!frame) return ST_PYTHON_NOT_YET;
    bool is_right = find_layout() && find_string_layout() && agrees(frame);
    st_py_api.clear_error();
    if (!is_right) {
        *ret_why = "this Python's frames have an unknown layout";
        return ST_PYTHON_REFUSED;
    }
    atomic_store_explicit(&is_ready, true, memory_order_release);
    return ST_PYTHON_INSTALLED;
}

bool st_python_frames_has_main(void)
{
    return atomic_load_explicit(&has_main, memory_order_relaxed);
}

void st_python_frames_forget_main(void)
{
    atomic_store_explicit(&has_main, false, memory_order_release);
}

void st_python_frames_find_main(void)
{
    st_py name = st_py_api.text_of("__main__"), key = st_py_api.text_of("__file__");
    st_py module = name ? st_py_api.dict_get(st_py_api.modules(), name) : NULL, file = NULL;
    if (key && module && st_py_api.is_subtype(st_py_type(module), st_py_api.module_type))
        file = st_py_api.dict_get(st_py_api.module_dict(module), key);
    const char *text = file ? st_py_api.utf8(file) : NULL;
    if (text && strlen(text) < sizeof(main_file)) {
        strcpy(main_file, text);
        atomic_store_explicit(&has_main, true, memory_order_release);
    }
    if (name) st_py_api.drop(name);
    if (key) st_py_api.drop(key);
    st_py_api.clear_error();
}
