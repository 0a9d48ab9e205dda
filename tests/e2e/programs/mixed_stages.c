/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches in every way that a program has: driver and runtime, plain, Ex, cooperative, each also with the
 * per-thread default stream, and as code from nvcc 13 does (__cudaLaunchKernel); graphs by both.
 * Any thread after mixed_prepare().
 */
#include "mixed.h"

struct dim3 {
    unsigned int x, y, z;
};

/* As cudaLaunchConfig_t. */
struct runtime_config {
    struct dim3 grid, block;
    size_t shared_bytes;
    CUstream stream;
    void *attributes;
    unsigned int attribute_count;
};

CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                             unsigned int block_x, unsigned int block_y, unsigned int block_z,
                             unsigned int shared_bytes, CUstream stream, void **params, void **extra);
CUresult cuLaunchKernelEx_ptsz(const struct e2e_launch_config *config, CUfunction function, void **params,
                               void **extra);
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                                   unsigned int block_x, unsigned int block_y, unsigned int block_z,
                                   unsigned int shared_bytes, CUstream stream, void **params);
CUresult cuLaunchCooperativeKernel_ptsz(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                        unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                        unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                                        void **params);
typedef struct CUgraph_st *CUgraph;

/* As CUDA_KERNEL_NODE_PARAMS of CUDA 12 and later. */
struct kernel_node {
    CUfunction function;
    unsigned int grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    void **params, **extra;
    void *kernel;
    CUcontext context;
};

CUresult cuGraphCreate(CUgraph *graph, unsigned int flags);
CUresult cuGraphAddKernelNode_v2(void **node, CUgraph graph, void *const *before, size_t count,
                                 const struct kernel_node *params);
CUresult cuGraphInstantiateWithFlags(CUgraphExec *graph, CUgraph from, unsigned long long flags);
CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream);
CUresult cuGraphLaunch_ptsz(CUgraphExec graph, CUstream stream);
int cudaGraphLaunch(CUgraphExec graph, CUstream stream);
int cudaGraphLaunch_ptsz(CUgraphExec graph, CUstream stream);
void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int threads, void *tid,
                            void *bid, void *block, void *grid, int *warp);
int __cudaGetKernel(void **kernel, const void *function);
int cudaLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **arguments, size_t shared_bytes,
                     CUstream stream);
int cudaLaunchKernel_ptsz(const void *function, struct dim3 grid, struct dim3 block, void **arguments,
                          size_t shared_bytes, CUstream stream);
int __cudaLaunchKernel(void *kernel, struct dim3 grid, struct dim3 block, void **arguments, size_t shared_bytes,
                       CUstream stream);
int __cudaLaunchKernel_ptsz(void *kernel, struct dim3 grid, struct dim3 block, void **arguments, size_t shared_bytes,
                            CUstream stream);
int cudaLaunchCooperativeKernel(const void *function, struct dim3 grid, struct dim3 block, void **arguments,
                                size_t shared_bytes, CUstream stream);
int cudaLaunchCooperativeKernel_ptsz(const void *function, struct dim3 grid, struct dim3 block, void **arguments,
                                     size_t shared_bytes, CUstream stream);
int cudaLaunchKernelExC(const struct runtime_config *config, const void *function, void **arguments);
int cudaLaunchKernelExC_ptsz(const struct runtime_config *config, const void *function, void **arguments);

static const char image[] = PTX_HEAD PTX_ENTRY("way_0") PTX_ENTRY("way_1") PTX_ENTRY("way_2") PTX_ENTRY("way_3")
    PTX_ENTRY("way_4") PTX_ENTRY("way_5") PTX_ENTRY("way_6") PTX_ENTRY("way_7") PTX_ENTRY("way_8") PTX_ENTRY("way_9")
    PTX_ENTRY("way_10") PTX_ENTRY("way_11") PTX_ENTRY("way_12") PTX_ENTRY("way_13") PTX_ENTRY("graph_0")
    PTX_ENTRY("graph_1") PTX_ENTRY("graph_2") PTX_ENTRY("graph_3");
