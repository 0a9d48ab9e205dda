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
import fnmatch
import json

UNATTRIBUTED = 'unattributed'
SHARED = 'shared'
BUSY_OPS = ('kernel', 'memcpy', 'memset')

Span = collections.namedtuple('Span', 'row role thread start end image step')
Op = collections.namedtuple('Op', 'op name device stream thread launched start end bytes kind graph')
Call = collections.namedtuple('Call', 'name thread start end result')


# ---- reading ---------------------------------------------------------------------------------------


def json_lines(path):
    """Whole lines only: the last one may be cut by a kill."""
    with open(path, encoding='utf-8') as file:
        for line in file:
            if line.endswith('\n') and line.strip():
                yield json.loads(line)


def read_truth(path):
    """Returns (device operations, driver calls, idle lines) of one process."""
    ops, calls, idles = [], [], []
    for entry in json_lines(path):
        if entry['op'] == 'call':
            calls.append(Call(entry['name'], entry['thread'], entry['start_ns'], entry['end_ns'], entry['result']))
        elif entry['op'] == 'idle':
            idles.append(entry)
        else:
            ops.append(Op(entry['op'], entry['name'], entry['device'], entry['stream'], entry['thread'],
                          entry['launched_ns'], entry['start_ns'], entry['end_ns'], entry.get('bytes') or 0,
                          entry.get('kind'), entry.get('graph')))
    return ops, calls, idles


def read_timings(path, row_names=()):
    """The program's stage log as spans, with full row names; `step` becomes the row <stage>/step.
    `row_names`: pairs (name in the log, row) where the two differ."""
    names, raw = dict(row_names), []
    for entry in json_lines(path):
        row = names.get(entry['stage'], entry['stage'])
        raw.append(Span(row, role_of(row), entry['thread'], entry['start_ns'], entry['end_ns'], entry.get('image'),
                        entry.get('step')))
    return name_steps(raw)


def role_of(stage):
    if stage in ('request', 'load'):
        return stage
    return 'step' if stage.split('/')[-1] == 'step' else 'stage'


def name_steps(spans):
    named = []
    for thread_spans in by_thread(spans).values():
        for index, span in enumerate(thread_spans):
            if span.row == 'step':
                around = [other for other in thread_spans[:index]
                          if other.end >= span.end and other.role in ('stage', 'load')]
                span = span._replace(row=around[-1].row + '/step' if around else 'step')
            named.append(span)
    return named


# ---- who was where ---------------------------------------------------------------------------------


def by_thread(spans):
    """Spans of each thread, outer before inner."""
    threads = collections.defaultdict(list)
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        threads[span.thread].append(span)
    return threads


def below(row, ancestor):
    return row == ancestor or row.startswith(ancestor + '/')


def top(row):
    return row.split('/')[0]


class Stack:
    """Which spans of one thread are open at an instant. Spans nest properly."""

    def __init__(self, spans):
        self.spans = spans
        self.starts = [span.start for span in spans]
        self.parents = []
        open_spans = []
        for index, span in enumerate(spans):
            while open_spans and spans[open_spans[-1]].end <= span.start:
                open_spans.pop()
            self.parents.append(open_spans[-1] if open_spans else None)
            open_spans.append(index)

    def at(self, time):
        """Open spans, outermost first."""
        index = bisect.bisect_right(self.starts, time) - 1
        chain = []
        while index is not None and index >= 0:
            if time < self.spans[index].end:
                chain.append(self.spans[index])
            index = self.parents[index]
        return chain[::-1]

    def row_at(self, time):
        rows = [span.row for span in self.at(time) if span.role != 'request']
        return rows[-1] if rows else None

    def outer(self, index):
        """Spans around spans[index], innermost first."""
        index = self.parents[index]
        while index is not None:
            yield self.spans[index]
            index = self.parents[index]


class Request:
    def __init__(self, number, span):
        self.number = number
        self.span = span
        self.thread = span.thread
        self.begin, self.host_end = span.start, span.end
        self.ops = []        # (Op, row or None)
        self.spans = []      # stage spans that belong to it, any thread
        self.after_spans, self.after_ops = [], []

    @property
    def device_end(self):
        return max((op.end for op, _ in self.ops), default=None)

    @property
    def end(self):
        return max(self.host_end, self.device_end or 0)


