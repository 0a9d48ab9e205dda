#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user of Numba's CUDA target does: kernels in Python, shared memory, a product, a convolution, streams, events,
pinned and mapped arrays, copies both ways."""

import pathlib

import numpy
from numba import cuda, float32

TILE, SIDE = 16, 64


@cuda.jit
def scale(values, factor):
    at = cuda.grid(1)
    if at < values.size:
        values[at] *= factor


@cuda.jit
def product(left, right, result):
    tile_left = cuda.shared.array((TILE, TILE), float32)
    tile_right = cuda.shared.array((TILE, TILE), float32)
    row, column = cuda.grid(2)
    y, x = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for part in range(SIDE // TILE):
        tile_left[y, x] = left[row, x + part * TILE]
        tile_right[y, x] = right[y + part * TILE, column]
        cuda.syncthreads()
        for k in range(TILE):
            total += tile_left[y, k] * tile_right[k, x]
        cuda.syncthreads()
    result[row, column] = total


@cuda.jit
def convolve(picture, weights, result):
    row, column = cuda.grid(2)
    if 0 < row < SIDE - 1 and 0 < column < SIDE - 1:
        total = float32(0)
        for down in range(3):
            for across in range(3):
                total += weights[down, across] * picture[row + down - 1, column + across - 1]
        result[row, column] = total


def main():
    print(cuda.get_current_device().name, cuda.get_current_device().compute_capability)
    given = numpy.random.default_rng(0).standard_normal((SIDE, SIDE)).astype(numpy.float32)
    left, right = cuda.to_device(given), cuda.to_device(given.T.copy())
    result = cuda.device_array((SIDE, SIDE), numpy.float32)
    grid, block = (SIDE // TILE, SIDE // TILE), (TILE, TILE)
    for _ in range(3):
        product[grid, block](left, right, result)
        convolve[grid, block](result, cuda.to_device(numpy.ones((3, 3), numpy.float32)), left)
    print('product', result.copy_to_host().shape)

    first, second = cuda.stream(), cuda.stream()
    start, end = cuda.event(), cuda.event()
    values = cuda.pinned_array(SIDE * SIDE, numpy.float32)
    values[:] = 1
    start.record(first)
    copied = cuda.to_device(values, stream=first)
    for number in range(4):
        scale[16, 256, first](copied, float32(number))
        scale[16, 256, second](right.reshape(SIDE * SIDE), float32(2))
    copied.copy_to_host(values, stream=first)
    end.record(first)
    end.synchronize()
    second.synchronize()
    print('later', cuda.event_elapsed_time(start, end) > 0)
    pathlib.Path('values.bin').write_bytes(values.tobytes())
    cuda.synchronize()


main()
