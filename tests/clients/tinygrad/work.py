#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user of tinygrad does: products and convolutions, training by hand, the same step captured by TinyJit."""

import pathlib

import numpy
from tinygrad import Device, Tensor, TinyJit


class Net:
    """Two convolutions and a product."""

    def __init__(self, given):
        def weights(*shape):
            return Tensor(given.standard_normal(shape, dtype=numpy.float32)).realize()
        self.first, self.second, self.out = weights(8, 3, 3, 3), weights(16, 8, 3, 3), weights(16 * 8 * 8, 10)

    def __call__(self, images):
        hidden = images.conv2d(self.first, padding=1).relu().max_pool2d()
        hidden = hidden.conv2d(self.second, padding=1).relu().max_pool2d()
        return hidden.flatten(1).matmul(self.out)


def main():
    given = numpy.random.default_rng(0)
    print(Device.DEFAULT)
    product = Tensor(given.standard_normal((64, 96), dtype=numpy.float32)) @ Tensor.ones(96, 32).contiguous()
    print('product', product.numpy().shape)

    net = Net(given)
    images = Tensor(given.standard_normal((4, 3, 32, 32), dtype=numpy.float32)).realize()
    print('scores', net(images).softmax().numpy().shape)

    @TinyJit
    def step(batch):
        return net(batch).log_softmax().realize()

    for number in range(6):  # one as it is, one that is captured, then graphs
        batch = Tensor(numpy.full((4, 3, 32, 32), number, dtype=numpy.float32)).realize()
        result = step(batch).numpy()
        print('step', number, result.shape, result.dtype)
    pathlib.Path('result.bin').write_bytes(result.tobytes())
    Device[Device.DEFAULT].synchronize()


main()
