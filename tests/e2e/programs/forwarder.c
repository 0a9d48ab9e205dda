/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library as OpenMP runtimes are: a weak function that forwards to the next one of its own name, or to nobody.
 * If the next one is itself, it calls itself for ever (here: says so). Built twice, and as the tool (no forwarding).
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef const char *(*tool_fn)(unsigned version, const char *runtime);

__attribute__((weak, visibility("default"))) const char *ompt_start_tool(unsigned version, const char *runtime);
__attribute__((visibility("default"))) const char *forward_start(void);
__attribute__((visibility("default"))) void *forward_next(void);

/* Its own, so that a program can be linked with each build. */
__attribute__((visibility("default"))) int FORWARD_NAME(void);

int FORWARD_NAME(void)
{
    return 1;
}

#ifdef FORWARD_TOOL
const char *ompt_start_tool(unsigned version, const char *runtime)
{
    return version == 5 && strcmp(runtime, "few") == 0 ? "the tool" : "a tool with wrong arguments";
}
#else

/* The exported weak function is this one: its address can not be another library's. */
static const char *start_tool(unsigned version, const char *runtime);
const char *ompt_start_tool(unsigned version, const char *runtime) __attribute__((alias("start_tool")));

static const char *start_tool(unsigned version, const char *runtime)
{
    tool_fn next = (tool_fn)dlsym(RTLD_NEXT, "ompt_start_tool");

    if (next == start_tool)
        return "itself";
    return next ? next(version, runtime) : "nobody";
}

const char *forward_start(void)
{
    return start_tool(5, "few");
}

/* What is asked again and again, from many threads. */
void *forward_next(void)
{
    void *next = dlsym(RTLD_NEXT, "ompt_start_tool");

    __asm__ volatile("" : "+r"(next)); /* no tail call: this library is the caller */
    return next;
}
#endif
