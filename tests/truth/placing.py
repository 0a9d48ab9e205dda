# SPDX-License-Identifier: Apache-2.0
"""First half of truth.py: reads the simulator's truth and the program's stage log and says to which request and
row each operation and each span belongs. All times are CLOCK_MONOTONIC ns.

    an operation belongs to the innermost stage open on its thread when its call was entered (launched_ns),
    however late it runs; a thread without a request belongs to the only one that is open, else to nobody
    a node of a graph is an operation that was launched when the graph was; a launch, copy or memset that succeeded
    and started no operation was captured into a graph
"""

import bisect
import collections
import fnmatch
import json

UNATTRIBUTED = 'unattributed'
BUSY_OPS = ('kernel', 'memcpy', 'memset')
CAPTURABLE = ('cuLaunch', 'cuMemcpy', 'cuMemset', 'cuGraphLaunch')  # what a stream capture records

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
            ops.append(
                Op(
                    entry['op'],
                    entry['name'],
                    entry['device'],
                    entry['stream'],
                    entry['thread'],
                    entry['launched_ns'],
                    entry['start_ns'],
                    entry['end_ns'],
                    entry.get('bytes') or 0,
                    entry.get('kind'),
                    entry.get('graph'),
                )
            )
    return ops, calls, idles


def read_timings(path, row_names=()):
    """The program's stage log as spans, with full row names; `step` becomes the row <stage>/step.
    `row_names`: pairs (name in the log, row) where the two differ."""
    names, raw = dict(row_names), []
    for entry in json_lines(path):
        row = names.get(entry['stage'], entry['stage'])
        raw.append(
            Span(
                row,
                role_of(row),
                entry['thread'],
                entry['start_ns'],
                entry['end_ns'],
                entry.get('image'),
                entry.get('step'),
            )
        )
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
                around = [
                    other
                    for other in thread_spans[:index]
                    if other.end >= span.end and other.role in ('stage', 'load')
                ]
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
        self.ops = []  # (Op, row or None)
        self.spans = []  # stage spans that belong to it, any thread
        self.after_spans, self.after_ops = [], []
        self.calls, self.after_calls = [], []  # (Call, row or None, is it captured): see Run._place_calls

    @property
    def device_end(self):
        return max((op.end for op, _ in self.ops), default=None)

    @property
    def end(self):
        return max(self.host_end, self.device_end or 0)


class Run:
    """Everything placed: each operation and span in a request, after one, or outside."""

    def __init__(self, ops, idles, spans, kernel_rules=(), calls=()):
        self.calls = calls
        self.ops = [op for op in ops if op.op in BUSY_OPS]
        self.idles = idles
        self.kernel_rules = kernel_rules
        self.stacks = {thread: Stack(spans) for thread, spans in by_thread(spans).items()}
        self.requests = []
        for stack in self.stacks.values():
            for index, span in enumerate(stack.spans):
                if span.role == 'request' and not any(outer.role == 'request' for outer in stack.outer(index)):
                    self.requests.append(span)
        self.requests = [
            Request(number, span) for number, span in enumerate(sorted(self.requests, key=lambda s: s.start), 1)
        ]
        self.outside_ops = collections.defaultdict(list)  # before_first / between / after_last
        self.outside_spans = collections.defaultdict(list)
        self.outside_calls = collections.defaultdict(list)
        self._place_spans()
        self._place_ops()
        self._place_calls()

    def _place_spans(self):
        for stack in self.stacks.values():
            for index, span in enumerate(stack.spans):
                if span.role == 'request':
                    continue
                outermost = ([span] + list(stack.outer(index)))[-1]
                ended = self.ended_before(outermost)
                request = self.request_of(span.thread, span.start, ended is None)
                if request:
                    request.spans.append(span)
                elif ended:
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
            self._put((op, row), op.thread, op.launched, 'ops')

    def _place_calls(self):
        """Captured calls and graph launches: neither is an operation of its own."""
        started = {(op.thread, op.launched) for op in self.ops}
        for call in self.calls:
            if call.result != 0 or not call.name.startswith(CAPTURABLE):
                continue
            if call.name.startswith('cuGraphLaunch') or (call.thread, call.start) not in started:
                stack = self.stacks.get(call.thread)
                is_captured = (call.thread, call.start) not in started
                entry = (call, stack.row_at(call.start) if stack else None, is_captured)
                self._put(entry, call.thread, call.start, 'calls')

    def _put(self, entry, thread, time, kind):
        """Into the request that it belongs to, after one, or outside."""
        stack = self.stacks.get(thread)
        chain = stack.at(time) if stack else []
        ended = self.ended_before(chain[0]) if chain else None
        request = self.request_of(thread, time, ended is None)
        if request:
            getattr(request, kind).append(entry)
        elif ended:
            getattr(ended, 'after_' + kind).append(entry)
        else:
            getattr(self, 'outside_' + kind)[self.part_of(time)].append(entry)

    def request_of(self, thread, time, may_be_others):
        """The thread's own request, else the only one that is open in the process – but not for a stage that follows a
        request of its own thread."""
        open_now = [request for request in self.requests if request.begin <= time < request.host_end]
        own = [request for request in open_now if request.thread == thread]
        if own:
            return own[0]
        return open_now[0] if len(open_now) == 1 and may_be_others else None

    def ended_before(self, span):
        """The last request of its thread that ended before this outermost span, which is then after it."""
        ended = [r for r in self.requests if r.thread == span.thread and r.host_end <= span.start]
        return ended[-1] if ended and span.role != 'load' else None

    def part_of(self, time):
        if not self.requests or time < self.requests[0].begin:
            return 'before_first'
        return 'after_last' if time >= max(r.host_end for r in self.requests) else 'between'
