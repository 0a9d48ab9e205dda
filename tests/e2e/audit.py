#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`stagetap run --audit` and the setting behind it: a driver in a link namespace of its own is traced with the
shim, and named as out of reach without it."""

import ctypes
import os
import shlex
import subprocess
import sys

import lib

AUDIT = os.path.join(lib.BUILD, 'preload', 'libstagetap-audit.so')
# cuInit has one argument, and a pointer is a bad value for it: the call fails, and that is seen
COMMAND = [lib.program('real_library'), 'libcuda.so.1', 'dlmopen', 'cuInit']


def calls_seen(checks, trace, label):
    dump = lib.stagetap('dump', trace)
    checks.equal(0, dump.returncode, f'{label}: dump')
    return sum(1 for line in dump.stdout.splitlines() if line.startswith('CALL '))


def out_of_reach(document):
    return [note for note in document['notes'] if note.startswith('out of reach: libcuda.so.1')]


def traced(checks, folder, label, options, want_seen, **settings):
    trace = os.path.join(folder, label.replace(' ', '-') + '.stap')
    result = lib.stagetap('run', *options, '--out', trace, *COMMAND, cwd=folder, LD_LIBRARY_PATH=lib.SIMGPU, **settings)
    checks.equal(0, result.returncode, f'{label}: the program runs')
    checks.ok(trace in result.stderr, f'{label}: there is a trace', result.stderr)
    document = lib.report(checks, trace, what=label)
    if document is None:
        return
    checks.equal(1 if want_seen else 0, calls_seen(checks, trace, label), f'{label}: calls seen')
    checks.equal(0 if want_seen else 1, len(out_of_reach(document)), f'{label}: named as out of reach')
    unreached = document['traces'][0]['completeness']['out_of_reach']
    checks.equal(0 if want_seen else 1, len(unreached), f'{label}: the trace is not complete, and says so')


def refusals(checks, folder):
    lonely = os.path.join(folder, 'lonely')
    os.makedirs(os.path.join(lonely, 'analyzer'))
    os.makedirs(os.path.join(lonely, 'preload'))
    for name in ('analyzer/stagetap', 'preload/libstagetap.so'):
        subprocess.run(['cp', os.path.join(lib.BUILD, name), os.path.join(lonely, name)], check=True)
    result = lib.run([os.path.join(lonely, 'analyzer', 'stagetap'), 'run', '--audit', 'true'], lib.environment(False))
    checks.equal(125, result.returncode, 'no shim beside the library: refused')
    checks.ok(
        'libstagetap-audit.so' in result.stderr and len(result.stderr.splitlines()) == 1,
        'no shim beside the library: one line names it',
        result.stderr,
    )
    trace = os.path.join(folder, 'bare.stap')
    result = lib.run([lib.program('touch_cuda'), 'exit', '5'], lib.environment(STAGETAP_OUT=trace, STAGETAP_AUDIT='on'))
    checks.equal(5, result.returncode, 'STAGETAP_AUDIT without the shim: the target runs')
    checks.ok(
        'STAGETAP_AUDIT=on' in result.stderr and len(result.stderr.splitlines()) == 1,
        'STAGETAP_AUDIT without the shim: one line says so',
        result.stderr,
    )


def old_loader(checks):
    """la_version() as a loader before 2.35 calls it; in a process of its own, for what it writes."""
    code = f'import ctypes; shim = ctypes.CDLL({AUDIT!r}); print(shim.la_version(1), shim.la_version(2))'
    result = lib.run([sys.executable, '-c', code], lib.environment(False, simgpu=False))
    checks.equal('0 2\n', result.stdout, 'a loader before glibc 2.35 is refused, a later one is not')
    checks.ok(
        'glibc 2.35' in result.stderr and len(result.stderr.splitlines()) == 1, 'one line says why', result.stderr
    )


def print_env(checks):
    result = lib.stagetap('run', '--audit', '--print-env', LD_AUDIT='/other.so')
    lines = [shlex.split(line) for line in result.stdout.splitlines()]
    checks.ok(['export', f'LD_AUDIT={AUDIT}:/other.so'] in lines, 'the shim stands in front of other auditors', lines)
    result = lib.stagetap('run', '--print-env')
    checks.ok('LD_AUDIT' not in result.stdout, 'no LD_AUDIT without --audit', result.stdout)


def main():
    checks = lib.Checks()
    with lib.workdir() as folder:
        old_loader(checks)
        if ctypes.CDLL(AUDIT).la_version(2) != 2 or not hasattr(ctypes.CDLL(None), '_dl_find_object'):
            print('note: glibc before 2.35: nothing else to be tested')
            checks.finish()
        traced(checks, folder, 'without the shim', [], False)
        traced(checks, folder, 'with the shim', ['--audit'], True)
        traced(checks, folder, 'shim by environment', [], True, STAGETAP_AUDIT='1')
        refusals(checks, folder)
        print_env(checks)
    checks.finish()


main()
