/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many kernels a launch of an executable graph runs, and whether host functions, told by the calls that made the
 * graph and by the marks of captures – known without any device record.
 *
 *   begin capture · launch · launch · end capture → mark: graph G has 2 kernels
 *   add kernel node to G                            G: 3
 *   instantiate G → E                               E: 3
 *   launch E, launch E                              3 kernel nodes each
 *
 * Handles are used again after they were destroyed, so all of it is gone through in order of time. What was made by
 * calls that the trace does not have is unknown, and so is what is made of it.
 */
#include <stdlib.h>
#include <string.h>

#include "link.h"
#include "vec.h"

enum { IS_GRAPH = 0, IS_EXECUTABLE = 1, IS_NODE = 2 };

struct thing { /* a graph, an executable graph, or a node */
    uint64_t handle; /* 0 = free entry */
    uint64_t graph;  /* of a node */
    int64_t kernels;
    uint64_t made; /* number of the event that defined it */
    uint8_t type;
    bool is_live, is_unknown;
    bool has_host; /* it runs a host function, or may */
};

struct things { /* open addressing; a power of two, at most half full */
    struct thing *list;
    size_t size, count;
    uint64_t now;         /* number of the event at hand */
    uint64_t doubt_until; /* graphs defined up to here may have changed unseen */
    bool failed;
};

static size_t place_of(const struct things *things, uint64_t handle, uint8_t type)
{
    size_t at = (size_t)((handle + type) * 0x9E3779B97F4A7C15ull >> 20) & (things->size - 1);
    while (things->list[at].handle && (things->list[at].handle != handle || things->list[at].type != type)) {
        at = (at + 1) & (things->size - 1);
    }
    return at;
}

static bool grow(struct things *things)
{
    struct things grown = *things;
    grown.size = things->size ? things->size * 2 : 256;
    grown.list = calloc(grown.size, sizeof(*grown.list));
    if (!grown.list) {
        things->failed = true;
        return false;
    }
    for (size_t i = 0; i < things->size; i++) {
        if (things->list[i].handle) {
            grown.list[place_of(&grown, things->list[i].handle, things->list[i].type)] = things->list[i];
        }
    }
    free(things->list);
    *things = grown;
    return true;
}

/* The live thing, or NULL. */
static struct thing *find(const struct things *things, uint64_t handle, uint8_t type)
{
    struct thing *thing = handle && things->size ? &things->list[place_of(things, handle, type)] : NULL;
    return thing && thing->handle && thing->is_live ? thing : NULL;
}

/* Define a thing anew. NULL: no handle, or out of memory. */
static struct thing *define(struct things *things, uint64_t handle, uint8_t type, int64_t kernels, bool is_unknown)
{
    if (!handle || (things->count * 2 >= things->size && !grow(things))) {
        return NULL;
    }
    struct thing *thing = &things->list[place_of(things, handle, type)];
    things->count += thing->handle == 0;
    *thing = (struct thing){.handle = handle, .type = type, .kernels = kernels, .made = things->now,
                            .is_live = true, .is_unknown = is_unknown};
    return thing;
}

static void undefine(const struct things *things, uint64_t handle, uint8_t type)
{
    struct thing *thing = find(things, handle, type);
    if (thing) {
        thing->is_live = false;
    }
}

static bool is_known(const struct things *things, const struct thing *thing)
{
    return thing && !thing->is_unknown && (thing->type == IS_EXECUTABLE || thing->made > things->doubt_until);
}

static void define_like(struct things *things, uint64_t handle, uint8_t type, const struct thing *model)
{
    bool known = is_known(things, model), has_host = model && model->has_host;
    struct thing *thing = define(things, handle, type, known ? model->kernels : 0, !known);
    if (thing) {
        thing->has_host = has_host;
    }
}

static void add_kernels(struct thing *graph, int64_t kernels)
{
    if (__builtin_add_overflow(graph->kernels, kernels, &graph->kernels)) {
        graph->is_unknown = true; /* child in child in child … */
    }
}

static void add_like(const struct things *things, struct thing *graph, const struct thing *child)
{
    graph->has_host |= child && child->has_host;
    if (is_known(things, child)) {
        add_kernels(graph, child->kernels);
    } else {
        graph->is_unknown = true;
    }
}

/* ---- events ---- */

static void add_node(struct things *things, const struct st_graph_event *event)
{
    struct thing *graph = find(things, event->a, IS_GRAPH);
    if (!graph) { /* the graph of a child node, or of a conditional one: it lies inside some other */
        things->doubt_until = things->now;
        return;
    }
    int64_t before = graph->kernels;
    if (event->c == ST_NODE_KERNEL) {
        add_kernels(graph, 1);
    } else if (event->c == ST_NODE_CHILD) {
        add_like(things, graph, find(things, event->b, IS_GRAPH));
    } else if (event->c == ST_NODE_UNKNOWN) {
        graph->is_unknown = true;
    }
    graph->has_host |= event->c == ST_NODE_HOST;
    int64_t kernels = graph->kernels - before;
    struct thing *node = define(things, event->d, IS_NODE, kernels, false); /* moves the list: `graph` is void now */
    if (node) {
        node->graph = event->a;
    }
}

static void destroy_node(struct things *things, uint64_t handle)
{
    const struct thing *node = find(things, handle, IS_NODE);
    struct thing *graph = node ? find(things, node->graph, IS_GRAPH) : NULL;
    if (graph) {
        add_kernels(graph, -node->kernels);
        undefine(things, handle, IS_NODE);
    } else {
        things->doubt_until = things->now; /* of a captured or cloned graph, or of a child */
    }
}

