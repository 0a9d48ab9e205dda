#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a run really did: request and row figures computed from the simulator's own ground truth.

Input: the file of SIMGPU_TRUTH (device operations and driver calls) and the program's own stage log
(JSON lines stage/image/step/thread/start_ns/end_ns); both in CLOCK_MONOTONIC nanoseconds. The
definitions are those of the surface (self, shared, idle, wall share, belonging), written here a second
time and in another manner than in the analyzer, whose answers are checked against these.

    request:  |== encode ==|=== sample ===|            (host, one thread)
    device:       eeee  eeeessss  ssss                 e belongs to encode although the host is in sample
    pieces:   idle e  idle e  s  idle s                each instant of the wall is exactly one of them

Command line: truth.py [--kernel GLOB=ROW]… [--row LOGGED=ROW]… TRUTH TIMINGS   prints one JSON document.
"""

import argparse
import bisect
import collections
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from placing import UNATTRIBUTED, Run, below, read_timings, read_truth, top  # noqa: E402

SHARED = 'shared'
DEPENDENCIES = ('event_wait', 'other_stream', 'host_function', 'staging')


def union_ns(intervals):
    """Length of the union of (start, end) intervals."""
    total, reached = 0, None
    for start, end in sorted(intervals):
        if reached is None or start > reached:
            total, reached = total + end - start, end
        elif end > reached:
            total, reached = total + end - reached, end
    return total


def pieces(entries, begin, end):
    """Cut [begin, end) at every start and end of entries (start, end, value): yields (t0, t1, values)."""
    cuts = collections.defaultdict(lambda: ([], []))
    for index, (start, stop, _) in enumerate(entries):
        start, stop = max(start, begin), min(stop, end)
        if start < stop:
            cuts[start][0].append(index)
            cuts[stop][1].append(index)
    active, position = set(), begin
    for time in sorted(cuts):
        if time > position:
            yield position, time, [entries[index][2] for index in sorted(active)]
            position = time
        active.difference_update(cuts[time][1])
        active.update(cuts[time][0])
    if position < end:
        yield position, end, []


def label_of(own):
    """What a piece with this request's own work is: ('self', row), ('unattributed',) or ('shared', set)."""
    stages = {top(row) if row else UNATTRIBUTED for _, row in own}
    if len(stages) > 1:
        return (SHARED, frozenset(stages))
    if stages == {UNATTRIBUTED}:
        return (UNATTRIBUTED,)
    _, row = max(own, key=lambda item: (item[1].count('/'), item[0].launched))
    return ('self', row)


def device_pieces(run, request, device):
    """The request's wall on one device as (t0, t1, label, rows of others run beside)."""
    own = {id(op): (op, row) for op, row in request.ops}
    entries = [(op.start, op.end, op) for op in run.ops if op.device == device]
    for t0, t1, ops in pieces(entries, request.begin, request.end):
        mine = [own[id(op)] for op in ops if id(op) in own]
        foreign = len(mine) < len(ops)
        if mine:
            yield t0, t1, label_of(mine), foreign
        else:
            yield t0, t1, ('other',) if foreign else ('idle',), foreign


def device_figures(run, request, device):
    figures = {
        'device': device,
        'busy_ns': union_ns((op.start, op.end) for op, _ in request.ops if op.device == device),
        'stages_self_ns': 0,
        'shared_ns': 0,
        'unattributed_ns': 0,
        'other_ns': 0,
        'overlap_other_ns': 0,
        'idle_ns': 0,
    }
    row_self = collections.Counter()
    keys = {
        'self': 'stages_self_ns',
        SHARED: 'shared_ns',
        UNATTRIBUTED: 'unattributed_ns',
        'other': 'other_ns',
        'idle': 'idle_ns',
    }
    for t0, t1, label, foreign in device_pieces(run, request, device):
        figures[keys[label[0]]] += t1 - t0
        if label[0] == 'self':
            row_self[label[1]] += t1 - t0
        if foreign and label[0] != 'other':
            figures['overlap_other_ns'] += t1 - t0
    figures['residual_ns'] = request.end - request.begin - sum(figures[key] for key in keys.values())
    return figures, row_self


def dependency_idle_ns(run, request, device):
    """Idle time in which the next operation was enqueued and waited for something other than the device."""
    return sum(
        max(0, min(idle['end_ns'], request.end) - max(idle['start_ns'], request.begin))
        for idle in run.idles
        if idle['device'] == device and idle['why'] in DEPENDENCIES
    )


