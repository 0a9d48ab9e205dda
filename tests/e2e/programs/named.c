/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that is no driver and no runtime but has names that begin as theirs do, some exactly theirs. Built as
 * the outer library, which loads its part, and as that part: each looks up the names of both in each way.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static const char *const names[] = {"cudnnCreate",   "cuXyzzy",    "cudaXyzzy",
                                    "cuMemAlloc_v2", "cudaMalloc", "__cudaXyzzy"};
static int depth;

EXPORT int cudnnCreate(void **handle);
EXPORT int cuXyzzy(void);
EXPORT int cudaXyzzy(void);
EXPORT int __cudaXyzzy(void);
EXPORT int cuMemAlloc_v2(unsigned long long *address, size_t bytes);
EXPORT int cudaMalloc(void **memory, size_t bytes);
EXPORT int named_look(void *other);

int cuXyzzy(void)
{
    return 42;
}

int cudaXyzzy(void)
{
    return 43;
}

int __cudaXyzzy(void)
{
    return 44;
}

int cuMemAlloc_v2(unsigned long long *address, size_t bytes)
{
    *address = bytes;
    return 45;
}

int cudaMalloc(void **memory, size_t bytes)
{
    *memory = (void *)bytes;
    return 46;
}

static void show(const char *way, const char *name, void *address)
{
    Dl_info info = {0};
    const char *slash = NULL;

    if (address && dladdr(address, &info))
        slash = strrchr(info.dli_fname, '/');
    printf("%s %s: %s %s\n", way, name, slash ? slash + 1 : "-", info.dli_sname ? info.dli_sname : "-");
}

int named_look(void *other)
{
    Dl_info info;
    void *own = dladdr((void *)named_look, &info) ? dlopen(info.dli_fname, RTLD_NOW) : NULL;
    unsigned long long address = 0;

    if (!own)
        return 1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        show("own", names[i], dlsym(own, names[i]));
        show("other", names[i], dlsym(other, names[i]));
        show("default", names[i], dlsym(RTLD_DEFAULT, names[i]));
        show("next", names[i], dlsym(RTLD_NEXT, names[i]));
    }
    printf("call %d", ((int (*)(unsigned long long *, size_t))dlsym(own, "cuMemAlloc_v2"))(&address, 9));
    printf(" gives %llu\n", address);
    return dlclose(own);
}

#ifdef NAMED_PART
int cudnnCreate(void **handle)
{
    *handle = &depth;
    return ++depth;
}
#else
/* As the real one: loads its part and goes on with the function of the same name there. */
int cudnnCreate(void **handle)
{
    void *part = dlopen("libcudnn_few_ops.so.9", RTLD_NOW);
    int (*create)(void **) = part ? (int (*)(void **))dlsym(part, "cudnnCreate") : NULL;

    if (!create || ++depth > 20)
        return printf("%s\n", create ? "it calls itself" : dlerror()), -1;
    printf("depth %d, looked up in %s\n", create(handle), create == cudnnCreate ? "itself" : "its part");
    named_look(part);
    return ((int (*)(void *))dlsym(part, "named_look"))(dlopen("libcudnn_few.so.9", RTLD_NOW | RTLD_NOLOAD));
}
#endif
