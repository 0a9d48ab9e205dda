/* SPDX-License-Identifier: Apache-2.0 */
/* Address ranges, sorted by base. Memory comes from mmap without reservation: untouched gigabytes cost nothing. */
#include "memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "faults.h"
#include "identity.h"
#include "pool.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sim_range *ranges;
static size_t count, capacity;
static uint64_t used_bytes[SIM_DEVICES_MAX], last_id;
static long allocations;

/* Index of the first range whose base is above `address`. */
static size_t above(CUdeviceptr address)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (ranges[middle].base <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool insert_locked(struct sim_range *range)
{
    size_t at = above(range->base);

    if (count == capacity) {
        size_t larger = capacity == 0 ? 256 : 2 * capacity;
        struct sim_range *grown = realloc(ranges, larger * sizeof(*ranges));

        if (grown == NULL) {
            return false;
        }
        ranges = grown;
        capacity = larger;
    }
    range->id = ++last_id;
    memmove(&ranges[at + 1], &ranges[at], (count - at) * sizeof(*ranges));
    ranges[at] = *range;
    count++;
    return true;
}

/* It takes of the device's memory. What is registered is the program's, or was counted elsewhere. */
static bool on_device(const struct sim_range *range)
{
    return range->kind == SIM_MEMORY_DEVICE && !range->registered;
}

/* Every allocation goes through here; `bytes` of the device, or of the host. */
static bool may_take_locked(uint32_t device, size_t bytes, bool of_device)
{
    return ++allocations != simgpu_fault("malloc-fail") && bytes <= sim_device_bytes &&
           (!of_device || used_bytes[device] + bytes <= sim_device_bytes);
}

bool sim_memory_take(uint32_t device, size_t bytes)
{
    bool taken;

    pthread_mutex_lock(&lock);
    taken = may_take_locked(device, bytes, true);
    used_bytes[device] += taken ? bytes : 0;
    pthread_mutex_unlock(&lock);
    return taken;
}

void sim_memory_give(uint32_t device, size_t bytes)
{
    pthread_mutex_lock(&lock);
    used_bytes[device] -= bytes;
    pthread_mutex_unlock(&lock);
}

static size_t mapped_bytes(size_t bytes)
{
    return (bytes + 4095) & ~(size_t)4095;
}

CUresult sim_memory_map(struct sim_range *want)
{
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    void *memory;

    if (want->bytes == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&lock);
    if (!may_take_locked(want->device, want->bytes, on_device(want))) {
        pthread_mutex_unlock(&lock);
        return result;
    }
    memory = mmap(NULL, mapped_bytes(want->bytes), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED) {
        want->base = (CUdeviceptr)(uintptr_t)memory;
        if (insert_locked(want)) {
            used_bytes[want->device] += on_device(want) ? want->bytes : 0;
            result = CUDA_SUCCESS;
        } else {
            munmap(memory, mapped_bytes(want->bytes));
        }
    }
    pthread_mutex_unlock(&lock);
    return result;
}

bool sim_memory_register(struct sim_range *range)
{
    bool added = false;
    size_t at;

    pthread_mutex_lock(&lock);
    at = above(range->base);
    if ((at == 0 || ranges[at - 1].base + ranges[at - 1].bytes <= range->base) &&
        (at == count || range->base + range->bytes <= ranges[at].base)) {
        added = insert_locked(range);
    }
    pthread_mutex_unlock(&lock);
    return added;
}

/* Neighbouring mappings of one kind, device and access are one stretch of memory to the device. */
static bool continues(const struct sim_range *range, const struct sim_range *next)
{
    return range->mapping != NULL && next->mapping != NULL && range->base + range->bytes == next->base &&
           range->device == next->device && range->readers == next->readers && range->writers == next->writers;
}

bool sim_memory_find(CUdeviceptr address, size_t bytes, struct sim_range *found)
{
    bool inside = false;
    size_t at;

    pthread_mutex_lock(&lock);
    at = above(address);
    if (at > 0) {
        const struct sim_range *range = &ranges[at - 1];
        uint64_t offset = address - range->base;

        if (offset < range->bytes) {
            uint64_t available = range->bytes - offset;

            for (; available < bytes && at < count && continues(&ranges[at - 1], &ranges[at]); at++) {
                available += ranges[at].bytes;
            }
            inside = bytes <= available;
        }
        if (inside) {
            *found = *range;
        }
    }
    pthread_mutex_unlock(&lock);
    return inside;
}

bool sim_memory_any(CUdeviceptr base, size_t bytes)
{
    size_t at;
    bool any;

    pthread_mutex_lock(&lock);
    at = above(base + bytes - 1);
    any = at > 0 && ranges[at - 1].base + ranges[at - 1].bytes > base;
    pthread_mutex_unlock(&lock);
    return any;
}

void sim_memory_set_access(CUdeviceptr base, uint32_t readers, uint32_t writers)
{
    size_t at;

    pthread_mutex_lock(&lock);
    at = above(base);
    if (at > 0 && ranges[at - 1].base == base) {
        ranges[at - 1].readers = readers;
        ranges[at - 1].writers = writers;
    }
    pthread_mutex_unlock(&lock);
}

static void remove_locked(size_t at)
{
    struct sim_range range = ranges[at];

    count--;
    memmove(&ranges[at], &ranges[at + 1], (count - at) * sizeof(*ranges));
    used_bytes[range.device] -= on_device(&range) ? range.bytes : 0;
    if (range.pool != NULL) {
        sim_pool_returned(range.pool, range.bytes);
    }
    if (!range.registered) {
        munmap((void *)(uintptr_t)range.base, mapped_bytes(range.bytes));
    }
}

bool sim_memory_unmap(CUdeviceptr base)
{
    bool known;
    size_t at;

    pthread_mutex_lock(&lock);
    at = above(base);
    known = at > 0 && ranges[at - 1].base == base;
    if (known) {
        remove_locked(at - 1);
    }
    pthread_mutex_unlock(&lock);
    return known;
}

void sim_memory_unmap_context(const struct sim_context *context)
{
    pthread_mutex_lock(&lock);
    for (size_t i = count; i > 0; i--) {
        if (ranges[i - 1].context == context) {
            remove_locked(i - 1);
        }
    }
    pthread_mutex_unlock(&lock);
}

uint64_t sim_memory_free_bytes(uint32_t device)
{
    uint64_t used;

    pthread_mutex_lock(&lock);
    used = used_bytes[device];
    pthread_mutex_unlock(&lock);
    return sim_device_bytes - used;
}

uint64_t simgpu_used_bytes(uint32_t device)
{
    return device < SIM_DEVICES_MAX ? sim_device_bytes - sim_memory_free_bytes(device) : 0;
}

void sim_memory_fork(enum sim_fork side)
{
    if (side == SIM_FORK_BEFORE) {
        pthread_mutex_lock(&lock);
    } else {
        pthread_mutex_unlock(&lock);
    }
}
