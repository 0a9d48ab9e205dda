#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The target does the same with and without the preload: pictures byte for byte, text, exit status, and for
each thread the ordered list of driver calls in the simulator's truth (requirement S4)."""

import collections
import sys

import lib
import placing

VARIANTS = [
    ('bare', {}),
    ('trace', {'preload': True}),
    ('off', {'preload': True, 'STAGETAP_MODE': 'off'}),
    ('no device time', {'preload': True, 'STAGETAP_DEVICE': 'none'}),
]
RUNS = [
    ('generate', []),
    ('generate', ['--two-streams']),
    ('generate', ['--item-sync']),
    ('generate', ['--offload']),
    ('generate_rt', []),
]


def call_lists(traced):
    """What each thread called, threads in the order of their first call."""
    _, calls, _ = placing.read_truth(traced.truth)
    threads = collections.OrderedDict()
    for call in sorted(calls, key=lambda call: call.start):
        threads.setdefault(call.thread, []).append((call.name, call.result))
    return list(threads.values())


def operations(traced):
    """What each stream did, in order, without times."""
    ops, _, _ = placing.read_truth(traced.truth)
    streams = collections.defaultdict(list)
    for op in sorted(ops, key=lambda op: op.start):
        streams[(op.device, op.stream)].append((op.op, op.name, op.bytes, op.kind))
    return dict(streams)


def first_difference(left, right):
    for index, (a, b) in enumerate(zip(left, right)):
        if a != b:
            return f'call {index}: {a} against {b}'
    return f'lengths {len(left)} and {len(right)}'


def compare_runs(checks, which, options):
    label = f'{which} {" ".join(options)}'.strip()
    with lib.workdir() as folder:
        runs = {}
        for name, settings in VARIANTS:
            settings = dict({'preload': False}, **settings)
            runs[name] = lib.generate(
                folder, *options, which=which, images=2, steps=5, name=name.replace(' ', '-'), **settings
            )
            checks.ok(runs[name].process.returncode == 0, f'{label}: {name} runs', runs[name].describe())
        bare = runs['bare']
        images = lib.pictures(bare.out)
        checks.equal(2, len(images), f'{label}: two pictures')
        for name, traced in runs.items():
            if traced is bare:
                continue
            checks.ok(lib.pictures(traced.out) == images, f'{label}: {name}: pictures byte-identical')
            checks.equal(bare.process.stderr, traced.process.stderr, f'{label}: {name}: nothing on stderr')
            checks.equal(
                len(bare.process.stdout.splitlines()),
                len(traced.process.stdout.splitlines()),
                f'{label}: {name}: as many lines of output',
            )
            want, got = call_lists(bare), call_lists(traced)
            checks.equal(len(want), len(got), f'{label}: {name}: threads that call the driver')
            for index, (left, right) in enumerate(zip(want, got)):
                checks.ok(
                    left == right,
                    f'{label}: {name}: thread {index}: same {len(left)} driver calls in order',
                    first_difference(left, right),
                )
            checks.ok(operations(bare) == operations(traced), f'{label}: {name}: same operations on each stream')
        checks.ok(sum(len(calls) for calls in call_lists(bare)) > 50, f'{label}: the truth lists driver calls')


DESCRIPTORS = '''
import ctypes, os
cuda, device = ctypes.CDLL('libcuda.so.1'), ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(device), 0) == 0
print([os.open('/dev/null', os.O_RDONLY), os.dup(1), *os.pipe()])
'''


def descriptors(checks):
    """The program's own files get the numbers that they get without us."""
    with lib.workdir() as folder:
        command = [sys.executable, '-S', '-c', DESCRIPTORS]
        bare = lib.run(command, lib.environment(preload=False), folder)
        seen = lib.run(command, lib.environment(STAGETAP_OUT=folder + '/run.stap'), folder)
    checks.equal((bare.returncode, bare.stdout), (seen.returncode, seen.stdout), 'descriptors: the same numbers')


def main():
    checks = lib.Checks()
    descriptors(checks)
    for which, options in RUNS:
        if which == 'generate_rt' and not lib.is_built(which):
            checks.skip(f'{which} is not built here (no nvcc)')
            continue
        compare_runs(checks, which, options)
    checks.finish()


if __name__ == '__main__':
    sys.exit(main())
