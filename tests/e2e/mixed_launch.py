#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Eight threads that launch in every way there is – driver, runtime, Ex, cooperative, per-thread default stream, nvcc
13's __cudaLaunchKernel, graphs. Each way has a kernel of its own: its count in the report, in the trace, in the
simulator's truth and in the program's own words must be one number. `mixed12` has the runtime of CUDA 12, and then
device times come from the libcupti of 12.  usage: mixed_launch.py mixed|mixed12"""

import collections
import json
import os
import sys

import lib
import placing

MAP = ('symbol mixed_request -> request; symbol mixed_driver -> encode; symbol mixed_runtime -> sample; '
       'symbol mixed_graph -> decode')
THREADS, ROUNDS, WAYS, GRAPH_WAYS = 8, 3, 14, 4
CLASS_LAUNCH, CLASS_GRAPH_LAUNCH, INNER, HAS_INNER = 3, 4, 1, 2
STREAM_PER_THREAD = 2

Way = collections.namedtuple('Way', 'function kernel launches kernels')


def is_runtime(function):
    return function.lstrip('_').startswith('cuda')


def is_graph(function):
    return 'GraphLaunch' in function


def dump(checks, trace, table):
    result = lib.stagetap('dump', '--json', f'--table={table}', trace)
    checks.equal(0, result.returncode, f'dump {table}: exit 0')
    return [json.loads(line) for line in result.stdout.splitlines()]


def check_report(checks, document, ways):
    kernels = collections.Counter()
    for kernel in document['kernels']:
        kernels[kernel['name']] += kernel['count']
    checks.equal({way.kernel: way.kernels for way in ways}, dict(kernels), 'report: kernels by name')
    checks.equal(THREADS, len(document['requests']), 'report: a request for each thread')
    graphs = [way for way in ways if is_graph(way.function)]
    plain = [way for way in ways if not is_graph(way.function)]
    wanted = {
        'encode': (sum(way.launches for way in plain if not is_runtime(way.function)) // THREADS, 0, 0),
        'sample': (sum(way.launches for way in plain if is_runtime(way.function)) // THREADS, 0, 0),
        'decode': (0, sum(way.launches for way in graphs) // THREADS, sum(way.kernels for way in graphs) // THREADS),
    }
    for request in document['requests']:
        rows = lib.rows(request)
        got = {name: tuple(rows[name][figure] for figure in ('launches', 'graph_launches', 'graph_nodes'))
               for name in wanted}
        checks.equal(wanted, got, f'request {request["id"]}: launches, graph launches and graph nodes by stage')


def check_trace(checks, traced, ways):
    """Returns the driver's launches by function."""
    rows = {row['call']: row for row in dump(checks, traced.trace, 'CALLDEF')}
    calls = [dict(call, name=rows[call['call']]['name']) for call in dump(checks, traced.trace, 'CALL')
             if rows[call['call']]['class'] in (CLASS_LAUNCH, CLASS_GRAPH_LAUNCH)]
    by_name = collections.Counter(call['name'] for call in calls if not call['flags'] & INNER)
    checks.equal({way.function: way.launches for way in ways}, dict(by_name), 'trace: launches by function')
    runtime = [call for call in calls if is_runtime(call['name'])]
    checks.equal([], [call for call in runtime if not call['flags'] & HAS_INNER], 'trace: no runtime launch is a hole')
    checks.equal(len(runtime), sum(1 for call in calls if call['flags'] & INNER), 'trace: one driver launch in each')
    checks.equal({0}, {call['result'] for call in calls}, 'trace: all results are 0')
    wrong = [call for call in calls if call['name'].endswith('_ptsz') != (call['b'] == STREAM_PER_THREAD)]
    checks.equal([], wrong[:3], 'trace: the per-thread stream where it was asked for, and only there')
    return collections.Counter(call['name'] for call in calls if not is_runtime(call['name']))


def check_cupti(checks, traced, soname):
    keys = {row['key']: row['value'] for row in dump(checks, traced.trace, 'KEY')}
    checks.equal(soname, os.path.basename(keys.get('cupti.path', '')), 'device times by the libcupti of that runtime')


def main():
    name = sys.argv[1]
    checks = lib.Checks()
    with lib.workdir() as folder:
        runs = []

        def run_once():
            runs.append(lib.Traced(folder, [lib.program(name), str(ROUNDS)], mapping=MAP, name=f'run{len(runs)}'))
            return runs[-1]

        document = lib.compared(checks, name, run_once)
        if document:
            traced = runs[-1]
            ways = [Way(function, kernel, int(launches), int(kernels)) for function, kernel, launches, kernels in
                    (line.split() for line in traced.process.stdout.splitlines())]
            checks.equal(WAYS + GRAPH_WAYS, len(ways), 'the program launched in every way')
            ops, calls, _ = placing.read_truth(traced.truth)
            kernels = collections.Counter(op.name for op in ops if op.op == 'kernel')
            checks.equal({way.kernel: way.kernels for way in ways}, dict(kernels), 'truth: kernels by name')
            check_report(checks, document, ways)
            check_cupti(checks, traced, 'libcupti.so.12' if name == 'mixed12' else 'libcupti.so.13')
            by_name = check_trace(checks, traced, ways)
            launches = [call for call in calls if call.name.startswith(('cuLaunch', 'cuGraphLaunch'))]
            truth = collections.Counter(call.name for call in launches)
            checks.equal(dict(truth), dict(by_name), 'driver launches by function: trace and truth agree')
    checks.finish()


if __name__ == '__main__':
    main()
