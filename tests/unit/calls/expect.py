# SPDX-License-Identifier: Apache-2.0
"""What CALL.a … CALL.d and the direction must hold for a call: C expressions over its parameters a0, a1 …

Worked out from the class (preload/trace/format.h) and from names and types of the parameters in the headers,
knowing nothing of calls.def. `ok`: the call succeeded, pointers may be followed unless they are NULL.
"""
import re

CLASSES = {    # kind in api_table.txt → class, with exceptions by name
    'launch': 3, 'host_function': 11, 'graph': 18, 'capture': 19, 'copy': 5, 'prefetch': 0, 'memset': 6, 'sync': 7,
    'query': 8, 'order': 9, 'memop': 0, 'semaphore': 0, 'alloc': 12, 'free': 13, 'module': 14, 'context': 15,
    'stream': 16, 'event': 17, 'start': 2, 'other': 0,
}
INIT, LAUNCH, GRAPH_LAUNCH, COPY, MEMSET, SYNC, QUERY, STREAM_WAIT = 1, 3, 4, 5, 6, 7, 8, 10
FURTHER = {    # rows beyond the table
    'cuFuncGetName': 'module', 'cuKernelGetName': 'module', 'cudaFuncGetName': 'module', 'cuProfilerStart': 'memop',
    'cuProfilerStop': 'memop', 'cudaProfilerStart': 'memop', 'cudaProfilerStop': 'memop',
    'cudaThreadSynchronize': 'sync', 'cudaLaunchCooperativeKernelMultiDevice': 'launch',
    'cudaStreamGetCaptureInfo_v2': 'capture', 'cudaStreamGetCaptureInfo_v2_ptsz': 'capture',
    'cudaMemAdvise_v2': 'prefetch', 'cudaEventElapsedTime_v2': 'query', 'cudaThreadExit': 'context',
}
for of_12, kind in (('StreamGetCaptureInfo_v3', 'capture'), ('StreamUpdateCaptureDependencies_v2', 'capture'),
                    ('MemPrefetchAsync_v2', 'prefetch'), ('SignalExternalSemaphoresAsync_v2', 'semaphore'),
                    ('WaitExternalSemaphoresAsync_v2', 'semaphore')):
    FURTHER.update({f'cuda{of_12}': kind, f'cuda{of_12}_ptsz': kind})
NODES_ADDED = ('', 'Kernel', 'Memcpy', 'Memset', 'Host', 'ChildGraph', 'Empty', 'EventRecord', 'EventWait',
               'ExternalSemaphoresSignal', 'ExternalSemaphoresWait', 'BatchMemOp', 'MemAlloc', 'MemFree')
FURTHER.update({f'cuGraphAdd{kind}Node': 'graph' for kind in NODES_ADDED})
FURTHER.update({f'cuGraph{name}': 'graph' for name in ('AddNode_v2', 'AddKernelNode_v2', 'Create', 'Clone', 'Destroy',
                                                       'DestroyNode', 'NodeSetEnabled')})
FURTHER.update({f'cuGraph{name}Params': 'other' for name in ('HostNodeGet', 'HostNodeSet', 'ExecHostNodeSet',
                                                             'NodeSet', 'ExecNodeSet')})
STREAM_SLOT = {3: 'b', 4: 'b', 9: 'b', 10: 'b', 11: 'b', 5: 'd', 6: 'd', 7: 'a', 8: 'a', 19: 'a'}

