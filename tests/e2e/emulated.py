#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A library built for another processor, in front of the demo in an emulator: the pictures are the same, the trace is
whole and has each driver call that the simulator says was made, the report agrees with the truth, and this machine's
analyzer reads in the trace what the other one's does."""

import collections
import json
import os
import re

import lib
import placing

MACHINE_AARCH64 = 183  # e_machine of an ELF file, bytes 18 and 19
LAYER_DRIVER = 1  # enum st_layer
COUNTED = re.compile('cuLaunch|cuGraphLaunch|cuMemcpy|cuMemset|cu[A-Za-z]+Synchronize')
MODES = ['--two-streams', '--item-sync', '--graphs']
KINDS = ('Launch', 'Memcpy', 'Synchronize')
OTHER_ANALYZER = os.path.join(lib.BUILD, 'analyzer', 'stagetap')


def machine(path):
    with open(path, 'rb') as file:
        return int.from_bytes(file.read(20)[18:], 'little')


def dump(checks, trace, table):
    result = lib.stagetap('dump', '--json', f'--table={table}', trace)
    checks.equal(0, result.returncode, f'dump {table}: exit 0')
    return [json.loads(line) for line in result.stdout.splitlines()]


def check_calls(checks, mode, traced):
    rows = {row['call']: row for row in dump(checks, traced.trace, 'CALLDEF')}
    seen = [rows[call['call']] for call in dump(checks, traced.trace, 'CALL')]
    got = collections.Counter(row['name'] for row in seen if row['layer'] == LAYER_DRIVER)
    want = collections.Counter(call.name for call in placing.read_truth(traced.truth)[1])
    want, got = ({name: count for name, count in counts.items() if COUNTED.match(name)} for counts in (want, got))
    checks.equal(want, got, f'{mode}: launches, copies, memsets and waits by name: trace and truth agree')
    for kind in KINDS:
        checks.ok(sum(count for name, count in want.items() if kind in name) > 1, f'{mode}: cu…{kind} is among them', want)


def one_mode(checks, mode):
    with lib.workdir() as folder:
        bare = lib.generate(folder, mode, preload=False, name='bare')
        runs = []

        def run_once():
            runs.append(lib.generate(folder, mode, name=f'run{len(runs)}'))
            return runs[-1]

        if not lib.compared(checks, mode, run_once, row_names=lib.DEMO_ROWS):
            return
        traced = runs[-1]
        pictures = lib.pictures(bare.out)
        checks.equal(2, len(pictures), f'{mode}: two pictures without us')
        checks.ok(lib.pictures(traced.out) == pictures, f'{mode}: the same with us')
        verify = lib.stagetap('verify', traced.trace)
        checks.equal((0, f'{traced.trace}: whole'), (verify.returncode, verify.stdout.split('\n')[0]), f'{mode}: verify')
        check_calls(checks, mode, traced)
        report = lib.stagetap('report', '--json', '--request', 'all', traced.trace)
        other = lib.run([OTHER_ANALYZER, 'report', '--json', '--request', 'all', traced.trace])
        checks.equal((0, report.stdout), (other.returncode, other.stdout), f'{mode}: both analyzers report the same')


def main():
    checks = lib.Checks()
    checks.equal([MACHINE_AARCH64] * 2, [machine(lib.PRELOAD), machine(lib.program('generate'))], 'built for aarch64')
    checks.ok(machine(lib.STAGETAP) != MACHINE_AARCH64, 'the analyzer is this machine\'s')
    for mode in MODES:
        one_mode(checks, mode)
    checks.finish()


if __name__ == '__main__':
    main()
