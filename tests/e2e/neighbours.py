#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Beside others that interpose: allocators, sanitizers, a clock that lies, another tool that answers dlsym(), tracers.
For each neighbour: alone, in front of us and behind us – the demo and a small program do the same in all three.
Where the program fails with the neighbour alone, that is listed and nothing is asked of us.

Also: CPython's imports, and what a C++ exception costs beside us."""

import glob
import os
import shutil
import statistics
import sys
import time

import lib
import lives

LIBRARIES = '/usr/lib/*-linux-gnu/'
NEIGHBOURS = {
    # name: (file, settings)
    'jemalloc': ('libjemalloc.so.2', {}),
    'tcmalloc': ('libtcmalloc_minimal.so.4', {}),
    'mimalloc': ('libmimalloc.so.2', {}),
    'libfaketime': ('faketime/libfaketime.so.1', {'FAKETIME': '-1000d x7'}),
    'libasan': ('libasan.so.8', {'ASAN_OPTIONS': 'detect_leaks=0:verify_asan_link_order=0'}),
    'libtsan': ('libtsan.so.2', {'TSAN_OPTIONS': 'report_bugs=0'}),
    'naive dlsym': (os.path.join(lib.PROGRAMS, 'libnaive_dlsym.so'), {}),
    'heaptrack': ('/usr/lib/heaptrack/libheaptrack_preload.so', {'DUMP_HEAPTRACK_OUTPUT': '/dev/null'}),
}
IMPORTS = 'import ssl, ctypes, decimal, json, hashlib; print(decimal.Decimal(2).sqrt(), ssl.OPENSSL_VERSION)'
TIMEOUT_S = 20
THROW_RUNS, THROW_GOOD = 30, 1.05  # runs at most; enough when the claim is met
THROW_RATIO_MAX = 1.3  # a busy machine is not ours to blame


def find(name):
    """Full path of a neighbour, or None."""
    found = [name] if os.path.isabs(name) and os.path.exists(name) else sorted(glob.glob(LIBRARIES + name))
    return found[0] if found else None


class Outcome:
    """What a program did: status, output, files. A hang is a status."""

    def __init__(self, folder, command, preloads, settings):
        os.makedirs(folder)
        self.folder = folder
        self.trace = os.path.join(folder, 'run.stap')
        env = lib.environment(
            False, LD_PRELOAD=':'.join(preloads) or None, STAGETAP_OUT=self.trace, STAGETAP_MAP=lives.MAP, **settings
        )
        if 'generate' in command[0]:
            env['STAGETAP_MAP'] = 'demo'
            env['SIMGPU_MODEL'] = lib.DEMO_MODEL
        begin = time.monotonic()
        self.begin_ns = time.time_ns()
        try:
            result = lib.run(command, env, folder, TIMEOUT_S)
            self.status, self.stdout, self.stderr = result.returncode, result.stdout, result.stderr
        except lib.subprocess.TimeoutExpired:
            self.status, self.stdout, self.stderr = 'hangs', '', ''
        self.wall_ns = (time.monotonic() - begin) * 1e9
        self.end_ns = time.time_ns()
        self.files = {name: data for name, data in lib.pictures(folder).items() if not name.startswith('run.stap')}

    def same(self):
        return self.status, self.stdout, self.files


def programs():
    generate = [lib.program('generate'), '--images', '2', '--steps', '4', '--size', '64', '--out', './', '--quiet']
    found = {'generate': generate, 'pictures': lives.lives('pictures', 2), 'threads': lives.lives('many_threads', 5)}
    if lib.is_built('reopens'):
        found['reopens'] = [lib.program('reopens'), '2', lives.STAGES]
    return found


def check_trace(checks, label, outcome):
    """All there, and at real times: also when the process is told others."""
    if not checks.ok(os.path.exists(outcome.trace), f'{label}: a trace'):
        return
    start_ns = lives.Header(outcome.trace).realtime_ns
    checks.ok(
        outcome.begin_ns - 10**8 <= start_ns <= outcome.end_ns + 10**8,
        f'{label}: the trace starts at the real time',
        (start_ns - outcome.begin_ns) / 1e9,
    )
    document = lives.report(checks, label, outcome.trace)
    if document:
        walls = sum(request['host_return_ns'] or 0 for request in document['requests'])
        checks.ok(
            document['requests'] and 0 < walls <= outcome.wall_ns,
            f'{label}: requests last as long as they do',
            (walls, outcome.wall_ns),
        )


