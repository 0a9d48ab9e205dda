/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual memory management. An allocation is a file in memory, so that it can be mapped at several addresses; a
 * reservation is a stretch of addresses; a mapping is a range of memory.c, which copies and memsets find there.
 * Unmapping does not wait, as with the real driver: what still writes there then writes to nowhere.
 * Only memory of devices, shared by file descriptor if at all. One lock, taken before memory.c's.
 */
#include "vmm.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context.h"
#include "device.h"
#include "driver_gen.h"
#include "engine.h"
#include "memory.h"

enum { GRANULARITY = 2 << 20 };

struct allocation {
    struct sim_object object;
    CUmemAllocationProp properties;
    size_t bytes;
    unsigned references; /* handles that are not released, and mappings */
    unsigned handles;
    int file;
    bool imported; /* counted where it was made */
};

struct reservation {
    struct reservation *next;
    CUdeviceptr base;
    size_t bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct reservation *reservations;

static bool aligned(uint64_t number)
{
    return number % GRANULARITY == 0;
}

static CUresult check_properties(const CUmemAllocationProp *properties)
{
    if (properties == NULL || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        properties->requestedHandleTypes > CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    return sim_device_valid(properties->location.id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult sim_cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *properties,
                                           CUmemAllocationGranularity_flags option)
{
    CUresult result = check_properties(properties);

    if (bytes == NULL || option > 1) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *bytes = GRANULARITY;
    return result;
}

/* ---- addresses -------------------------------------------------------------------------------------------------- */

/* Fresh pages that cost nothing until they are written. */
static void *blank(void *at, size_t bytes, int fixed)
{
    return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
}

CUresult sim_cuMemAddressReserve(CUdeviceptr *out, size_t bytes, size_t alignment, CUdeviceptr hint,
                                 unsigned long long flags)
{
    struct reservation *reservation;
    size_t whole, before;
    void *memory;

    alignment = alignment < GRANULARITY ? GRANULARITY : alignment;
    if (out == NULL || bytes == 0 || !aligned(bytes) || flags != 0 || (alignment & (alignment - 1)) != 0 ||
        __builtin_add_overflow(bytes, alignment, &whole)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    reservation = malloc(sizeof(*reservation));
    memory = reservation == NULL ? MAP_FAILED : blank((void *)(uintptr_t)hint, whole, 0);
    if (memory == MAP_FAILED) {
        free(reservation);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    before = -(uintptr_t)memory & (alignment - 1);
    if (before > 0) {
        munmap(memory, before);
    }
    munmap((char *)memory + before + bytes, alignment - before);
    *out = (CUdeviceptr)(uintptr_t)memory + before;
    pthread_mutex_lock(&lock);
    *reservation = (struct reservation){reservations, *out, bytes};
    reservations = reservation;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

static struct reservation **find_locked(CUdeviceptr address, size_t bytes)
{
    struct reservation **at = &reservations;

    while (*at != NULL && (address < (*at)->base || address - (*at)->base >= (*at)->bytes ||
                           bytes > (*at)->bytes - (address - (*at)->base))) {
        at = &(*at)->next;
    }
    return at;
}

bool sim_vmm_reserved(CUdeviceptr address, CUdeviceptr *base, size_t *bytes)
{
    struct reservation *found;

    pthread_mutex_lock(&lock);
    found = *find_locked(address, 1);
    if (found != NULL) {
        *base = found->base;
        *bytes = found->bytes;
    }
    pthread_mutex_unlock(&lock);
    return found != NULL;
}

CUresult sim_cuMemAddressFree(CUdeviceptr address, size_t bytes)
{
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    struct reservation **at, *found;

    if (sim_context_current() != NULL) {
        sim_sync_context(sim_context_current());
    }
    pthread_mutex_lock(&lock);
    at = find_locked(address, 1);
    found = *at;
    if (found != NULL && found->base == address && found->bytes == bytes && !sim_memory_any(address, bytes)) {
        *at = found->next;
        munmap((void *)(uintptr_t)address, bytes);
        free(found);
        result = CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

/* ---- allocations ------------------------------------------------------------------------------------------------ */

static struct allocation *check(CUmemGenericAllocationHandle handle)
{
    struct allocation *allocation = sim_object_check((const void *)(uintptr_t)handle, SIM_ALLOCATION);

    return allocation != NULL && allocation->handles > 0 ? allocation : NULL;
}

/* A file of zeros that costs nothing until it is written; -1: none. */
static int sized_file(size_t bytes)
{
    int file = memfd_create("simgpu", MFD_CLOEXEC);

    if (file >= 0 && ftruncate(file, (off_t)bytes) != 0) {
        close(file);
        file = -1;
    }
    return file;
}

static void drop_locked(struct allocation *allocation)
{
    if (--allocation->references == 0) {
        if (!allocation->imported) {
            sim_memory_give((uint32_t)allocation->properties.location.id, allocation->bytes);
        }
        close(allocation->file);
        sim_object_destroy(allocation);
    }
}

/* Takes over the file; false: there is no file, or no memory for the object. */
static bool create(CUmemGenericAllocationHandle *handle, int file, size_t bytes,
                   const CUmemAllocationProp *properties, bool imported)
{
    struct allocation *allocation = file < 0 ? NULL : sim_object_create(SIM_ALLOCATION);

    if (allocation == NULL) {
        if (file >= 0) {
            close(file);
        }
        return false;
    }
    allocation->properties = *properties;
    allocation->bytes = bytes;
    allocation->references = allocation->handles = 1;
    allocation->file = file;
    allocation->imported = imported;
    *handle = (CUmemGenericAllocationHandle)(uintptr_t)allocation;
    return true;
}

CUresult sim_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *properties,
                         unsigned long long flags)
{
    CUresult result = check_properties(properties);
    uint32_t device;

    if (handle == NULL || bytes == 0 || !aligned(bytes) || flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (result != CUDA_SUCCESS) {
        return result;
    }
    device = (uint32_t)properties->location.id;
    if (!sim_memory_take(device, bytes)) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!create(handle, sized_file(bytes), bytes, properties, false)) {
        sim_memory_give(device, bytes);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

CUresult sim_cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle,
                                          CUmemAllocationHandleType type, unsigned long long flags)
{
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    struct allocation *allocation;

    pthread_mutex_lock(&lock);
    allocation = check(handle);
    if (out != NULL && flags == 0 && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && allocation != NULL &&
        allocation->properties.requestedHandleTypes == type) {
        *(int *)out = fcntl(allocation->file, F_DUPFD_CLOEXEC, 0);
        result = *(int *)out < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

/* The file does not say of which device it is: the current context's, else the first. */
CUresult sim_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *file,
                                            CUmemAllocationHandleType type)
{
    const struct sim_context *context = sim_context_current();
    CUmemAllocationProp properties = {
        CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        {CU_MEM_LOCATION_TYPE_DEVICE, context != NULL ? (int)context->device : 0},
    };
    struct stat about;

    if (handle == NULL || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        fstat((int)(uintptr_t)file, &about) != 0 || about.st_size <= 0 || !aligned((uint64_t)about.st_size)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return create(handle, fcntl((int)(uintptr_t)file, F_DUPFD_CLOEXEC, 0), (size_t)about.st_size, &properties, true)
               ? CUDA_SUCCESS
               : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_cuMemRelease(CUmemGenericAllocationHandle handle)
{
    struct allocation *allocation;

    pthread_mutex_lock(&lock);
    allocation = check(handle);
    if (allocation != NULL) {
        allocation->handles--;
        drop_locked(allocation);
    }
    pthread_mutex_unlock(&lock);
    return allocation == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult sim_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address)
{
    struct sim_range range;
    bool found;

    if (handle == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&lock);
    found = sim_memory_find((CUdeviceptr)(uintptr_t)address, 1, &range) && range.mapping != NULL;
    if (found) {
        struct allocation *allocation = (struct allocation *)range.mapping;

        allocation->handles++;
        allocation->references++;
        *handle = (CUmemGenericAllocationHandle)(uintptr_t)allocation;
    }
    pthread_mutex_unlock(&lock);
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *properties,
                                                    CUmemGenericAllocationHandle handle)
{
    struct allocation *allocation;

    pthread_mutex_lock(&lock);
    allocation = check(handle);
    if (allocation != NULL && properties != NULL) {
        *properties = allocation->properties;
    }
    pthread_mutex_unlock(&lock);
    return allocation == NULL || properties == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* ---- mappings --------------------------------------------------------------------------------------------------- */

static CUresult map_locked(CUdeviceptr address, size_t bytes, struct allocation *allocation)
{
    void *at = (void *)(uintptr_t)address;
    struct sim_range range = {.base = address, .bytes = bytes, .kind = SIM_MEMORY_DEVICE, .registered = true};

    if (allocation == NULL || bytes > allocation->bytes || *find_locked(address, bytes) == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    range.device = (uint32_t)allocation->properties.location.id;
    range.mapping = &allocation->object;
    if (!sim_memory_register(&range)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, allocation->file, 0) == MAP_FAILED) {
        sim_memory_unmap(address);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    allocation->references++;
    return CUDA_SUCCESS;
}

CUresult sim_cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                      unsigned long long flags)
{
    CUresult result;

    if (bytes == 0 || !aligned(bytes) || !aligned(address) || offset != 0 || flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&lock);
    result = map_locked(address, bytes, check(handle));
    pthread_mutex_unlock(&lock);
    return result;
}

/* Calls `each` for the mappings that make up [address, address + bytes); false, and no call, unless whole ones do. */
static bool each_mapping_locked(CUdeviceptr address, size_t bytes, void (*each)(const struct sim_range *, const void *),
                                const void *data)
{
    CUdeviceptr end = address + bytes;

    for (int pass = 0; pass < 2; pass++) {
        for (CUdeviceptr at = address; at < end;) {
            struct sim_range range;

            if (!sim_memory_find(at, 1, &range) || range.mapping == NULL || range.base != at ||
                range.bytes > end - at) {
                return false;
            }
            at += range.bytes;
            if (pass == 1) {
                each(&range, data);
            }
        }
    }
    return bytes > 0 && end > address;
}

static void unmap_one(const struct sim_range *range, const void *data)
{
    sim_memory_unmap(range->base);
    blank((void *)(uintptr_t)range->base, range->bytes, MAP_FIXED);
    drop_locked((struct allocation *)range->mapping);
}

CUresult sim_cuMemUnmap(CUdeviceptr address, size_t bytes)
{
    bool done;

    pthread_mutex_lock(&lock);
    done = each_mapping_locked(address, bytes, unmap_one, NULL);
    pthread_mutex_unlock(&lock);
    return done ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static void set_access(const struct sim_range *range, const void *data)
{
    const CUmemAccessDesc *access = data;
    uint32_t device = 1u << access->location.id;
    uint32_t readers = access->flags & 1 ? range->readers | device : range->readers & ~device;
    uint32_t writers = access->flags & 2 ? range->writers | device : range->writers & ~device;

    sim_memory_set_access(range->base, readers, writers);
}

CUresult sim_cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *accesses, size_t count)
{
    bool done = true;

    if (accesses == NULL || count == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (size_t i = 0; i < count; i++) {
        if (accesses[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || accesses[i].flags > 3 ||
            accesses[i].flags == 2) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (!sim_device_valid(accesses[i].location.id)) {
            return CUDA_ERROR_INVALID_DEVICE;
        }
    }
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count && done; i++) {
        done = each_mapping_locked(address, bytes, set_access, &accesses[i]);
    }
    pthread_mutex_unlock(&lock);
    return done ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr address)
{
    struct sim_range range;

    if (flags == NULL || location == NULL || location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
        !sim_device_valid(location->id) || !sim_memory_find(address, 1, &range) || range.mapping == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *flags = sim_vmm_access(&range, (uint32_t)location->id);
    return CUDA_SUCCESS;
}

unsigned sim_vmm_access(const struct sim_range *range, uint32_t device)
{
    return (range->readers >> device & 1) | (range->writers >> device & 1) << 1;
}
