# SPDX-License-Identifier: Apache-2.0
"""Does what stagetap saw of a client agree with the simulator's truth? Per process and thread: every driver call that
the table knows, by name and result. In all: launches, copies, memsets, graph launches, device time of each kernel."""

import collections
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'truth'))
import placing  # noqa: E402

DRIVER = 1  # CALLDEF.layer
DIRECTIONS = ('h2d', 'd2h', 'd2d', 'p2p')
DEVICE_TIME_TOLERANCE = 0.01
GRAPH_LAUNCHES = ('cuGraphLaunch', 'cuGraphLaunch_ptsz')
SYNCS = ('cuStreamSynchronize', 'cuStreamSynchronize_ptsz', 'cuCtxSynchronize', 'cuCtxSynchronize_v2',
         'cuEventSynchronize')


class Seen:
    """What one trace says."""

    def __init__(self, stagetap, trace):
        self.report = json.loads(run(stagetap, 'report', '--json', '--request', 'all', trace))
        self.pid = self.report['traces'][0]['pid']
        self.calls = collections.Counter()  # (tid, name, result)
        self.known = set()  # driver functions in the table
        tids, layers = {}, {}
        for line in run(stagetap, 'dump', '--json', trace).splitlines():
            row = json.loads(line)
            if row['table'] == 'CALLDEF':
                layers[row['call']] = row['layer']
                if row['layer'] == DRIVER:
                    self.known.add(row['name'])
            elif row['table'] == 'THREAD':
                tids[row['thread']] = row['tid']
            elif row['table'] == 'CALL' and layers.get(row['call']) == DRIVER:
                self.calls[tids.get(row['from_thread']), row['call_name'], row['result']] += 1
        self.rows = [row for group in self._groups() for row in group if '/' not in row['name'] or
                     row['name'].startswith('unattributed/')]

    def _groups(self):
        for request in self.report['requests']:
            yield [row for row in request['stages'] if row['name'] != 'shared']
            yield request['after']
        yield from self.report['outside'].values()

    def total(self, *keys):
        """Sum over the top-level rows; the rows of other threads, unattributed/NAME, lie within "unattributed"."""
        total = 0
        for row in self.rows:
            value = row
            if '/' in row['name']:
                continue
            for key in keys:
                value = value[key]
            total += value or 0
        return total


def read_ops(truth_path):
    return placing.read_truth(truth_path)[0]


def run(stagetap, *arguments):
    return subprocess.run([stagetap, *map(str, arguments)], stdout=subprocess.PIPE, text=True, check=True).stdout


def truth_figures(ops, calls):
    figures = {'launches': sum(op.op == 'kernel' and op.graph is None for op in ops),
               'graph_nodes': sum(op.op == 'kernel' and op.graph is not None for op in ops),
               'graph_launches': sum(call.name in GRAPH_LAUNCHES and call.result == 0 for call in calls),
               'memsets': sum(op.op == 'memset' for op in ops)}  # memsets and copies: also those of graphs
    for direction in DIRECTIONS:
        copies = [op for op in ops if op.op == 'memcpy' and op.kind == direction]
        figures[direction] = (len(copies), sum(op.bytes for op in copies))
    return figures


def seen_figures(seen):
    figures = {key: seen.total(key) for key in ('launches', 'graph_launches', 'graph_nodes')}
    for direction in DIRECTIONS:
        figures[direction] = tuple(seen.total('copies', direction, key) for key in ('count', 'bytes'))
    figures['memsets'] = seen.total('memsets', 'count')
    return figures


def kernel_times(ops):
    """name → ns on the device."""
    times = collections.Counter()
    for op in ops:
        if op.op == 'kernel':
            times[op.name] += op.end - op.start
    return times


def listed_ops(ops, seen):
    """Those that the report's lists are over: of all requests, where there are any."""
    start = seen.report['traces'][0]['monotonic_start_ns']
    spans = [(start + request['begin_ns'], start + request['begin_ns'] + request['host_return_ns'])
             for request in seen.report['requests'] if request['complete']]
    return [op for op in ops if any(begin <= op.launched < end for begin, end in spans)] if spans else ops


def compare_times(truth, seen):
    told = collections.Counter()
    for kernel in seen.report['kernels'] or []:
        told[kernel['name']] += kernel['total_ns']
    for name in sorted(set(truth) | set(told)):
        if abs(truth[name] - told[name]) > DEVICE_TIME_TOLERANCE * truth[name]:
            yield f'device time of {name}: truth {truth[name]} ns, report {told[name]} ns'


def compare(seen, truth_path, has_device_times=True):
    """Returns (figures of the truth, figures of the report, list of what differs). `has_device_times` False: another
    client of CUPTI took it over on the way, and the report must say so."""
    ops, calls, _ = placing.read_truth(truth_path)
    told, faults = seen_figures(seen), []
    truth = truth_figures(ops, calls)
    for key, value in truth.items():
        if key == 'graph_nodes' and not has_device_times:
            continue  # where there are device records at all, nodes are counted by them
        if told[key] != value:
            faults.append(f'{key}: truth {value}, report {told[key]}')
    trace = seen.report['traces'][0]
    closed_ns = trace['monotonic_start_ns'] + trace['end_ns']  # what the process does at its very end comes later
    made = collections.Counter((call.thread, call.name, call.result) for call in calls
                               if call.name in seen.known and call.start < closed_ns)
    for key in sorted(set(made) | set(seen.calls), key=str):
        if made[key] != seen.calls[key]:
            faults.append(f'thread, call, result {key}: made {made[key]}, seen {seen.calls[key]}')
    lost = {cause: count for cause, count in trace['lost'].items() if count}
    if not has_device_times:
        states = {entry['kind']: entry['state'] for entry in seen.report['capabilities']}
        if not lost.pop('launches_without_record', 0) and states.get('kernel') != 'degraded':
            faults.append(f'the report does not say that device times are missing: {states}')
    elif seen.report['cuda_work_seen']:
        faults += compare_times(kernel_times(listed_ops(ops, seen)), seen)
    if lost:
        faults.append(f'lost: {lost}')
    truth['syncs'] = sum(call.name in SYNCS for call in calls)
    told['syncs'] = sum(count for (_, name, _), count in seen.calls.items() if name in SYNCS)
    return truth, told, faults
