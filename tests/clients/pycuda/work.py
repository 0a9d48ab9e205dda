#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user of PyCUDA does: a module from PTX, prepared and plain calls, arrays in pinned and pageable memory, two streams
with events, a memory pool."""

import pathlib

import numpy
import pycuda.autoinit
import pycuda.driver as cuda
import pycuda.gpuarray
import pycuda.tools

SIZE = 1 << 12
PTX = b'''.version 7.0
.target sm_70
.address_size 64
.visible .entry scale(.param .u64 values, .param .f32 factor, .param .u32 count)
{
    ret;
}
.visible .entry add(.param .u64 left, .param .u64 right, .param .u64 result)
{
    ret;
}
'''


def kernels():
    module = cuda.module_from_buffer(PTX)
    scale, add = module.get_function('scale'), module.get_function('add')
    add.prepare('PPP')
    return scale, add


def main():
    print(pycuda.autoinit.device.name(), pycuda.autoinit.device.compute_capability())
    scale, add = kernels()
    values = numpy.arange(SIZE, dtype=numpy.float32)
    scale(cuda.InOut(values), numpy.float32(2), numpy.uint32(SIZE), block=(256, 1, 1), grid=(SIZE // 256, 1))

    pool = pycuda.tools.DeviceMemoryPool()
    left = pycuda.gpuarray.to_gpu(values, allocator=pool.allocate)
    right = pycuda.gpuarray.empty(SIZE, numpy.float32, allocator=pool.allocate)
    cuda.memset_d32(right.gpudata, 0, SIZE)
    cuda.memcpy_dtod(right.gpudata, left.gpudata, left.nbytes)

    streams = [cuda.Stream() for _ in range(2)]
    start, end = cuda.Event(), cuda.Event()
    pinned = cuda.pagelocked_empty(SIZE, numpy.float32)
    pinned[:] = 1
    start.record(streams[0])
    cuda.memcpy_htod_async(left.gpudata, pinned, streams[0])
    for stream in streams * 3:
        add.prepared_async_call((SIZE // 256, 1), (256, 1, 1), stream, left.gpudata, right.gpudata, right.gpudata)
    end.record(streams[0])
    streams[1].wait_for_event(end)
    cuda.memcpy_dtoh_async(pinned, right.gpudata, streams[1])
    streams[1].synchronize()
    print('later', start.time_till(end) > 0)
    pathlib.Path('result.bin').write_bytes(left.get().tobytes() + pinned.tobytes())


main()
