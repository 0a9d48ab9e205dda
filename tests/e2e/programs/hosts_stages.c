/* SPDX-License-Identifier: Apache-2.0 */
/* Stage functions of hosts.c. */
#include "hosts.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef void (*host_function)(void *);

struct host_node { /* CUDA_HOST_NODE_PARAMS */
    host_function function;
    void *argument;
};
struct any_node { /* CUgraphNodeParams */
    int type, reserved[3];
    struct host_node host;
    char rest[232 - sizeof(struct host_node) + 8];
};
_Static_assert(sizeof(struct any_node) == 256, "as in cuda.h");
enum { NODE_HOST = 3, GLOBAL = 0 };

CUresult cuLaunchHostFunc(CUstream stream, host_function function, void *argument);
CUresult cuLaunchHostFunc_ptsz(CUstream stream, host_function function, void *argument);
CUresult cuStreamAddCallback(CUstream stream, void (*callback)(CUstream, CUresult, void *), void *argument,
                             unsigned int flags);
CUresult cuStreamBeginCapture_v2(CUstream stream, int mode);
CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph);
CUresult cuGraphCreate(CUgraph *graph, unsigned int flags);
CUresult cuGraphAddHostNode(void **node, CUgraph graph, void *const *before, size_t count,
                            const struct host_node *params);
CUresult cuGraphAddNode_v2(void **node, CUgraph graph, void *const *before, const void *edges, size_t count,
                           struct any_node *params);
CUresult cuGraphHostNodeGetParams(void *node, struct host_node *params);
CUresult cuGraphHostNodeSetParams(void *node, const struct host_node *params);
CUresult cuGraphExecHostNodeSetParams(CUgraphExec graph, void *node, const struct host_node *params);
CUresult cuGraphNodeSetParams(void *node, struct any_node *params);
CUresult cuGraphExecNodeSetParams(CUgraphExec graph, void *node, struct any_node *params);
CUresult cuGraphGetNodes(CUgraph graph, void **nodes, size_t *count);
CUresult cuGraphInstantiateWithFlags(CUgraphExec *made, CUgraph graph, unsigned long long flags);
CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream);

struct counter {
    _Atomic int runs;
    unsigned int us;
};

static void spin_for(void *argument)
{
    struct counter *counter = argument;

    e2e_spin_us(counter->us);
    atomic_fetch_add(&counter->runs, 1);
}

static void spin_too(void *argument)
{
    spin_for(argument);
}

static void callback(CUstream stream, CUresult status, void *argument)
{
    struct counter *counter = argument;

    counter->runs += status == 0 && stream != NULL;
    e2e_spin_us(counter->us);
}

void hosts_direct(struct hosts_work *work)
{
    uint64_t start_ns = e2e_now_ns();
    struct counter counter = {.us = 300};

    for (int i = 0; i < 3; i++) {
        e2e_launch(work->kernel, work->stream);
        CHECK(cuLaunchHostFunc(work->stream, spin_for, &counter));
        e2e_launch(work->kernel, work->stream);
    }
    CHECK(cuStreamSynchronize(work->stream));
    printf("direct %d\n", counter.runs);
    e2e_log("direct", 0, -1, start_ns);
}

void hosts_callback(struct hosts_work *work)
{
    uint64_t start_ns = e2e_now_ns();
    struct counter counter = {.us = 150};

    for (int i = 0; i < 2; i++)
        CHECK(cuStreamAddCallback(work->stream, callback, &counter, 0));
    CHECK(cuStreamSynchronize(work->stream));
    printf("callback %d\n", counter.runs);
    e2e_log("callback", 0, -1, start_ns);
}

static const char *name_of(host_function function)
{
    return function == spin_for ? "spin" : function == spin_too ? "spin_too" : "SOMETHING ELSE";
}

static void say_node(const char *what, void *node)
{
    struct host_node params;

    CHECK(cuGraphHostNodeGetParams(node, &params));
    printf("%s: %s\n", what, name_of(params.function));
}

static void launch_times(CUgraphExec graph, CUstream stream, int times)
{
    for (int i = 0; i < times; i++)
        CHECK(cuGraphLaunch(graph, stream));
    CHECK(cuStreamSynchronize(stream));
}

/* One enqueue, recorded; four executions. */
void hosts_captured(struct hosts_work *work)
{
    uint64_t start_ns = e2e_now_ns();
    struct counter counter = {.us = 200};
    void *nodes[4] = {NULL};
    size_t count = 4;
    CUgraph graph;
    CUgraphExec made;

    CHECK(cuStreamBeginCapture_v2(work->stream, GLOBAL));
    CHECK(cuLaunchHostFunc(work->stream, spin_for, &counter));
    CHECK(cuStreamEndCapture(work->stream, &graph));
    CHECK(cuGraphGetNodes(graph, nodes, &count));
    say_node("captured node", nodes[0]);
    CHECK(cuGraphInstantiateWithFlags(&made, graph, 0));
    launch_times(made, work->stream, 4);
    printf("captured %d\n", counter.runs);
    e2e_log("captured", 0, -1, start_ns);
}