STREAMS = ('CUstream', 'cudaStream_t')
EVENTS = ('CUevent', 'cudaEvent_t')
EXECS = ('CUgraphExec', 'cudaGraphExec_t')
GRAPHS = ('CUgraph', 'cudaGraph_t')
NODES = ('CUgraphNode',)
NODE_KINDS = {'Kernel': 1, 'Memcpy': 2, 'Memset': 3, 'Host': 4, 'ChildGraph': 5, 'EventRecord': 6, 'EventWait': 6}
NODE_OTHER = 7
FUNCTIONS = ('CUfunction', 'cudaKernel_t')
CALLBACKS = ('CUhostFn', 'CUstreamCallback', 'cudaHostFn_t', 'cudaStreamCallback_t')
MODULES = ('CUmodule', 'CUlibrary', 'CUkernel', 'CUlinkState', 'cudaLibrary_t') + FUNCTIONS
CONTEXTS = ('CUcontext', 'CUgreenCtx')
MEMORY = ('CUdeviceptr', 'CUdeviceptr_v1', 'void *', 'const void *', 'CUarray', 'cudaArray_t', 'cudaArray_const_t')
H2D, D2H, D2D, P2P = 1, 2, 3, 4
COPY_2D = ('CUDA_MEMCPY2D', 'CUDA_MEMCPY2D_v1', 'CUDA_MEMCPY3D', 'CUDA_MEMCPY3D_v1', 'CUDA_MEMCPY3D_PEER')
RUNTIME_3D = ('struct cudaMemcpy3DParms', 'struct cudaMemcpy3DPeerParms')
BATCH_3D = ('CUDA_MEMCPY3D_BATCH_OP', 'struct cudaMemcpy3DBatchOp')


def class_of(name, kind):
    if re.match(r'cu(da)?GraphLaunch(_ptsz)?$', name):
        return GRAPH_LAUNCH
    if kind == 'order' and 'Wait' in name:
        return STREAM_WAIT
    if 'StreamCreate' in name:
        return CLASSES['stream']    # of a green context
    return INIT if name == 'cuInit' else CLASSES[kind]


class Call:
    """One function: its parameters, and the search for those that mean something."""

    def __init__(self, name, class_id, parameters, small):
        self.name, self.class_id, self.parameters, self.small = name, class_id, parameters, small

    def value(self, n):
        """Parameter n as 64 bits; of a 32-bit type nothing but its bits."""
        narrow = '(uint32_t)' if self.parameters[n].type in self.small else '(uintptr_t)'
        return f'(uint64_t){narrow}a{n}'

    def by_type(self, types, last=False):
        found = [n for n, p in enumerate(self.parameters) if p.type in types]
        return self.value(found[-1 if last else 0]) if found else None

    def returned(self, types):
        """What the first parameter that points to one of these types points to."""
        for n, p in enumerate(self.parameters):
            if p.pointee in types:
                return f'(ok && a{n} ? (uint64_t)(uintptr_t)*a{n} : 0)'
        return None

    def by_name(self, *names):
        for name in names:
            for n, p in enumerate(self.parameters):
                if p.name == name:
                    return self.value(n)
        return None

    def index(self, *types):
        return next((n for n, p in enumerate(self.parameters) if p.pointee.replace('const ', '') in types), None)

    def memory(self, prefix):
        for n, p in enumerate(self.parameters):
            is_end = p.name == 'symbol' if self._is_symbol(prefix) else p.name.startswith(prefix)
            if is_end and p.type in MEMORY:
                return self.value(n)
        return None

    def _is_symbol(self, prefix):
        return ('ToSymbol' in self.name and prefix == 'dst') or ('FromSymbol' in self.name and prefix == 'src')


def launch(call):
    n = call.index('CUlaunchConfig', 'cudaLaunchConfig_t')
    function = call.by_type(FUNCTIONS) or call.by_name('func')
    if n is not None:
        field = 'hStream' if call.parameters[n].pointee.endswith('CUlaunchConfig') else 'stream'
        return function, f'(ok && a{n} ? (uint64_t)a{n}->{field} : 0)'
    n = call.index('CUDA_LAUNCH_PARAMS', 'struct rows_launch')
    if n is not None:
        fields = ('function', 'hStream') if 'CUDA' in call.parameters[n].pointee else ('func', 'stream')
        return tuple(f'(ok && a{n} ? (uint64_t)a{n}->{field} : 0)' for field in fields)
    return function, call.by_type(STREAMS)


