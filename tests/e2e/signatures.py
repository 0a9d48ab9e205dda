#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A C++ program whose stage functions take and return everything – structures by value, strings, long double, wide vectors,
variable arguments –, and are left in every way: return, exception, longjmp, last call, out of a recursion. It prints what
it prints bare, and each stage is exact against the truth. A call with 160 kB by value is let pass, and that is said."""

import lib

STAGES = 'encode sample decode check retry finish save blend'.split()
MAP = '; '.join(
    ['symbol sd::picture -> request', 'symbol sd::step -> sample step', 'symbol sd::check_too -> check']
    + [f'symbol sd::{name} -> {name}' for name in STAGES]
)
LAUNCHES = {
    'encode': 2, 'sample/step': 6, 'sample': 8, 'decode': 2, 'check': 1, 'retry': 1, 'finish': 1, 'save': 1,
    'blend': 1,
}
FRAME = 'symbol sd::frame -> frame'


def same_output(checks, label, traced):
    bare = lib.run([lib.program('signatures')], lib.environment(False))
    checks.equal(
        (bare.returncode, bare.stdout, bare.stderr),
        (traced.process.returncode, traced.process.stdout, traced.process.stderr),
        f'{label}: exit status and output as bare',
    )


def run(checks, label, mapping, truth=True, **env):
    with lib.workdir() as folder:

        def run_once():
            traced = lib.Traced(folder, [lib.program('signatures')], mapping=mapping, **env)
            same_output(checks, label, traced)
            return traced

        if truth:
            return lib.compared(checks, label, run_once)
        return lib.report(checks, '--request', 'all', run_once().trace, what=label)


def exact(checks):
    label = 'every signature'
    document = run(checks, label, MAP)
    requests = document['requests'] if document else []
    checks.equal(3, len(requests), f'{label}: pictures')
    for request in requests:
        rows, what = lib.rows(request), f'{label}: request {request["id"]}'
        checks.equal(LAUNCHES, {row: rows[row]['launches'] for row in LAUNCHES if row in rows}, f'{what}: launches')
        checks.equal({1}, {rows[row]['calls'] for row in STAGES if row in rows}, f'{what}: recursion is one call')
        inferred = {row for row in LAUNCHES if row in rows and rows[row]['edges'] != 'exact'}
        checks.equal({'retry'}, inferred, f'{what}: what longjmp left has a late end, the rest is exact')
        checks.equal(1, rows['unattributed']['launches'], f'{what}: the frame, which no rule names')


def refused(checks):
    """160 kB by value, a rule for it: the program is not harmed, the rule says why it met nothing."""
    label = 'arguments without end'
    document = run(checks, label, f'{MAP}; {FRAME}', truth=False)
    notes = [note for note in document['notes'] if FRAME in note]
    checks.ok(any('3 calls of it in libsignatures_stages.so were let pass' in note for note in notes), label, notes)
    checks.equal([], [row for request in document['requests'] for row in lib.rows(request) if row == 'frame'], label)
    label += ', stacks'
    document = run(checks, label, f'{MAP}; {FRAME}', truth=False, STAGETAP_COLLECT='stacks')
    for request in document['requests'] if document else []:
        row = lib.rows(request).get('frame', {})
        checks.equal((1, 'inferred'), (row.get('launches'), row.get('edges')), f'{label}: request {request["id"]}')


def main():
    checks = lib.Checks()
    if not lib.is_built('signatures'):
        print('signatures is not built here (no C++ compiler)')
        raise SystemExit(77)
    exact(checks)
    refused(checks)
    checks.finish()


main()
