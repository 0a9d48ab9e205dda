/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Own declarations against the real headers: the structures that decode.c reads lie where it thinks, and
 * the listed names exist in the toolkit's libraries. Arguments: the stub libcuda, libcudart ("" = not there).
 */
#define __CUDA_API_VERSION_INTERNAL /* the first versions of structures, too */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "preload/calls/calls.h"
#include "preload/calls/place.h"

#define SAME(ours, our_field, theirs, their_field) \
    _Static_assert(offsetof(struct ours, our_field) == offsetof(theirs, their_field), #theirs "." #their_field)

SAME(launch_config, stream, CUlaunchConfig, hStream);
SAME(launch_config, stream, cudaLaunchConfig_t, stream);

#if CUDA_VERSION >= 12020
SAME(node_params, type, CUgraphNodeParams, type);
SAME(node_params, child, CUgraphNodeParams, graph.graph);
#endif
_Static_assert(CU_GRAPH_NODE_TYPE_KERNEL == 0 && CU_GRAPH_NODE_TYPE_MEMCPY == 1 && CU_GRAPH_NODE_TYPE_MEMSET == 2 &&
                   CU_GRAPH_NODE_TYPE_HOST == 3 && CU_GRAPH_NODE_TYPE_GRAPH == 4 && CU_GRAPH_NODE_TYPE_EMPTY == 5 &&
                   CU_GRAPH_NODE_TYPE_WAIT_EVENT == 6 && CU_GRAPH_NODE_TYPE_EVENT_RECORD == 7 &&
                   CU_GRAPH_NODE_TYPE_BATCH_MEM_OP == 12,
               "CUgraphNodeType");

SAME(copy_2d, source_type, CUDA_MEMCPY2D, srcMemoryType);
SAME(copy_2d, source_host, CUDA_MEMCPY2D, srcHost);
SAME(copy_2d, source_device, CUDA_MEMCPY2D, srcDevice);
SAME(copy_2d, source_array, CUDA_MEMCPY2D, srcArray);
SAME(copy_2d, target_type, CUDA_MEMCPY2D, dstMemoryType);
SAME(copy_2d, target_host, CUDA_MEMCPY2D, dstHost);
SAME(copy_2d, target_device, CUDA_MEMCPY2D, dstDevice);
SAME(copy_2d, target_array, CUDA_MEMCPY2D, dstArray);
SAME(copy_2d, width_bytes, CUDA_MEMCPY2D, WidthInBytes);
SAME(copy_2d, height, CUDA_MEMCPY2D, Height);

SAME(launch_multi, function, CUDA_LAUNCH_PARAMS, function);
SAME(launch_multi, stream, CUDA_LAUNCH_PARAMS, hStream);

SAME(copy_2d_32, source_type, CUDA_MEMCPY2D_v1, srcMemoryType);
SAME(copy_2d_32, source_host, CUDA_MEMCPY2D_v1, srcHost);
SAME(copy_2d_32, source_device, CUDA_MEMCPY2D_v1, srcDevice);
SAME(copy_2d_32, source_array, CUDA_MEMCPY2D_v1, srcArray);
SAME(copy_2d_32, target_type, CUDA_MEMCPY2D_v1, dstMemoryType);
SAME(copy_2d_32, target_host, CUDA_MEMCPY2D_v1, dstHost);
SAME(copy_2d_32, target_device, CUDA_MEMCPY2D_v1, dstDevice);
SAME(copy_2d_32, target_array, CUDA_MEMCPY2D_v1, dstArray);
SAME(copy_2d_32, width_bytes, CUDA_MEMCPY2D_v1, WidthInBytes);
SAME(copy_2d_32, height, CUDA_MEMCPY2D_v1, Height);
SAME(copy_3d_32, source_type, CUDA_MEMCPY3D_v1, srcMemoryType);
SAME(copy_3d_32, source_host, CUDA_MEMCPY3D_v1, srcHost);
SAME(copy_3d_32, source_device, CUDA_MEMCPY3D_v1, srcDevice);
SAME(copy_3d_32, source_array, CUDA_MEMCPY3D_v1, srcArray);
SAME(copy_3d_32, target_type, CUDA_MEMCPY3D_v1, dstMemoryType);
SAME(copy_3d_32, target_host, CUDA_MEMCPY3D_v1, dstHost);
SAME(copy_3d_32, target_device, CUDA_MEMCPY3D_v1, dstDevice);
SAME(copy_3d_32, target_array, CUDA_MEMCPY3D_v1, dstArray);
SAME(copy_3d_32, width_bytes, CUDA_MEMCPY3D_v1, WidthInBytes);
SAME(copy_3d_32, height, CUDA_MEMCPY3D_v1, Height);
SAME(copy_3d_32, depth, CUDA_MEMCPY3D_v1, Depth);

#if CUDA_VERSION >= 12080
#define SAME_BATCH(theirs)                                          \
    SAME(copy_3d_batch, source.type, theirs, src.type);             \
    SAME(copy_3d_batch, source.address_or_array, theirs, src.op);   \
    SAME(copy_3d_batch, target.address_or_array, theirs, dst.op);   \
    SAME(copy_3d_batch, extent, theirs, extent);                    \
    _Static_assert(sizeof(struct copy_3d_batch) == sizeof(theirs), #theirs)
SAME_BATCH(CUDA_MEMCPY3D_BATCH_OP);
SAME_BATCH(struct cudaMemcpy3DBatchOp);
#endif

#define SAME_3D(theirs)                                  \
    SAME(copy_3d, source_type, theirs, srcMemoryType);   \
    SAME(copy_3d, source_host, theirs, srcHost);         \
    SAME(copy_3d, source_device, theirs, srcDevice);     \
    SAME(copy_3d, source_array, theirs, srcArray);       \
    SAME(copy_3d, target_type, theirs, dstMemoryType);   \
    SAME(copy_3d, target_host, theirs, dstHost);         \
    SAME(copy_3d, target_device, theirs, dstDevice);     \
    SAME(copy_3d, target_array, theirs, dstArray);       \
    SAME(copy_3d, width_bytes, theirs, WidthInBytes);    \
    SAME(copy_3d, height, theirs, Height);               \
    SAME(copy_3d, depth, theirs, Depth)
SAME_3D(CUDA_MEMCPY3D);
SAME_3D(CUDA_MEMCPY3D_PEER);

SAME(copy_rt3d, source_array, struct cudaMemcpy3DParms, srcArray);
SAME(copy_rt3d, source, struct cudaMemcpy3DParms, srcPtr);
SAME(copy_rt3d, target_array, struct cudaMemcpy3DParms, dstArray);
SAME(copy_rt3d, target, struct cudaMemcpy3DParms, dstPtr);
SAME(copy_rt3d, extent, struct cudaMemcpy3DParms, extent);
SAME(copy_rt3d, kind, struct cudaMemcpy3DParms, kind);
SAME(copy_rt3d_peer, source, struct cudaMemcpy3DPeerParms, srcPtr);
SAME(copy_rt3d_peer, target_array, struct cudaMemcpy3DPeerParms, dstArray);
SAME(copy_rt3d_peer, target, struct cudaMemcpy3DPeerParms, dstPtr);
SAME(copy_rt3d_peer, extent, struct cudaMemcpy3DPeerParms, extent);

_Static_assert(CU_MEMORYTYPE_HOST == 1 && CU_MEMORYTYPE_DEVICE == 2 && CU_MEMORYTYPE_ARRAY == 3 &&
                   CU_MEMORYTYPE_UNIFIED == 4,
               "CUmemorytype");
_Static_assert(cudaMemcpyHostToHost == 0 && cudaMemcpyHostToDevice == 1 && cudaMemcpyDeviceToHost == 2 &&
                   cudaMemcpyDeviceToDevice == 3 && cudaMemcpyDefault == 4,
               "cudaMemcpyKind");
_Static_assert(CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM == 2 && cudaEnablePerThreadDefaultStream == 2, "flags");

/* An export of the runtime of CUDA 12 (a line of the list), watched where that is loaded. */
static bool is_of_12(const char *name, FILE *list)
{
    char line[128];
    bool found = false;
    rewind(list);
    while (!found && fgets(line, sizeof(line), list)) {
        line[strcspn(line, "\n")] = '\0';
        found = strcmp(line, name) == 0;
    }
    return found;
}

static int count_missing(const char *library, enum st_layer layer, FILE *exports_of_12)
{
    void *handle = library[0] ? dlopen(library, RTLD_LAZY) : NULL;
    int missing = 0, found = 0;
    if (!handle) {
        printf("not checked: %s\n", library[0] ? dlerror() : "no library given");
        return 0;
    }
    for (int i = 0; i < st_call_count; i++) {
        if (st_calls[i].layer == layer) {
            bool is_there = dlsym(handle, st_calls[i].name) != NULL;
            found += is_there;
            if (!is_there && !is_of_12(st_calls[i].name, exports_of_12)) {
                printf("%s: no %s\n", library, st_calls[i].name);
                missing++;
            }
        }
    }
    printf("%s: %d of the listed names\n", library, found);
    return missing;
}

int main(int argc, char **argv)
{
    FILE *exports_of_12 = argc == 4 ? fopen(argv[3], "r") : NULL;
    if (!exports_of_12) {
        return 2;
    }
    return count_missing(argv[1], ST_LAYER_DRIVER, exports_of_12) +
               count_missing(argv[2], ST_LAYER_RUNTIME, exports_of_12) !=
           0;
}
