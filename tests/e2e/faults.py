#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong around a run (SIMGPU_FAULTS): either the report still agrees with the truth, or it says what is
missing – and the program does what it does without us."""

import lib
import placing

AGREES = ['unordered', 'clock-step', 'cupti-layout=11.8', 'cupti-layout=12.4', 'cupti-layout=13.0']


def still_agrees(checks):
    for fault in AGREES:
        with lib.workdir() as folder:
            lib.compared(
                checks,
                fault,
                lambda: lib.generate(folder, '--two-streams', steps=6, SIMGPU_FAULTS=fault),
                row_names=lib.DEMO_ROWS,
            )


def traced(checks, folder, label, fault, *options, status=0):
    run = lib.generate(folder, *options, images=2, steps=6, SIMGPU_FAULTS=fault)
    checks.equal(status, run.process.returncode, f'{label}: exit {status} as without us')
    return run, lib.report(checks, '--request', 'all', run.trace, what=label)


def records_lost(checks):
    """Host side and launches are whole, the device side says what it lacks."""
    for fault, cause in (('drop=10%', 'cupti_dropped'), ('zero-timestamps', 'device_invalid')):
        with lib.workdir() as folder:
            run, document = traced(checks, folder, fault, fault)
            if document is None:
                continue
            lost = document['traces'][0]['lost']
            ops, _, _ = placing.read_truth(run.truth)
            checks.ok(
                len(ops) // 20 <= lost.get(cause, 0) <= len(ops),
                f'{fault}: {lost.get(cause)} records lost of {len(ops)} operations',
                lost,
            )
            kernels = sum(1 for op in ops if op.op == 'kernel')
            seen = sum(
                lib.rows(request)[row]['launches']
                for request in document['requests']
                for row in ('encode', 'sample', 'decode', 'output', 'unattributed')
            )
            checks.equal(kernels, seen, f'{fault}: all launches are counted')
            residuals = {
                device['residual_ns'] for request in document['requests'] for device in request['devices'] or []
            }
            checks.ok(residuals <= {0}, f'{fault}: identity holds', residuals)
            checks.equal(1, lib.stagetap('report', '--strict', run.trace).returncode, f'{fault}: --strict says 1')
            screen = lib.stagetap('report', run.trace).stdout
            checks.ok('lost' in screen or 'missing' in screen, f'{fault}: the screen says so', screen[:1500])


def other_tool(checks):
    """Another tool holds CUPTI: host side only, and the reason is given."""
    with lib.workdir() as folder:
        _, document = traced(checks, folder, 'subscriber-taken', 'subscriber-taken')
        if document:
            kernel = [entry for entry in document['capabilities'] if entry['kind'] == 'kernel']
            checks.ok(
                kernel and kernel[0]['state'] in ('not_collected', 'degraded') and kernel[0]['why'],
                'subscriber-taken: capability kernel says why',
                kernel,
            )
            checks.ok(
                all(request['stages'][0]['host_inclusive_ns'] > 0 for request in document['requests']),
                'subscriber-taken: host figures are there',
            )


def failing_launch(checks):
    """A launch that fails is the program's error: listed, not counted as a launch, same message and status."""
    with lib.workdir() as folder:
        bare = lib.generate(folder, images=2, steps=6, preload=False, name='bare', SIMGPU_FAULTS='launch-fail=50')
        run, document = traced(checks, folder, 'launch-fail', 'launch-fail=50', status=bare.process.returncode)
        checks.ok(bare.process.returncode != 0, 'launch-fail: the program fails', bare.describe())
        checks.equal(bare.process.stderr, run.process.stderr, 'launch-fail: same message')
        if document:
            errors = [(error['call'], error['code'], error['count']) for error in document['api_errors']]
            checks.ok(
                any(call.startswith('cuLaunchKernel') and code == 719 and count == 1 for call, code, count in errors),
                'launch-fail: listed with call and code',
                errors,
            )
            last = document['requests'][-1]
            rows = [row for row in last['stages'] if row['failed']]
            checks.ok(
                rows,
                'launch-fail: counted as failed in its row',
                [(row['name'], row['failed']) for row in last['stages']],
            )
            ops, _, _ = placing.read_truth(run.truth)
            launches = sum(
                row['launches']
                for request in document['requests']
                for row in request['stages']
                if '/' not in row['name']
            )
            checks.equal(
                sum(1 for op in ops if op.op == 'kernel'), launches, 'launch-fail: launches are those that succeeded'
            )


def aborting(checks):
    with lib.workdir() as folder:
        bare = lib.generate(folder, images=2, steps=6, preload=False, name='bare', SIMGPU_FAULTS='abort=100')
        run, document = traced(checks, folder, 'abort', 'abort=100', status=bare.process.returncode)
        checks.ok(bare.process.returncode < 0, 'abort: the program dies by a signal', bare.describe())
        if document:
            checks.equal(
                [False], [trace['complete'] for trace in document['traces']], 'abort: the trace is not complete'
            )
            launches = sum(
                row['launches']
                for request in document['requests']
                for row in request['stages']
                if '/' not in row['name']
            )
            ops, _, _ = placing.read_truth(run.truth)
            checks.ok(
                launches >= sum(1 for op in ops if op.op == 'kernel') - 1 and launches > 10,
                'abort: everything up to the end is there',
                launches,
            )


def main():
    checks = lib.Checks()
    still_agrees(checks)
    records_lost(checks)
    other_tool(checks)
    failing_launch(checks)
    aborting(checks)
    checks.finish()


if __name__ == '__main__':
    main()