def copy_direction(call):
    if 'Peer' in call.name:
        return str(P2P)
    n = next((n for n, p in enumerate(call.parameters) if p.name == 'kind'), None)
    if n is not None:
        return f'rows_direction_of_kind(a{n})'
    match = re.match(r'cuMemcpy([HDA])to([HDA])', call.name)
    if match:
        return str(H2D if match.group(1) == 'H' else D2H if match.group(2) == 'H' else D2D)
    return '0'


def copy(call):
    stream, direction = call.by_type(STREAMS), copy_direction(call)
    n = call.index(*COPY_2D)
    if n is not None:
        depth = f' * a{n}->Depth' if '3D' in call.parameters[n].pointee else ''
        if direction == '0':
            direction = f'(ok && a{n} ? rows_direction_of_memory(a{n}->srcMemoryType, a{n}->dstMemoryType) : 0)'
        ends = [f'(ok && a{n} ? ROWS_END({end}, a{n}) : 0)' for end in ('dst', 'src')]
        size = f'(ok && a{n} ? (uint64_t)a{n}->WidthInBytes * a{n}->Height{depth} : 0)'
        return ends[0], ends[1], size, stream, direction
    n = call.index(*RUNTIME_3D)
    if n is not None:
        if direction == '0':
            direction = f'(ok && a{n} ? rows_direction_of_kind(a{n}->kind) : 0)'
        ends = [f'(ok && a{n} ? (uint64_t)(a{n}->{end}Array ? (void *)a{n}->{end}Array : a{n}->{end}Ptr.ptr) : 0)'
                for end in ('dst', 'src')]
        return ends[0], ends[1], f'(ok && a{n} ? ROWS_VOLUME(a{n}->extent) : 0)', stream, direction
    n = call.index(*BATCH_3D)
    if n is not None:
        ends = [f'(ok && a{n} ? (uint64_t)a{n}[0].{end}.op.ptr.ptr : 0)' for end in ('dst', 'src')]
        volume = ' + '.join(f'ROWS_VOLUME(a{n}[{i}].extent)' for i in range(2))
        return ends[0], ends[1], f'(ok && a{n} ? {volume} : 0)', stream, '0'
    if 'BatchAsync' in call.name:
        follow = 'ok && a0 && a1 && a2'
        return (f'({follow} ? (uint64_t)a0[0] : 0)', f'({follow} ? (uint64_t)a1[0] : 0)',
                f'({follow} ? a2[0] + a2[1] + a2[2] : 0)', stream, '0')
    size = call.by_name('ByteCount', 'count') or f"{call.by_name('width')} * {call.by_name('height')}"
    return call.memory('dst'), call.memory('src'), size, stream, direction


def memset(call):
    n = next((n for n, p in enumerate(call.parameters) if p.name == 'pitchedDevPtr'), None)
    target = f'(uint64_t)a{n}.ptr' if n is not None else call.by_name('dstDevice', 'devPtr')
    value = call.by_name('uc', 'us', 'ui', 'value')
    value = f'((uint32_t){value})'
    n = next((n for n, p in enumerate(call.parameters) if p.name == 'extent'), None)
    width = re.match(r'cuMemsetD(?:2D)?(\d+)', call.name)
    unit = int(width.group(1)) // 8 if width else 1
    if n is not None:
        size = f'ROWS_VOLUME(a{n})'
    else:
        size = call.by_name('N', 'count') or \
            f"{call.by_name('Width', 'width')} * {call.by_name('Height', 'height')}"
    return target, value, f'{size} * {unit}', call.by_type(STREAMS)


def alloc(call):
    first = call.parameters[0]
    if 'cudaPitchedPtr' in first.pointee:
        return '(ok && a0 ? (uint64_t)a0->ptr : 0)', None, 'ROWS_VOLUME(a1)'
    address = call.value(0)
    if first.is_pointer and first.type != 'void *':
        address = '(ok && a0 ? (uint64_t)(uintptr_t)*a0 : 0)'
    if 'Array' in call.name:
        return address, None, None
    if 'Pitch' in call.name:
        return address, None, f"(ok && a1 ? (uint64_t)*a1 : 0) * {call.by_name('Height', 'height')}"
    return address, None, call.by_name('bytesize', 'size')


