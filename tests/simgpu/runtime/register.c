/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nvcc's start-up code tells the runtime: fat binaries, and which host addresses stand for which kernels
 * and variables in them. Nothing reaches the driver until a kernel or variable is first used; then the fat
 * binary becomes a context-independent library (cuLibraryLoadData), as with the real runtime's lazy loading.
 * Any thread: registration and first use take one mutex, look-ups of known addresses take none.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "runtime.h"

struct fatbin {
    const void *image;
    void *library;
    struct entry *entries;
    struct managed *managed; /* variables whose host pointer is still to be filled */
};

struct managed {
    void **host_pointer;
    const char *name;
    struct managed *next;
};

/* A host address and what it stands for. A slot is published by `key` and then only its atomics change. */
struct entry {
    _Atomic(const void *) key;
    struct fatbin *fatbin;
    struct entry *sibling; /* the next one of the same fat binary */
    const char *name;
    size_t bytes;
    _Atomic(void *) kernel; /* cudaKernel_t once resolved */
    uint64_t address[8];    /* of a variable that the driver does not know, one per device */
};

struct table {
    size_t mask, used;
    struct table *older; /* readers may still walk it */
    struct entry *slot[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct table *) functions, variables, handles;

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
char __cudaInitModule(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int thread_limit,
                            void *tid, void *bid, void *block, void *grid, int *warp);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t bytes,
                       int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external, size_t bytes,
                              int constant, int global);

static size_t hash(const void *key)
{
    return (size_t)(((uintptr_t)key >> 4) * 0x9E3779B97F4A7C15ULL >> 20);
}

static struct entry *find(_Atomic(struct table *) *where, const void *key)
{
    const struct table *t = atomic_load_explicit(where, memory_order_acquire);
    if (!t || !key) {
        return NULL;
    }
    for (size_t i = hash(key) & t->mask;; i = (i + 1) & t->mask) {
        struct entry *e = __atomic_load_n(&t->slot[i], __ATOMIC_ACQUIRE);
        if (!e || atomic_load_explicit(&e->key, memory_order_relaxed) == key) {
            return e;
        }
    }
}

static void place(struct table *t, struct entry *e)
{
    size_t i = hash(atomic_load(&e->key)) & t->mask;
    while (t->slot[i]) {
        i = (i + 1) & t->mask;
    }
    __atomic_store_n(&t->slot[i], e, __ATOMIC_RELEASE);
    t->used++;
}

/* Under the lock. A table at two thirds is copied to one of twice the size; old ones stay for readers. */
static struct entry *find_or_add(_Atomic(struct table *) *where, const void *key)
{
    struct entry *e = find(where, key);
    if (e) {
        return e;
    }
    struct table *t = atomic_load(where);
    if (!t || t->used * 3 >= (t->mask + 1) * 2) {
        size_t slots = t ? (t->mask + 1) * 2 : 256;
        struct table *bigger = calloc(1, sizeof(*bigger) + slots * sizeof(bigger->slot[0]));
        if (!bigger) {
            return NULL;
        }
        bigger->mask = slots - 1;
        bigger->older = t;
        for (size_t i = 0; t && i <= t->mask; i++) {
            if (t->slot[i]) {
                place(bigger, t->slot[i]);
            }
        }
        atomic_store_explicit(where, bigger, memory_order_release);
        t = bigger;
    }
    e = calloc(1, sizeof(*e));
    if (e) {
        atomic_store(&e->key, key);
        place(t, e);
    }
    return e;
}

void **__cudaRegisterFatBinary(void *wrapper)
{
    const struct sim_fatbin_wrapper *w = wrapper;
    struct fatbin *f = calloc(1, sizeof(*f));
    if (f && w) {
        f->image = w->magic == SIM_FATBIN_WRAPPER_MAGIC ? w->data : wrapper;
    }
    return (void **)f;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
}

static void add(_Atomic(struct table *) *where, void **handle, const void *host, const char *name, size_t bytes)
{
    pthread_mutex_lock(&lock);
    struct entry *e = find_or_add(where, host);
    if (e) {
        if (!e->fatbin) {
            e->fatbin = (struct fatbin *)handle;
            e->sibling = e->fatbin->entries;
            e->fatbin->entries = e;
        }
        e->name = name;
        e->bytes = bytes;
        atomic_store(&e->kernel, NULL);
    }
    pthread_mutex_unlock(&lock);
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int thread_limit,
                            void *tid, void *bid, void *block, void *grid, int *warp)
{
    add(&functions, handle, host, name, 0);
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t bytes,
                       int constant, int global)
{
    add(&variables, handle, host, name, bytes);
}