class Run:
    """Everything placed: each operation and span in a request, after one, or outside."""

    def __init__(self, ops, calls, spans, kernel_rules=()):
        self.ops = [op for op in ops if op.op in BUSY_OPS]
        self.calls = calls
        self.kernel_rules = kernel_rules
        self.stacks = {thread: Stack(spans) for thread, spans in by_thread(spans).items()}
        self.requests = []
        for stack in self.stacks.values():
            for index, span in enumerate(stack.spans):
                if span.role == 'request' and not any(outer.role == 'request' for outer in stack.outer(index)):
                    self.requests.append(span)
        self.requests = [Request(number, span)
                         for number, span in enumerate(sorted(self.requests, key=lambda s: s.start), 1)]
        self.outside_ops = collections.defaultdict(list)    # before_first / between / after_last
        self.outside_spans = collections.defaultdict(list)
        self._place_spans()
        self._place_ops()

    def _place_spans(self):
        for stack in self.stacks.values():
            for index, span in enumerate(stack.spans):
                if span.role == 'request':
                    continue
                request = self.request_of(span.thread, span.start)
                if request:
                    request.spans.append(span)
                    continue
                outermost = ([span] + list(stack.outer(index)))[-1]
                ended = self.request_before(outermost.thread, outermost.start)
                if ended and outermost.role != 'load':
                    ended.after_spans.append(span)
                else:
                    self.outside_spans[self.part_of(span.start)].append(span)

    def _place_ops(self):
        for op in self.ops:
            stack = self.stacks.get(op.thread)
            row = stack.row_at(op.launched) if stack else None
            for glob, target in self.kernel_rules:
                if op.op == 'kernel' and fnmatch.fnmatchcase(op.name, glob):
                    row = target
            request = self.request_of(op.thread, op.launched)
            if request:
                request.ops.append((op, row))
                continue
            chain = stack.at(op.launched) if stack else []
            ended = self.request_before(op.thread, chain[0].start) if chain else None
            if ended and chain[0].role != 'load':
                ended.after_ops.append((op, row))
            else:
                self.outside_ops[self.part_of(op.launched)].append((op, row))

    def request_of(self, thread, time):
        """The thread's own request, else the only one that is open in the process."""
        open_now = [request for request in self.requests if request.begin <= time < request.host_end]
        own = [request for request in open_now if request.thread == thread]
        if own:
            return own[0]
        return open_now[0] if len(open_now) == 1 else None

    def request_before(self, thread, time):
        ended = [request for request in self.requests if request.thread == thread and request.host_end <= time]
        return ended[-1] if ended else None

    def part_of(self, time):
        if not self.requests or time < self.requests[0].begin:
            return 'before_first'
        return 'after_last' if time >= max(r.host_end for r in self.requests) else 'between'


# ---- figures ---------------------------------------------------------------------------------------


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
    figures = {'device': device, 'busy_ns': union_ns((op.start, op.end) for op, _ in request.ops if op.device == device),
               'stages_self_ns': 0, 'shared_ns': 0, 'unattributed_ns': 0, 'other_ns': 0, 'overlap_other_ns': 0,
               'idle_ns': 0}
    row_self = collections.Counter()
    keys = {'self': 'stages_self_ns', SHARED: 'shared_ns', UNATTRIBUTED: 'unattributed_ns', 'other': 'other_ns',
            'idle': 'idle_ns'}
    for t0, t1, label, foreign in device_pieces(run, request, device):
        figures[keys[label[0]]] += t1 - t0
        if label[0] == 'self':
            row_self[label[1]] += t1 - t0
        if foreign and label[0] != 'other':
            figures['overlap_other_ns'] += t1 - t0
    figures['residual_ns'] = request.end - request.begin - sum(figures[key] for key in keys.values())
    return figures, row_self


def gaps_of(run, request, device):
    """Maximal intervals in the request in which the device runs nothing, with the rows around."""
    rows = {id(op): row or UNATTRIBUTED for op, row in request.ops}
    ops = [op for op in run.ops if op.device == device and request.begin < op.end and op.start < request.end]
    by_end, by_start = sorted(ops, key=lambda op: op.end), sorted(ops, key=lambda op: op.start)
    ends, starts = [op.end for op in by_end], [op.start for op in by_start]
    gaps = []
    for start, end, label, _ in device_pieces(run, request, device):
        if label[0] != 'idle':
            continue
        last, first = bisect.bisect_right(ends, start) - 1, bisect.bisect_left(starts, end)
        gaps.append({'request': request.number, 'device': device, 'start_ns': start, 'duration_ns': end - start,
                     'before': rows.get(id(by_end[last]), 'other') if last >= 0 else None,
                     'after': rows.get(id(by_start[first]), 'other') if first < len(by_start) else None})
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
    return sum(union_ns((span.start, span.end) for span in spans if span.thread == thread and below(span.row, row))
               for thread in {span.thread for span in spans})


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
    return sum(1 for stack in stacks.values() for index, span in enumerate(stack.spans)
               if id(span) in mine and span.row == row and not any(outer.row == row for outer in stack.outer(index)))