def module(call):
    if call.name == '__cudaRegisterFunction':
        return call.by_name('hostFun')
    return call.returned(MODULES) or call.by_type(MODULES) or call.by_name('func', 'fatCubinHandle')


def context(call):
    device = call.by_type(('CUdevice',)) or call.by_name('device')
    return call.returned(CONTEXTS) or call.by_type(CONTEXTS) or device


def graph(call):
    node = re.match(r'cuGraphAdd(\w*)Node(_v2)?$', call.name)
    if node and node.group(1):
        child = call.by_type(GRAPHS, last=True) if node.group(1) == 'ChildGraph' else None
        return call.by_type(GRAPHS), child, str(NODE_KINDS.get(node.group(1), NODE_OTHER)), call.returned(NODES)
    if node:
        n = call.index('CUgraphNodeParams')
        kind = f'(ok && a{n} ? rows_kind_of_node(a{n}->type) : 0)'
        child = f'(ok && a{n} && a{n}->type == CU_GRAPH_NODE_TYPE_GRAPH ? (uint64_t)a{n}->graph.graph : 0)'
        return call.by_type(GRAPHS), child, kind, call.returned(NODES)
    if call.name in ('cuGraphDestroyNode', 'cuGraphNodeSetEnabled'):
        return call.by_type(EXECS), None, None, call.by_type(NODES)
    made = call.returned(EXECS) or call.returned(GRAPHS)
    own = made or call.by_type(EXECS) or call.by_type(GRAPHS)
    other = call.by_type(GRAPHS)
    return own, None if other == own else other


def capture_graph(call):
    if 'EndCapture' in call.name:
        return call.returned(GRAPHS)
    return call.by_type(GRAPHS) if 'BeginCaptureToGraph' in call.name else None


def free(call):
    return None if call.parameters[0].name == 'device' or 'CUdevice' == call.parameters[0].type else call.value(0)


def fields(call):
    """The expressions for a, b, c, d and the direction; None means 0."""
    of = {
        1: lambda: (), 2: lambda: (), 0: lambda: (),
        LAUNCH: lambda: launch(call),
        GRAPH_LAUNCH: lambda: (call.by_type(EXECS), call.by_type(STREAMS)),
        COPY: lambda: copy(call),
        MEMSET: lambda: memset(call),
        SYNC: lambda: (call.by_type(STREAMS + EVENTS),),
        QUERY: lambda: (call.by_type(STREAMS + EVENTS, last=True),),
        9: lambda: (call.by_type(EVENTS), call.by_type(STREAMS), call.by_name('flags', 'Flags')),
        STREAM_WAIT: lambda: (call.by_type(EVENTS), call.by_type(STREAMS), call.by_name('flags', 'Flags')),
        11: lambda: (call.by_type(CALLBACKS), call.by_type(STREAMS), call.by_name('userData')),
        12: lambda: alloc(call),
        13: lambda: (free(call),),
        14: lambda: (module(call),),
        15: lambda: (context(call),),
        16: lambda: (call.returned(STREAMS) or call.by_type(STREAMS),),
        17: lambda: (call.returned(EVENTS) or call.by_type(EVENTS),),
        18: lambda: graph(call),
        19: lambda: (call.by_type(STREAMS), capture_graph(call)),
    }[call.class_id]()
    a, b, c, d, direction = (tuple(of) + (None,) * 5)[:5]
    values = {'a': a or '0', 'b': b or '0', 'c': c or '0', 'd': d or '0'}
    slot = STREAM_SLOT.get(call.class_id)
    if re.search(r'_pt[sd][sz]$', call.name) and slot:
        values[slot] = f'rows_per_thread({values[slot]})'
    return values['a'], values['b'], values['c'], values['d'], direction or '0'
