#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""STAGETAP_WINDOW: inside, counts and device time are those of the truth to the last launch; outside, boundaries are
there, figures are null with the reason, and nothing counts as lost. By steps (functions and marks), by requests, both,
several windows, by the profiler, by time, and windows that are never reached."""

import re
import sys

import lib

sys.path.insert(0, lib.SOURCE + '/tests/truth')
import placing  # noqa: E402
import truth  # noqa: E402

MAP = (
    'symbol windowed_picture -> request; symbol windowed_sample -> sample; symbol windowed_step -> step; '
    'symbol windowed_decode -> decode'
)
MARKS = MAP.replace('windowed_step -> step', 'windowed_scheduler -> sample step-end')
SERVER_MAP = 'symbol server_handle -> request; symbol server_sample -> sample; ' \
             'symbol server_step -> sample step; symbol server_prefetch -> prefetch'
NO_REQUEST = MAP.replace('symbol windowed_picture -> request; ', '')
REQUESTS, STEPS = 3, 6
NULL = ('own_cpu_ns', 'off_cpu_ns', 'in_cuda_ns', 'waiting_ns', 'wall_share_ns', 'device', 'launches', 'launches_self',
        'graph_launches', 'captured', 'failed')  # fmt: skip


class Truth:
    """The run as the simulator and the program's stage log have it."""

    def __init__(self, traced):
        self.ops, self.calls, _ = placing.read_truth(traced.truth)
        self.log = list(placing.json_lines(traced.timings))

    def step(self, request, step):
        return next(e for e in self.log if e['stage'] == 'step' and (e['image'], e['step']) == (request, step))

    def between(self, begin, end):
        """(kernels, memsets, busy ns, driver calls) launched in between."""
        ops = [op for op in self.ops if begin <= op.launched < end and op.op in placing.BUSY_OPS]
        kernels = sum(op.op == 'kernel' for op in ops)
        calls = sum(begin <= call.start < end for call in self.calls)
        return kernels, len(ops) - kernels, truth.union_ns((op.start, op.end) for op in ops), calls


def run(checks, label, folder, window, mapping=MAP, mode='steps', requests=REQUESTS, **env):
    command = [lib.program('windowed'), str(requests), str(STEPS), mode]
    traced = lib.Traced(folder, command, mapping=mapping, STAGETAP_WINDOW=window, **env)
    checks.equal((0, ''), (traced.process.returncode, traced.process.stderr), f'{label}: runs, says nothing')
    document = lib.report(checks, '--request', 'all', traced.trace, what=label)
    if document:
        checks.equal(window, document['traces'][0]['window'], f'{label}: the trace says which window')
        checks.equal({0}, set(document['traces'][0]['lost'].values()), f'{label}: nothing counts as lost')
    return traced, document


def calls_in(traced):
    text = lib.stagetap('dump', '--table', 'CALL', traced.trace).stdout
    return sum(line.startswith('CALL ') for line in text.splitlines())


def check_outside(checks, label, request, steps=STEPS):
    """The request as a whole: boundaries, and nothing more."""
    checks.ok(request['partial'] and request['complete'], f'{label}: recorded in part, its return is known')
    checks.equal(
        (None, None, None, None),
        tuple(request[key] for key in ('wall_ns', 'device_done_ns', 'wall_with_tail_ns', 'devices')),
        f'{label}: what needs all of its device work is null',
    )
    checks.ok(request['host_return_ns'] > 0, f'{label}: its return is known')
    checks.equal(steps, request['steps'], f'{label}: all steps')
    rows = lib.rows(request)
    checks.equal((1, steps, 1), tuple(rows[name]['calls'] for name in ('sample', 'sample/step', 'decode')),
                 f'{label}: all entries')
    for row in rows.values():
        checks.ok(row['host_inclusive_ns'] is not None, f'{label}: {row["name"]}: host time is known')
        checks.equal([], [key for key in NULL if row[key] is not None], f'{label}: {row["name"]}: the rest is null')
        checks.equal(None, row['memsets']['count'], f'{label}: {row["name"]}: memsets, too')


