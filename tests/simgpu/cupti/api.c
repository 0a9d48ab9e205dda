/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rest of the API that clients use: version, names, result strings, attributes.
 * Attributes are accepted, remembered and without effect. Any thread.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "../cuda_major.h"
#include "cupti.h"
#include "records.h"

#define DOMAIN_DRIVER 1
#define DOMAIN_RUNTIME 2
#define ATTRIBUTES 11

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Sizes and defaults by CUpti_ActivityAttribute. */
static struct {
    size_t bytes;
    uint64_t value;
} attributes[ATTRIBUTES] = {
    {8, 3200000}, {8, 8388608}, {8, 250}, {8, 25000}, {8, 500}, {1, 0}, {8, 3}, {8, 3}, {1, 0}, {1, 1}, {8, 16777216},
};

static const char *const results[] = {
#define RESULT(number, name) [number] = #name,
#include "results.def"
#undef RESULT
};

int cuptiGetVersion(uint32_t *version);
int cuptiGetResultString(int result, const char **text);
int cuptiGetErrorMessage(int result, const char **text);
int cuptiGetCallbackName(int domain, uint32_t cbid, const char **name);
int cuptiComputeCapabilitySupported(int major, int minor, int *support);
int cuptiActivitySetAttribute(uint32_t attribute, size_t *bytes, void *value);
int cuptiActivityGetAttribute(uint32_t attribute, size_t *bytes, void *value);
int cuptiGetGraphId(const void *graph, uint32_t *id);
int cuptiGetGraphExecId(const void *exec, uint32_t *id);
int cuptiGetContextId(const void *context, uint32_t *id);
int cuptiGetDeviceId(const void *context, uint32_t *device);
int cuptiGetGraphNodeId(const void *node, uint64_t *id);

int cuptiGetVersion(uint32_t *version)
{
    SIM_READER();
    if (!version) {
        return SIM_CUPTI_INVALID_PARAMETER;
    }
    *version = sim_faults()->layout->api_version;
    return SIM_CUPTI_SUCCESS;
}

int cuptiGetResultString(int result, const char **text)
{
    SIM_READER();
    if (!text) {
        return SIM_CUPTI_INVALID_PARAMETER;
    }
    if (result == SIM_CUPTI_UNKNOWN) {
        *text = "CUPTI_ERROR_UNKNOWN";
        return SIM_CUPTI_SUCCESS;
    }
    bool known = result >= 0 && (size_t)result < sizeof(results) / sizeof(results[0]) && results[result];
    *text = known ? results[result] : "<unknown>";
    return known ? SIM_CUPTI_SUCCESS : SIM_CUPTI_INVALID_PARAMETER;
}

int cuptiGetErrorMessage(int result, const char **text)
{
    return cuptiGetResultString(result, text);
}

int cuptiGetCallbackName(int domain, uint32_t cbid, const char **name)
{
    SIM_READER();
    bool driver = domain == DOMAIN_DRIVER;
    if (!name) {
        return SIM_CUPTI_INVALID_PARAMETER;
    }
    *name = NULL;
    if ((!driver && domain != DOMAIN_RUNTIME) || cbid >= (driver ? sim_driver_cbid_count : sim_runtime_cbid_count)) {
        return SIM_CUPTI_INVALID_PARAMETER;
    }
    *name = (driver ? sim_driver_cbid_names : sim_runtime_cbid_names)[cbid];
    return SIM_CUPTI_SUCCESS;
}

int cuptiComputeCapabilitySupported(int major, int minor, int *support)
{
    SIM_READER();
    if (!support) {
        return SIM_CUPTI_INVALID_PARAMETER;
    }
    int device = major * 10 + minor;
    *support = device >= sim_faults()->layout->oldest_device && device <= sim_faults()->layout->newest_device;
    return SIM_CUPTI_SUCCESS;
}

int cuptiActivitySetAttribute(uint32_t attribute, size_t *bytes, void *value)
{
    SIM_CALL();
    if (attribute >= ATTRIBUTES || !bytes || !value) {
        return SIM_CUPTI_INVALID_PARAMETER;
    }
    if (*bytes < attributes[attribute].bytes) {
        return SIM_CUPTI_PARAMETER_SIZE_NOT_SUFFICIENT;
    }
    pthread_mutex_lock(&lock);
    attributes[attribute].value = 0;
    memcpy(&attributes[attribute].value, value, attributes[attribute].bytes);
    pthread_mutex_unlock(&lock);
    return SIM_CUPTI_SUCCESS;
}

int cuptiActivityGetAttribute(uint32_t attribute, size_t *bytes, void *value)
{
    SIM_CALL();
    if (attribute >= ATTRIBUTES || !bytes || !value) {
        return SIM_CUPTI_INVALID_PARAMETER;
    }
    if (*bytes < attributes[attribute].bytes) {
        return SIM_CUPTI_PARAMETER_SIZE_NOT_SUFFICIENT;
    }
    pthread_mutex_lock(&lock);
    *bytes = attributes[attribute].bytes;
    memcpy(value, &attributes[attribute].value, attributes[attribute].bytes);
    pthread_mutex_unlock(&lock);
    return SIM_CUPTI_SUCCESS;
}

/* A node's number has its graph's in the upper half. */
int cuptiGetGraphNodeId(const void *node, uint64_t *id)
{
    SIM_READER();
    uint64_t found = sim_graph_id(node);
    if (!id || found >> 32 == 0) {
        return SIM_CUPTI_INVALID_PARAMETER;
    }
    *id = found;
    return SIM_CUPTI_SUCCESS;
}

int cuptiGetGraphId(const void *graph, uint32_t *id)
{
    SIM_READER();
    uint64_t found = sim_graph_id(graph);
    if (!id || found == 0 || found >> 32 != 0) {
        return SIM_CUPTI_INVALID_PARAMETER;
    }
    *id = (uint32_t)found;
    return SIM_CUPTI_SUCCESS;
}

int cuptiGetGraphExecId(const void *exec, uint32_t *id)
{
    return cuptiGetGraphId(exec, id);
}

int cuptiGetContextId(const void *context, uint32_t *id)
{
    SIM_READER();
    uint32_t device, found = sim_context_id(context, &device);
    if (!id) {
        return SIM_CUPTI_INVALID_PARAMETER;
    }
    *id = found;
    return found ? SIM_CUPTI_SUCCESS : SIM_CUPTI_INVALID_CONTEXT;
}

int cuptiGetDeviceId(const void *context, uint32_t *device)
{
    SIM_READER();
    uint32_t found;
    if (!device) {
        return SIM_CUPTI_INVALID_PARAMETER;
    }
    if (!sim_context_id(context, &found)) {
        return SIM_CUPTI_INVALID_CONTEXT;
    }
    *device = found;
    return SIM_CUPTI_SUCCESS;
}
