#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Any bytes give a clear error or an answer, never a crash, a hang or unbounded memory (requirement X5): random
files, and a good trace with flipped bits, moved, doubled and missing pieces. Seeds are fixed.

spoiled.py [SECONDS]     how long to go on (default 15)
"""
import os
import random
import resource
import subprocess
import sys
import time

import lib
import traces

MEMORY_BYTES = 1 << 30
ALLOWED = {'dump': (0, 3), 'report': (0, 3), 'verify': (0, 1, 3)}


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def problem_of(verb, path):
    """None, or what is wrong with the way the command met this file."""
    command = [lib.STAGETAP, verb, path] + (['--json'] if verb == 'report' else [])
    try:
        result = lib.run(command, lib.environment(preload=False, simgpu=False), timeout=20, preexec_fn=limits)
    except subprocess.TimeoutExpired:
        return f'{verb}: hangs'
    if result.returncode < 0:
        return f'{verb}: signal {-result.returncode}'
    if result.returncode not in ALLOWED[verb]:
        return f'{verb}: exit {result.returncode}: {result.stderr[-300:]}'
    if result.returncode == 3 and not result.stderr.startswith('stagetap: ' + path + ': '):
        return f'{verb}: exit 3 with message {result.stderr[-300:]!r}'
    if 'Sanitizer' in result.stderr:
        return f'{verb}: {result.stderr[-600:]}'
    return None


def try_bytes(folder, data):
    path = os.path.join(folder, 'spoiled.stap')
    with open(path, 'wb') as file:
        file.write(data)
    return [problem for problem in (problem_of(verb, path) for verb in ALLOWED) if problem]


def random_files(checks, folder):
    """Bytes that are no trace: exit 3 and a message."""
    rng = random.Random(20)
    samples = [(f'{size} random bytes', rng.randbytes(size)) for size in (1, 7, 8, 100, 4096, 300_000)]
    samples += [('an empty file', b''), ('zeros', bytes(5000)), ('text', b'hello\n' * 50),
                ('a frame magic and random bytes', b'\x50\x2a\x4d\x18' + rng.randbytes(2000)),
                ('a header that claims 4 GB', b'\x50\x2a\x4d\x18\xff\xff\xff\xffSTAGETAP' + bytes(200))]
    for name, data in samples:
        path = os.path.join(folder, 'random.stap')
        with open(path, 'wb') as file:
            file.write(data)
        for verb in ('dump', 'report', 'gaps'):
            result = lib.stagetap(verb, path)
            checks.ok(result.returncode == 3 and result.stdout == '' and
                      result.stderr.startswith(f'stagetap: {path}: ') and len(result.stderr.splitlines()) == 1,
                      f'{name}: {verb}: exit 3, one line of explanation',
                      f'exit {result.returncode}, stdout {result.stdout[:200]!r}, stderr {result.stderr!r}')


def spoil(rng, data, frames):
    """One spoiled copy of a good trace."""
    copy = bytearray(data)
    kind = rng.randrange(6)
    start, end, _, _ = frames[rng.randrange(len(frames))]
    if kind == 0:                                   # a few bits anywhere
        for _ in range(rng.randrange(1, 8)):
            copy[rng.randrange(len(copy))] ^= 1 << rng.randrange(8)
    elif kind == 1:                                 # a frame's head
        position = start + rng.randrange(min(80, end - start))
        copy[position] = rng.choice((0, 1, 0x7f, 0x80, 0xff, rng.randrange(256)))
    elif kind == 2:                                 # an interesting 32-bit number in a head
        position = start + 4 * rng.randrange(max(1, min(80, end - start) // 4))
        copy[position:position + 4] = rng.choice((0, 1, 0x7fffffff, 0x80000000, 0xffffffff)).to_bytes(4, 'little')
    elif kind == 3:                                 # a piece missing
        position = rng.randrange(len(copy))
        del copy[position:position + rng.randrange(1, 300)]
    elif kind == 4:                                 # a frame twice
        copy[end:end] = data[start:end]
    else:                                           # two frames exchanged
        other_start, other_end, _, _ = frames[rng.randrange(len(frames))]
        copy = bytearray(data[other_start:other_end] + data[start:end] + data[end:])
    return bytes(copy)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 15
    checks = lib.Checks()
    with lib.workdir() as folder:
        random_files(checks, folder)
        traced = lib.generate(folder, images=1, steps=2)
        if not checks.ok(traced.process.returncode == 0, 'generate runs', traced.describe()):
            checks.finish()
        with open(traced.trace, 'rb') as file:
            data = file.read()
        frames = traces.frames(data)
        end, seed, bad = time.monotonic() + seconds, 0, []
        while time.monotonic() < end and len(bad) < 10:
            seed += 1
            for problem in try_bytes(folder, spoil(random.Random(seed), data, frames)):
                bad.append(f'seed {seed}: {problem}')
        checks.ok(not bad, f'{seed} spoiled traces met without crash, hang or more than {MEMORY_BYTES >> 20} MiB',
                  '\n      '.join(bad))
        checks.ok(seed >= 20, 'enough of them tried', seed)
    checks.finish()


if __name__ == '__main__':
    main()
