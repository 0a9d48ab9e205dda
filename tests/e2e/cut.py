#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A trace cut anywhere is read up to its last whole frame: at every frame's edges ± 1 and at evenly spread
bytes, `dump` gives a prefix of the whole dump, `report` answers or says why not, `verify` says where it ends.
"""

import os

import lib
import traces

POSITIONS = 300
READABLE_AGAIN = (0, 3)


def cut_positions(data, frames):
    edges = {edge + offset for start, end, _, _ in frames for edge in (start, end) for offset in (-1, 0, 1)}
    spread = {len(data) * i // POSITIONS for i in range(POSITIONS)}
    return sorted(position for position in edges | spread if 0 <= position <= len(data))


def records(text):
    """The rows of a dump, without the header's, which names the file."""
    return [line for line in text.splitlines() if not line.startswith('{"table": "HEADER"')]


def check_cut(checks, folder, data, frames, position, whole):
    """Counts failures only, so that 300 positions do not print 900 lines."""
    path = os.path.join(folder, f'cut-{position}.stap')
    with open(path, 'wb') as file:
        file.write(data[:position])
    problems = []
    dump = lib.stagetap('dump', '--json', path)
    report = lib.stagetap('report', path)
    for name, result in (('dump', dump), ('report', report)):
        if result.returncode not in READABLE_AGAIN:
            problems.append(f'{name}: exit {result.returncode}')
        if result.returncode == 3 and (path not in result.stderr or len(result.stderr.splitlines()) != 1):
            problems.append(f'{name}: message {result.stderr!r}')
    if records(dump.stdout) != whole[: len(records(dump.stdout))]:
        problems.append('dump: not a prefix of the whole dump')
    complete = [end for start, end, magic, _ in frames if end <= position and magic != traces.CHUNK]
    if complete and dump.returncode != 0:
        problems.append(f'dump: exit {dump.returncode} although {len(complete)} frames are whole')
    if not complete and dump.returncode != 3:
        problems.append(f'dump: exit {dump.returncode} although no frame is whole')
    os.unlink(path)
    if problems:
        checks.ok(False, f'cut at byte {position} of {len(data)}', '; '.join(problems))
    return len(records(dump.stdout))


def check_verify(checks, folder, data, frames):
    """The end that verify names is the end of the last whole chunk (or header)."""
    path = os.path.join(folder, 'verify.stap')
    ends = [end for _, end, magic, _ in frames if magic != traces.CHUNK]
    for index in sorted({0, 1, len(ends) // 2, len(ends) - 2}):
        position = ends[index] + 5
        with open(path, 'wb') as file:
            file.write(data[:position])
        result = lib.stagetap('verify', path)
        checks.equal(1, result.returncode, f'verify: cut at byte {position}: exit 1')
        checks.ok(
            str(ends[index]) in result.stdout + result.stderr,
            f'verify: says that it ends at byte {ends[index]}',
            result.stdout[-600:] + result.stderr,
        )


def main():
    checks = lib.Checks()
    with lib.workdir() as folder:
        traced = lib.generate(folder, images=2, steps=3)
        if not checks.ok(traced.process.returncode == 0, 'generate runs', traced.describe()):
            checks.finish()
        with open(traced.trace, 'rb') as file:
            data = file.read()
        frames = traces.frames(data)
        whole_dump = lib.stagetap('dump', '--json', traced.trace)
        checks.equal(0, whole_dump.returncode, 'the whole trace is dumped')
        whole = records(whole_dump.stdout)
        checks.ok(len(whole) > 200, f'the whole dump has {len(whole)} rows')
        checks.equal(0, lib.stagetap('verify', traced.trace).returncode, 'the whole trace is verified')
        positions = cut_positions(data, frames)
        counts = [check_cut(checks, folder, data, frames, position, whole) for position in positions]
        checks.ok(
            len(positions) >= 300,
            f'{len(positions)} cuts of a file of {len(data)} bytes in {len(frames)} frames tried',
        )
        checks.ok(counts == sorted(counts), 'a later cut never shows fewer rows')
        checks.equal(len(whole), counts[-1], 'the last cut is the whole file')
        check_verify(checks, folder, data, frames)
    checks.finish()


if __name__ == '__main__':
    main()
