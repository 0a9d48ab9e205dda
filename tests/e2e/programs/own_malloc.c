/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An allocator that the program itself exports, as programs with jemalloc linked into them do: everything in the
 * process uses it, from the loader's first allocation on. Its first call looks functions up with dlsym() under a lock
 * that is not recursive; an allocation from in there is served aside and counted – elsewhere it was a deadlock. At the
 * end `allocator` says how often that was and how many allocations were wrong.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { SMALLEST = 5, CLASSES = 21, LARGE = CLASSES, ASIDE = LARGE + 1, ARENA_BYTES = 8 << 20, ASIDE_BYTES = 64 << 10 };

struct head {
    uint32_t class;  /* 2 to the power of `class` bytes with the head; or LARGE, ASIDE */
    uint32_t offset; /* of the block's begin below the user's pointer */
    uint64_t bytes;  /* of the block */
};

struct piece {
    struct piece *next;
};

static struct piece *unused[CLASSES];
static char *arena, *arena_end;
static char aside[ASIDE_BYTES] __attribute__((aligned(64)));
static size_t aside_used;
static atomic_flag lock = ATOMIC_FLAG_INIT;
static _Atomic int state; /* 0 not yet, 1 in the first call, 2 ready */
static _Atomic int wrong, re_entered;
/* volatile: dlsym() is declared as a function that never comes back here */
static __thread volatile int is_starting __attribute__((tls_model("initial-exec")));
static void *create, *unknown;

EXPORT void *malloc(size_t bytes);
EXPORT void free(void *memory);
EXPORT void *calloc(size_t count, size_t bytes);
EXPORT void *realloc(void *memory, size_t bytes);
EXPORT void *memalign(size_t alignment, size_t bytes);
EXPORT void *aligned_alloc(size_t alignment, size_t bytes);
EXPORT int posix_memalign(void **memory, size_t alignment, size_t bytes);
EXPORT size_t malloc_usable_size(void *memory);

static void take(void)
{
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
        sched_yield();
}

static void give(void)
{
    atomic_flag_clear_explicit(&lock, memory_order_release);
}

/* One look-up of each kind that allocators were seen to make: one that succeeds, one in the global scope with a name
 * like CUDA's, one that fails (the C library may allocate what dlerror() would say). */
static void start(void)
{
    is_starting = 1;
    create = dlsym(RTLD_NEXT, "pthread_create");
    unknown = dlsym(RTLD_DEFAULT, "cuNoSuchFunction");
    unknown = dlsym(RTLD_NEXT, "own_malloc_no_such_function");
    is_starting = 0;
    atomic_store(&state, 2);
}

static void *map_pages(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return pages == MAP_FAILED ? NULL : pages;
}

static char *small_block(unsigned class)
{
    size_t bytes = (size_t)1 << class;
    char *block = (char *)unused[class];

    if (block) {
        unused[class] = unused[class]->next;
        return block;
    }
    if ((size_t)(arena_end - arena) < bytes) {
        arena = map_pages(ARENA_BYTES);
        if (!arena) {
            arena_end = NULL;
            return NULL;
        }
        arena_end = arena + ARENA_BYTES;
    }
    block = arena;
    arena += bytes;
    return block;
}

static char *find_block(size_t bytes, unsigned *ret_class)
{
    unsigned class = SMALLEST;
    char *block;

    while (class < CLASSES && ((size_t)1 << class) < bytes)
        class++;
    *ret_class = class;
    if (class == LARGE)
        return map_pages(bytes);
    take();
    if (atomic_load(&state) == 0) {
        atomic_store(&state, 1);
        start();
    }
    block = small_block(class);
    give();
    return block;
}

static void *allocate(size_t alignment, size_t bytes)
{
    size_t room = sizeof(struct head) + alignment, total = bytes + room;
    unsigned class = ASIDE;
    char *block, *memory;

    if (total < bytes) {
        errno = ENOMEM;
        return NULL;
    }
    if (is_starting) {
        atomic_fetch_add(&re_entered, 1);
        total = (total + 63) & ~(size_t)63;
        block = total <= ASIDE_BYTES - aside_used ? aside + aside_used : NULL;
        aside_used += block ? total : 0;
    } else {
        block = find_block(total, &class);
    }
    if (!block) {
        errno = ENOMEM;
        return NULL;
    }
    memory = (char *)(((uintptr_t)block + room - 1) & ~(uintptr_t)(alignment - 1));
    ((struct head *)(void *)memory)[-1] = (struct head){class, (uint32_t)(memory - block), total};
    return memory;
}

void *malloc(size_t bytes)
{
    return allocate(16, bytes);
}

void free(void *memory)
{
    struct head *head = memory ? (struct head *)memory - 1 : NULL;
    char *block = head ? (char *)memory - head->offset : NULL;
    unsigned class = head ? head->class : ASIDE;
    int saved = errno;

    if (class > ASIDE || class < SMALLEST) {
        atomic_fetch_add(&wrong, 1);
    } else if (class == LARGE) {
        munmap(block, head->bytes);
    } else if (class != ASIDE) {
        take();
        ((struct piece *)(void *)block)->next = unused[class];
        unused[class] = (struct piece *)(void *)block;
        give();
    }
    errno = saved;
}

size_t malloc_usable_size(void *memory)
{
    struct head *head = memory ? (struct head *)memory - 1 : NULL;

    return !head ? 0 : (head->class < LARGE ? (size_t)1 << head->class : head->bytes) - head->offset;
}

void *calloc(size_t count, size_t bytes)
{
    size_t total;
    void *memory = __builtin_mul_overflow(count, bytes, &total) ? NULL : malloc(total);

    return memory ? memset(memory, 0, total) : NULL;
}

void *realloc(void *memory, size_t bytes)
{
    size_t before = malloc_usable_size(memory);
    void *larger = before >= bytes && memory ? memory : malloc(bytes);

    if (larger && memory && larger != memory) {
        memcpy(larger, memory, before < bytes ? before : bytes);
        free(memory);
    }
    return larger;
}

void *memalign(size_t alignment, size_t bytes)
{
    return allocate(alignment < 16 ? 16 : alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    *memory = memalign(alignment, bytes);
    return *memory ? 0 : ENOMEM;
}

static pid_t first_process;

__attribute__((constructor)) static void watch_forks(void)
{
    first_process = getpid();
    pthread_atfork(take, give, give);
}

__attribute__((destructor)) static void tell(void)
{
    char text[120];
    int file = getpid() == first_process ? open("allocator", O_WRONLY | O_CREAT | O_TRUNC, 0644) : -1;
    int length = snprintf(text, sizeof text, "state %d, found %d and %d, %d wrong, %d from within the first call\n",
                          state, create != NULL, unknown != NULL, wrong, re_entered);

    if (file >= 0 && write(file, text, (size_t)length) == length)
        close(file);
}
