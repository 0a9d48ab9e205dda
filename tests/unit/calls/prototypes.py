# SPDX-License-Identifier: Apache-2.0
"""Prototypes of the watched functions, read from the CUDA headers that are installed; and the lists of names.

Nothing of the headers is kept: what is made from them lies in the build folder only. Functions that the headers
of CUDA 13 no longer have, or had with other arguments before, are written down here.
"""
import re
import subprocess

INCLUDES = ('cuda.h', 'cuda_runtime_api.h', 'cudaProfiler.h', 'cuda_profiler_api.h')
COMPILER_HEADERS = ('crt/host_runtime.h', 'crt/device_functions.h')    # what nvcc's code calls; C++, so read as text

RUNTIMES = ('libcudart.so.13', 'libcudart.so.12', 'libcudart.so.11.0')

# No header tells these: called with more words than any call has.
OPAQUE = ('int', ', '.join(f'unsigned long word{i}' for i in range(12)))

GONE = {
    'cudaThreadSynchronize': ('cudaError_t', 'void'),
    'cudaThreadExit': ('cudaError_t', 'void'),
    'cudaLaunchCooperativeKernelMultiDevice':
        ('cudaError_t', 'struct rows_launch *launchParamsList, unsigned int numDevices, unsigned int flags'),
    'cudaStreamGetCaptureInfo_v2':
        ('cudaError_t', 'cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id, '
                        'cudaGraph_t *graph, const cudaGraphNode_t **dependencies, size_t *numDependencies'),
}
# Runtime functions whose arguments were others up to a major version.
BATCH_12 = 'size_t count, struct cudaMemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, size_t *failIdx, ' \
           'cudaStream_t stream'
BEFORE = {
    12: {
        'cudaMemcpyBatchAsync': ('cudaError_t', 'void **dsts, void **srcs, size_t *sizes, ' + BATCH_12),
        'cudaMemcpy3DBatchAsync':
            ('cudaError_t', 'size_t numOps, struct cudaMemcpy3DBatchOp *opList, size_t *failIdx, '
                            'unsigned long long flags, cudaStream_t stream'),
        'cudaStreamGetCaptureInfo': ('cudaError_t', 'cudaStream_t stream, enum cudaStreamCaptureStatus *status, '
                                                    'unsigned long long *id'),
        'cudaMemAdvise': ('cudaError_t', 'const void *devPtr, size_t count, enum cudaMemoryAdvise advice, int device'),
        'cudaMemPrefetchAsync': ('cudaError_t', 'const void *devPtr, size_t count, int dstDevice, cudaStream_t stream'),
        'cudaStreamUpdateCaptureDependencies':
            ('cudaError_t', 'cudaStream_t stream, cudaGraphNode_t *dependencies, size_t numDependencies, '
                            'unsigned int flags'),
        'cudaGraphExecUpdate':
            ('cudaError_t', 'cudaGraphExec_t hGraphExec, cudaGraph_t hGraph, struct rows_any *resultInfo'),
    },
    11: {
        'cudaGraphInstantiate': ('cudaError_t', 'cudaGraphExec_t *pGraphExec, cudaGraph_t graph, '
                                                'cudaGraphNode_t *pErrorNode, char *pLogBuffer, size_t bufferSize'),
        'cudaGraphExecUpdate':
            ('cudaError_t', 'cudaGraphExec_t hGraphExec, cudaGraph_t hGraph, cudaGraphNode_t *hErrorNode_out, '
                            'unsigned int *updateResult_out'),
        'cudaStreamGetCaptureInfo': ('cudaError_t', 'cudaStream_t stream, enum cudaStreamCaptureStatus *status, '
                                                    'unsigned long long *id'),
        'cudaGetDriverEntryPoint': ('cudaError_t', 'const char *symbol, void **funcPtr, unsigned long long flags'),
        'cudaLaunchCooperativeKernelMultiDevice': GONE['cudaLaunchCooperativeKernelMultiDevice'],
        'cudaThreadSynchronize': GONE['cudaThreadSynchronize'],
    },
}

