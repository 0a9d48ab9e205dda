#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A running and a killed process can be read (requirement X2): everything committed is there, what is open is
listed as such, and the files of an orderly end are complete."""

import json
import os
import signal
import subprocess
import time

import lib
import placing

STEPS = 400


def start(folder, name):
    """A long generate run in the background."""
    paths = {suffix: os.path.join(folder, f'{name}.{suffix}') for suffix in ('stap', 'truth')}
    env = lib.environment(
        STAGETAP_OUT=paths['stap'], SIMGPU_TRUTH=paths['truth'], SIMGPU_MODEL=lib.DEMO_MODEL, STAGETAP_FLUSH='10s'
    )
    command = [
        lib.program('generate'),
        '--images',
        '50',
        '--steps',
        str(STEPS),
        '--size',
        '64',
        '--item-sync',
        '--out',
        folder + '/',
        '--quiet',
    ]
    process = lib.start(
        command,
        env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    return process, paths


def wait_for_launches(process, path, count, timeout=20):
    """Until the truth shows that many launches; returns how many, 0 if that never comes."""
    end = time.monotonic() + timeout
    while time.monotonic() < end and process.poll() is None:
        try:
            with open(path, 'rb') as file:
                seen = file.read().count(b'"cuLaunchKernel')
            if seen >= count:
                return seen
        except FileNotFoundError:
            pass
        time.sleep(0.05)
    return 0


def launches_in(document):
    """All launches of the report, wherever they belong. `unattributed` and top rows only: they hold the rest."""
    groups = [request['stages'] for request in document['requests']] + [
        request['after'] for request in document['requests']
    ]
    groups += list(document['outside'].values())
    return sum(row['launches'] or 0 for group in groups for row in group if '/' not in row['name'])


def check_live(checks, process, paths):
    started = time.monotonic()
    document = lib.report(checks, '--request', 'all', process.pid, what='report of a running process')
    checks.ok(time.monotonic() - started < 10, 'a running process is read without waiting for it')
    if document:
        checks.equal(True, document['live'], 'running process: live')
        checks.ok(document['open_requests'] >= 1, 'running process: an open request', document['open_requests'])
        checks.ok(
            document['requests'][-1]['complete'] is False and document['requests'][-1]['wall_ns'] is None,
            'running process: the open request has no wall',
        )
        checks.ok(launches_in(document) > 1000, 'running process: launches are there', launches_in(document))
    screen = lib.stagetap('report', process.pid)
    checks.ok(
        screen.returncode == 0 and 'still running' in screen.stdout,
        'running process: the head says "still running"',
        screen.stdout[:500] + screen.stderr[:500],
    )
    by_file = lib.report(checks, '--request', 'all', paths['stap'], what='report of a growing file')
    if document and by_file:
        checks.ok(launches_in(by_file) >= launches_in(document), 'the growing file, a moment later, shows no less')


TRUTH_LOST = 300  # launches whose lines the simulator may lose when it is killed (it writes at each wait)


def check_killed(checks, paths):
    """Launches: all whose call had returned, at most the one in flight missing."""
    _, calls, _ = placing.read_truth(paths['truth'])
    finished = sum(1 for call in calls if call.name.startswith('cuLaunchKernel') and call.result == 0)
    document = lib.report(checks, '--request', 'all', paths['stap'], what='report of a killed process')
    if document is None:
        return
    seen = launches_in(document)
    checks.ok(
        finished - 1 <= seen <= finished + TRUTH_LOST, f'killed: {finished} launches finished, all are there', seen
    )
    dump = [json.loads(line) for line in lib.stagetap('dump', '--json', paths['stap']).stdout.splitlines()]
    calls = [(row['from_thread'], row['begin_ticks']) for row in dump if row['table'] == 'CALL']
    checks.ok(
        len(calls) > seen and len(calls) == len(set(calls)),
        'killed: file and ring together hold no call twice',
        len(calls),
    )
    checks.equal(False, document['live'], 'killed: not live')
    checks.equal([False], [trace['complete'] for trace in document['traces']], 'killed: the trace is not complete')
    checks.equal(False, document['requests'][-1]['complete'], 'killed: the request under way is not complete')
    checks.equal(None, document['requests'][-1]['wall_ns'], 'killed: and has no wall')
    checks.ok('sample' in lib.rows(document['requests'][-1]), 'killed: and has its rows')
    # A request that returned after the last device records is open, too: when its work was done is not known.
    complete = [request['complete'] for request in document['requests']]
    checks.equal(sorted(complete, reverse=True), complete, 'killed: incomplete requests are the last ones')
    checks.equal(complete.count(False), document['open_requests'], 'killed: and are counted as open')
    for request in document['requests'][:-1]:
        for device in request['devices'] or []:
            checks.equal(0, device['residual_ns'], f'killed: request {request["id"]}: identity holds')
    screen = lib.stagetap('report', paths['stap'])
    checks.equal(0, screen.returncode, 'killed: report on screen')
    strict = lib.stagetap('report', '--strict', paths['stap'])
    checks.equal(1, strict.returncode, 'killed: report --strict says 1')


def main():
    checks = lib.Checks()
    with lib.workdir() as folder:
        process, paths = start(folder, 'killed')
        try:
            checks.ok(wait_for_launches(process, paths['truth'], 20 * STEPS + 2000) > 0, 'the second image is being sampled')
            checks.equal(
                [process.pid],
                sorted({pid for _, pid in lib.rings(folder)}),
                'a running process has its rings in shared memory',
            )
            check_live(checks, process, paths)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        check_killed(checks, paths)
    with lib.workdir() as folder:
        traced = lib.generate(folder, images=1, steps=3, name='orderly')
        checks.equal(0, traced.process.returncode, 'an orderly run')
        checks.equal([], lib.rings(folder), 'an orderly run leaves no ring')
        document = lib.report(checks, '--request', 'all', traced.trace, what='report of an orderly run')
        if document:
            checks.equal([True], [trace['complete'] for trace in document['traces']], 'orderly: complete')
        terminated, paths = start(folder, 'terminated')
        wait_for_launches(terminated, paths['truth'], 500)
        terminated.terminate()
        checks.equal(-signal.SIGTERM, terminated.wait(), 'SIGTERM ends the target as without us')
        document = lib.report(checks, '--request', 'all', paths['stap'], what='report after SIGTERM')
        if document:
            checks.ok(launches_in(document) >= 499, 'after SIGTERM: launches are there', launches_in(document))
    checks.finish()


if __name__ == '__main__':
    main()