/* What a capture put into a graph: marks at its end. */
static void take_mark(struct things *things, const struct st_graph_event *event)
{
    struct thing *graph = find(things, event->a, IS_GRAPH);
    uint64_t kind = event->b & ((1u << ST_MARK_COUNT_SHIFT) - 1);
    if (event->does == ST_GRAPH_EVENT_NODES && kind == ST_NODE_NONE) {
        define(things, event->a, IS_GRAPH, 0, false);
        return;
    }
    if (!graph && !(graph = define(things, event->a, IS_GRAPH, 0, true))) {
        return;
    }
    if (event->does == ST_GRAPH_EVENT_CHILD) {
        add_like(things, graph, find(things, event->b, IS_EXECUTABLE));
    } else if (kind == ST_NODE_KERNEL) {
        add_kernels(graph, (int64_t)(event->b >> ST_MARK_COUNT_SHIFT));
    } else if (kind == ST_NODE_UNKNOWN) {
        graph->is_unknown = true;
    }
    graph->has_host |= event->does == ST_GRAPH_EVENT_NODES && kind == ST_NODE_HOST;
}

static void take_event(struct things *things, const struct st_graph_event *event)
{
    struct thing *executable;
    things->now++;
    switch (event->does) {
    case ST_DOES_CREATE:
        define(things, event->a, IS_GRAPH, 0, false);
        break;
    case ST_DOES_CLONE:
        define_like(things, event->a, IS_GRAPH, find(things, event->b, IS_GRAPH));
        break;
    case ST_DOES_DESTROY:
        undefine(things, event->a, IS_GRAPH);
        break;
    case ST_DOES_ADD_NODE:
        add_node(things, event);
        break;
    case ST_DOES_DESTROY_NODE:
        destroy_node(things, event->d);
        break;
    case ST_DOES_INSTANTIATE:
    case ST_DOES_UPDATE:
        define_like(things, event->a, IS_EXECUTABLE, find(things, event->b, IS_GRAPH));
        break;
    case ST_DOES_DESTROY_EXEC:
        undefine(things, event->a, IS_EXECUTABLE);
        break;
    case ST_DOES_SWITCH_NODE:
        executable = find(things, event->a, IS_EXECUTABLE);
        if (executable) {
            executable->is_unknown = true;
        }
        break;
    case ST_GRAPH_EVENT_NODES:
    case ST_GRAPH_EVENT_CHILD:
        take_mark(things, event);
        break;
    default:
        break;
    }
}

/* ---- order ---- */

/* When it holds: what makes, once the call returned; what destroys, from its entry on. */
static int64_t instant_of(const struct st_graph_event *event)
{
    bool is_end = event->does == ST_DOES_DESTROY || event->does == ST_DOES_DESTROY_EXEC ||
                  event->does == ST_DOES_DESTROY_NODE;
    return is_end ? event->begin_ns : event->end_ns;
}

static int by_instant(const void *left, const void *right)
{
    const struct st_graph_event *a = left, *b = right;
    int64_t at_a = instant_of(a), at_b = instant_of(b);
    return at_a != at_b ? (at_a > at_b) - (at_a < at_b) : (a->order > b->order) - (a->order < b->order);
}

static int by_begin(const void *left, const void *right, void *context)
{
    const struct st_call *calls = context;
    const struct st_call *a = &calls[*(const uint32_t *)left], *b = &calls[*(const uint32_t *)right];
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

/* Host events are missing: what is known of graphs may be wrong. */
static bool has_host_losses(const struct st_model_trace *trace)
{
    static const char *const names[] = {"lost.ring_full", "lost.no_thread", "lost.disk", "lost.limit"};
    static const uint8_t causes[] = {ST_LOST_RING_FULL, ST_LOST_NO_THREAD, ST_LOST_DISK, ST_LOST_LIMIT};
    int64_t value = 0;
    for (size_t i = 0; i < sizeof(causes); i++) {
        if (trace->faults.lost_by_cause[causes[i]] > 0 || (st_model_counter(trace, names[i], &value) && value > 0)) {
            return true;
        }
    }
    return trace->summary.ring_lost > 0 || trace->summary.missing_chunks > 0 || trace->summary.damaged_chunks > 0;
}

bool st_link_graphs(struct st_builder *builder)
{
    struct st_model *model = builder->model;
    struct things things = {0};
    uint32_t *launches = malloc((model->call_count + 1) * sizeof(*launches));
    size_t count = 0, at = 0;
    bool is_lossy = has_host_losses(model->traces);
    for (size_t i = 0; launches && i < model->call_count; i++) {
        if (model->calldefs[model->calls[i].call].class == ST_CLASS_GRAPH_LAUNCH) {
            launches[count++] = (uint32_t)i;
        }
    }
    if (launches) {
        st_vec_sort_with(launches, count, sizeof(*launches), by_begin, model->calls);
        st_vec_sort(builder->graph_events, builder->graph_event_count, sizeof(*builder->graph_events), by_instant);
    }
    for (size_t i = 0; launches && i < count; i++) {
        struct st_call *call = &model->calls[launches[i]];
        while (at < builder->graph_event_count && instant_of(&builder->graph_events[at]) <= call->begin_ns) {
            take_event(&things, &builder->graph_events[at++]);
        }
        const struct thing *executable = find(&things, (uint64_t)call->value, IS_EXECUTABLE);
        call->value = is_known(&things, executable) && !is_lossy ? executable->kernels : ST_GRAPH_UNKNOWN;
        call->flags |= executable && executable->has_host ? ST_CALL_HOST_NODES : 0;
    }
    bool good = launches != NULL && !things.failed;
    free(launches);
    free(things.list);
    return good;
}