_DECLARATION = re.compile(
    r'(?:^|[;}{\n])\s*(?:extern\s+)?((?:const\s+)?[A-Za-z_][\w\s]*?[\s*]+)\s*(_{0,2}cu(?:da)?[A-Z]\w*)\s*'
    r'\(([^()]*(?:\([^()]*\)[^()]*)*)\)\s*;')
_ATTRIBUTE = re.compile(r'__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)')


def declarations(text):
    """(result type, name, parameters as one text) of every CUDA function that preprocessed text declares."""
    for result, name, parameters in _DECLARATION.findall(_ATTRIBUTE.sub('', text)):
        yield ' '.join(result.split()), name, ' '.join(parameters.split())


class Headers:
    """name → (result type, parameters as one text); and which type names are enumerations and handles."""

    def __init__(self, compiler, include):
        text = ''.join(f'#if __has_include(<{name}>)\n#include <{name}>\n#endif\n' for name in INCLUDES)
        text = subprocess.run(compiler + ['-E', '-P', '-D__CUDA_API_VERSION_INTERNAL', '-isystem', include, '-xc', '-'],
                              input=text, stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
        text = _ATTRIBUTE.sub('', text)
        enums = ''.join(re.findall(r'typedef enum[^;{]*\{[^}]*\}\s*\w+\s*;', text))
        self.enums = set(re.findall(r'\}\s*(\w+)\s*;', enums))
        self.enums |= set(re.findall(r'typedef enum \w+ (\w+)\s*;', text))
        self.handles = set(re.findall(r'typedef (?:const )?struct \w+ ?\*\s*(\w+)\s*;', text))
        self.prototypes = {}
        self._take(text)
        for name in COMPILER_HEADERS:
            try:
                with open(f'{include}/{name}', encoding='utf-8', errors='replace') as file:
                    self._take(re.sub(r'extern\s+"C"|CUDARTAPI', '', file.read()))
            except FileNotFoundError:
                pass    # an older toolkit

    def _take(self, text):
        for result, name, parameters in declarations(text):
            self.prototypes.setdefault(name, (result, parameters))

    def get(self, name):
        base = re.sub(r'_pt[sd][sz]$', '', name)
        found = self.prototypes.get(name) or self.prototypes.get(base) or GONE.get(base)
        if not found and base.startswith('cuda'):    # what 12 has as _v2 or _v3, 13 has by the plain name
            found = self.prototypes.get(re.sub(r'_v\d$', '', base))
        return found or OPAQUE


class Parameter:
    """Type and name; is_pointer tells a written-out pointer, not a handle type."""

    def __init__(self, text):
        text = text.strip() + (' unnamed' if text.rstrip().endswith('*') else '')
        match = re.match(r'(.*?)(\w+)\s*(\[[^\]]*\])?$', text)
        self.type, self.name = ' '.join(match.group(1).split()), match.group(2)
        if match.group(3):
            self.type += ' *'
        self.type = re.sub(r'\s*\*\s*', ' *', self.type).replace('* *', '**').strip()
        self.is_pointer = self.type.endswith('*')
        self.pointee = re.sub(r'\s*\*$', '', self.type) if self.is_pointer else ''


def parameters(text):
    return [] if text in ('void', '') else [Parameter(part) for part in text.split(',')]


# ---- lists of names ----------------------------------------------------------------------------------


def rows_of(calls_def):
    """(layer, exported name) of every row of calls.def, in order; one entry for rows of several major versions."""
    with open(calls_def, encoding='utf-8') as file:
        text = file.read()
    names = []
    for kind, layer, name in re.findall(r'^ST_(CALL|PTSZ|PTDS)\((\w+), (\w+),', text, re.M):
        names.append((layer.lower(), name))
        if kind != 'CALL':
            names.append((layer.lower(), f'{name}_{kind.lower()}'))
    return list(dict.fromkeys(names))


def api_table(path):
    """(layer, exported name) → kind, of tests/data/api_table.txt."""
    with open(path, encoding='utf-8') as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith('#')]
    return {(layer, name): kind for layer, kind, name in lines}
