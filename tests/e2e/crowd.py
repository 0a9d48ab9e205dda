#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many threads that come and go, and rings that overflow: with `wait` nothing is lost, with `drop` what is lost is
counted to the last event and the program does the same. Each thread's work lands in its own request."""

import os

import lib

MAP = 'symbol crowd_request -> request; symbol crowd_sample -> sample'
WAVES, THREADS, LAUNCHES = 4, 8, 500


def launches(document):
    groups = [request['stages'] for request in document['requests']] + list(document['outside'].values())
    return sum(row['launches'] or 0 for rows in groups for row in rows if '/' not in row['name'])


def nothing_lost(checks):
    """Each short-lived thread is a request of its own and has all its work."""
    label = f'{WAVES} × {THREADS} threads'
    with lib.workdir() as folder:
        command = [lib.program('crowd'), str(WAVES), str(THREADS), str(LAUNCHES)]
        traced = lib.Traced(folder, command, mapping=MAP, STAGETAP_FLUSH='10ms')
        checks.equal((0, ''), (traced.process.returncode, traced.process.stderr), f'{label}: runs')
        document = lib.report(checks, '--request', 'all', traced.trace, what=label)
        if document is None:
            return
        checks.equal({0}, set(document['traces'][0]['lost'].values()), f'{label}: nothing lost')
        checks.equal(WAVES * THREADS, len(document['requests']), f'{label}: a request for each thread')
        found = [
            (lib.rows(request)['sample']['launches'], lib.rows(request)['sample']['memsets']['count'])
            for request in document['requests']
        ]
        checks.equal({(LAUNCHES, LAUNCHES // 50)}, set(found), f'{label}: each has its launches and memsets')
        residuals = {device['residual_ns'] for request in document['requests'] for device in request['devices']}
        checks.equal({0}, residuals, f'{label}: identity holds in all')


def overrun(checks, on_full):
    """The benchmark's driver does nothing, so that launches without a pause overrun a ring of 1024 events, which may
    grow to 16 times that."""
    bursts, total, label = 100, 6000 * (100 + 1), f'overrun, {on_full}'
    with lib.workdir() as folder:
        trace = os.path.join(folder, 'overrun.stap')
        env = lib.environment(simgpu=False, STAGETAP_OUT=trace, STAGETAP_BUFFER='64K', STAGETAP_ON_FULL=on_full)
        result = lib.run([os.path.join(lib.BUILD, 'tests', 'bench', 'call_cost'), str(bursts), '0'], env, folder)
        checks.equal((0, ''), (result.returncode, result.stderr), f'{label}: the program runs as ever')
        document = lib.report(checks, '--request', 'all', trace, what=label)
        if document is None:
            return
        lost = document['traces'][0]['lost']['ring_full']
        checks.ok(
            lost == 0 if on_full == 'wait' else lost > 1000,
            f'{label}: {launches(document)} of {total} launches are there, {lost} events lost',
        )
        checks.ok(
            total <= launches(document) + lost <= total + 10,
            f'{label}: what is there and what is lost add up',
            (total, launches(document), lost),
        )
        if lost:
            checks.equal(1, lib.stagetap('report', '--strict', trace).returncode, f'{label}: --strict says 1')
            checks.ok('lost' in lib.stagetap('report', trace).stdout, f'{label}: the screen says so')


def main():
    checks = lib.Checks()
    nothing_lost(checks)
    overrun(checks, 'drop')
    overrun(checks, 'wait')
    checks.finish()


if __name__ == '__main__':
    main()
