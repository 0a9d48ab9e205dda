#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Threads, signal handlers, stacks and libraries that come and go: the program is the same with and without us,
and every launch is recorded or counted as lost."""

import os
import sys
import time

import lib
import lives

SHORT_THREADS = 300
RINGS_AT_ONCE = 100  # of 300 threads one after the other


def counted(checks, label, folder, command, **options):
    """Runs it; every launch of the truth is in the report or lost. Returns the report."""
    _, seen = lives.twice(checks, label, folder, command, **options)
    document = lives.report(checks, label, seen.traces()[0]) if checks.equal(1, len(seen.traces()), label) else None
    if document:
        found = (lives.launches(document), document['traces'][0]['lost']['ring_full'])
        checks.equal(seen.kernels(), [sum(found)], f'{label}: {found[0]} recorded + {found[1]} lost = made')
    checks.equal([], lib.rings(folder), f'{label}: no ring is left')
    return document


def case(checks, name, number, requests, may_lose=False, **settings):
    with lib.workdir() as folder:
        document = counted(checks, name, folder, lives.lives(name, number), **settings)
        if document:
            checks.equal(requests, len(document['requests']), f'{name}: requests')
            if not may_lose:
                checks.equal(0, lives.lost(document), f'{name}: nothing lost')
        return document


def short_threads(checks):
    """Each ends with events in its ring. Rings are given back while the program runs."""
    label = f'{SHORT_THREADS} short threads'
    document = case(checks, 'short_threads', SHORT_THREADS, 1)
    if document:
        sample = lib.rows(document['requests'][0])['sample']
        checks.equal((SHORT_THREADS, 3 * SHORT_THREADS), (sample['calls'], sample['launches']), f'{label}: all stages')
    with lib.workdir() as folder:
        env = lib.environment(True, STAGETAP_OUT=os.path.join(folder, 'run.stap'), STAGETAP_MAP=lives.MAP)
        process = lib.start(lives.lives('short_threads', SHORT_THREADS), env, cwd=folder)
        most = 0
        while process.poll() is None:
            most = max(most, len(lib.rings(folder)))
            time.sleep(0.002)
        checks.equal(0, process.returncode, f'{label}: watched from outside')
        checks.ok(0 < most <= RINGS_AT_ONCE, f'{label}: at most {RINGS_AT_ONCE} rings at once', most)
        print(f'note: {label}: {most} rings at most')
        checks.equal([], lib.rings(folder), f'{label}: none is left')


def handler(checks):
    """At any instruction, also within a recording: then the launch is counted as lost, and the spans stay whole."""
    stages = 150000
    # 150 000 stages in half a second: the ring is large enough for a writer that gets no processor for a while
    document = case(checks, 'handler', stages, 1, may_lose=True, STAGETAP_BUFFER='16M')
    if document:
        request = document['requests'][0]
        lost = document['traces'][0]['lost']['ring_full']
        calls = lib.rows(request)['encode']['calls']
        checks.ok(request['complete'], 'handler: the request is whole')
        checks.ok(stages - lost <= calls <= stages, 'handler: stages entered', (calls, stages, lost))
        print(f'note: handler: {lives.launches(document)} launches recorded, {lost} lost')


def stacks(checks):
    document = case(checks, 'fibers', 3, 3)
    for request in document['requests'] if document else []:
        row = lib.rows(request)['encode']
        checks.equal((1, 3), (row['calls'], row['launches']), 'fibers: one entry, all its launches')
    document = case(checks, 'signal_stack', 0, 3)
    for request in document['requests'] if document else []:
        row = lib.rows(request)['encode']
        checks.equal((1, 3), (row['calls'], row['launches']), 'signal_stack: one entry, the handler’s launch within')
    document = case(checks, 'longjmp', 3, 3)
    for request in document['requests'] if document else []:
        rows = lib.rows(request)
        found = [(rows[name]['calls'], rows[name]['launches']) for name in ('sample', 'decode')]
        checks.equal([(1, 2), (1, 3)], found, 'longjmp: the stage that was left ends, the next has its own launches')
    if not lib.is_built('lives_throw'):
        checks.skip('exceptions: no C++ compiler when this was built')
        return
    with lib.workdir() as folder:
        document = counted(checks, 'exceptions', folder, [lib.program('lives_throw'), 'stages'])
        for request in document['requests'] if document else []:
            rows = lib.rows(request)
            found = [(rows[name]['calls'], rows[name]['launches']) for name in ('encode', 'sample', 'unattributed')]
            checks.equal([(1, 0), (1, 2), 1], [found[0], found[1], found[2][1]], 'exceptions: both stages end')


def libraries(checks):
    """The stages' library and libcuda unloaded and loaded again: stages go on to be seen, lookups answer the same."""
    for keeps, label in ((['keep'], 'stages unloaded'), ([], 'stages and libcuda unloaded')):
        with lib.workdir() as folder:
            command = [lib.program('reopens'), '5', lives.STAGES] + keeps
            _, seen = lives.twice(checks, label, folder, command, truth=False)
            document = lives.report(checks, label, seen.traces()[0])
            if document:
                checks.equal(5, len(document['requests']), f'{label}: a request each time')
                calls = [lib.rows(request)['encode']['calls'] for request in document['requests']]
                checks.equal([1] * 5, calls, f'{label}: with its stage')


def main():
    checks = lib.Checks()
    short_threads(checks)
    document = case(checks, 'many_threads', 50, 1)
    if document:
        sample = lib.rows(document['requests'][0])['sample']
        checks.equal((64, 64 * 50), (sample['calls'], sample['launches']), '64 threads at once')
    document = case(checks, 'cancel', 10, 11)
    if document:
        complete = [request['complete'] for request in document['requests']]
        checks.equal([True] * 11, complete, 'cancelled threads: their requests end')
    handler(checks)
    stacks(checks)
    libraries(checks)
    checks.finish()


if __name__ == '__main__':
    sys.exit(main())