void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external, size_t bytes,
                              int constant, int global)
{
    struct fatbin *f = (struct fatbin *)handle;
    struct managed *m = calloc(1, sizeof(*m));
    if (m) {
        *m = (struct managed){host, name, f->managed};
        f->managed = m;
    }
    add(&variables, handle, host, name, bytes);
}

void __cudaUnregisterFatBinary(void **handle)
{
    struct fatbin *f = (struct fatbin *)handle;
    if (!f) {
        return;
    }
    pthread_mutex_lock(&lock);
    /* entries of an unloaded shared object must not answer for what is mapped there next */
    for (struct entry *e = f->entries; e; e = e->sibling) {
        e->fatbin = NULL;
        atomic_store(&e->kernel, NULL);
    }
    pthread_mutex_unlock(&lock);
    if (f->library) {
        sim_driver_table[0].cuLibraryUnload(f->library);
    }
    while (f->managed) {
        struct managed *next = f->managed->next;
        free(f->managed);
        f->managed = next;
    }
    free(f);
}

/* Under the lock. */
static int load(struct fatbin *f)
{
    if (f->library) {
        return SIM_SUCCESS;
    }
    return sim_driver_table[0].cuLibraryLoadData(&f->library, f->image, NULL, NULL, 0, NULL, NULL, 0);
}

int sim_kernel_of(const void *host_function, void **kernel)
{
    struct entry *e = find(&functions, host_function);
    if (!e || !e->fatbin) {
        e = find(&handles, host_function);
        *kernel = (void *)host_function;
        return e ? SIM_SUCCESS : SIM_INVALID_DEVICE_FUNCTION;
    }
    *kernel = atomic_load_explicit(&e->kernel, memory_order_acquire);
    if (*kernel) {
        return SIM_SUCCESS;
    }
    pthread_mutex_lock(&lock);
    int result = load(e->fatbin);
    if (result == SIM_SUCCESS) {
        result = sim_driver_table[0].cuLibraryGetKernel(kernel, e->fatbin->library, e->name);
        if (result == SIM_SUCCESS) {
            atomic_store_explicit(&e->kernel, *kernel, memory_order_release);
        }
    }
    pthread_mutex_unlock(&lock);
    return result == SIM_NOT_FOUND ? SIM_INVALID_DEVICE_FUNCTION : result;
}

void sim_kernel_known(void *kernel)
{
    pthread_mutex_lock(&lock);
    find_or_add(&handles, kernel);
    pthread_mutex_unlock(&lock);
}

/*
 * simgpu's driver does not read device code, so it may not know the variable: then the runtime keeps one
 * zero-filled block per device. Host-side copies to and from the symbol work; initial values are lost.
 */
static int own_block(struct entry *e, uint64_t *address)
{
    int device = sim_rt_device();
    if (device < 0 || device >= (int)(sizeof(e->address) / sizeof(e->address[0]))) {
        return SIM_INVALID_SYMBOL;
    }
    int result = SIM_SUCCESS;
    if (!e->address[device]) {
        result = sim_driver_table[0].cuMemAlloc(&e->address[device], e->bytes ? e->bytes : 1);
    }
    *address = e->address[device];
    return result;
}

int sim_symbol_of(const void *host_variable, uint64_t *address, size_t *bytes)
{
    struct entry *e = find(&variables, host_variable);
    if (!e || !e->fatbin) {
        return SIM_INVALID_SYMBOL;
    }
    size_t found = 0;
    pthread_mutex_lock(&lock);
    int result = load(e->fatbin);
    if (result == SIM_SUCCESS) {
        result = sim_driver_table[0].cuLibraryGetGlobal(address, &found, e->fatbin->library, e->name);
        if (result != SIM_SUCCESS || found < e->bytes) {
            result = own_block(e, address);
        }
    }
    pthread_mutex_unlock(&lock);
    *bytes = e->bytes;
    return result;
}

/* nvcc calls this before a managed variable is touched: its host pointer is filled now. */
char __cudaInitModule(void **handle)
{
    struct fatbin *f = (struct fatbin *)handle;
    if (!f->managed || !sim_rt_enter(SIM_CONTEXT, 0)) {
        return 1;
    }
    pthread_mutex_lock(&lock);
    load(f);
    for (struct managed *m = f->managed; m; m = m->next) {
        const struct entry *e = find(&variables, m->host_pointer);
        uint64_t address = 0;
        size_t found = 0;
        int result = sim_driver_table[0].cuLibraryGetManaged(&address, &found, f->library, m->name);
        if ((result != SIM_SUCCESS || (e && found < e->bytes)) && e) {
            result = sim_driver_table[0].cuMemAllocManaged(&address, e->bytes ? e->bytes : 1, 1);
        }
        if (result == SIM_SUCCESS && !*m->host_pointer) {
            *m->host_pointer = (void *)(uintptr_t)address;
        }
    }
    pthread_mutex_unlock(&lock);
    return 1;
}