def gaps_of(run, request, device):
    """Maximal intervals in the request in which the device runs nothing, with the rows around; before_own and
    after_own: all own work of the request is still to come, or over."""
    rows = {id(op): row or UNATTRIBUTED for op, row in request.ops}
    ops = [op for op in run.ops if op.device == device and request.begin < op.end and op.start < request.end]
    by_end, by_start = sorted(ops, key=lambda op: op.end), sorted(ops, key=lambda op: op.start)
    ends, starts = [op.end for op in by_end], [op.start for op in by_start]
    first_own = min(op.start for op, _ in request.ops if op.device == device)
    last_own = max(op.end for op, _ in request.ops if op.device == device)
    gaps = []
    for start, end, label, _ in device_pieces(run, request, device):
        if label[0] != 'idle':
            continue
        last, first = bisect.bisect_right(ends, start) - 1, bisect.bisect_left(starts, end)
        gaps.append(
            {
                'request': request.number,
                'device': device,
                'start_ns': start,
                'duration_ns': end - start,
                'before_own': end <= first_own,
                'after_own': start >= last_own,
                'before': rows.get(id(by_end[last]), 'other') if last >= 0 else None,
                'after': rows.get(id(by_start[first]), 'other') if first < len(by_start) else None,
            }
        )
    return gaps


def wall_share(run, request, devices):
    """Each instant of the wall to one row (the deepest): whose work ran, else where the request's thread was."""
    stack = run.stacks[request.thread]
    cuts = {request.begin, request.end}
    cuts.update(t for span in stack.spans for t in (span.start, span.end) if request.begin < t < request.end)
    tracks = [list(device_pieces(run, request, device)) for device in devices]
    cuts.update(t0 for track in tracks for t0, _, _, _ in track)
    starts = [[piece[0] for piece in track] for track in tracks]
    share, cuts = collections.Counter(), sorted(cuts)
    for t0, t1 in zip(cuts, cuts[1:]):
        labels = [track[bisect.bisect_right(begin, t0) - 1][2] for track, begin in zip(tracks, starts)]
        share[share_of(labels, stack.row_at(t0) if t0 < request.host_end else None)] += t1 - t0
    return share


def share_of(labels, host_row):
    working = [label for label in labels if label[0] in ('self', SHARED, UNATTRIBUTED)]
    if not working:
        return host_row or UNATTRIBUTED
    stages = {top(label[1]) if label[0] == 'self' else label[0] for label in working}
    if len(stages) > 1 or SHARED in stages:
        return SHARED
    if stages == {UNATTRIBUTED}:
        return UNATTRIBUTED
    return max((label[1] for label in working), key=lambda row: row.count('/'))


def host_inclusive_ns(stacks, spans, row):
    return sum(
        union_ns((span.start, span.end) for span in spans if span.thread == thread and below(span.row, row))
        for thread in {span.thread for span in spans}
    )


def host_self_ns(stacks, spans, row):
    """Time in which a span of exactly this row is the innermost."""
    total, mine = 0, {id(span) for span in spans}
    for stack in stacks.values():
        for index, span in enumerate(stack.spans):
            if id(span) in mine and span.row == row:
                children = [stack.spans[i] for i, parent in enumerate(stack.parents) if parent == index]
                total += span.end - span.start - union_ns((child.start, child.end) for child in children)
    return total


def outermost_entries(stacks, spans, row):
    mine = {id(span) for span in spans}
    return sum(
        1
        for stack in stacks.values()
        for index, span in enumerate(stack.spans)
        if id(span) in mine and span.row == row and not any(outer.row == row for outer in stack.outer(index))
    )


def work_figures(ops, calls, row):
    """Launches, copies and memsets of a row with all below it. `ops`: (Op, row), `calls`: (Call, row, is captured)."""
    under = [(op, own) for op, own in ops if below(own or UNATTRIBUTED, row)]
    captured = [is_captured for _, own, is_captured in calls if below(own or UNATTRIBUTED, row)]
    figures = {
        'graph_launches': captured.count(False),
        'captured': captured.count(True),
        'launches': 0,
        'launches_self': 0,
        'graph_nodes': 0,
        'memsets': {'count': 0, 'bytes': 0},
        'copies': {kind: {'count': 0, 'bytes': 0} for kind in ('h2d', 'd2h', 'd2d', 'p2p')},
    }
    for op, own in under:
        if op.op == 'kernel' and op.graph is not None:
            figures['graph_nodes'] += 1
        elif op.op == 'kernel':
            figures['launches'] += 1
            figures['launches_self'] += (own or UNATTRIBUTED) == row
        else:
            target = figures['memsets'] if op.op == 'memset' else figures['copies'][op.kind]
            target['count'] += 1
            target['bytes'] += op.bytes
    return figures


def device_rows(ops, row, devices, row_self):
    result = []
    for device in devices:
        under = [op for op, own in ops if op.device == device and below(own or UNATTRIBUTED, row)]
        busy = union_ns((op.start, op.end) for op in under)
        compute = union_ns((op.start, op.end) for op in under if op.op == 'kernel')
        result.append(
            {
                'device': device,
                'busy_ns': busy,
                'compute_ns': compute,
                'copy_only_ns': busy - compute,
                'self_ns': row_self.get((device, row), 0),
            }
        )
    return result


