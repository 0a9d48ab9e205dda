#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user of JAX does: compiled functions, gradients, a loop on the device. `work.py profile`: under JAX's own profiler,
which is a client of CUPTI; the kernels of the profile that it exports are printed."""

import collections
import gzip
import json
import pathlib
import sys
import tempfile

import jax._src.hardware_utils
jax._src.hardware_utils.has_visible_nvidia_gpu = lambda: True  # it looks for the kernel driver's device file

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy  # noqa: E402


@jax.jit
def network(weights, batch):
    for weight in weights:
        batch = jnp.tanh(batch @ weight)
    return batch


@jax.jit
def train(weights, batch):
    def loss(these):
        return jnp.mean(network(these, batch) ** 2)
    return [weight - 0.1 * slope for weight, slope in zip(weights, jax.grad(loss)(weights))]


@jax.jit
def smooth(signal):
    def step(number, values):
        return 0.5 * values + 0.25 * (jnp.roll(values, 1) + jnp.roll(values, -1))
    return jax.lax.fori_loop(0, 5, step, signal)


def work():
    given = numpy.random.default_rng(0)
    weights = [jnp.asarray(given.standard_normal((64, 64), dtype=numpy.float32)) for _ in range(3)]
    batch = jnp.asarray(given.standard_normal((32, 64), dtype=numpy.float32))
    for _ in range(3):
        weights = train(weights, batch)
    result = numpy.asarray(network(weights, batch))
    signal = numpy.asarray(smooth(jnp.arange(256, dtype=jnp.float32)))
    print('result', result.shape, 'signal', signal.shape)  # not what is in it: memory that JAX's threads take turns at


def profiled():
    """name → how often, of the events on the device's lines."""
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            work()
        file, = pathlib.Path(folder).glob('plugins/profile/*/*.trace.json.gz')
        events = json.loads(gzip.decompress(file.read_bytes()))['traceEvents']
    devices = {event['pid'] for event in events
               if event.get('name') == 'process_name' and '/device:GPU' in event['args']['name']}
    return collections.Counter(event['name'] for event in events
                               if event.get('pid') in devices and 'correlation_id' in event.get('args', {}))


def main():
    print(jax.__version__, jax.devices())
    work()
    if sys.argv[1:] == ['profile']:
        for name, count in sorted(profiled().items()):
            print(count, name)


main()
