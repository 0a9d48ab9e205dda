#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Any bytes give a clear error or an answer, never a crash, a hang or unbounded memory (requirement X5): random
files; a good trace with flipped bits, moved, doubled and missing pieces; the same inside its chunks with sizes and
checksums made right, so that the tables' decoder meets it; and the ring of a killed process. Seeds are fixed.

spoiled.py [SECONDS]     how long to go on (default 15)
"""

import os
import random
import resource
import struct
import subprocess
import sys
import time

import killed
import lib
import traces

MEMORY_BYTES = 1 << 30
START_AT = 72  # start_monotonic_ns in the file
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


def try_file(path, data):
    with open(path, 'wb') as file:
        file.write(data)
    return problems_of(path)


def problems_of(trace):
    return [problem for problem in (problem_of(verb, trace) for verb in ALLOWED) if problem]


def random_files(checks, folder):
    """Bytes that are no trace: exit 3 and a message."""
    rng = random.Random(20)
    samples = [(f'{size} random bytes', rng.randbytes(size)) for size in (1, 7, 8, 100, 4096, 300_000)]
    samples += [
        ('an empty file', b''),
        ('zeros', bytes(5000)),
        ('text', b'hello\n' * 50),
        ('a frame magic and random bytes', b'\x50\x2a\x4d\x18' + rng.randbytes(2000)),
        ('a header that claims 4 GB', b'\x50\x2a\x4d\x18\xff\xff\xff\xffSTAGETAP' + bytes(200)),
    ]
    for name, data in samples:
        path = os.path.join(folder, 'random.stap')
        with open(path, 'wb') as file:
            file.write(data)
        for verb in ('dump', 'report', 'gaps'):
            result = lib.stagetap(verb, path)
            checks.ok(
                result.returncode == 3
                and result.stdout == ''
                and result.stderr.startswith(f'stagetap: {path}: ')
                and len(result.stderr.splitlines()) == 1,
                f'{name}: {verb}: exit 3, one line of explanation',
                f'exit {result.returncode}, stdout {result.stdout[:200]!r}, stderr {result.stderr!r}',
            )


def spoil(rng, data, frames):
    """One spoiled copy of a good trace."""
    copy = bytearray(data)
    kind = rng.randrange(6)
    start, end, _, _ = frames[rng.randrange(len(frames))]
    if kind == 0:  # a few bits anywhere
        for _ in range(rng.randrange(1, 8)):
            copy[rng.randrange(len(copy))] ^= 1 << rng.randrange(8)
    elif kind == 1:  # a frame's head
        position = start + rng.randrange(min(80, end - start))
        copy[position] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    elif kind == 2:  # an interesting 32-bit number in a head
        position = start + 4 * rng.randrange(max(1, min(80, end - start) // 4))
        copy[position : position + 4] = rng.choice((0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)).to_bytes(4, 'little')
    elif kind == 3:  # a piece missing
        position = rng.randrange(len(copy))
        del copy[position : position + rng.randrange(1, 300)]
    elif kind == 4:  # a frame twice
        copy[end:end] = data[start:end]
    else:  # two frames exchanged
        other_start, other_end, _, _ = frames[rng.randrange(len(frames))]
        copy = bytearray(data[other_start:other_end] + data[start:end] + data[end:])
    return bytes(copy)


def spoil_inside(rng, header, chunks):
    """A trace whose frames and checksums are right and whose tables are not."""
    spoiled = [(list(head), bytearray(payload)) for head, payload in chunks]
    head, payload = spoiled[rng.randrange(len(spoiled))]
    kind = rng.randrange(5)
    if kind == 0 and payload:  # a few bits anywhere
        for _ in range(rng.randrange(1, 8)):
            payload[rng.randrange(len(payload))] ^= 1 << rng.randrange(8)
    elif kind == 1:  # the first table's head: id, columns, rows
        struct.pack_into(
            '<HHI',
            payload,
            0,
            rng.choice((0, 1, 2, 16, 33, 42, 65535)),
            rng.choice((0, 1, 5, 200, 65535)),
            rng.choice((0, 1, 1 << 16, 1 << 22, 0xFFFFFFFF)),
        )
    elif kind == 2:  # a column's head: id, encoding, bytes
        struct.pack_into(
            '<HBBI',
            payload,
            8 + 8 * rng.randrange(4),
            rng.randrange(12),
            rng.randrange(8),
            0,
            rng.choice((0, 1, len(payload), 0x7FFFFFFF, 0xFFFFFFFF)),
        )
    elif kind == 3:  # the head's numbers: kind, ring, slots, times
        head[rng.choice((0, 1, 4, 5, 6, 7, 8, 9, 10))] = rng.choice((0, 1, 3, 0x7FFFFFFF, 0xFFFFFFFF))
    else:  # long numbers and a cut
        position = rng.randrange(len(payload))
        payload[position : position + 10] = b'\xff' * rng.randrange(1, 12)
        del payload[rng.randrange(max(1, len(payload) // 2), len(payload)) :]
    return traces.put_together(header, [(head, bytes(payload)) for head, payload in spoiled])


def spoil_ring(rng, ring):
    copy = bytearray(ring)
    if rng.randrange(2):  # the head page: sizes, ids, head and tail
        position = 8 * rng.randrange(2500 // 8)
        copy[position : position + 8] = rng.choice((0, 1, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF)).to_bytes(
            8, 'little'
        )
    for _ in range(rng.randrange(1, 40)):  # the first slots
        copy[4096 + rng.randrange(64 * 2000)] = rng.choice((0, 1, 5, 255, rng.randrange(256)))
    return bytes(copy)


def every_byte(checks, folder, data, frames, sample=400):
    """`verify` notices any changed byte: each of the header and the index, and a sample of the others."""
    path, unnoticed = os.path.join(folder, 'flipped.stap'), []
    positions = {at for start, end, magic, _ in frames if magic in (traces.HEADER, traces.INDEX) for at in range(start, end)}
    heads = {at for start, end, _, _ in frames for at in range(start, min(start + 14, end))}  # where zstd has spare bits
    rng = random.Random(7)
    positions |= set(rng.sample(sorted(heads), min(len(heads), sample)))
    positions |= set(rng.sample(range(len(data)), min(len(data), sample)))
    for position in sorted(positions):
        copy = bytearray(data)
        copy[position] ^= rng.choice((0x01, 0x10, 0x20, 0x80, rng.randrange(1, 256)))
        with open(path, 'wb') as file:
            file.write(copy)
        result = lib.stagetap('verify', path)
        header = position < frames[0][1]
        if result.returncode not in ((3,) if header else (1,)):
            unnoticed.append((position, result.returncode, result.stdout[:200]))
    checks.equal([], unnoticed[:5], f'verify: {len(positions)} bytes changed one by one, each is noticed')


def put_wrongly(checks, folder, data, frames):
    """Two traces in one file, a chunk twice, and a start that no clock has."""
    path = os.path.join(folder, 'wrong.stap')
    alone = lib.report(checks, '--request', 'all', path_of(path, data), what='alone')
    start, end = next((start, end) for start, end, magic, _ in frames if magic == traces.CHUNK)
    after = next(start for start, _, magic, _ in frames if start >= end and magic in (traces.CHUNK, traces.INDEX))
    for what, wrong in (('two traces', data + data), ('a chunk twice', data[:after] + data[start:after] + data[after:])):
        result = lib.stagetap('verify', path_of(path, wrong))
        checks.equal(1, result.returncode, f'{what}: verify finds it')
        both = lib.report(checks, '--request', 'all', path, what=what)
        if alone and both:
            checks.equal(False, both['traces'][0]['complete'], f'{what}: not complete')
            checks.equal(alone['requests'], both['requests'], f'{what}: what is read twice counts once')
    header = bytearray(data)
    header[START_AT + 7] |= 0x80
    result = lib.stagetap('report', path_of(path, traces.check_header(header)))
    checks.equal(3, result.returncode, 'a start after 2^63 ns is no header')


def path_of(path, data):
    with open(path, 'wb') as file:
        file.write(data)
    return path


def killed_run(checks, folder):
    """Trace and ring file of a process that was killed in the middle of an image."""
    process, paths = killed.start(folder, 'killed')
    killed.wait_for_launches(process, paths['truth'], 1000)
    process.kill()
    process.wait()
    rings = lib.rings(folder)
    checks.ok(rings, 'the killed process left a ring')
    path = max((ring for ring, _ in rings), key=os.path.getsize)
    with open(path, 'rb') as file:
        return paths['stap'], path, file.read()


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
        frames, (header, chunks) = traces.frames(data), traces.take_apart(data)
        every_byte(checks, folder, data, frames)
        put_wrongly(checks, folder, data, frames)
        path = os.path.join(folder, 'spoiled.stap')
        checks.equal(
            [], try_file(path, traces.put_together(header, chunks)), 'taken apart and put together again it is read'
        )
        killed_trace, ring_path, ring = killed_run(checks, folder)
        end, seed, bad = time.monotonic() + seconds, 0, []
        while time.monotonic() < end and len(bad) < 10:
            seed += 1
            rng = random.Random(seed)
            if seed % 4 == 0:
                with open(ring_path, 'wb') as file:
                    file.write(spoil_ring(rng, ring))
                found = problems_of(killed_trace)
            else:
                found = try_file(
                    path, spoil(rng, data, frames) if seed % 4 == 1 else spoil_inside(rng, header, chunks)
                )
            bad += [f'seed {seed}: {problem}' for problem in found]
        os.unlink(ring_path)  # its head no longer says whose it is
        checks.ok(
            not bad,
            f'{seed} spoiled traces met without crash, hang or more than {MEMORY_BYTES >> 20} MiB',
            '\n      '.join(bad),
        )
        checks.ok(seed >= 20, 'enough of them tried', seed)
    checks.finish()


if __name__ == '__main__':
    main()
