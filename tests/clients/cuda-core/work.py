#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user of cuda-core does: a program compiled at run time, buffers of pools, pinned memory, copies both ways, two
streams and events between them, a captured graph, a linked program."""

import pathlib

import numpy
from cuda.core import (Device, EventOptions, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions, launch)

SIZE = 1 << 12
SOURCE = r'''
template<typename T> __global__ void scale(T *values, T factor, int count)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) values[at] *= factor;
}
extern "C" __global__ void product(const float *left, const float *right, float *result, int side)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    float total = 0;
    for (int k = 0; k < side; k++) total += left[row * side + k] * right[k * side + column];
    result[row * side + column] = total;
}
'''


def compiled(device):
    options = ProgramOptions(std='c++17', arch=f'sm_{device.arch}')
    code = Program(SOURCE, code_type='c++', options=options).compile('cubin', name_expressions=('scale<float>',))
    return code.get_kernel('scale<float>'), code.get_kernel('product')


def main():
    device = Device()
    device.set_current()
    print(device.name, device.compute_capability)
    scale, product = compiled(device)
    print('arguments', scale.num_arguments, product.num_arguments)

    stream, other = device.create_stream(), device.create_stream()
    pinned = LegacyPinnedMemoryResource()
    host = pinned.allocate(4 * SIZE)
    values = numpy.from_dlpack(host).view(numpy.float32)
    values[:] = numpy.arange(SIZE)
    left, right, result = (device.allocate(4 * SIZE, stream=stream) for _ in range(3))
    left.copy_from(host, stream=stream)
    right.copy_from(left, stream=stream)
    result.fill(0, stream=stream)

    lines, squares = LaunchConfig(grid=SIZE // 256, block=256), LaunchConfig(grid=(4, 4), block=(16, 16))
    ready = stream.record(options=EventOptions(timing_enabled=True))
    other.wait(ready)
    for number in range(4):
        launch(stream, lines, scale, left, numpy.float32(1 + number), numpy.int32(SIZE))
        launch(other, lines, scale, right, numpy.float32(2), numpy.int32(SIZE))
    stream.wait(other)
    launch(stream, squares, product, left, right, result, numpy.int32(64))
    done = stream.record(options=EventOptions(timing_enabled=True))
    done.sync()
    print('later', done - ready > 0)

    builder = device.create_graph_builder().begin_building()
    launch(builder, lines, scale, left, numpy.float32(0.5), numpy.int32(SIZE))
    launch(builder, squares, product, left, right, result, numpy.int32(64))
    graph = builder.end_building().complete()
    for _ in range(5):
        graph.launch(stream)
    result.copy_to(host, stream=stream)
    stream.sync()
    pathlib.Path('result.bin').write_bytes(values.tobytes())
    for buffer in (left, right, result, host):
        buffer.close(stream)
    stream.sync()


main()