/* Nodes made by hand and changed, their parameters in constant memory. */
void hosts_built(struct hosts_work *work)
{
    static struct counter first = {.us = 50}, second = {.us = 60};
    static const struct host_node spin = {spin_for, &first}, other = {spin_too, &second};
    struct any_node any = {.type = NODE_HOST, .host = {spin_for, &second}};
    uint64_t start_ns = e2e_now_ns();
    void *nodes[2];
    CUgraph graph;
    CUgraphExec made;

    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddHostNode(&nodes[0], graph, NULL, 0, &spin));
    CHECK(cuGraphAddNode_v2(&nodes[1], graph, nodes, NULL, 1, &any));
    say_node("added", nodes[0]);
    say_node("added too", nodes[1]);
    CHECK(cuGraphHostNodeSetParams(nodes[0], &other));
    say_node("changed", nodes[0]);
    any.host = spin;
    CHECK(cuGraphNodeSetParams(nodes[0], &any));
    say_node("changed back", nodes[0]);
    if (any.host.function != spin_for)
        printf("the caller's structure was changed\n");
    CHECK(cuGraphInstantiateWithFlags(&made, graph, 0));
    launch_times(made, work->stream, 2); /* first 2, second 2 */
    CHECK(cuGraphExecHostNodeSetParams(made, nodes[0], &other));
    launch_times(made, work->stream, 1); /* second 2 more */
    any.host = other;
    CHECK(cuGraphExecNodeSetParams(made, nodes[1], &any));
    launch_times(made, work->stream, 1); /* second 2 more */
    printf("built %d %d\n", first.runs, second.runs);
    e2e_log("built", 0, -1, start_ns);
}

/* A stage of the map that the program hands over, too. */
void hosts_marked(void *argument)
{
    atomic_fetch_add((_Atomic int *)argument, 1);
}

static _Atomic int both_ways;

static void count_both_ways(void)
{
    atomic_fetch_add(&both_ways, 1);
}

/* One function with two signatures, as no program should, and a stage function. */
void hosts_odd(struct hosts_work *work)
{
    uint64_t start_ns = e2e_now_ns();
    _Atomic int marked = 0;
    struct host_node params = {.function = hosts_marked, .argument = &marked};
    void *node;
    CUgraph graph;

    for (int i = 0; i < 4; i++)
        CHECK(cuLaunchHostFunc(work->stream, hosts_marked, &marked));
    for (int i = 0; i < 3; i++) {
        CHECK(cuStreamAddCallback(work->stream, (void (*)(CUstream, CUresult, void *))(void *)count_both_ways,
                                  &marked, 0));
        CHECK(cuLaunchHostFunc(work->stream, (host_function)(void *)count_both_ways, work));
    }
    CHECK(cuStreamSynchronize(work->stream));
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddHostNode(&node, graph, NULL, 0, &params));
    CHECK(cuGraphHostNodeGetParams(node, &params));
    printf("odd %d %d, %s\n", marked, both_ways, params.function == hosts_marked ? "the same" : "ANOTHER");
    e2e_log("odd", 0, -1, start_ns);
}

struct helper {
    struct hosts_work *work;
    struct counter counter;
};

static void *help(void *argument)
{
    struct helper *helper = argument;
    CUstream stream;

    CHECK(cuCtxSetCurrent(helper->work->context));
    CHECK(cuStreamCreate(&stream, E2E_NON_BLOCKING));
    for (int i = 0; i < 50; i++)
        CHECK(cuLaunchHostFunc(stream, spin_for, &helper->counter));
    CHECK(cuLaunchHostFunc_ptsz(NULL, spin_for, &helper->counter));
    CHECK(cuCtxSynchronize());
    return NULL;
}

/* The same function from eight threads at once. */
void hosts_threads(struct hosts_work *work)
{
    enum { THREADS = 8 };
    uint64_t start_ns = e2e_now_ns();
    struct helper helpers[THREADS];
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        helpers[i] = (struct helper){.work = work};
        if (pthread_create(&threads[i], NULL, help, &helpers[i]) != 0)
            exit(1);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        printf("thread %d\n", helpers[i].counter.runs);
    }
    e2e_log("threads", 0, -1, start_ns);
}

void hosts_many(struct hosts_work *work)
{
    uint64_t start_ns = e2e_now_ns();
    static int counts[HOSTS_NUMBERS];
    int right = 0;

    for (int i = 0; i < HOSTS_NUMBERS; i++)
        CHECK(cuLaunchHostFunc(work->stream, hosts_number[i], counts));
    CHECK(cuStreamSynchronize(work->stream));
    for (int i = 0; i < HOSTS_NUMBERS; i++)
        right += counts[i] == 1;
    printf("many %d\n", right);
    e2e_log("many", 0, -1, start_ns);
}

/* The driver refuses these itself, with its own results. */
void hosts_nonsense(struct hosts_work *work)
{
    uint64_t start_ns = e2e_now_ns();
    CUgraph graph;
    void *node;

    CHECK(cuGraphCreate(&graph, 0));
    printf("nonsense %d %d %d %d\n", cuLaunchHostFunc(work->stream, NULL, NULL),
           cuStreamAddCallback(work->stream, NULL, NULL, 0), cuGraphAddHostNode(&node, graph, NULL, 0, NULL),
           cuStreamAddCallback(work->stream, callback, NULL, 7));
    e2e_log("nonsense", 0, -1, start_ns);
}

void hosts_request(struct hosts_work *work)
{
    uint64_t start_ns = e2e_now_ns();

    hosts_direct(work);
    hosts_callback(work);
    hosts_captured(work);
    hosts_built(work);
    hosts_odd(work);
    hosts_threads(work);
    hosts_nonsense(work);
    hosts_many(work);
    e2e_log("request", 0, -1, start_ns);
}
