#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many threads that come and go, and rings that overflow: with `wait` nothing is lost, with `drop` what is lost is
counted to the last event and the program does the same. Each thread's work lands in its own request."""
import os

import lib

MAP = 'symbol crowd_request -> request; symbol crowd_sample -> sample'
WAVES, THREADS = 4, 12


def launches(document):
    groups = [request['stages'] for request in document['requests']] + list(document['outside'].values())
    return sum(row['launches'] or 0 for rows in groups for row in rows if '/' not in row['name'])


def crowd(folder, count, **env):
    return lib.Traced(folder, [lib.program('crowd'), str(WAVES), str(THREADS), str(count)], mapping=MAP, **env)


def nothing_lost(checks):
    """Rings of 64 KiB (1024 events) and 1500 launches a thread."""
    for settings in ({'STAGETAP_BUFFER': '64K', 'STAGETAP_ON_FULL': 'wait'}, {'STAGETAP_FLUSH': '10ms'}):
        label = ' '.join(f'{name}={value}' for name, value in settings.items())
        with lib.workdir() as folder:
            traced = crowd(folder, 1500, **settings)
            checks.equal((0, ''), (traced.process.returncode, traced.process.stderr), f'{label}: runs')
            document = lib.report(checks, '--request', 'all', traced.trace, what=label)
            if document is None:
                continue
            checks.equal({0}, set(document['traces'][0]['lost'].values()), f'{label}: nothing lost')
            checks.equal(WAVES * THREADS, len(document['requests']), f'{label}: a request for each thread')
            wrong = [request['id'] for request in document['requests']
                     if lib.rows(request)['sample']['launches'] != 1500 or lib.rows(request)['sample']['memsets']['count'] != 30]
            checks.equal([], wrong, f'{label}: each has its 1500 launches and 30 memsets')
            residuals = {device['residual_ns'] for request in document['requests'] for device in request['devices']}
            checks.equal({0}, residuals, f'{label}: identity holds in all')


def losses_counted(checks):
    """The benchmark's driver does nothing, so that a burst of 6000 launches overruns a ring of 1024 events."""
    program = os.path.join(lib.BUILD, 'tests', 'bench', 'call_cost')
    bursts, total = 8, 6000 * (8 + 1)
    with lib.workdir() as folder:
        trace = os.path.join(folder, 'overflow.stap')
        env = lib.environment(simgpu=False, STAGETAP_OUT=trace, STAGETAP_BUFFER='64K', STAGETAP_ON_FULL='drop')
        result = lib.run([program, str(bursts)], env, folder)
        checks.equal((0, ''), (result.returncode, result.stderr), 'overflow: the program runs as ever')
        document = lib.report(checks, '--request', 'all', trace, what='overflow')
        if document is None:
            return
        lost = document['traces'][0]['lost']['ring_full']
        checks.ok(lost > 1000, f'overflow: {launches(document)} of {total} launches are there, {lost} events lost')
        checks.ok(total <= launches(document) + lost <= total + 10, 'overflow: what is there and what is lost add up',
                  (total, launches(document), lost))
        checks.equal(1, lib.stagetap('report', '--strict', trace).returncode, 'overflow: --strict says 1')
        checks.ok('lost' in lib.stagetap('report', trace).stdout, 'overflow: the screen says so')


def main():
    checks = lib.Checks()
    nothing_lost(checks)
    losses_counted(checks)
    checks.finish()


if __name__ == '__main__':
    main()
