#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server: six requests on two threads, some at once, some that call themselves again; a thread that prefetches for
the only open request, for nobody while two are open, and after the last; a pool thread that launches for a request.
Each request's figures are those of the truth, and the identity of each leaves nothing over."""

import lib

MAP = (
    'symbol server_handle -> request; symbol server_encode -> encode; symbol server_sample -> sample; '
    'symbol server_step -> sample step; symbol server_decode -> decode; symbol server_save -> save; '
    'symbol server_prefetch -> prefetch'
)
STEPS, REQUESTS = 4, 6


def overlaps(requests):
    spans = [(request['begin_ns'], request['begin_ns'] + request['host_return_ns']) for request in requests]
    return sum(a[0] < b[1] and b[0] < a[1] for i, a in enumerate(spans) for b in spans[:i])


def check_each(checks, requests):
    for request in requests:
        what, rows = f'request {request["id"]}', lib.rows(request)
        checks.equal(STEPS, request['steps'], f'{what}: steps')
        checks.equal((1, STEPS), (rows['sample']['calls'], rows['sample/step']['calls']), f'{what}: its own rows')
        checks.equal([0], [device['residual_ns'] for device in request['devices']], f'{what}: residual')
        checks.ok(not request['implicit'], f'{what}: a rule named it')
        checks.equal(['save'], [row['name'] for row in request['after']], f'{what}: saving is after it')
    retried = [lib.rows(request)['encode']['calls'] for request in requests]
    checks.equal([2, 2], sorted(retried)[-2:], 'two requests encode twice: calling itself again makes no request')
    shared = [
        request['devices'][0]['other_ns'] + request['devices'][0]['overlap_other_ns'] for request in requests[1:]
    ]
    checks.ok(max(shared) > 500_000, 'work of the other request is other, not idle', shared)


def check_threads(checks, document):
    first = lib.rows(document['requests'][0])
    checks.equal((1, 1), (first['prefetch']['calls'], first['prefetch']['copies']['h2d']['count']),
                 'prefetching while one request is open is its row')
    between = {row['name']: row for row in document['outside']['between']}
    checks.equal((1, 1), (between['prefetch']['copies']['h2d']['count'], between['unattributed']['launches']),
                 'while two are open it is nobody\'s: between')
    last = {row['name']: row for row in document['outside']['after_last']}
    checks.equal(1, last['unattributed']['launches'], 'a launch after all requests is after the last')
    checks.equal(2, first['unattributed']['launches'],
                 'a pool\'s launch and a stray one belong to the only open request, in no stage')


def main():
    checks = lib.Checks()
    with lib.workdir() as folder:
        document = lib.compared(
            checks, 'server', lambda: lib.Traced(folder, [lib.program('server')], mapping=MAP)
        )
    if document:
        requests = document['requests']
        checks.equal(REQUESTS, len(requests), 'six requests')
        checks.ok(overlaps(requests) >= 2, 'some are open at once', overlaps(requests))
        check_each(checks, requests)
        check_threads(checks, document)
    checks.finish()


if __name__ == '__main__':
    main()