def work_figures(ops, row):
    """Launches, copies and memsets of a row with all below it. `ops`: (Op, row)."""
    under = [(op, own) for op, own in ops if below(own or UNATTRIBUTED, row)]
    figures = {'launches': 0, 'launches_self': 0, 'graph_nodes': 0,
               'memsets': {'count': 0, 'bytes': 0},
               'copies': {kind: {'count': 0, 'bytes': 0} for kind in ('h2d', 'd2h', 'd2d', 'p2p')}}
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
        result.append({'device': device, 'busy_ns': busy, 'compute_ns': compute, 'copy_only_ns': busy - compute,
                       'self_ns': row_self.get((device, row), 0)})
    return result


def all_rows(spans, ops):
    """Every row that has a span or an operation, and the rows above it."""
    rows = set()
    for row in [span.row for span in spans] + [row for _, row in ops if row]:
        parts = row.split('/')
        rows.update('/'.join(parts[:length]) for length in range(1, len(parts) + 1))
    return sorted(rows)


def rows_of(run, spans, ops, devices=(), row_self=None, share=None):
    result = []
    for row in all_rows(spans, ops):
        entry = {'name': row, 'calls': outermost_entries(run.stacks, spans, row),
                 'host_inclusive_ns': host_inclusive_ns(run.stacks, spans, row),
                 'host_self_ns': host_self_ns(run.stacks, spans, row)}
        entry.update(work_figures(ops, row))
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
        figures.append(entry)
        row_self.update({(device, row): value for row, value in selfs.items()})
        row_self[(device, UNATTRIBUTED)] = entry['unattributed_ns']
    share = wall_share(run, request, devices)
    rows = rows_of(run, request.spans, request.ops, devices, row_self, share)
    own_host = union_ns((span.start, min(span.end, request.host_end)) for span in request.spans
                        if span.thread == request.thread)
    rest = {'name': UNATTRIBUTED, 'calls': None, 'wall_share_ns': share[UNATTRIBUTED],
            'host_inclusive_ns': request.host_end - request.begin - own_host,
            'host_self_ns': request.host_end - request.begin - own_host}
    rest.update(work_figures(request.ops, UNATTRIBUTED))
    rest['device'] = device_rows(request.ops, UNATTRIBUTED, devices, row_self)
    tail = [span.end for span in request.after_spans] + [op.end for op, _ in request.after_ops]
    return {'id': request.number, 'thread': request.thread, 'begin_ns': request.begin,
            'wall_ns': request.end - request.begin, 'host_return_ns': request.host_end - request.begin,
            'device_done_ns': request.device_end - request.begin if devices else None,
            'wall_with_tail_ns': max(tail + [request.end]) - request.begin,
            'steps': sum(1 for span in request.spans if span.role == 'step'),
            'devices': figures, 'stages': rows + [rest], 'shared_wall_ns': share[SHARED],
            'after': rows_of(run, request.after_spans, request.after_ops),
            'gaps': [gap for device in devices for gap in gaps_of(run, request, device)]}


def outside_figures(run):
    result = {}
    for part in ('before_first', 'between', 'after_last'):
        ops = run.outside_ops[part]
        rows = rows_of(run, run.outside_spans[part], ops)
        if any(row is None for _, row in ops):
            rows.append(dict({'name': UNATTRIBUTED}, **work_figures(ops, UNATTRIBUTED)))
        result[part] = rows
    return result


def compute(truth_path, timings_path, kernel_rules=(), row_names=()):
    ops, calls, _ = read_truth(truth_path)
    return figures_of(Run(ops, calls, read_timings(timings_path, row_names), kernel_rules))


def figures_of(run):
    return {'requests': [request_figures(run, request) for request in run.requests],
            'outside': outside_figures(run),
            'total': work_total(run)}


def work_total(run):
    """Over the whole process, whoever it belongs to."""
    everything = [(op, UNATTRIBUTED) for op in run.ops]
    return work_figures(everything, UNATTRIBUTED)


def parse_pair(text):
    left, _, row = text.rpartition('=')
    if not left or not row:
        raise argparse.ArgumentTypeError(f'{text!r}: expected LEFT=ROW')
    return left, row


def add_arguments(parser):
    parser.add_argument('truth', help='file of SIMGPU_TRUTH')
    parser.add_argument('timings', help='the program\'s stage log')
    parser.add_argument('--kernel', action='append', default=[], type=parse_pair, metavar='GLOB=ROW',
                        help='kernels that a rule gives to a row')
    parser.add_argument('--row', action='append', default=[], type=parse_pair, metavar='LOGGED=ROW',
                        help='a stage of the log whose row has another name')


def main():
    parser = argparse.ArgumentParser(description='figures of a run from the simulator\'s ground truth')
    add_arguments(parser)
    args = parser.parse_args()
    print(json.dumps(compute(args.truth, args.timings, args.kernel, args.row), indent=1))


if __name__ == '__main__':
    main()
