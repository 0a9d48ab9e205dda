/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libnvidia-ml.so.1: which devices there are, as SIMGPU_MODEL says, and who they are, as libcuda says. Like the real
 * one it opens no context and initialises no CUDA, so that a program may ask before it forks. The memory in use is this
 * process's, if it has libcuda at all. Whether it is initialised is guarded by one mutex; the rest is constant.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "identity.h"
#include "model.h"
#include "nvml_types.h"

#define EXPORTED __attribute__((visibility("default")))
#define API(name, parameters) EXPORTED nvmlReturn_t name parameters;
#define ALIAS(name, parameters, implementation) API(name, parameters)
#define STUB(name) EXPORTED nvmlReturn_t name(void);
#define LAYOUT(type, bytes) _Static_assert(sizeof(type) == (bytes), #type);
#define VALUE(constant, number) _Static_assert((constant) == (number), #constant);
#include "nvml_api.def"
#undef API
#undef ALIAS
#undef STUB
EXPORTED const char *nvmlErrorString(nvmlReturn_t result);

#define ALIAS(name, parameters, implementation) \
    nvmlReturn_t name parameters __attribute__((alias(#implementation)));
#define STUB(name)                       \
    nvmlReturn_t name(void)              \
    {                                    \
        return NVML_ERROR_NOT_SUPPORTED; \
    }

enum { DEVICES_MAX = 16 };
static const char driver_version[] = "580.0.0";

struct nvmlDevice_st {
    char unused;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned initialised;
static enum { UNREAD, READ, REFUSED } model;
static struct nvmlDevice_st devices[DEVICES_MAX];

/* ---- checks ----------------------------------------------------------------------------------------------------- */

static nvmlReturn_t ready(void)
{
    nvmlReturn_t result;

    pthread_mutex_lock(&lock);
    result = initialised > 0 ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
    pthread_mutex_unlock(&lock);
    return result;
}

static nvmlReturn_t check(const struct nvmlDevice_st *device, const void *out, uint32_t *ordinal)
{
    nvmlReturn_t result = ready();

    *ordinal = device >= devices && device < devices + sim_model.devices ? (uint32_t)(device - devices) : DEVICES_MAX;
    return result == NVML_SUCCESS && (out == NULL || *ordinal == DEVICES_MAX) ? NVML_ERROR_INVALID_ARGUMENT : result;
}

static nvmlReturn_t give_text(char *out, unsigned length, const char *text)
{
    nvmlReturn_t result = ready();

    if (result == NVML_SUCCESS && out == NULL) {
        result = NVML_ERROR_INVALID_ARGUMENT;
    }
    if (result == NVML_SUCCESS && strlen(text) >= length) {
        result = NVML_ERROR_INSUFFICIENT_SIZE;
    }
    if (result == NVML_SUCCESS) {
        memcpy(out, text, strlen(text) + 1);
    }
    return result;
}

/* ---- the library ------------------------------------------------------------------------------------------------ */

nvmlReturn_t nvmlInit_v2(void)
{
    nvmlReturn_t result = NVML_SUCCESS;

    pthread_mutex_lock(&lock);
    if (model == UNREAD) {
        model = sim_model_load() ? READ : REFUSED;
    }
    if (model == REFUSED) {
        result = NVML_ERROR_UNKNOWN;
    } else {
        initialised++;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

nvmlReturn_t nvmlInitWithFlags(unsigned flags)
{
    return nvmlInit_v2();
}

nvmlReturn_t nvmlShutdown(void)
{
    nvmlReturn_t result = ready();

    pthread_mutex_lock(&lock);
    initialised -= initialised > 0;
    pthread_mutex_unlock(&lock);
    return result;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
    switch (result) {
    case NVML_SUCCESS:
        return "Success";
    case NVML_ERROR_UNINITIALIZED:
        return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT:
        return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED:
        return "Not Supported";
    case NVML_ERROR_NOT_FOUND:
        return "Not Found";
    case NVML_ERROR_INSUFFICIENT_SIZE:
        return "Insufficient Size";
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH:
        return "Argument version mismatch";
    default:
        return "Unknown Error";
    }
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned length)
{
    return give_text(version, length, driver_version);
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned length)
{
    char text[32];

    snprintf(text, sizeof(text), "%d.%s", SIM_DRIVER_VERSION / 1000, driver_version);
    return give_text(version, length, text);
}

/* Needs no initialisation. */
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version)
{
    if (version == NULL) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    *version = SIM_DRIVER_VERSION;
    return NVML_SUCCESS;
}

/* ---- which devices ---------------------------------------------------------------------------------------------- */

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count)
{
    nvmlReturn_t result = ready();

    if (result == NVML_SUCCESS && count == NULL) {
        result = NVML_ERROR_INVALID_ARGUMENT;
    }
    if (result == NVML_SUCCESS) {
        *count = sim_model.devices;
    }
    return result;
}

/* `ordinal` of something that was looked for, negative when it was not found. */
static nvmlReturn_t give_device(int ordinal, nvmlDevice_t *device, nvmlReturn_t otherwise)
{
    nvmlReturn_t result = ready();

    if (result == NVML_SUCCESS && device == NULL) {
        result = NVML_ERROR_INVALID_ARGUMENT;
    }
    if (result == NVML_SUCCESS && (ordinal < 0 || (unsigned)ordinal >= sim_model.devices)) {
        result = otherwise;
    }
    if (result == NVML_SUCCESS) {
        *device = &devices[ordinal];
    }
    return result;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device)
{
    return give_device(index < DEVICES_MAX ? (int)index : -1, device, NVML_ERROR_INVALID_ARGUMENT);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvmlDevice_t *device)
{
    return id == NULL ? NVML_ERROR_INVALID_ARGUMENT : give_device(sim_device_at(id), device, NVML_ERROR_NOT_FOUND);
}

static void uuid_text(uint32_t device, char text[48])
{
    uint8_t uuid[16];
    char *at = text;

    sim_device_uuid(uuid, device);
    at += sprintf(at, "GPU-");
    for (int i = 0; i < 16; i++) {
        at += sprintf(at, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
    }
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
    char text[48];
    int found = -1;

    if (uuid == NULL) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    for (uint32_t i = 0; i < DEVICES_MAX; i++) {
        uuid_text(i, text);
        if (strcmp(text, uuid) == 0) {
            found = (int)i;
        }
    }
    return give_device(found, device, NVML_ERROR_NOT_FOUND);
}

/* ---- a device --------------------------------------------------------------------------------------------------- */

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned *index)
{
    uint32_t ordinal;
    nvmlReturn_t result = check(device, index, &ordinal);

    if (result == NVML_SUCCESS) {
        *index = ordinal;
    }
    return result;
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned *number)
{
    return nvmlDeviceGetIndex(device, number);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned length)
{
    uint32_t ordinal;
    nvmlReturn_t result = check(device, name, &ordinal);

    return result != NVML_SUCCESS ? result : give_text(name, length, SIM_DEVICE_NAME);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned length)
{
    uint32_t ordinal;
    nvmlReturn_t result = check(device, uuid, &ordinal);
    char text[48];

    if (result != NVML_SUCCESS) {
        return result;
    }
    uuid_text(ordinal, text);
    return give_text(uuid, length, text);
}

/* What this process has of the device. */
static uint64_t used_bytes(uint32_t ordinal)
{
    void *libcuda = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    uint64_t (*used)(uint32_t) = NULL;
    uint64_t bytes = 0;

    if (libcuda != NULL) {
        *(void **)&used = dlsym(libcuda, "simgpu_used_bytes");
        bytes = used != NULL ? used(ordinal) : 0;
        dlclose(libcuda);
    }
    return bytes;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    uint32_t ordinal;
    nvmlReturn_t result = check(device, memory, &ordinal);

    if (result == NVML_SUCCESS) {
        memory->total = sim_device_bytes;
        memory->used = used_bytes(ordinal);
        memory->free = memory->total - memory->used;
    }
    return result;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
    uint32_t ordinal;
    nvmlReturn_t result = check(device, memory, &ordinal);

    if (result == NVML_SUCCESS && memory->version != (2u << 24 | sizeof(*memory))) {
        result = NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    }
    if (result == NVML_SUCCESS) {
        memory->total = sim_device_bytes;
        memory->reserved = 0;
        memory->used = used_bytes(ordinal);
        memory->free = memory->total - memory->used;
    }
    return result;
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
    uint32_t ordinal;
    nvmlReturn_t result = check(device, minor == NULL ? NULL : major, &ordinal);

    if (result == NVML_SUCCESS) {
        *major = SIM_CAPABILITY_MAJOR;
        *minor = SIM_CAPABILITY_MINOR;
    }
    return result;
}

nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, nvmlDeviceArchitecture_t *architecture)
{
    uint32_t ordinal;
    nvmlReturn_t result = check(device, architecture, &ordinal);

    if (result == NVML_SUCCESS) {
        *architecture = NVML_DEVICE_ARCH_AMPERE;
    }
    return result;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    uint32_t ordinal;
    nvmlReturn_t result = check(device, pci, &ordinal);

    if (result == NVML_SUCCESS) {
        *pci = (nvmlPciInfo_t){.bus = sim_device_bus(ordinal)};
        snprintf(pci->busIdLegacy, sizeof(pci->busIdLegacy), "%04X:%02X:%02X.0", pci->domain, pci->bus, pci->device);
        snprintf(pci->busId, sizeof(pci->busId), "%08X:%02X:%02X.0", pci->domain, pci->bus, pci->device);
    }
    return result;
}

/* This process, if it has memory of the device. *count is how many fit, and becomes how many there are. */
static nvmlReturn_t count_processes(nvmlDevice_t device, unsigned *count, const void *infos, uint64_t *bytes)
{
    uint32_t ordinal;
    nvmlReturn_t result = check(device, count, &ordinal);
    unsigned room;

    if (result != NVML_SUCCESS) {
        return result;
    }
    room = infos != NULL ? *count : 0;
    *bytes = used_bytes(ordinal);
    *count = *bytes > 0;
    return room < *count ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_v1_t *infos)
{
    uint64_t bytes;
    nvmlReturn_t result = count_processes(device, count, infos, &bytes);

    if (result == NVML_SUCCESS && *count > 0) {
        infos[0] = (nvmlProcessInfo_v1_t){(unsigned)getpid(), bytes};
    }
    return result;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *infos)
{
    uint64_t bytes;
    nvmlReturn_t result = count_processes(device, count, infos, &bytes);

    if (result == NVML_SUCCESS && *count > 0) {
        infos[0] = (nvmlProcessInfo_t){(unsigned)getpid(), bytes, ~0u, ~0u};
    }
    return result;
}

#undef LAYOUT
#undef VALUE
#include "nvml_api.def"