def neighbour(checks, name, path, settings):
    for program, command in programs().items():
        label = f'{name}, {program}'
        with lib.workdir() as folder:
            plain = Outcome(os.path.join(folder, 'plain'), command, [], {})
            alone = Outcome(os.path.join(folder, 'alone'), command, [path], settings)
            if alone.same() != plain.same():
                print(f'baseline: {label}: without us: exit {alone.status} (plain: {plain.status}), nothing is asked')
                continue
            for order, preloads in {'in front of': [lib.PRELOAD, path], 'behind': [path, lib.PRELOAD]}.items():
                where = f'{label}, we {order} it'
                beside = Outcome(os.path.join(folder, order.split()[0]), command, preloads, settings)
                same = checks.equal(alone.same(), beside.same(), f'{where}: same status, output and files')
                said = [line for line in beside.stderr.splitlines() if line.startswith('stagetap: ')]
                checks.equal([], said, f'{where}: we have nothing to say')
                if same and program != 'reopens':
                    check_trace(checks, where, beside)


def tracer(checks):
    """uftrace is a launcher of its own, with a preload that counts calls of instrumented programs."""
    uftrace = shutil.which('uftrace')
    if not uftrace:
        print('skip: uftrace: not installed')
        return
    with lib.workdir() as folder:
        outcomes = []
        for name, preload in (('alone', None), ('beside', lib.PRELOAD)):
            command = [uftrace, 'record', '--force', '-d', os.path.join(folder, name + '.data')]
            env = lib.environment(
                False, LD_PRELOAD=preload, STAGETAP_OUT=os.path.join(folder, 'run.stap'), STAGETAP_MAP=lives.MAP
            )
            result = lib.run(command + lives.lives('pictures', 2), env, folder, TIMEOUT_S)
            outcomes.append((result.returncode, result.stdout))
        if outcomes[0][0] != 0:
            print(f'baseline: uftrace record: exit {outcomes[0][0]} without us')
            return
        checks.equal(outcomes[0], outcomes[1], 'uftrace record: the same with us')
        document = lives.report(checks, 'uftrace record', os.path.join(folder, 'run.stap'))
        if document:
            checks.equal(2 * lives.PICTURE, lives.launches(document), 'uftrace record: every launch is there')


def imports(checks):
    python = shutil.which('python3')
    with lib.workdir() as folder:
        bare, beside = (lib.run([python, '-c', IMPORTS], lib.environment(on, False), folder) for on in (False, True))
        checks.equal(
            (0, bare.stdout, bare.stderr),
            (beside.returncode, beside.stdout, beside.stderr),
            'CPython imports ssl, ctypes, decimal',
        )
        checks.equal([], os.listdir(folder), 'CPython imports: no file')


def throw_cost(checks):
    if not lib.is_built('lives_throw'):
        print('skip: cost of an exception: no C++ compiler when this was built')
        return
    costs = {False: [], True: []}
    with lib.workdir() as folder:
        ratio = None
        for run in range(THROW_RUNS):
            for on in costs:
                env = lib.environment(on, STAGETAP_OUT=os.path.join(folder, 'run.stap'), STAGETAP_MAP=lives.MAP)
                result = lib.run([lib.program('lives_throw'), 'cost'], env, folder)
                costs[on].append(float(result.stdout))
            ratio = min(costs[True]) / min(costs[False])
            if run >= 3 and ratio <= THROW_GOOD:
                break
    print(
        f'note: a C++ exception through 9 frames: {min(costs[False]):.0f} ns bare, '
        f'{min(costs[True]):.0f} ns beside us, ratio {ratio:.3f} of the best of {len(costs[True])} runs, '
        f'medians {statistics.median(costs[True]) / statistics.median(costs[False]):.3f}'
    )
    checks.ok(ratio <= THROW_RATIO_MAX, f'a C++ exception costs at most {THROW_RATIO_MAX} times as much', ratio)


def main():
    checks = lib.Checks()
    for name, (file, settings) in NEIGHBOURS.items():
        path = find(file)
        if path:
            neighbour(checks, name, path, settings)
        else:
            print(f'skip: {name}: {file} is not installed')
    tracer(checks)
    imports(checks)
    throw_cost(checks)
    checks.finish()


if __name__ == '__main__':
    sys.exit(main())
