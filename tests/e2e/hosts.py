#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions of the program that threads of the driver run (programs/hosts.c): each execution is timed, as the simulator
says, and the program sees nothing of it – its functions run as often, and nodes of graphs give its own back."""

import collections

import lib
import placing
import unchanged

WAYS = ('direct', 'callback', 'captured', 'built', 'odd', 'threads', 'nonsense', 'many')
MAP = 'symbol hosts_request -> request; symbol hosts_marked -> marked; ' + '; '.join(f'symbol hosts_{way} -> {way}' for way in WAYS)
THUNKS, OTHERS = 256, 6  # stagetap's limit; functions that the program hands over before its 300 numbers
NUMBERS = 300
HANDED = {'direct': 3, 'callback': 2, 'odd': 4 + 3 + 3, 'unattributed/hosts': 8 * 51, 'many': THUNKS - OTHERS}
IN_GRAPHS = 4 + 4 * 2  # executions: captured, built
SPUN_US = {'direct': 3 * 300, 'callback': 2 * 150, None: 4 * 200 + 2 * 50 + 6 * 60}  # at least


def check_times(checks, document, runs):
    """An execution lies inside what the simulator saw of it, and the program spun for so long."""
    total, count = collections.Counter(), sum(entry['count'] for entry in document['host_functions'])
    for entry in document['host_functions']:
        total[entry['stage']] += entry['total_ns']
    for stage, spun_us in SPUN_US.items():
        checks.ok(total[stage] >= spun_us * 1000, f'{stage}: as long as the functions spun', [spun_us, total])
    residual_ns = document['traces'][0]['clock']['residual_ns']
    truth = sum(end - start for start, end in runs)
    checks.ok(sum(total.values()) <= truth + count * (1 + residual_ns), 'no longer than the simulator saw',
              [truth, total])


def main():
    checks = lib.Checks()
    with lib.workdir() as folder:
        command = [lib.program('hosts')]
        bare = lib.Traced(folder, command, preload=False, name='bare')
        traced = lib.Traced(folder, command, mapping=MAP, name='traced')
        checks.equal((0, bare.process.stdout, bare.process.stderr),
                     (traced.process.returncode, traced.process.stdout, traced.process.stderr), 'same as without us')
        checks.ok('SOMETHING' not in bare.process.stdout and 'many 300' in bare.process.stdout, 'the program works')
        checks.equal(unchanged.call_lists(bare), unchanged.call_lists(traced), 'same driver calls on each thread')
        document = lib.report(checks, '--request', 'all', traced.trace)
        if document:
            ran = collections.Counter()
            for entry in document['host_functions']:
                ran[entry['stage']] += entry['count']
            checks.equal({**HANDED, None: IN_GRAPHS}, dict(ran), 'executions by the stage that handed them over')
            total = document['host_functions_total']
            ops, _, _ = placing.read_truth(traced.truth)
            runs = [(op.start, op.end) for op in ops if op.op == 'host_func']
            untimed = NUMBERS + OTHERS - THUNKS
            checks.equal(len(runs) - untimed, total['ran'], 'executions, but for functions beyond the limit')
            checks.equal((sum(HANDED.values()) + untimed, 1), (total['handed_over'], total['captured']), 'handed over')
            checks.ok(any('more functions than are timed' in note for note in document['notes']), 'the limit is said')
            names = {entry['function'].split('+')[0] for entry in document['host_functions']}
            checks.equal({'libhosts_stages.so'}, names, 'functions by the file that they are in')
            check_times(checks, document, runs)
        shown = lib.stagetap('syncs', traced.trace)
        checks.ok('host functions, run by threads of the driver' in shown.stdout, '`stagetap syncs` lists them',
                  shown.stdout)
        checks.ok('over 1 complete request: 20 of' in shown.stdout and '(--top); handed over' in shown.stdout,
                  'over which requests, and what would show more', shown.stdout[-400:])
        stage = lib.stagetap('stage', 'direct', traced.trace).stdout
        listed = [line for line in stage.splitlines() if line.startswith('libhosts_stages.so')]
        checks.ok(listed and all(line.split()[1] == 'direct' for line in listed), '`stage` lists those of the stage',
                  stage[-1500:])
        none = lib.stagetap('stage', 'nonsense', traced.trace).stdout
        checks.ok('host functions' not in none, '`stage` of one that has none', none[-1500:])
    checks.finish()


if __name__ == '__main__':
    main()
