/* SPDX-License-Identifier: Apache-2.0 */
/* Another tool's frame-evaluation hook (PEP 523, Python 3.9 and newer): counts frames and calls the hook before it. */
#include <dlfcn.h>
#include <string.h>

typedef void *(*eval_fn)(void *thread, void *frame, int is_throw);

static eval_fn before;
static long frames;

static void find(const char *name, void *ret_function)
{
    void *address = dlsym(RTLD_DEFAULT, name);
    memcpy(ret_function, &address, sizeof(address));
}

static void *evaluate(void *thread, void *frame, int is_throw)
{
    frames++;
    return before(thread, frame, is_throw);
}

static eval_fn set(eval_fn hook)
{
    void *(*main_interpreter)(void);
    eval_fn (*get_hook)(void *), old;
    void (*set_hook)(void *, eval_fn);
    find("PyInterpreterState_Main", &main_interpreter);
    find("_PyInterpreterState_GetEvalFrameFunc", &get_hook);
    find("_PyInterpreterState_SetEvalFrameFunc", &set_hook);
    old = get_hook(main_interpreter());
    set_hook(main_interpreter(), hook);
    return old;
}

void eval_hook_take(void)
{
    before = set(evaluate);
}

/* How many frames it saw. */
long eval_hook_give_back(void)
{
    set(before);
    return frames;
}