static char stubs[MIXED_WAYS];
static const struct dim3 one = {1, 1, 1};

struct mixed_way mixed_ways[MIXED_WAYS] = {
    {.function = "cuLaunchKernel", .kernel = "way_0"},
    {.function = "cuLaunchKernel_ptsz", .kernel = "way_1", .per_thread = 1},
    {.function = "cuLaunchKernelEx", .kernel = "way_2"},
    {.function = "cuLaunchKernelEx_ptsz", .kernel = "way_3", .per_thread = 1},
    {.function = "cuLaunchCooperativeKernel", .kernel = "way_4"},
    {.function = "cuLaunchCooperativeKernel_ptsz", .kernel = "way_5", .per_thread = 1},
    {.function = "cudaLaunchKernel", .kernel = "way_6", .is_runtime = 1},
    {.function = "cudaLaunchKernel_ptsz", .kernel = "way_7", .is_runtime = 1, .per_thread = 1},
    {.function = "__cudaLaunchKernel", .kernel = "way_8", .is_runtime = 1},
    {.function = "__cudaLaunchKernel_ptsz", .kernel = "way_9", .is_runtime = 1, .per_thread = 1},
    {.function = "cudaLaunchCooperativeKernel", .kernel = "way_10", .is_runtime = 1},
    {.function = "cudaLaunchCooperativeKernel_ptsz", .kernel = "way_11", .is_runtime = 1, .per_thread = 1},
    {.function = "cudaLaunchKernelExC", .kernel = "way_12", .is_runtime = 1},
    {.function = "cudaLaunchKernelExC_ptsz", .kernel = "way_13", .is_runtime = 1, .per_thread = 1},
};

/* Addresses that the loader writes into a table when the library is loaded. */
static struct mixed_graph_way graph_ways[MIXED_GRAPH_WAYS] = {
    {.function = "cuGraphLaunch", .kernel = "graph_0", .launch = cuGraphLaunch},
    {.function = "cuGraphLaunch_ptsz", .kernel = "graph_1", .launch = cuGraphLaunch_ptsz, .per_thread = 1},
    {.function = "cudaGraphLaunch", .kernel = "graph_2", .launch = cudaGraphLaunch},
    {.function = "cudaGraphLaunch_ptsz", .kernel = "graph_3", .launch = cudaGraphLaunch_ptsz, .per_thread = 1},
};

const struct mixed_graph_way *mixed_graph_way(int way)
{
    return &graph_ways[way];
}

/* One node after the other. */
static void make_graph(struct mixed_graph_way *way, CUmodule module)
{
    struct kernel_node params = {.function = e2e_function(module, way->kernel), .grid_x = 1, .grid_y = 1, .grid_z = 1,
                                 .block_x = 1, .block_y = 1, .block_z = 1};
    void *node = NULL, *before = NULL;
    CUgraph graph;

    CHECK(cuGraphCreate(&graph, 0));
    for (int i = 0; i < MIXED_GRAPH_NODES; i++) {
        CHECK(cuGraphAddKernelNode_v2(&node, graph, &before, before != NULL, &params));
        before = node;
    }
    CHECK(cuGraphInstantiateWithFlags(&way->graph, graph, 0));
}

