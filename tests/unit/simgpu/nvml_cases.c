/* SPDX-License-Identifier: Apache-2.0 */
/* libnvidia-ml beside libcuda: the same devices, before cuInit and after it, and the memory that a process has. */
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "nvml_types.h"

static void *library;

/* Looked up as programs do it: nothing is linked. */
static void *look_up(const char *name)
{
    void *function = dlsym(library, name);

    if (function == NULL) {
        fprintf(stderr, "libnvidia-ml lacks %s\n", name);
        exit(1);
    }
    return function;
}

#define API(name, parameters) static nvmlReturn_t(*name) parameters;
#define ALIAS(name, parameters, implementation) API(name, parameters)
#include "nvml_api.def"
#undef API
#undef ALIAS

static void look_up_all(void)
{
#define API(name, parameters) *(void **)&name = look_up(#name);
#define ALIAS(name, parameters, implementation) API(name, parameters)
#define STUB(name) REQUIRE(((nvmlReturn_t(*)(void))look_up(#name))() == NVML_ERROR_NOT_SUPPORTED);
#include "nvml_api.def"
}

static void check_device(unsigned index)
{
    char name[64], own_name[64], uuid[80], pci_id[32];
    int major, minor, own_major, own_minor;
    nvmlDevice_t device, same;
    nvmlPciInfo_t pci;
    CUuuid own_uuid;
    unsigned got;
    CUdevice own;

    REQUIRE(nvmlDeviceGetHandleByIndex_v2(index, &device) == NVML_SUCCESS);
    REQUIRE(nvmlDeviceGetIndex(device, &got) == NVML_SUCCESS && got == index);
    OK(cuDeviceGet(&own, (int)index));
    REQUIRE(nvmlDeviceGetName(device, name, sizeof(name)) == NVML_SUCCESS);
    OK(cuDeviceGetName(own_name, sizeof(own_name), own));
    REQUIRE(strcmp(name, own_name) == 0);
    REQUIRE(nvmlDeviceGetCudaComputeCapability(device, &major, &minor) == NVML_SUCCESS);
    OK(cuDeviceComputeCapability(&own_major, &own_minor, own));
    REQUIRE(major == own_major && minor == own_minor);

    REQUIRE(nvmlDeviceGetUUID(device, uuid, sizeof(uuid)) == NVML_SUCCESS);
    REQUIRE(strlen(uuid) == 40 && strncmp(uuid, "GPU-", 4) == 0);
    OK(cuDeviceGetUuid(&own_uuid, own));
    REQUIRE(strtoul(uuid + 38, NULL, 16) == (unsigned char)own_uuid.bytes[15]);
    REQUIRE(strtoul(uuid + 4, NULL, 16) == 0x53696d47); /* "SimG" */
    REQUIRE(nvmlDeviceGetHandleByUUID(uuid, &same) == NVML_SUCCESS && same == device);

    OK(cuDeviceGetPCIBusId(pci_id, sizeof(pci_id), own));
    REQUIRE(nvmlDeviceGetHandleByPciBusId_v2(pci_id, &same) == NVML_SUCCESS && same == device);
    REQUIRE(nvmlDeviceGetPciInfo_v3(device, &pci) == NVML_SUCCESS);
    REQUIRE(pci.domain == 0 && pci.device == 0 && strcasecmp(pci.busIdLegacy, pci_id) == 0);
    REQUIRE(nvmlDeviceGetHandleByPciBusId(pci.busId, &same) == NVML_SUCCESS && same == device);
}

