#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CUDA graphs and stream capture: captured calls are no launches, a launch of a graph belongs to the stage that made
it, and the kernels that it runs are counted – from the device's records, and without them from what the graph was made
of. The target makes the same driver calls in the same order with and without us.

graphs.py        the program with every way to make a graph (programs/graphs.c)
graphs.py demo   the demo with --graphs
"""

import os
import sys

import lib
import unchanged

WAYS = ('replay', 'join', 'build', 'update', 'nest', 'beside', 'broken', 'append', 'switch')
MAP = 'symbol graphs_request -> request; symbol graphs_beside_capture -> beside; ' + '; '.join(
    f'symbol graphs_{way} -> {way}' for way in WAYS
)
FIGURES = ('launches', 'captured', 'graph_launches', 'graph_nodes')
STEPS, STEP_LAUNCHES, IMAGES = 6, 20, 3
DEMO = [('generate', ['--graphs']), ('generate', ['--graphs', '--two-streams']), ('generate_rt', ['--graphs']),
        ('generate_rt', ['--graphs', '--two-streams'])]


def figures(row):
    return tuple(row[figure] for figure in FIGURES)


def expected_rows(output):
    """stage → figures; a number of nodes that is None can not be told from the calls."""
    return {
        words[0]: tuple(None if word == '?' else int(word) for word in words[1:])
        for words in (line.split() for line in output.splitlines())
    }


def check_ways(checks, document, expected, told_by, nodes_known):
    if not document or not checks.equal(1, len(document['requests']), f'{told_by}: one request'):
        return
    rows = lib.rows(document['requests'][0])
    for stage, want in expected.items():
        got = figures(rows[stage])
        if want[-1] is None and nodes_known:
            want, got = want[:-1], got[:-1]  # the truth was asked already
        checks.equal(want, got, f'{told_by}: {stage}: {", ".join(FIGURES)}')


def every_way(checks):
    """Row 33 of the known bugs of others is `replay`: 5 captured, 0 launches, 10 graph launches of 50 kernels."""
    with lib.workdir() as folder:
        command = [lib.program('graphs')]
        runs = []

        def run_once():
            runs.append(lib.Traced(folder, command, mapping=MAP, name=f'run{len(runs)}'))
            return runs[-1]

        document = lib.compared(checks, 'ways', run_once)
        if document is None:
            return
        expected = expected_rows(runs[-1].process.stdout)
        checks.equal(set(WAYS), set(expected), 'the program went every way')
        check_ways(checks, document, expected, 'device records', True)
        seen = document['traces'][0]['completeness']
        checks.equal((0, [], 0, 0), (seen['runtime_without_driver'], seen['out_of_reach'], seen['unknown_variants'],
                                     seen['untracked_captures']), 'every call was seen')
        blind = lib.Traced(folder, command, mapping=MAP, name='blind', STAGETAP_DEVICE='none')
        checks.equal(0, blind.process.returncode, 'runs without device records')
        check_ways(checks, lib.report(checks, '--request', 'all', blind.trace), expected, 'calls alone', False)
        bare = lib.Traced(folder, command, preload=False, name='bare')
        checks.equal(bare.process.stdout, runs[-1].process.stdout, 'same output as without us')
        for traced in (runs[-1], blind):
            want, got = unchanged.call_lists(bare), unchanged.call_lists(traced)
            checks.ok(want == got, 'same driver calls in order on each thread, same results',
                      [unchanged.first_difference(left, right) for left, right in zip(want, got)])


def strict(checks):
    """A driver that voids a capture at any call that is not the target's own work, as nvshare met it."""
    with lib.workdir() as folder:
        command = [lib.program('strict'), os.path.join(lib.PROGRAMS, 'libstrict_cuda.so')]
        bare = lib.run(command, lib.environment(preload=False, simgpu=False), folder)
        trace = os.path.join(folder, 'strict.stap')
        traced = lib.run(command, lib.environment(simgpu=False, STAGETAP_OUT=trace, STAGETAP_DEVICE='none'), folder)
        checks.equal(0, bare.returncode, 'strict driver: the program alone')
        checks.equal((bare.returncode, bare.stdout, bare.stderr), (traced.returncode, traced.stdout, traced.stderr),
                     'strict driver: same results and the same calls of the driver, in order')
        checks.equal(11, traced.stdout.count('*cu') - traced.stdout.count('*cuStreamEndCapture'),
                     'strict driver: 11 calls during the capture')
        document = lib.report(checks, trace)
        parts = [document['requests'][0]['stages'], document['outside']['before_first']] if document else []
        found = [[(row['name'], *figures(row)) for row in part if any(figures(row))] for part in parts]
        checks.equal([[('unattributed', 0, 0, 10, 50)], [('unattributed', 0, 7, 0, 0)]], found,
                     'strict driver: counts; the request begins with the first graph launch, behind the capture')


def demo_counts(checks, label, document, nodes):
    """The first image records each step's launches, all replay them."""
    for request in document['requests']:
        captured = STEPS * STEP_LAUNCHES if request['id'] == 1 else 0
        sample, step = lib.rows(request)['sample'], lib.rows(request)['sample/step']
        checks.equal((captured, STEPS, nodes), figures(step)[1:], f'{label}: request {request["id"]}: steps')
        checks.equal((captured, STEPS, nodes), figures(sample)[1:], f'{label}: request {request["id"]}: sample')
        for device in request['devices'] or []:
            checks.equal(0, device['residual_ns'], f'{label}: request {request["id"]}: residual')
    checks.equal(1, len({request['shape'] for request in document['requests']}),
                 f'{label}: recording does not change the shape')


def demo(checks, which, options):
    label = f'{which} {" ".join(options)}'
    with lib.workdir() as folder:
        document = lib.compared(
            checks,
            label,
            lambda: lib.generate(folder, *options, which=which, images=IMAGES, steps=STEPS),
            row_names=lib.DEMO_ROWS,
        )
        if document:
            demo_counts(checks, label, document, STEPS * STEP_LAUNCHES)
        blind = lib.generate(folder, *options, which=which, images=IMAGES, steps=STEPS, name='blind',
                             STAGETAP_DEVICE='none')
        document = lib.report(checks, '--request', 'all', blind.trace)
        if document:
            demo_counts(checks, f'{label}: calls alone', document, STEPS * STEP_LAUNCHES)
    unchanged.compare_runs(checks, which, options)


def main():
    checks = lib.Checks()
    if sys.argv[1:] != ['demo']:
        every_way(checks)
        strict(checks)
    for which, options in DEMO if sys.argv[1:] == ['demo'] else []:
        if which == 'generate_rt' and not lib.is_built(which):
            print(f'{which} is not built here (no nvcc): not checked')
            continue
        demo(checks, which, options)
    checks.finish()


if __name__ == '__main__':
    main()
