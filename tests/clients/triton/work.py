#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user of Triton without torch does: kernels in Python over buffers of the driver's. `work.py profile`: under Proton,
Triton's own profiler, which is a client of CUPTI; the kernels of its profile are printed."""

import ctypes
import json
import pathlib
import sys

import numpy
import triton
import triton.language as tl
from triton import profiler

SIDE = 64
CUDA = ctypes.CDLL('libcuda.so.1')


@triton.jit
def add(left, right, result, count, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(result + at, tl.load(left + at, at < count) + tl.load(right + at, at < count), at < count)


@triton.jit
def product(left, right, result, side: tl.constexpr, block: tl.constexpr):
    rows = tl.program_id(0) * block + tl.arange(0, block)
    columns = tl.program_id(1) * block + tl.arange(0, block)
    total = tl.zeros((block, block), tl.float32)
    for part in range(0, side, block):
        inner = part + tl.arange(0, block)
        total += tl.dot(tl.load(left + rows[:, None] * side + inner[None, :]),
                        tl.load(right + inner[:, None] * side + columns[None, :]))
    tl.store(result + rows[:, None] * side + columns[None, :], total)


@triton.jit
def softmax(given, result, side: tl.constexpr):
    at = tl.program_id(0) * side + tl.arange(0, side)
    values = tl.load(given + at)
    values = tl.exp(values - tl.max(values, 0))
    tl.store(result + at, values / tl.sum(values, 0))


def must(result):
    if result != 0:
        raise RuntimeError(f'the driver returned {result}')


class Buffer:
    """Memory of the device, as much of a tensor as Triton asks for."""
    dtype = 'fp32'

    def __init__(self, values):
        self.count, self.address = values.size, ctypes.c_uint64()
        must(CUDA.cuMemAlloc_v2(ctypes.byref(self.address), ctypes.c_size_t(4 * self.count)))
        must(CUDA.cuMemcpyHtoD_v2(self.address, values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(4 * self.count)))

    def data_ptr(self):
        return self.address.value

    def read(self):
        values = numpy.empty(self.count, numpy.float32)
        must(CUDA.cuMemcpyDtoH_v2(values.ctypes.data_as(ctypes.c_void_p), self.address, ctypes.c_size_t(4 * self.count)))
        return values


def work():
    values = numpy.arange(SIDE * SIDE, dtype=numpy.float32)
    left, right, result = Buffer(values), Buffer(values), Buffer(numpy.zeros_like(values))
    for _ in range(3):
        add[(SIDE * SIDE // 256,)](left, right, result, SIDE * SIDE, block=256)
        product[(SIDE // 32, SIDE // 32)](left, right, result, side=SIDE, block=32)
    softmax[(SIDE,)](left, result, side=SIDE)
    must(CUDA.cuCtxSynchronize())
    pathlib.Path('result.bin').write_bytes(result.read().tobytes())


def kernels(frames):
    """(name, launches) of the leaves of a profile."""
    for frame in frames:
        if frame.get('children'):
            yield from kernels(frame['children'])
        elif 'count' in frame.get('metrics', {}):
            yield frame['frame']['name'], frame['metrics']['count']


def main():
    print(triton.__version__, triton.runtime.driver.active.get_current_target())
    if sys.argv[1:] == ['profile']:
        work()  # compiled; what follows is launches
        profiler.start('profile')
        with profiler.scope('second'):
            work()
        profiler.finalize()
        profile = pathlib.Path('profile.hatchet')
        for name, count in sorted(kernels(json.loads(profile.read_text(encoding='utf-8')))):
            print(count, name)
        profile.unlink()  # it has times
    else:
        work()


main()