def check_window(checks, label, found, whole, begin, end, steps):
    """One window against the truth between two instants."""
    kernels, memsets, busy, _ = whole.between(begin, end)
    rows = lib.rows(found)
    first, last = steps
    checks.equal(steps, (found['first_step'], found['last_step']), f'{label}: which steps')
    checks.equal((kernels, memsets), (rows['sample']['launches'], rows['sample']['memsets']['count']),
                 f'{label}: launches and memsets')
    checks.equal(0, rows['sample']['calls'], f'{label}: the stage was entered before')
    checks.equal(last - first + 1, rows['sample/step']['calls'], f'{label}: steps')
    device = found['devices'][0]
    checks.ok(abs(device['busy_ns'] - busy) <= max(20_000, busy // 100), f'{label}: device busy',
              (device['busy_ns'], busy))
    checks.equal(0, device['residual_ns'], f'{label}: residual')
    checks.equal(
        found['wall_ns'],
        sum(device[key] for key in ('stages_self_ns', 'shared_ns', 'unattributed_ns', 'other_ns', 'idle_ns')),
        f'{label}: identity',
    )
    checks.ok(device['idle_by_cause'].get('excluded.window_edge', 0) > 0, f'{label}: the edges are excluded',
              device['idle_by_cause'])
    checks.equal([], [cause for cause in device['idle_by_cause'] if cause in ('before_first', 'after_last')],
                 f'{label}: they are no edges of a request')


def steps(checks):
    for mode, mapping in (('steps', MAP), ('marks', MARKS)):
        label = f'steps 2-4 by {mode}'
        with lib.workdir() as folder:
            traced, document = run(checks, label, folder, 'steps:2-4', mapping, mode)
            whole, calls = Truth(traced), 0
            checks.ok(f'steps 2-4 of {STEPS} in each of {REQUESTS} requests' in (document['window_note'] or ''),
                      f'{label}: the head says which of how many', document['window_note'])
            checks.ok(any('not inferred' in note for note in document['notes']), f'{label}: a note says why',
                      document['notes'])
            for request in document['requests']:
                what = f'{label}: request {request["id"]}'
                check_outside(checks, what, request)
                checks.equal(1, len(request['windows']), f'{what}: one window')
                begin, end = whole.step(request['id'], 2)['start_ns'], whole.step(request['id'], 4)['end_ns']
                check_window(checks, what, request['windows'][0], whole, begin, end, (2, 4))
                calls += whole.between(begin, end)[3]
            checks.equal(calls, calls_in(traced), f'{label}: calls in the trace are those of the windows')
            for row in document['outside']['before_first'] + document['outside']['between']:
                checks.equal(None, row['launches'], f'{label}: outside requests nothing was counted')
            screen = lib.stagetap('report', traced.trace).stdout
            checks.ok(f'\nwindow steps 2-4 of {STEPS} in each of' in screen and 'in the window, steps 2–4' in screen,
                      f'{label}: on the screen', screen)
            strict = lib.stagetap('report', '--strict', traced.trace)
            checks.equal(1, strict.returncode, f'{label}: --strict counts it')


def two_windows(checks):
    """Two windows of one request; steps of another that has fewer would end with the stage."""
    label = 'two windows'
    with lib.workdir() as folder:
        traced, document = run(checks, label, folder, 'requests:2,steps:1-2,steps:5-9')
        whole = Truth(traced)
        one, two, three = document['requests']
        checks.equal([0, 2, 0], [len(request['windows']) for request in (one, two, three)], f'{label}: in request 2')
        for found, (first, last) in zip(two['windows'], ((1, 2), (5, STEPS))):
            what = f'{label}: steps {first}-{last}'
            begin, end = whole.step(2, first)['start_ns'], whole.step(2, last)['end_ns']
            if last == STEPS:  # as steps 7 to 9 never came, the window ends with the stage
                end = next(e['end_ns'] for e in whole.log if (e['stage'], e['image']) == ('sample', 2))
            check_window(checks, what, found, whole, begin, end, (first, last))
        kernels = {}
        for kernel in document['kernels']:
            kernels[kernel['name']] = kernels.get(kernel['name'], 0) + kernel['count']
        inside = [op.name for op in whole.ops for window in two['windows']
                  for begin in [window['begin_ns'] + document['traces'][0]['monotonic_start_ns']]
                  if op.op == 'kernel' and begin <= op.launched < begin + window['host_return_ns']]  # fmt: skip
        checks.equal({name: inside.count(name) for name in set(inside)}, kernels, f'{label}: kernels of both')
        checks.ok(f'steps 1-2 of {STEPS} and steps 5-{STEPS} of {STEPS} in request 2' in document['window_note'],
                  f'{label}: the head', document['window_note'])


def whole_requests(checks):
    """A request that lies in the window whole is like any other; a steady figure is over those only."""
    label = 'requests 2-3'
    with lib.workdir() as folder:
        traced, document = run(checks, label, folder, 'requests:2-3', requests=5)
        figures = truth.compute(traced.truth, traced.timings)
        for request, want in zip(document['requests'], figures['requests']):
            what = f'{label}: request {request["id"]}'
            if request['id'] not in (2, 3):
                check_outside(checks, what, request)
                checks.equal([], request['windows'], f'{what}: no window in it')
                continue
            checks.equal((False, []), (request['partial'], request['windows']), f'{what}: whole')
            rows = lib.rows(request)
            wanted = {row['name']: row['launches'] for row in want['stages']}
            checks.equal(wanted, {name: rows[name]['launches'] for name in wanted}, f'{what}: launches')
            checks.equal(0, request['devices'][0]['residual_ns'], f'{what}: residual')
            checks.ok(abs(request['wall_ns'] - want['wall_ns']) < 1_000_000, f'{what}: wall')
        checks.equal([3, 4, 5], document['rounds']['steady'], f'{label}: steps and stages tell the shape')
        wall = document['rounds']['steady_wall_ns']
        checks.equal((1, document['requests'][2]['wall_ns']), (wall['n'], wall['median']),
                     f'{label}: the steady wall is that of request 3 alone')


def profiler(checks):
    """The program itself says where."""
    label = 'profiler'
    with lib.workdir() as folder:
        traced, document = run(checks, label, folder, 'profiler')
        whole = Truth(traced)
        start, stop = (next(call for call in whole.calls if call.name == name)
                       for name in ('cuProfilerStart', 'cuProfilerStop'))  # fmt: skip
        checks.equal([0, 1, 0], [len(request['windows']) for request in document['requests']], f'{label}: where')
        found = document['requests'][1]['windows'][0]
        kernels, memsets, busy, _ = whole.between(start.end, stop.start)
        rows = lib.rows(found)
        checks.equal((kernels, memsets), (rows['sample']['launches'], rows['sample']['memsets']['count']),
                     f'{label}: launches and memsets')
        checks.ok(abs(found['devices'][0]['busy_ns'] - busy) <= 20_000, f'{label}: device busy')
        checks.equal((0, None), (found['devices'][0]['residual_ns'], found['first_step']),
                     f'{label}: identity; no step lies in it whole')


def time_window(checks):
    """By time, from the start of the trace: all that was recorded lies in it, and it is there."""
    label = 'time'
    with lib.workdir() as folder:
        traced, document = run(checks, label, folder, 'time:40ms+150ms', requests=40)
        inside = [r for r in document['requests'] if not r['partial'] or r['windows']]
        begins, ends = ([r['begin_ns'] + offset * r['host_return_ns'] for r in inside] for offset in (0, 1))
        # a window opens and closes when the writer looks, every 5 ms
        checks.ok(inside and min(ends) >= 40_000_000 and max(begins) < 400_000_000, f'{label}: about when',
                  (ends[:1], begins[-1:]))
        whole = [request for request in document['requests'] if not request['partial']]
        checks.ok(0 < len(whole) < 40, f'{label}: some requests lie in it whole', len(whole))
        for request in whole:
            checks.equal(0, request['devices'][0]['residual_ns'], f'{label}: request {request["id"]}: residual')
            checks.equal(sum(2 + s for s in range(1, STEPS + 1)) + STEPS, lib.rows(request)['sample']['launches'],
                         f'{label}: request {request["id"]}: launches')
        shown = re.search(r'^rows: request (\d+) alone, (\S+)', lib.stagetap('report', traced.trace).stdout, re.M)
        checks.ok(shown and int(shown[1]) in [request['id'] for request in whole] and shown[2] != '–',
                  f'{label}: the table is of one that lies in it whole', shown and shown[0])


def no_request_rule(checks):
    """The process is the request, and steps count in it."""
    label = 'no request rule'
    with lib.workdir() as folder:
        traced, document = run(checks, label, folder, 'steps:8-9', NO_REQUEST)
        whole = Truth(traced)
        checks.equal([True], [request['implicit'] for request in document['requests']], f'{label}: one, implicit')
        found = document['requests'][0]['windows']
        checks.equal(1, len(found), f'{label}: one window')
        begin, end = whole.step(2, 2)['start_ns'], whole.step(2, 3)['end_ns']  # six steps each
        check_window(checks, label, found[0], whole, begin, end, (8, 9))


def server(checks):
    """Two threads: each request has its own window, whatever the other does meanwhile."""
    label = 'server, steps 2-3'
    with lib.workdir() as folder:
        traced = lib.Traced(folder, [lib.program('server')], mapping=SERVER_MAP, STAGETAP_WINDOW='steps:2-3')
        document = lib.report(checks, '--request', 'all', traced.trace, what=label)
        checks.equal([1] * 6, [len(request['windows']) for request in document['requests']], f'{label}: one each')
        for request in document['requests']:
            found, what = request['windows'][0], f'{label}: request {request["id"]}'
            rows = lib.rows(found)
            checks.equal((2, 3, 2, 2), (found['first_step'], found['last_step'], rows['sample/step']['calls'],
                                        rows['sample/step']['launches']), f'{what}: two steps of one launch each')
            checks.equal([0], [device['residual_ns'] for device in found['devices']], f'{what}: residual')
        prefetched = [lib.rows(request['windows'][0]).get('prefetch', {}).get('calls', 0)
                      for request in document['requests']]
        checks.equal([1, 0, 0, 0, 0, 0], prefetched, f'{label}: a thread without a request is in the only open one')


def never_reached(checks):
    for window in ('steps:7', 'requests:4-5', 'time:1h+1s', 'steps:1,time:1h+1s'):
        label = f'{window}, never reached'
        with lib.workdir() as folder:
            traced, document = run(checks, label, folder, window)
            checks.ok('never reached' in document['window_note'], f'{label}: said', document['window_note'])
            checks.equal(0, calls_in(traced), f'{label}: no calls')
            for request in document['requests']:
                check_outside(checks, f'{label}: request {request["id"]}', request)
            screen = lib.stagetap('report', traced.trace).stdout
            checks.ok('no CUDA work seen' not in screen, f'{label}: it does not say that there was no work', screen)


def device_records(checks):
    """Records of launches far outside are not written; a killed or slow writer may leave some, which are dropped."""
    label = 'device records'
    with lib.workdir() as folder:
        traced, document = run(checks, label, folder, 'requests:60', requests=120)
        recorded = lib.stagetap('dump', '--table', 'KERNEL', traced.trace).stdout.count('KERNEL ')
        launched = sum(op.op == 'kernel' for op in Truth(traced).ops)
        inside = lib.rows(document['requests'][59])['sample']['launches']
        checks.ok(inside <= recorded < launched * 3 // 4, f'{label}: {recorded} of {launched} are written, {inside} count')


def refused(checks):
    with lib.workdir() as folder:
        result = lib.stagetap('run', '--window', 'steps:4-2', '--', '/bin/true', cwd=folder)
        checks.equal(125, result.returncode, 'a window that ends before it begins: 125')
        checks.ok('--window=steps:4-2' in result.stderr, 'and said', result.stderr)


def main():
    checks = lib.Checks()
    for test in (steps, two_windows, whole_requests, profiler, time_window, no_request_rule, server,
                 never_reached, device_records, refused):  # fmt: skip
        test(checks)
    checks.finish()


if __name__ == '__main__':
    main()