void mixed_prepare(void)
{
    void **fat_binary = __cudaRegisterFatBinary((void *)image);
    CUmodule module;

    for (int way = 0; way < MIXED_WAYS; way++)
        if (mixed_ways[way].is_runtime)
            __cudaRegisterFunction(fat_binary, &stubs[way], (char *)mixed_ways[way].kernel, mixed_ways[way].kernel, -1,
                                   NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFatBinaryEnd(fat_binary);
    CHECK(cuModuleLoadData(&module, image));
    for (int way = 0; way < MIXED_WAYS; way++) {
        struct mixed_way *this = &mixed_ways[way];

        if (this->is_runtime)
            CHECK(__cudaGetKernel(&this->runtime_kernel, &stubs[way]));
        else
            this->handle = e2e_function(module, this->kernel);
    }
    for (int way = 0; way < MIXED_GRAPH_WAYS; way++)
        make_graph(&graph_ways[way], module);
}

static void launch_by_driver(int way, CUstream stream)
{
    CUfunction f = mixed_ways[way].handle;
    struct e2e_launch_config config = {.grid_x = 1, .grid_y = 1, .grid_z = 1, .block_x = 1, .block_y = 1, .block_z = 1,
                                       .stream = stream};

    switch (way) {
    case 0:
        CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
        break;
    case 1:
        CHECK(cuLaunchKernel_ptsz(f, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
        break;
    case 2:
        CHECK(cuLaunchKernelEx(&config, f, NULL, NULL));
        break;
    case 3:
        CHECK(cuLaunchKernelEx_ptsz(&config, f, NULL, NULL));
        break;
    case 4:
        CHECK(cuLaunchCooperativeKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, NULL));
        break;
    default:
        CHECK(cuLaunchCooperativeKernel_ptsz(f, 1, 1, 1, 1, 1, 1, 0, stream, NULL));
    }
}

static void launch_by_runtime(int way, CUstream stream)
{
    const void *stub = &stubs[way];
    struct runtime_config config = {.grid = one, .block = one, .stream = stream};

    switch (way) {
    case 6:
        CHECK(cudaLaunchKernel(stub, one, one, NULL, 0, stream));
        break;
    case 7:
        CHECK(cudaLaunchKernel_ptsz(stub, one, one, NULL, 0, stream));
        break;
    case 8:
        CHECK(__cudaLaunchKernel(mixed_ways[way].runtime_kernel, one, one, NULL, 0, stream));
        break;
    case 9:
        CHECK(__cudaLaunchKernel_ptsz(mixed_ways[way].runtime_kernel, one, one, NULL, 0, stream));
        break;
    case 10:
        CHECK(cudaLaunchCooperativeKernel(stub, one, one, NULL, 0, stream));
        break;
    case 11:
        CHECK(cudaLaunchCooperativeKernel_ptsz(stub, one, one, NULL, 0, stream));
        break;
    case 12:
        CHECK(cudaLaunchKernelExC(&config, stub, NULL));
        break;
    default:
        CHECK(cudaLaunchKernelExC_ptsz(&config, stub, NULL));
    }
}

static void launch_all(const struct mixed_job *job, int is_runtime)
{
    for (int way = 0; way < MIXED_WAYS; way++) {
        CUstream stream = mixed_ways[way].per_thread ? NULL : job->stream;

        for (int i = 0; i <= way && mixed_ways[way].is_runtime == is_runtime; i++) {
            if (is_runtime)
                launch_by_runtime(way, stream);
            else
                launch_by_driver(way, stream);
        }
    }
}

void mixed_driver(struct mixed_job *job)
{
    uint64_t start_ns = e2e_now_ns();

    launch_all(job, 0);
    e2e_log("encode", job->number, -1, start_ns);
}

void mixed_runtime(struct mixed_job *job)
{
    uint64_t start_ns = e2e_now_ns();

    launch_all(job, 1);
    e2e_log("sample", job->number, -1, start_ns);
}

void mixed_graph(struct mixed_job *job)
{
    uint64_t start_ns = e2e_now_ns();

    for (int way = 0; way < MIXED_GRAPH_WAYS; way++) {
        const struct mixed_graph_way *this = &graph_ways[way];

        for (int i = 0; i <= way; i++)
            CHECK(this->launch(this->graph, this->per_thread ? NULL : job->stream));
    }
    e2e_log("decode", job->number, -1, start_ns);
}

void mixed_request(struct mixed_job *job)
{
    uint64_t start_ns = e2e_now_ns();

    for (int round = 0; round < job->rounds; round++) {
        mixed_driver(job);
        mixed_runtime(job);
        mixed_graph(job);
    }
    CHECK(cuStreamSynchronize(job->stream));
    e2e_log("request", job->number, -1, start_ns);
}
