/* SPDX-License-Identifier: Apache-2.0 */
/* Cases about memory beyond cuMemAlloc: virtual memory management, pools, and allocations larger than the machine. */
#include <unistd.h>

#include "cases.h"

enum { COUNT = 1000, CHUNK = 2 << 20 };

static const CUmemAllocationProp on_device = {
    .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
static const CUmemAccessDesc full_access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

static size_t free_bytes(void)
{
    size_t bytes, total;

    OK(cuMemGetInfo_v2(&bytes, &total));
    return bytes;
}

static cuuint64_t attribute(CUpointer_attribute which, CUdeviceptr address)
{
    cuuint64_t value = 0;

    OK(cuPointerGetAttribute(&value, which, address));
    return value;
}

static CUmemGenericAllocationHandle create(size_t bytes)
{
    CUmemGenericAllocationHandle handle;

    OK(cuMemCreate(&handle, bytes, &on_device, 0));
    return handle;
}

static void map(CUdeviceptr at, size_t bytes, CUmemGenericAllocationHandle handle)
{
    OK(cuMemMap(at, bytes, 0, handle, 0));
    OK(cuMemSetAccess(at, bytes, &full_access, 1));
}

static CUdeviceptr reserve(size_t bytes, size_t alignment)
{
    CUdeviceptr base;

    OK(cuMemAddressReserve(&base, bytes, alignment, 0, 0));
    return base;
}

/* A pool that grows, as allocators of programs do it: one reservation, chunk after chunk mapped behind each other. */
void case_vmm(void)
{
    struct kernels kernels = start();
    CUmemGenericAllocationHandle chunks[3];
    size_t at_start = free_bytes(), bytes;
    CUdeviceptr base = reserve(1ull << 35, 0), other, from;
    int32_t host[COUNT], value;

    OK(cuMemGetAllocationGranularity(&bytes, &on_device, 0));
    REQUIRE(bytes == CHUNK && base % CHUNK == 0);
    REQUIRE(attribute(CU_POINTER_ATTRIBUTE_MAPPED, base) == 0);
    REQUIRE_RESULT(cuMemcpyHtoD_v2(base, host, 4), CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < 3; i++) {
        chunks[i] = create(CHUNK);
        OK(cuMemMap(base + (size_t)i * CHUNK, CHUNK, 0, chunks[i], 0));
    }
    REQUIRE(free_bytes() == at_start - 3 * CHUNK);
    REQUIRE_RESULT(cuMemMap(base + 2 * CHUNK, CHUNK, 0, chunks[0], 0), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_RESULT(cuMemcpyHtoD_v2(base, host, 4), CUDA_ERROR_INVALID_VALUE); /* no access yet */
    REQUIRE_RESULT(cuMemsetD8_v2(base, 1, 4), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemSetAccess(base, 3 * CHUNK, &full_access, 1));

    /* A kernel and copies across the border of two chunks; fresh memory is zero. */
    from = base + CHUNK - 2000;
    launch_add(&kernels, from, 7, COUNT, NULL);
    OK(cuMemcpyDtoH_v2(host, from, sizeof(host)));
    REQUIRE(host[0] == 7 && host[COUNT - 1] == 7);
    OK(cuMemsetD32_v2(from, 9, COUNT));
    OK(cuMemcpyDtoDAsync_v2(base + 2 * CHUNK, from, sizeof(host), NULL));
    OK(cuMemcpyDtoH_v2(host, base + 2 * CHUNK, sizeof(host)));
    REQUIRE(host[0] == 9 && host[COUNT - 1] == 9);
    REQUIRE_RESULT(cuMemcpyDtoH_v2(host, base + 3 * CHUNK - 4, 8), CUDA_ERROR_INVALID_VALUE);

    /* What the pointers say. */
    REQUIRE(attribute(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, from) == CU_MEMORYTYPE_DEVICE);
    REQUIRE(attribute(CU_POINTER_ATTRIBUTE_MAPPED, from) == 1 && attribute(CU_POINTER_ATTRIBUTE_CONTEXT, from) == 0);
    REQUIRE(attribute(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, from) == base);
    REQUIRE(attribute(CU_POINTER_ATTRIBUTE_RANGE_SIZE, base + CHUNK) == 1ull << 35);
    REQUIRE(attribute(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, base + CHUNK + 5) == base + CHUNK);
    REQUIRE(attribute(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, base) == CHUNK);
    REQUIRE(attribute(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, base) == 3);
    OK(cuMemGetAddressRange_v2(&other, &bytes, base + CHUNK + 100));
    REQUIRE(other == base + CHUNK && bytes == CHUNK);

    /* The same memory at a second address. */
    other = reserve(4 * CHUNK, 1 << 25);
    REQUIRE(other % (1 << 25) == 0);
    map(other, CHUNK, chunks[2]);
    OK(cuMemcpyDtoH_v2(&value, other, 4));
    REQUIRE(value == 9);
    OK(cuMemsetD32_v2(other, 11, 1));
    OK(cuMemcpyDtoH_v2(&value, base + 2 * CHUNK, 4));
    REQUIRE(value == 11);
    REQUIRE(attribute(CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, other) ==
            attribute(CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, base + 2 * CHUNK));

    /* Handles may go before their mappings; the memory is back when the last mapping is gone. */
    for (int i = 0; i < 3; i++) {
        OK(cuMemRelease(chunks[i]));
        REQUIRE_RESULT(cuMemRelease(chunks[i]), CUDA_ERROR_INVALID_VALUE);
    }
    REQUIRE(free_bytes() == at_start - 3 * CHUNK);
    REQUIRE_RESULT(cuMemFree_v2(base), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_RESULT(cuMemFreeAsync(base, NULL), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_RESULT(cuMemUnmap(base, CHUNK / 2), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_RESULT(cuMemUnmap(base, 4 * CHUNK), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_RESULT(cuMemAddressFree(base, 1ull << 35), CUDA_ERROR_INVALID_VALUE);
    launch_add(&kernels, from, 1, COUNT, NULL); /* unmapping does not wait for it */
    OK(cuMemUnmap(base, 3 * CHUNK));
    REQUIRE(free_bytes() == at_start - CHUNK && attribute(CU_POINTER_ATTRIBUTE_MAPPED, base) == 0);
    OK(cuMemAddressFree(base, 1ull << 35));
    OK(cuMemUnmap(other, CHUNK));
    OK(cuMemAddressFree(other, 4 * CHUNK));
    REQUIRE(free_bytes() == at_start);
    REQUIRE_RESULT(cuMemAddressFree(other, 4 * CHUNK), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxSynchronize());
}

/* Handles: their properties, access by device, sharing by file descriptor, and what is refused. Two devices. */
void case_vmm_handles(void)
{
    CUmemAllocationProp wanted = on_device, got;
    CUmemAccessDesc accesses[2] = {full_access, {{CU_MEM_LOCATION_TYPE_DEVICE, 1}, 1}};
    CUmemLocation second = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
    CUmemGenericAllocationHandle handle, again;
    unsigned long long flags;
    CUdeviceptr base, shared;
    int32_t value = 5;
    size_t before;
    int file;

    start();
    before = free_bytes();
    wanted.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    OK(cuMemCreate(&handle, CHUNK, &wanted, 0));
    OK(cuMemGetAllocationPropertiesFromHandle(&got, handle));
    REQUIRE(memcmp(&got, &wanted, sizeof(got)) == 0);
    base = reserve(2 * CHUNK, 0);
    OK(cuMemMap(base, CHUNK, 0, handle, 0));
    OK(cuMemSetAccess(base, CHUNK, accesses, 2));
    OK(cuMemGetAccess(&flags, &second, base));
    REQUIRE(flags == 1);
    OK(cuMemGetAccess(&flags, &full_access.location, base + 1));
    REQUIRE(flags == 3);
    OK(cuMemcpyHtoD_v2(base, &value, 4));

    OK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(base + 100)));
    REQUIRE(again == handle);
    OK(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(cuMemImportFromShareableHandle(&again, (void *)(uintptr_t)file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    REQUIRE(close(file) == 0 && again != handle);
    shared = base + CHUNK;
    map(shared, CHUNK, again);
    value = 0;
    OK(cuMemcpyDtoH_v2(&value, shared, 4));
    REQUIRE(value == 5 && free_bytes() == before - CHUNK); /* what is imported is counted once */
    OK(cuMemUnmap(base, 2 * CHUNK));
    OK(cuMemRelease(again));
    OK(cuMemRelease(handle)); /* once for the creation, once for the retained one */
    REQUIRE(free_bytes() == before - CHUNK);
    OK(cuMemRelease(handle));
    REQUIRE(free_bytes() == before);
    REQUIRE_RESULT(cuMemMap(base, CHUNK, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);

    REQUIRE_RESULT(cuMemCreate(&handle, CHUNK + 1, &wanted, 0), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_RESULT(cuMemCreate(&handle, before + CHUNK, &wanted, 0), CUDA_ERROR_OUT_OF_MEMORY);
    wanted.location.id = 2;
    REQUIRE_RESULT(cuMemCreate(&handle, CHUNK, &wanted, 0), CUDA_ERROR_INVALID_DEVICE);
    wanted.location.type = 2; /* host memory */
    REQUIRE_RESULT(cuMemCreate(&handle, CHUNK, &wanted, 0), CUDA_ERROR_NOT_SUPPORTED);
    REQUIRE_RESULT(cuMemAddressReserve(&base, CHUNK + 5, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_RESULT(cuMemAddressReserve(&base, CHUNK, CHUNK + 1, 0, 0), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_RESULT(cuMemRetainAllocationHandle(&again, &value), CUDA_ERROR_INVALID_VALUE);
}

static cuuint64_t pool_attribute(CUmemoryPool pool, CUmemPool_attribute which)
{
    cuuint64_t value;

    OK(cuMemPoolGetAttribute(pool, which, &value));
    return value;
}

void case_pools(void)
{
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .maxSize = 1 << 20,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 1}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemoryPool pool, standard, found;
    cuuint64_t threshold = 1 << 30, none = 0;
    CUmemAccess_flags flags;
    CUdeviceptr first, second;
    int off = 0, value = 7;
    size_t before;

    start();
    before = free_bytes();
    OK(cuMemPoolCreate(&pool, &properties));
    OK(cuDeviceGetDefaultMemPool(&standard, 0));
    OK(cuDeviceGetMemPool(&found, 0));
    REQUIRE(found == standard && pool != standard);
    OK(cuMemGetDefaultMemPool(&found, &properties.location, CU_MEM_ALLOCATION_TYPE_PINNED));
    REQUIRE(found == standard);
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    REQUIRE(pool_attribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) == threshold);
    OK(cuMemPoolGetAttribute(pool, 1, &value));
    REQUIRE(value == 1);
    OK(cuMemPoolSetAttribute(pool, 1, &off));
    OK(cuMemPoolGetAttribute(pool, 1, &value));
    REQUIRE(value == 0);

    OK(cuDeviceSetMemPool(0, pool));
    OK(cuMemGetMemPool(&found, &properties.location, CU_MEM_ALLOCATION_TYPE_PINNED));
    REQUIRE(found == pool);
    OK(cuMemAllocAsync(&first, 600 << 10, NULL));
    OK(cuMemAllocFromPoolAsync(&second, 400 << 10, pool, NULL));
    REQUIRE(attribute(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, first) == (uintptr_t)pool);
    REQUIRE(pool_attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 1000 << 10);
    REQUIRE(free_bytes() == before - (1000 << 10));
    OK(cuMemFreeAsync(first, NULL));
    OK(cuStreamSynchronize(NULL));
    REQUIRE(pool_attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 400 << 10);
    REQUIRE(pool_attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) == 1000 << 10);
    REQUIRE_RESULT(cuMemAllocAsync(&first, 700 << 10, NULL), CUDA_ERROR_OUT_OF_MEMORY); /* maxSize */
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &none));
    REQUIRE(pool_attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 400 << 10);
    REQUIRE_RESULT(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &none), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(second)); /* allowed for memory of pools, too */
    REQUIRE(pool_attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0 && free_bytes() == before);

    OK(cuMemPoolGetAccess(&flags, pool, &access.location));
    REQUIRE(flags == 0);
    OK(cuMemPoolSetAccess(pool, &access, 1));
    OK(cuMemPoolGetAccess(&flags, pool, &access.location));
    REQUIRE(flags == 3);
    REQUIRE_RESULT(cuDeviceSetMemPool(1, pool), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemPoolTrimTo(pool, 0));
    OK(cuMemPoolDestroy(pool));
    OK(cuDeviceGetMemPool(&found, 0));
    REQUIRE(found == standard);
    REQUIRE_RESULT(cuMemPoolDestroy(standard), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_RESULT(cuMemPoolTrimTo(pool, 0), CUDA_ERROR_INVALID_VALUE);
    properties.location.type = 2;
    REQUIRE_RESULT(cuMemPoolCreate(&pool, &properties), CUDA_ERROR_NOT_SUPPORTED);
}

static long resident_kib(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    long kib = -1;

    REQUIRE(status != NULL);
    while (fgets(line, sizeof(line), status) != NULL && sscanf(line, "VmRSS: %ld", &kib) != 1) {
    }
    fclose(status);
    return kib;
}

/* Three quarters of the device in one piece, as some programs take it at start: only what is used costs memory. */
void case_large_memory(void)
{
    size_t before, total, large;
    CUdeviceptr device, managed;
    int32_t value = 77, *pinned;
    long resident = resident_kib();
    void *memory;

    start();
    before = free_bytes();
    OK(cuMemGetInfo_v2(&large, &total));
    REQUIRE(total == 80ull << 30);
    large = total / 4 * 3;
    OK(cuMemAlloc_v2(&device, large));
    REQUIRE(free_bytes() == before - large);
    REQUIRE_RESULT(cuMemAlloc_v2(&managed, total / 2), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemAllocManaged(&managed, total / 2, 1)); /* more than there is left: it may lie elsewhere */
    OK(cuMemHostAlloc(&memory, 1 << 30, 0));
    pinned = memory;
    OK(cuMemcpyHtoD_v2(device + large - 4, &value, 4));
    OK(cuMemcpyDtoH_v2(pinned, device + large - 4, 4));
    OK(cuMemcpyDtoH_v2(pinned + 1, device + large / 2, 4));
    REQUIRE(pinned[0] == 77 && pinned[1] == 0);
    REQUIRE(resident_kib() - resident < 64 << 10);
    OK(cuMemFree_v2(device));
    REQUIRE(free_bytes() == before);
}