def all_rows(spans, ops, calls):
    """Every row that has a span, an operation or such a call, and the rows above it."""
    rows = set()
    for row in [span.row for span in spans] + [entry[1] for entry in ops + calls if entry[1]]:
        parts = row.split('/')
        rows.update('/'.join(parts[:length]) for length in range(1, len(parts) + 1))
    return sorted(rows)


def rows_of(run, spans, ops, calls, devices=(), row_self=None, share=None):
    result = []
    for row in all_rows(spans, ops, calls):
        entry = {
            'name': row,
            'calls': outermost_entries(run.stacks, spans, row),
            'host_inclusive_ns': host_inclusive_ns(run.stacks, spans, row),
            'host_self_ns': host_self_ns(run.stacks, spans, row),
        }
        entry.update(work_figures(ops, calls, row))
        if share is not None:
            entry['wall_share_ns'] = share[row]
            entry['device'] = device_rows(ops, row, devices, row_self)
        result.append(entry)
    return result


def request_figures(run, request):
    devices = sorted({op.device for op, _ in request.ops})
    figures, row_self = [], {}
    for device in devices:
        entry, selfs = device_figures(run, request, device)
        entry['dependency_ns'] = dependency_idle_ns(run, request, device)
        figures.append(entry)
        row_self.update({(device, row): value for row, value in selfs.items()})
        row_self[(device, UNATTRIBUTED)] = entry['unattributed_ns']
    share = wall_share(run, request, devices)
    rows = rows_of(run, request.spans, request.ops, request.calls, devices, row_self, share)
    own_host = union_ns(
        (span.start, min(span.end, request.host_end)) for span in request.spans if span.thread == request.thread
    )
    rest = {
        'name': UNATTRIBUTED,
        'calls': None,
        'wall_share_ns': share[UNATTRIBUTED],
        'host_inclusive_ns': request.host_end - request.begin - own_host,
        'host_self_ns': request.host_end - request.begin - own_host,
    }
    rest.update(work_figures(request.ops, request.calls, UNATTRIBUTED))
    rest['device'] = device_rows(request.ops, UNATTRIBUTED, devices, row_self)
    tail = [span.end for span in request.after_spans] + [op.end for op, _ in request.after_ops]
    return {
        'id': request.number,
        'thread': request.thread,
        'begin_ns': request.begin,
        'wall_ns': request.end - request.begin,
        'host_return_ns': request.host_end - request.begin,
        'device_done_ns': request.device_end - request.begin if devices else None,
        'wall_with_tail_ns': max(tail + [request.end]) - request.begin,
        'steps': sum(1 for span in request.spans if span.role == 'step'),
        'devices': figures,
        'stages': rows + [rest],
        'shared_wall_ns': share[SHARED],
        'after': rows_of(run, request.after_spans, request.after_ops, request.after_calls),
        'gaps': [gap for device in devices for gap in gaps_of(run, request, device)],
    }


def outside_figures(run):
    result = {}
    for part in ('before_first', 'between', 'after_last'):
        ops, calls = run.outside_ops[part], run.outside_calls[part]
        rows = rows_of(run, run.outside_spans[part], ops, calls)
        if any(entry[1] is None for entry in ops + calls):
            rows.append(dict({'name': UNATTRIBUTED}, **work_figures(ops, calls, UNATTRIBUTED)))
        result[part] = rows
    return result


def compute(truth_path, timings_path, kernel_rules=(), row_names=()):
    ops, calls, idles = read_truth(truth_path)
    return figures_of(Run(ops, idles, read_timings(timings_path, row_names), kernel_rules, calls))


def figures_of(run):
    return {
        'requests': [request_figures(run, request) for request in run.requests],
        'outside': outside_figures(run),
        'total': work_total(run),
    }


def work_total(run):
    """Over the whole process, whoever it belongs to."""
    return work_figures([(op, UNATTRIBUTED) for op in run.ops], [], UNATTRIBUTED)


def parse_pair(text):
    left, _, row = text.rpartition('=')
    if not left or not row:
        raise argparse.ArgumentTypeError(f'{text!r}: expected LEFT=ROW')
    return left, row


def add_arguments(parser):
    parser.add_argument('truth', help='file of SIMGPU_TRUTH')
    parser.add_argument('timings', help='the program\'s stage log')
    parser.add_argument(
        '--kernel',
        action='append',
        default=[],
        type=parse_pair,
        metavar='GLOB=ROW',
        help='kernels that a rule gives to a row',
    )
    parser.add_argument(
        '--row',
        action='append',
        default=[],
        type=parse_pair,
        metavar='LOGGED=ROW',
        help='a stage of the log whose row has another name',
    )


def main():
    parser = argparse.ArgumentParser(description='figures of a run from the simulator\'s ground truth')
    add_arguments(parser)
    args = parser.parse_args()
    print(json.dumps(compute(args.truth, args.timings, args.kernel, args.row), indent=1))


if __name__ == '__main__':
    main()
