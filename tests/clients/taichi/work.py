#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user of Taichi does: fields, kernels over them, a product, a convolution, arrays of numpy there and back."""

import pathlib

import numpy
import taichi

taichi.init(arch=taichi.cuda, offline_cache=False, random_seed=1)
SIZE = 64
left, right, product = (taichi.field(dtype=taichi.f32, shape=(SIZE, SIZE)) for _ in range(3))


@taichi.kernel
def ramp(slope: taichi.f32):
    for row, column in left:
        left[row, column] = slope * row + column
        right[row, column] = row - slope * column


@taichi.kernel
def multiply():
    for row, column in product:
        total = 0.0
        for k in range(SIZE):
            total += left[row, k] * right[k, column]
        product[row, column] = total


@taichi.kernel
def blur(source: taichi.types.ndarray(), target: taichi.types.ndarray()):
    for row, column in taichi.ndrange((1, SIZE - 1), (1, SIZE - 1)):
        total = 0.0
        for down, across in taichi.static(taichi.ndrange((-1, 2), (-1, 2))):
            total += source[row + down, column + across]
        target[row, column] = total / 9.0


def main():
    for number in range(5):
        ramp(0.1 * number)
        multiply()
    print('product', product.to_numpy().shape)
    left.from_numpy(numpy.ones((SIZE, SIZE), dtype=numpy.float32))
    picture, blurred = taichi.ndarray(taichi.f32, (SIZE, SIZE)), taichi.ndarray(taichi.f32, (SIZE, SIZE))
    picture.from_numpy(numpy.eye(SIZE, dtype=numpy.float32))
    for _ in range(3):
        blur(picture, blurred)
    taichi.sync()
    pathlib.Path('blurred.bin').write_bytes(blurred.to_numpy().tobytes())


main()
