#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`stagetap doctor`: each way in which a process stays untraced, and each measurement fault, is provoked for real and
found by its id – and nothing else is; the table in the manual page is the table in the code."""

import contextlib
import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import time

import lib

FAULTS = os.path.join(lib.SOURCE, 'analyzer', 'doctor', 'faults.def')
PAGE = os.path.join(lib.BUILD, 'analyzer', 'doctor', 'stagetap-faults.7')
IS_ROOT = os.geteuid() == 0
NOBODY = 65534
# id → why this test does not provoke it
NOT_PROVOKED = {
    'clock-residual': 'needs a machine that was suspended',
    'no-cupti': 'a toolkit of this machine may have one',
    'other-libc': 'getting_in.py, where musl is installed',
    'word-size': 'getting_in.py, where a 32-bit libc is installed',
}
seen_ids = set()


def doctor(checks, want, label, *arguments, code=None, prefix=(), may=(), **kwargs):
    """Runs it with --json, validates, and compares the ids of the findings; those of `may` depend on the moment.
    Returns the document."""
    env = lib.environment(preload=False, simgpu=kwargs.pop('simgpu', False), **kwargs.pop('env', {}))
    program = kwargs.pop('program', lib.STAGETAP)
    result = lib.run([*prefix, program, 'doctor', '--json', *map(str, arguments)], env, **kwargs)
    if code == 3:
        checks.ok(
            result.returncode == 3 and not result.stdout and len(result.stderr.splitlines()) == 1,
            f'{label}: exit 3, one line on stderr',
            (result.returncode, result.stdout, result.stderr),
        )
        return result.stderr
    try:
        document = json.loads(result.stdout)
    except ValueError:
        checks.ok(False, f'{label}: prints a document', (result.returncode, result.stdout, result.stderr))
        return {'findings': [], 'facts': []}
    lib.validate(checks, document, label, 'doctor.schema.json')
    ids = {finding['id'] for finding in document['findings']}
    seen_ids.update(ids)
    checks.equal(set(want), ids - (set(may) - set(want)), f'{label}: found')
    checks.equal(1 if ids else 0, result.returncode, f'{label}: exit status')
    return document


def evidence(document, which):
    return next((finding['seen'] for finding in document['findings'] if finding['id'] == which), '')


@contextlib.contextmanager
def running(command, env, cwd=None):
    """A process that said "ready"."""
    process = subprocess.Popen(
        command,
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        universal_newlines=True,
    )
    try:
        yield process.stdout.readline().strip() == 'ready' and process.pid
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


# ---- processes ---------------------------------------------------------------------------------------


def processes(checks, folder):
    idle, touch = lib.program('idle'), lib.program('touch_cuda')
    bare, ours = lib.environment(preload=False, simgpu=False), lib.environment(simgpu=False)
    out = {'STAGETAP_OUT': folder + '/'}
    no_cuda = 'no-cuda-library'
    cases = [
        ('without the preload', [idle, '60'], bare, {'preload-missing', no_cuda}),
        ('behind env -i', ['env', '-i', idle, '60'], ours, {'preload-missing', no_cuda}),
        ('a wrapper sets its own', [idle, '60'], dict(bare, LD_PRELOAD='libm.so.6'), {'preload-replaced', no_cuda}),
        ('a wrong path', [idle, '60'], dict(bare, LD_PRELOAD='/no/libstagetap.so'), {'preload-path', no_cuda}),
        ('a static program', [lib.program('idle_static'), '60'], ours, {'static', no_cuda}),
        ('switched off', [idle, '60'], dict(ours, STAGETAP_MODE='off'), {'mode-off', no_cuda}),
        ('a name mistyped', [idle, '60'], dict(ours, STAGETAP_MPA='demo'), {'bad-setting', no_cuda}),
        ('no CUDA', [idle, '60'], ours, {no_cuda}),
        ('one call, no work', [touch, 'sleep', '60000'], lib.environment(**out), {'no-launch'}),
        (
            'it distorts',
            [touch, 'sleep', '60000'],
            lib.environment(CUDA_LAUNCH_BLOCKING='1', **out),
            {'no-launch', 'distorted'},
        ),
        (
            'injected',
            [touch, 'sleep', '60000'],
            lib.environment(CUDA_INJECTION64_PATH='/no/such.so', **out),
            {'no-launch', 'other-profiler'},
        ),
    ]
    for label, command, env, want in cases:
        with running(command, env, folder) as pid:
            document = doctor(checks, want, label, pid)
            checks.equal('process', document.get('subject'), f'{label}: is a process')
    loaded(checks, folder)
    works(checks, folder)
    elsewhere(checks, folder)
    privileged(checks, folder)
    doctor(checks, [], 'a process that is not there', 99999999, code=3)


LOAD = """
import ctypes, sys, time
for name in sys.argv[1:]: ctypes.CDLL(name)
print("ready", flush=True)
time.sleep(60)
"""


def loaded(checks, folder):
    """Libraries are mapped, and nothing is called."""
    env = lib.environment(STAGETAP_OUT=folder + '/')
    with running([sys.executable, '-c', LOAD, 'libcuda.so.1'], env) as pid:
        doctor(checks, {'no-cuda-call'}, 'the driver is loaded only', pid)
    names = {'vulkan': 'libvulkan.so.1', 'hip': 'libamdhip64.so.6', 'level_zero': 'libze_loader.so.1.2'}
    for short, name in names.items():
        shutil.copy(os.path.join(lib.PROGRAMS, f'libfake_{short}.so'), os.path.join(folder, name))
        with running([sys.executable, '-c', LOAD, os.path.join(folder, name)], env) as pid:
            document = doctor(checks, {'no-cuda-library', 'other-backend'}, f'{short} is loaded', pid)
        checks.ok(short.replace('_', ' ') in evidence(document, 'other-backend').lower(), f'{short}: by its name')


def wait_for_records(trace, process):
    """Until the trace has pictures with device times."""
    for _ in range(200):
        process.stdout.readline()
        result = lib.stagetap('report', '--json', trace)
        if result.returncode == 0 and json.loads(result.stdout)['rounds']['steady']:
            return
        time.sleep(0.05)


def works(checks, folder):
    """One that works: its trace is read while it grows."""
    trace = os.path.join(folder, 'live.stap')
    env = lib.environment(STAGETAP_OUT=trace, SIMGPU_MODEL=lib.DEMO_MODEL, STAGETAP_FLUSH='20ms')
    command = [lib.program('generate'), '--images', '400', '--steps', '20', '--size', '64', '--out', folder + '/']
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    wait_for_records(trace, process)
    document = doctor(checks, set(), 'a process that works', process.pid)
    facts = {fact['name']: fact['value'] for fact in document['facts']}
    checks.ok(document['simulated'] and '(simulated)' in facts.get('CUDA driver', ''), 'it works: SIMULATED', facts)
    checks.ok(trace in facts.get('trace', '') and 'still running' in facts['trace'], 'it works: the trace', facts)
    checks.ok(re.match(r'demo; [1-9]\d* of \d+ rules met', facts.get('stage map', '')), 'it works: the map', facts)
    checks.ok(facts.get('library') == os.path.realpath(lib.PRELOAD), 'it works: the library', facts)
    text = lib.stagetap('doctor', process.pid)
    checks.ok('nothing was found' in text.stdout, 'it works: in words', text.stdout)
    process.kill()
    process.wait()
    process.stdout.close()
    may = {'launches-without-records'}
    document = doctor(checks, {'incomplete'}, 'killed', trace, may=may)
    checks.equal('trace', document.get('subject'), 'killed: is a trace')
    document = doctor(checks, {'incomplete'}, 'killed, by its process id', process.pid, cwd=folder, may=may)
    checks.equal('trace', document.get('subject'), 'killed, by its process id: is a trace')


def elsewhere(checks, folder):
    """In another mount namespace, where the library is not; with its own /dev/shm."""
    if subprocess.run(['unshare', '-m', 'true'], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        checks.skip('another mount namespace: unshare -m is not permitted')
        NOT_PROVOKED['small-shm'] = 'unshare -m is not permitted'
        return
    hide = f'mount -t tmpfs none {os.path.dirname(lib.PRELOAD)} && export LD_PRELOAD={lib.PRELOAD} && exec "$@"'
    command = ['unshare', '-m', 'sh', '-c', hide, 'sh', lib.program('idle'), '60']
    with running(command, lib.environment(False, False)) as pid:
        document = doctor(checks, {'preload-path', 'no-cuda-library'}, 'another mount namespace', pid)
        checks.ok('container' in evidence(document, 'preload-path'), 'another mount namespace: is said', document)
    small = ['unshare', '-m', 'sh', '-c', 'mount -t tmpfs -o size=4m none /dev/shm && exec "$@"', 'sh']
    doctor(checks, {'small-shm'}, 'a small /dev/shm', prefix=small, simgpu=True)


def privileged(checks, folder):
    """A set-uid program, and a process that is not ours to look at."""
    place = os.path.join(folder, 'public')
    os.mkdir(place)
    shutil.copy(lib.program('idle'), place)
    program = os.path.join(place, 'idle')
    if not IS_ROOT or shutil.which('setpriv') is None:
        checks.skip('a set-uid program: needs root and setpriv')
        NOT_PROVOKED.update({name: 'needs root and setpriv' for name in ('secure', 'preload-ignored')})
        return
    os.chmod(folder, 0o755)
    os.chmod(program, 0o4755)
    drop = ['setpriv', '--reuid', str(NOBODY), '--regid', str(NOBODY), '--clear-groups']
    with running([*drop, program, '60'], lib.environment(simgpu=False)) as pid:
        document = doctor(checks, {'secure', 'no-cuda-library'}, 'a set-uid program', pid)
        checks.ok('AT_SECURE' in evidence(document, 'secure'), 'a set-uid program: AT_SECURE', document)
    hidden = os.path.join(folder, 'libstagetap.so')
    shutil.copy(lib.PRELOAD, hidden)
    os.chmod(hidden, 0o600)
    os.chmod(program, 0o755)
    with running([*drop, 'env', f'LD_PRELOAD={hidden}', program, '60'], lib.environment(False, False)) as pid:
        doctor(checks, {'preload-ignored', 'no-cuda-library'}, 'a library that cannot be read', pid)
    copy = os.path.join(place, 'stagetap')
    shutil.copy(lib.STAGETAP, copy)
    with running([lib.program('idle'), '60'], lib.environment(simgpu=False)) as pid:
        said = doctor(checks, [], 'not ours to look at', pid, code=3, prefix=drop, program=copy)
        checks.ok('belongs to another user' in said, 'not ours to look at: is said', said)


# ---- traces ------------------------------------------------------------------------------------------


def traces(checks, folder):
    demo = {'images': 3, 'steps': 3}
    good = lib.generate(folder, name='good', **demo)
    doctor(checks, set(), 'a good trace', good.trace)
    alone = os.path.join(folder, 'alone')
    os.mkdir(alone)
    shutil.copy(good.trace, alone)
    doctor(checks, set(), 'a folder', alone)
    cases = [
        ('no device time', {'STAGETAP_DEVICE': 'none'}, {'host-only'}),
        ('no libcupti', {'SIMGPU_FAULTS': 'no-cupti'}, {'host-only'}),
        ('CUPTI is taken', {'SIMGPU_FAULTS': 'subscriber-taken'}, {'host-only', 'other-profiler'}),
        ('records dropped', {'SIMGPU_FAULTS': 'drop=5%'}, {'lost-events', 'launches-without-records'}),
        ('the map met nothing', {'mapping': 'symbol no_such -> request'}, {'no-request', 'map-unmatched'}),
        ('no request', {'mapping': 'symbol demo_step -> sample'}, {'no-request'}),
        ('never left', {'mapping': 'symbol demo_encode -> begin request'}, {'stage-open'}),
        ('launches block', {'CUDA_LAUNCH_BLOCKING': '1'}, {'distorted'}),
        ('held up', {'STAGETAP_ON_FULL': 'wait'}, {'distorted'}),
        ('a bad value', {'STAGETAP_FLUSH': 'often'}, {'bad-setting'}),
    ]
    for label, settings, want in cases:
        traced = lib.generate(folder, name=label.replace(' ', '-'), **demo, **settings)
        checks.equal(0, traced.process.returncode, f'{label}: runs')
        doctor(checks, want, label, traced.trace)
    report = lib.stagetap('report', os.path.join(folder, 'launches-block.stap')).stdout
    checks.ok(report.startswith('DISTORTED by CUDA_LAUNCH_BLOCKING=1 ('), 'launches block: the head', report[:200])
    gaps = lib.stagetap('gaps', os.path.join(folder, 'launches-block.stap')).stdout
    checks.ok(gaps.startswith('DISTORTED by '), 'launches block: heads every view', gaps[:200])
    cut = os.path.join(folder, 'cut.stap')
    with open(good.trace, 'rb') as file, open(cut, 'wb') as short:
        short.write(file.read()[:-200])
    doctor(checks, {'incomplete'}, 'a cut trace', cut)
    with open(cut, 'wb') as file:
        file.write(b'no trace at all')
    doctor(checks, [], 'no trace', cut, code=3)
    doctor(checks, [], 'a file that is not there', os.path.join(folder, 'absent.stap'), code=3)
    windowed(checks, folder)
    unreached(checks, folder)
    no_device(checks, folder)
    other_backends(checks, folder)


def windowed(checks, folder):
    traced = lib.generate(folder, name='window', images=3, steps=3, STAGETAP_WINDOW='requests:2-2')
    result = lib.stagetap('doctor', '--json', traced.trace)
    ids = [finding['id'] for finding in json.loads(result.stdout)['findings']]
    checks.ok('window-cut' in ids, 'a window: found', ids)
    seen_ids.update(ids)


def unreached(checks, folder):
    trace = os.path.join(folder, 'far.stap')
    command = [lib.program('real_library'), 'libcuda.so.1', 'dlmopen', 'cuInit']
    lib.run(command, lib.environment(STAGETAP_OUT=trace), folder)
    doctor(checks, {'out-of-reach', 'no-launch'}, 'a driver out of reach', trace)


def no_device(checks, folder):
    """cuInit fails: `run` says so, and so does the doctor."""
    place, trace = os.path.join(folder, 'driver'), os.path.join(folder, 'no-device.stap')
    os.mkdir(place)
    shutil.copy(os.path.join(lib.PROGRAMS, 'libno_device.so'), os.path.join(place, 'libcuda.so.1'))
    env = lib.environment(preload=False, LD_LIBRARY_PATH=place)
    result = lib.run([lib.STAGETAP, 'run', '-o', trace, lib.program('touch_cuda')], env, folder)
    checks.equal(
        f'stagetap: trace {trace} · no CUDA work seen (cuInit returned 100 (1 times) [cuda-failed]) · '
        f'stagetap doctor {trace}',
        result.stderr.splitlines()[-1],
        'no device: `run` says why',
    )
    doctor(checks, {'cuda-failed', 'no-launch'}, 'no device', trace)


OTHER = 'import ctypes, sys\nfor name in sys.argv[1:]: ctypes.CDLL(name)\nctypes.CDLL("libcuda.so.1").cuInit(0)'


def other_backends(checks, folder):
    """Named in the trace by the library, on the first line of the report, and in its JSON."""
    trace = os.path.join(folder, 'other.stap')
    libraries = [os.path.join(lib.PROGRAMS, f'libfake_{name}.so') for name in ('vulkan', 'opencl')]
    result = lib.run([sys.executable, '-c', OTHER, *libraries], lib.environment(STAGETAP_OUT=trace), folder)
    checks.equal((0, ''), (result.returncode, result.stderr), 'other back-ends: runs')
    doctor(checks, {'no-launch', 'other-backend'}, 'other back-ends', trace)
    document = lib.report(checks, trace, what='other back-ends') or {}
    checks.equal(['Vulkan', 'OpenCL'], document.get('other_backends'), 'other back-ends: in the report')
    want = {'kind': 'Vulkan', 'state': 'not_collected', 'source': 'host', 'process': None}
    why = 'libvulkan.so.1 is loaded; only CUDA is followed'
    checks.ok(dict(want, why=why) in document.get('capabilities', []), 'other back-ends: not collected, and why')
    line = lib.stagetap('report', trace).stdout.splitlines()[0]
    checks.ok(
        line.startswith('no CUDA work seen (loaded, and not collected: Vulkan, OpenCL) · '),
        'other back-ends: on the first line',
        line,
    )


# ---- this machine, and files -------------------------------------------------------------------------


def machine(checks, folder):
    document = doctor(checks, set(), 'this machine on simgpu', simgpu=True, cwd=folder)
    facts = {fact['name']: fact['value'] for fact in document['facts']}
    checks.ok(document['simulated'] and 'device times' in facts.get('would collect', ''), 'on simgpu: SIMULATED', facts)
    checks.equal([], [name for name in os.listdir(folder) if name.endswith('.stap')], 'on simgpu: nothing is written')
    try:
        ctypes.CDLL('libcuda.so.1')
    except OSError:
        doctor(checks, {'no-driver'}, 'this machine without a driver')
    else:
        NOT_PROVOKED['no-driver'] = 'this machine has one'
    settings = {'CUDA_LAUNCH_BLOCKING': '1', 'STAGETAP_OUT': '/no/such/folder/x.stap', 'STAGETAP_MPA': 'x'}
    want = {'distorted', 'output-unwritable', 'bad-setting'}
    doctor(checks, want, 'a machine with bad settings', simgpu=True, env=settings)
    preloaded = doctor(checks, set(), 'under its own preload', simgpu=True, env={'LD_PRELOAD': lib.PRELOAD}, cwd=folder)
    checks.ok(preloaded['simulated'], 'under its own preload: works')
    checks.equal([], [name for name in os.listdir(folder) if name.endswith('.stap')], 'under its own preload: no trace')
    halves(checks, folder)


def halves(checks, folder):
    """Program without library, with one of another version, with one that is none."""
    os.makedirs(os.path.join(folder, 'bin'))
    os.makedirs(os.path.join(folder, 'lib'))
    program, library = os.path.join(folder, 'bin', 'stagetap'), os.path.join(folder, 'lib', 'libstagetap.so')
    shutil.copy(lib.STAGETAP, program)
    doctor(checks, {'no-library'}, 'no library', program=program, simgpu=True)
    with open(lib.PRELOAD, 'rb') as file:
        whole = file.read()
    version = re.search(rb'libstagetap version (\d[\d.]*)', whole).group(0)
    with open(library, 'wb') as file:
        file.write(whole.replace(version, b'libstagetap version 9' + version[21:]))
    doctor(checks, {'version-mismatch'}, 'a library of another version', program=program, simgpu=True)
    told = lib.run([program, '--version'], lib.environment(False, False))
    checks.ok(
        told.returncode == 0
        and re.search(r'^libstagetap\.so 9\.\S+ \(', told.stdout, re.M)
        and 'different versions' in told.stderr,
        '--version: both, and that they differ',
        (told.stdout, told.stderr),
    )
    with open(library, 'wb') as file:
        file.write(b'no library at all')
    doctor(checks, {'version-mismatch', 'preload-refused'}, 'a broken library', program=program, simgpu=True)
    told = lib.run([lib.STAGETAP, '--version'], lib.environment(False, False))
    checks.ok(
        told.stderr == '' and [line.split()[0] for line in told.stdout.splitlines()] == ['stagetap', 'libstagetap.so'],
        '--version: program and library',
        (told.stdout, told.stderr),
    )


def programs(checks, folder):
    document = doctor(checks, {'static'}, 'a static program file', lib.program('idle_static'))
    checks.equal('program', document.get('subject'), 'a static program file: is a program')
    doctor(checks, set(), 'a program file', lib.program('idle'))
    scripts = {
        'export LD_PRELOAD="${TCMALLOC}"': {'preload-replaced'},
        'export LD_PRELOAD="${TCMALLOC}:${LD_PRELOAD}"': set(),
        '# export LD_PRELOAD=libx.so': set(),
        'exec env -i PATH=/bin ./generate': {'preload-missing'},
        'sudo ./generate': {'preload-missing'},
        'exec env -u LD_PRELOAD ./generate': {'preload-missing'},
        'pseudonym=1': set(),
    }
    for line, want in scripts.items():
        path = os.path.join(folder, 'launch.sh')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(f'#!/bin/sh\n{line}\n')
        document = doctor(checks, want, f'a script: {line}', path)
        for finding in document['findings']:
            checks.equal(f'line 2: {line}', finding['seen'], f'a script: {line}: its line')
    path = os.path.join(folder, 'fifo')
    os.mkfifo(path)
    result = lib.stagetap('doctor', path, timeout=10)
    checks.ok(result.returncode == 3 and 'not a regular file' in result.stderr, 'a FIFO is not waited for', result.stderr)


# ---- the table ---------------------------------------------------------------------------------------


def table(checks):
    with open(FAULTS, encoding='utf-8') as file:
        rows = re.findall(r'^ST_FAULT\((\w+), "([\w-]+)"', file.read(), re.M)
    with open(PAGE, encoding='utf-8') as file:
        page = [line[3:].replace('\\-', '-') for line in file.read().splitlines() if line.startswith('.B ')]
    ids = [row[1] for row in rows]
    checks.ok(len(ids) > 30 and len(set(ids)) == len(ids), 'the table: each id once', ids)
    checks.equal(ids, [line for line in page if line in ids], 'the table: the manual page has the same rows')
    sources = ''
    for parent, _, names in os.walk(os.path.join(lib.SOURCE, 'analyzer')):
        for name in names:
            if name.endswith('.c'):
                with open(os.path.join(parent, name), encoding='utf-8') as file:
                    sources += file.read()
    unused = [name for name, _ in rows if not re.search(rf'\bST_FAULT_{name}\b', sources)]
    checks.equal([], unused, 'the table: each row is found by some code')
    missing = sorted(set(ids) - seen_ids - set(NOT_PROVOKED))
    checks.equal([], missing, 'the table: each row was provoked here')
    for name in sorted(set(NOT_PROVOKED) - seen_ids):
        print(f'note: {name} was not provoked: {NOT_PROVOKED[name]}')


def usage(checks):
    for arguments in (['--nosuchoption'], ['a', 'b']):
        result = lib.stagetap('doctor', *arguments)
        checks.ok(result.returncode == 2 and not result.stdout, f'doctor {" ".join(arguments)}: exit 2', result.stderr)


def main():
    checks = lib.Checks()
    usage(checks)
    for part in (processes, traces, machine, programs):
        with lib.workdir() as folder:
            part(checks, os.path.realpath(folder))
    table(checks)
    checks.finish()


if __name__ == '__main__':
    main()