static void check_memory(void)
{
    nvmlMemory_v2_t newer = {.version = 2u << 24 | sizeof(newer)};
    nvmlProcessInfo_v1_t old[2];
    nvmlProcessInfo_t infos[2];
    unsigned count = 0;
    nvmlDevice_t device;
    nvmlMemory_t memory;
    CUdeviceptr address;
    size_t free_bytes, total;

    REQUIRE(nvmlDeviceGetHandleByIndex(0, &device) == NVML_SUCCESS);
    REQUIRE(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, NULL) == NVML_SUCCESS && count == 0);
    OK(cuMemAlloc_v2(&address, 5 << 20));
    OK(cuMemGetInfo_v2(&free_bytes, &total));
    REQUIRE(nvmlDeviceGetMemoryInfo(device, &memory) == NVML_SUCCESS);
    REQUIRE(memory.total == total && memory.free == free_bytes && memory.used == 5 << 20);
    REQUIRE(nvmlDeviceGetMemoryInfo_v2(device, &newer) == NVML_SUCCESS && newer.used == 5 << 20);
    newer.version = 1;
    REQUIRE(nvmlDeviceGetMemoryInfo_v2(device, &newer) == NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    REQUIRE(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, NULL) == NVML_ERROR_INSUFFICIENT_SIZE);
    REQUIRE(count == 1);
    count = 2;
    REQUIRE(nvmlDeviceGetComputeRunningProcesses_v2(device, &count, infos) == NVML_SUCCESS && count == 1);
    REQUIRE(infos[0].pid == (unsigned)getpid() && infos[0].usedGpuMemory == 5 << 20);
    count = 2;
    REQUIRE(nvmlDeviceGetComputeRunningProcesses(device, &count, old) == NVML_SUCCESS && count == 1);
    REQUIRE(old[0].pid == (unsigned)getpid() && old[0].usedGpuMemory == 5 << 20);
}

/* SIMGPU_MODEL: two devices. */
void case_nvml(void)
{
    const char *(*error_string)(nvmlReturn_t);
    nvmlDevice_t device;
    unsigned count;
    char text[80];
    int status, version, own_version;

    library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    REQUIRE(library != NULL);
    look_up_all();
    *(void **)&error_string = look_up("nvmlErrorString");
    REQUIRE(strcmp(error_string(NVML_ERROR_NOT_SUPPORTED), "Not Supported") == 0);
    REQUIRE(nvmlDeviceGetCount_v2(&count) == NVML_ERROR_UNINITIALIZED);
    REQUIRE(nvmlInit_v2() == NVML_SUCCESS && nvmlInit() == NVML_SUCCESS);
    REQUIRE(nvmlDeviceGetCount(&count) == NVML_SUCCESS && count == 2);
    if (fork() == 0) { /* asking is no cuInit: a child may still use CUDA */
        start();
        exit(0);
    }
    REQUIRE(wait(&status) > 0 && status == 0);
    start();
    check_device(0);
    check_device(1);
    check_memory();
    OK(cuDriverGetVersion(&own_version));
    REQUIRE(nvmlSystemGetCudaDriverVersion_v2(&version) == NVML_SUCCESS && version == own_version);
    REQUIRE(nvmlSystemGetDriverVersion(text, sizeof(text)) == NVML_SUCCESS && strcmp(text, "580.0.0") == 0);
    REQUIRE(nvmlSystemGetDriverVersion(text, 3) == NVML_ERROR_INSUFFICIENT_SIZE);
    REQUIRE(nvmlDeviceGetHandleByIndex_v2(2, &device) == NVML_ERROR_INVALID_ARGUMENT);
    REQUIRE(nvmlDeviceGetHandleByPciBusId_v2("0000:03:00.0", &device) == NVML_ERROR_NOT_FOUND);
    REQUIRE(nvmlDeviceGetHandleByUUID("GPU-0", &device) == NVML_ERROR_NOT_FOUND);
    REQUIRE(nvmlDeviceGetName(NULL, text, sizeof(text)) == NVML_ERROR_INVALID_ARGUMENT);
    REQUIRE(nvmlShutdown() == NVML_SUCCESS && nvmlShutdown() == NVML_SUCCESS);
    REQUIRE(nvmlShutdown() == NVML_ERROR_UNINITIALIZED);
}
