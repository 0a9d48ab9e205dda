/* SPDX-License-Identifier: Apache-2.0 */
/* Private to preload/calls: the decoders a row can name, and the structures that they read. */
#ifndef ST_CALLS_PLACE_H
#define ST_CALLS_PLACE_H

#include <stdint.h>

#include "calls.h"

enum call_decoder {
    DECODE_PLAIN = 0,
    DECODE_LAUNCH_EX,     /* stream inside the configuration structure */
    DECODE_COPY_2D,       /* CUDA_MEMCPY2D */
    DECODE_COPY_3D,       /* CUDA_MEMCPY3D and …_PEER: the same as far as they are read */
    DECODE_COPY_RT3D,     /* cudaMemcpy3DParms */
    DECODE_COPY_RT3D_PEER, /* cudaMemcpy3DPeerParms */
    DECODE_COPY_BATCH,    /* arrays of targets, sources, sizes; c2: how many */
    DECODE_COPY_3D_BATCH, /* array of CUDA_MEMCPY3D_BATCH_OP, cudaMemcpy3DBatchOp; c2: how many */
    DECODE_COPY_2D_32,    /* CUDA_MEMCPY2D_v1: the driver's first, with 32-bit sizes and addresses */
    DECODE_COPY_3D_32,    /* CUDA_MEMCPY3D_v1 */
    DECODE_LAUNCH_MULTI,  /* array of CUDA_LAUNCH_PARAMS: the first is told */
    DECODE_LAUNCH_RT_MULTI, /* array of cudaLaunchParams */
    DECODE_NODE,            /* a node is added: its kind by name, or c points to CUgraphNodeParams */
};

/* ---- the structures that are read, as far as they are read (tests/unit/test_calls_abi.c compares) ---- */

struct launch_config { /* CUlaunchConfig, cudaLaunchConfig_t */
    uint32_t grid[3], block[3];
    uint64_t shared_bytes; /* driver: 32 bits and padding */
    uint64_t stream;
};

struct launch_multi { /* CUDA_LAUNCH_PARAMS */
    uint64_t function;
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    uint64_t stream;
};

struct launch_rt_multi { /* cudaLaunchParams */
    uint64_t function;
    uint32_t grid[3], block[3];
    const void *arguments;
    uint64_t shared_bytes;
    uint64_t stream;
};

struct node_params { /* CUgraphNodeParams */
    uint32_t type;   /* CUgraphNodeType */
    uint32_t reserved[3];
    uint64_t child; /* of a child graph node: the graph */
};

struct copy_2d { /* CUDA_MEMCPY2D_v2 */
    uint64_t source_x_bytes, source_y;
    uint32_t source_type;
    const void *source_host;
    uint64_t source_device;
    const void *source_array;
    uint64_t source_pitch;
    uint64_t target_x_bytes, target_y;
    uint32_t target_type;
    const void *target_host;
    uint64_t target_device;
    const void *target_array;
    uint64_t target_pitch;
    uint64_t width_bytes, height;
};

struct copy_3d { /* CUDA_MEMCPY3D_v2, CUDA_MEMCPY3D_PEER_v1 */
    uint64_t source_x_bytes, source_y, source_z, source_lod;
    uint32_t source_type;
    const void *source_host;
    uint64_t source_device;
    const void *source_array, *source_context;
    uint64_t source_pitch, source_height;
    uint64_t target_x_bytes, target_y, target_z, target_lod;
    uint32_t target_type;
    const void *target_host;
    uint64_t target_device;
    const void *target_array, *target_context;
    uint64_t target_pitch, target_height;
    uint64_t width_bytes, height, depth;
};

struct copy_2d_32 { /* CUDA_MEMCPY2D_v1 */
    uint32_t source_x_bytes, source_y, source_type;
    const void *source_host;
    uint32_t source_device;
    const void *source_array;
    uint32_t source_pitch, target_x_bytes, target_y, target_type;
    const void *target_host;
    uint32_t target_device;
    const void *target_array;
    uint32_t target_pitch, width_bytes, height;
};

struct copy_3d_32 { /* CUDA_MEMCPY3D_v1 */
    uint32_t source_x_bytes, source_y, source_z, source_lod, source_type;
    const void *source_host;
    uint32_t source_device;
    const void *source_array, *source_context;
    uint32_t source_pitch, source_height, target_x_bytes, target_y, target_z, target_lod, target_type;
    const void *target_host;
    uint32_t target_device;
    const void *target_array, *target_context;
    uint32_t target_pitch, target_height, width_bytes, height, depth;
};

struct copy_end { /* CUmemcpy3DOperand, cudaMemcpy3DOperand */
    uint32_t type;
    uint64_t address_or_array;
    uint64_t place[3];
};

struct copy_3d_batch { /* CUDA_MEMCPY3D_BATCH_OP, cudaMemcpy3DBatchOp */
    struct copy_end source, target;
    uint64_t extent[3];
    uint32_t order, flags;
};

struct pitched { /* cudaPitchedPtr */
    const void *pointer;
    uint64_t pitch, width, height;
};

struct copy_rt3d { /* cudaMemcpy3DParms */
    const void *source_array;
    uint64_t source_position[3];
    struct pitched source;
    const void *target_array;
    uint64_t target_position[3];
    struct pitched target;
    uint64_t extent[3];
    uint32_t kind;
};

struct copy_rt3d_peer { /* cudaMemcpy3DPeerParms */
    const void *source_array;
    uint64_t source_position[3];
    struct pitched source;
    int32_t source_device;
    const void *target_array;
    uint64_t target_position[3];
    struct pitched target;
    int32_t target_device;
    uint64_t extent[3];
};

#endif
