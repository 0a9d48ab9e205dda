// SPDX-License-Identifier: Apache-2.0
// Calls the awkward library from the main thread and from a thread whose very first frame calls a stage: there
// are fewer words above it than the thunk would like to copy.
#include "awkward.h"

#include <cstdint>
#include <cstdio>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

static void *first_frame(void *)
{
    return (void *)(intptr_t)awkward_in_thread(41);
}

static void *all(void *)
{
    awkward_all();
    return nullptr;
}

static ucontext_t back, fiber;

static void on_fiber()
{
    std::printf("fiber %d\n", awkward_in_thread(1));
}

// A stack that ends at a page that can not be read.
static void run_fiber()
{
    const size_t bytes = 64 << 10;
    char *memory = (char *)mmap(nullptr, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(memory + bytes, 4096, PROT_NONE);
    getcontext(&fiber);
    fiber.uc_stack.ss_sp = memory;
    fiber.uc_stack.ss_size = bytes;
    fiber.uc_link = &back;
    makecontext(&fiber, on_fiber, 0);
    swapcontext(&back, &fiber);
}

int main()
{
    pthread_t thread;
    void *result = nullptr;
    awkward_all();
    pthread_create(&thread, nullptr, first_frame, nullptr);
    pthread_join(thread, &result);
    std::printf("thread %ld\n", (long)(intptr_t)result);
    pthread_create(&thread, nullptr, all, nullptr);
    pthread_join(thread, nullptr);
    run_fiber();
    return 0;
}
