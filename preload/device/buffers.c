/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pool of activity buffers; see buffers.h. A buffer belongs to CUPTI from request to complete, then to the
 * list of completed ones, then to the reader. The list has many producers and one consumer that always
 * takes all of it, so a plain compare-and-swap stack is enough.
 *
 * Each is a block of malloc: a client that registers callbacks after us gets what is lent at that time, and clients
 * free() what they get. Such a buffer is its own from then on; here it stays lent for ever.
 */
#include "buffers.h"

#include <stdatomic.h>
#include <stdlib.h>

/* CUPTI asks for one buffer at a time for each thread; NVIDIA recommends 1 MB and more. */
#define POOL_BYTES ((size_t)1 << 20)
#define POOL_COUNT 64u
/* Small, for they exist from the start. */
#define SPARE_BYTES 4096u
#define SPARE_COUNT 64u

static struct {
    uint8_t *pool[POOL_COUNT]; /* NULL: no memory for it */
    uint8_t *spares[SPARE_COUNT];
    const struct st_cupti_sizes *sizes;
    _Atomic bool is_lent[POOL_COUNT];
    _Atomic bool is_spare_lent[SPARE_COUNT];
    size_t valid_bytes[POOL_COUNT];
    uint32_t next[POOL_COUNT];  /* in the list of completed ones: index + 1 */
    _Atomic uint32_t completed; /* newest: index + 1 */
    _Atomic uint64_t discarded;
} buffers;

bool st_buffers_init(const struct st_cupti_sizes *sizes)
{
    bool has_any = false;

    buffers.sizes = sizes;
    for (uint32_t i = 0; i < POOL_COUNT; i++) has_any |= (buffers.pool[i] = malloc(POOL_BYTES)) != NULL;
    for (uint32_t i = 0; i < SPARE_COUNT; i++) buffers.spares[i] = malloc(SPARE_BYTES);
    return has_any;
}

/* The index of a buffer in a list, or `count`. */
static uint32_t index_of(uint8_t *const *list, uint32_t count, const uint8_t *buffer)
{
    uint32_t i = 0;
    while (i < count && list[i] != buffer) i++;
    return i;
}

/* The index of a free buffer, now taken, or `count`. */
static uint32_t take_free(uint8_t *const *list, _Atomic bool *is_lent, uint32_t count)
{
    uint32_t i;
    for (i = 0; i < count; i++)
        if (list[i] != NULL && !atomic_load_explicit(&is_lent[i], memory_order_relaxed) &&
            !atomic_exchange_explicit(&is_lent[i], true, memory_order_acquire)) /* pairs with the giver's release */
            break;
    return i;
}

void st_buffers_request(uint8_t **ret_buffer, size_t *ret_bytes, size_t *ret_max_records)
{
    uint32_t i = take_free(buffers.pool, buffers.is_lent, POOL_COUNT);

    *ret_max_records = 0; /* as many as fit */
    if (i < POOL_COUNT) {
        *ret_buffer = buffers.pool[i];
        *ret_bytes = POOL_BYTES;
        return;
    }
    /* Not NULL as long as that can be avoided: libraries before 12.9 crash on it. */
    i = take_free(buffers.spares, buffers.is_spare_lent, SPARE_COUNT);
    *ret_buffer = i < SPARE_COUNT ? buffers.spares[i] : NULL;
    *ret_bytes = i < SPARE_COUNT ? SPARE_BYTES : 0;
}

void st_buffers_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes)
{
    uint32_t i = index_of(buffers.pool, POOL_COUNT, buffer), spare = index_of(buffers.spares, SPARE_COUNT, buffer);

    if (buffer == NULL) return;
    if (i < POOL_COUNT) {
        uint32_t newest = atomic_load_explicit(&buffers.completed, memory_order_relaxed);
        buffers.valid_bytes[i] = valid_bytes <= POOL_BYTES ? valid_bytes : POOL_BYTES;
        do {
            buffers.next[i] = newest;
        } while (!atomic_compare_exchange_weak_explicit(&buffers.completed, &newest, i + 1, memory_order_release,
                                                        memory_order_relaxed)); /* pairs with st_buffers_take */
    } else if (spare < SPARE_COUNT) {
        if (valid_bytes > SPARE_BYTES) valid_bytes = SPARE_BYTES;
        atomic_fetch_add_explicit(&buffers.discarded, st_cupti_count(buffers.sizes, buffer, valid_bytes),
                                  memory_order_relaxed);
        atomic_store_explicit(&buffers.is_spare_lent[spare], false, memory_order_release);
    }
}

void st_buffers_take(void (*read)(void *arg, const uint8_t *buffer, size_t valid_bytes), void *arg)
{
    uint32_t newest = atomic_exchange_explicit(&buffers.completed, 0, memory_order_acquire);
    uint32_t oldest = 0;

    while (newest != 0) { /* turn the list around */
        uint32_t next = buffers.next[newest - 1];
        buffers.next[newest - 1] = oldest;
        oldest = newest;
        newest = next;
    }
    while (oldest != 0) {
        uint32_t i = oldest - 1;
        oldest = buffers.next[i];
        read(arg, buffers.pool[i], buffers.valid_bytes[i]);
        atomic_store_explicit(&buffers.is_lent[i], false, memory_order_release); /* pairs with take_free */
    }
}

bool st_buffers_waiting(void)
{
    return atomic_load_explicit(&buffers.completed, memory_order_relaxed) != 0;
}

uint64_t st_buffers_discarded(void)
{
    return atomic_load_explicit(&buffers.discarded, memory_order_relaxed);
}
