#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user of Dr.Jit does: arrays traced into one kernel each, reductions, gathers and scatters, gradients, streams of
values to the host and back. The parts are in NVTX ranges of the names that stages have without a map."""

import pathlib

import drjit
from drjit.cuda import Float, UInt32
from drjit.cuda.ad import Float as Varied

SIZE = 1 << 16


def encode():
    words = Float([0.5 * number for number in range(256)])
    turned = drjit.gather(Float, words, 255 - drjit.arange(UInt32, 256))
    target = drjit.zeros(Float, 256)
    drjit.scatter(target, turned, drjit.arange(UInt32, 256))
    return drjit.sum(target)


def step(number, wave):
    given = Varied(wave)
    drjit.enable_grad(given)
    drjit.backward(drjit.sum(drjit.sin(given) * number))
    result = wave - 0.1 * given.grad
    drjit.eval(result)
    return result


def decode(wave):
    print('sum', drjit.sum(wave).numpy().shape, 'highest', drjit.max(wave).numpy().shape)
    return drjit.cumsum(wave).numpy()


def main():
    print('CUDA', drjit.has_backend(drjit.JitBackend.CUDA))
    with drjit.profile_range('generate'):
        with drjit.profile_range('encode'):
            start = encode()
        wave = drjit.cos(Float(drjit.arange(UInt32, SIZE)) * 0.02) + start
        with drjit.profile_range('sample'):
            for number in range(3):
                with drjit.profile_range('step'):
                    wave = step(number + 1, wave)
        with drjit.profile_range('decode'):
            picture = decode(wave)
        drjit.profile_mark('saved')
        pathlib.Path('picture.bin').write_bytes(picture.tobytes())
    drjit.sync_thread()


main()
