#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user of TVM does: a product and an activation described, scheduled for threads, compiled, and run on arrays that are
copied there and back, on the default stream and on one of its own."""

import pathlib

import numpy
import tvm
from tvm import te
from tvm.s_tir import Schedule

SIDE = 64


def described():
    left, right = (te.placeholder((SIDE, SIDE), name=name) for name in ('left', 'right'))
    k = te.reduce_axis((0, SIDE), name='k')
    product = te.compute((SIDE, SIDE), lambda i, j: te.sum(left[i, k] * right[k, j], axis=k), name='product')
    result = te.compute((SIDE, SIDE), lambda i, j: te.max(product[i, j], 0.0), name='result')
    return tvm.IRModule({'main': te.create_prim_func([left, right, product, result])})


def scheduled(module):
    schedule = Schedule(module)
    for name in ('product', 'result'):
        loops = schedule.get_loops(schedule.get_sblock(name))
        blocks, threads = schedule.split(schedule.fuse(loops[0], loops[1]), [None, 256])
        schedule.bind(blocks, 'blockIdx.x')
        schedule.bind(threads, 'threadIdx.x')
    return schedule.mod


def main():
    device = tvm.cuda(0)
    print(tvm.__version__, device.exist, device.device_name)
    program = tvm.compile(scheduled(described()), target=tvm.target.Target({'kind': 'cuda', 'arch': 'sm_80'}))
    given = numpy.arange(SIDE * SIDE, dtype=numpy.float32).reshape(SIDE, SIDE)
    arrays = [tvm.runtime.tensor(values, device) for values in (given, given.T.copy(), given * 0, given * 0)]
    for _ in range(3):
        program(*arrays)
    device.sync()
    stream = device.create_raw_stream()
    device.set_raw_stream(stream)
    for _ in range(3):
        program(*arrays)
    device.sync(stream)
    result = arrays[3].numpy()
    print('result', result.shape)
    pathlib.Path('result.bin').write_bytes(result.tobytes())


main()
