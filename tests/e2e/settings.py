#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The environment in front of a bare preload: bad values are named and survived, and the trace lands where
STAGETAP_OUT says – never over another file, never readable by others."""

import os
import re
import socket
import stat

import lib

# variable → (a bad value, a word that the line about it must show of what is allowed)
BAD = {
    'STAGETAP_MODE': ('sideways', 'baseline'),
    'STAGETAP_DEVICE': ('gpu', 'cupti'),
    'STAGETAP_GRAPHS': ('all', 'node'),
    'STAGETAP_PY': ('maybe', 'monitoring'),
    'STAGETAP_COLLECT': ('everything', 'stacks'),
    'STAGETAP_WINDOW': ('steps:x', 'steps'),
    'STAGETAP_ROUNDS': ('many', 'warmup'),
    'STAGETAP_LIMIT': ('big', '2G'),
    'STAGETAP_FLUSH': ('often', 's'),
    'STAGETAP_BUFFER': ('-3', '64K'),
    'STAGETAP_ON_FULL': ('cry', 'wait'),
    'STAGETAP_LOG': ('loud', 'debug'),
}
RING_HEAD_BYTES, SLOT_BYTES = 4096, 64
BAD_MAPS = {
    'symbol encode* -> -> x': 'column 19',
    'symbol a -> encode; nonsense b -> c': 'nonsense',
    'symbol x ->': 'column',
    'nosuchpreset': 'nosuchpreset',
    './absent.map': './absent.map',
}


def touch(folder, *arguments, cwd=None, **settings):
    return lib.run([lib.program('touch_cuda'), *arguments], lib.environment(**settings), cwd or folder)


def traces(folder):
    return sorted(name for name in os.listdir(folder) if '.stap' in name)


def bad_values(checks, folder):
    for variable, (value, allowed) in BAD.items():
        out = os.path.join(folder, variable + '.stap')
        result = touch(folder, 'exit', '5', STAGETAP_OUT=out, **{variable: value})
        checks.equal(5, result.returncode, f'{variable}={value}: the target runs')
        lines = result.stderr.splitlines()
        checks.ok(
            len(lines) == 1 and variable in lines[0] and value in lines[0] and allowed in lines[0],
            f'{variable}={value}: one line names variable, value and what is allowed',
            result.stderr,
        )
        checks.ok(os.path.exists(out), f'{variable}={value}: traced with the default')
    for number, (value, word) in enumerate(BAD_MAPS.items()):
        out = os.path.join(folder, f'map{number}.stap')
        result = touch(folder, 'exit', '5', STAGETAP_OUT=out, STAGETAP_MAP=value)
        lines = result.stderr.splitlines()
        checks.ok(
            result.returncode == 5
            and len(lines) == 1
            and 'STAGETAP_MAP' in lines[0]
            and word in lines[0]
            and os.path.exists(out),
            f'STAGETAP_MAP={value}: one line says where, the target runs and is traced',
            (result.returncode, result.stderr),
        )
    document = lib.report(
        checks, os.path.join(folder, 'STAGETAP_FLUSH.stap'), what='report of a run with a bad value'
    )
    if document:
        checks.ok(any('STAGETAP_FLUSH' in note for note in document['notes']), 'the trace says so', document['notes'])
    quiet = touch(folder, STAGETAP_OUT=os.path.join(folder, 'q.stap'), STAGETAP_MODE='sideways', STAGETAP_LOG='quiet')
    checks.equal('', quiet.stderr, 'STAGETAP_LOG=quiet: nothing on stderr')
    log = os.path.join(folder, 'log.txt')
    logged = touch(
        folder, STAGETAP_OUT=os.path.join(folder, 'q2.stap'), STAGETAP_MODE='sideways', STAGETAP_LOG='warn=' + log
    )
    checks.ok(
        logged.stderr == '' and os.path.exists(log) and 'STAGETAP_MODE' in open(log, encoding='utf-8').read(),
        'STAGETAP_LOG=warn=FILE: there instead',
        logged.stderr,
    )
    bystander = lib.run(['true'], lib.environment(STAGETAP_MODE='sideways'), folder)
    checks.equal('', bystander.stderr, 'a process without CUDA says nothing about a bad value')


def typos(checks, folder):
    out = os.path.join(folder, 'typo.stap')
    result = touch(folder, STAGETAP_OUT=out, STAGETAP_MPA='demo')
    checks.ok(
        result.returncode == 0 and len(result.stderr.splitlines()) == 1 and 'STAGETAP_MPA' in result.stderr,
        'a typo in a name is named',
        result.stderr,
    )
    result = touch(folder, STAGETAP_OUT=os.path.join(folder, 'int.stap'), STAGETAP_INTERNAL_XYZ='1')
    checks.equal('', result.stderr, 'STAGETAP_INTERNAL_* never is')


def patterns(checks):
    with lib.workdir() as folder:
        result = touch(folder, STAGETAP_OUT='%e_%h_%%_%q.stap')
        host = socket.gethostname()
        checks.equal(
            [f'touch_cuda_{host}_%_%q.stap'], traces(folder), '%e %h %% in a name; any other stays as written'
        )
        checks.equal('', result.stderr, 'nothing is printed when all is well')
    with lib.workdir() as folder:
        touch(folder, STAGETAP_OUT='p%p-%t.stap')
        names = traces(folder)
        checks.ok(
            len(names) == 1 and re.fullmatch(r'p[0-9]+-[0-9][0-9A-Za-z_:.+-]*\.stap', names[0]), '%p and %t', names
        )
    with lib.workdir() as folder:
        os.mkdir(os.path.join(folder, 'sub'))
        touch(folder, STAGETAP_OUT='sub/')
        names = traces(os.path.join(folder, 'sub'))
        checks.ok(
            len(names) == 1 and re.fullmatch(r'stagetap-touch_cuda-[0-9]+\.stap', names[0]),
            'a folder: the default name in it',
            names,
        )
    with lib.workdir() as folder:
        touch(folder)
        names = traces(folder)
        checks.ok(
            len(names) == 1 and re.fullmatch(r'stagetap-touch_cuda-[0-9]+\.stap', names[0]), 'the default name', names
        )
        mode = stat.S_IMODE(os.stat(os.path.join(folder, names[0])).st_mode) if names else None
        checks.equal(0o600, mode, 'mode 0600')
    with lib.workdir() as folder:
        script = 'import ctypes; ctypes.CDLL("libcuda.so.1").cuInit(0)'
        path = os.path.join(folder, 'paint.py')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(script)
        lib.run(['python3', path], lib.environment(STAGETAP_OUT='%e.stap'), folder)
        checks.equal(
            1,
            len([name for name in traces(folder) if name in ('paint.stap', 'paint.py.stap')]),
            '%e of an interpreter is the script\'s name',
        )


def never_over(checks):
    with lib.workdir() as folder:
        for _ in range(2):
            touch(folder, STAGETAP_OUT='fixed.stap')
        checks.equal(['fixed.stap', 'fixed.stap.old'], traces(folder), 'a fixed name that exists is renamed .old')
        for name in traces(folder):
            checks.equal(0, lib.stagetap('dump', os.path.join(folder, name)).returncode, f'{name} is whole')
    with lib.workdir() as folder:
        for _ in range(3):
            touch(folder, STAGETAP_OUT='%e.stap')
        names = traces(folder)
        checks.ok(
            len(names) == 3 and 'touch_cuda.stap' in names and any('.1' in name for name in names),
            'a pattern that exists gets .1',
            names,
        )
    with lib.workdir() as folder:
        touch(folder, 'exec', lib.program('touch_cuda'), STAGETAP_OUT='one.stap')
        checks.equal(['one.stap', 'one.stap.2'], traces(folder), 'a second image after exec writes NAME.2')
    with lib.workdir() as folder:
        program = lib.program('touch_cuda')
        lib.run(
            ['sh', '-c', f'{program} sleep 300 > a & sleep 0.1; {program}; wait'],
            lib.environment(STAGETAP_OUT='one.stap'),
            folder,
        )
        names = traces(folder)
        checks.ok(
            len(names) == 2 and 'one.stap' in names and re.fullmatch(r'one\.stap\.[0-9]+', names[1]),
            'a fixed name belongs to the first process, others write NAME.PID',
            names,
        )
    with lib.workdir() as folder:
        precious = os.path.join(folder, 'precious.stap')
        with open(precious, 'w', encoding='utf-8') as file:
            file.write('mine')
        touch(folder, STAGETAP_OUT='precious.stap')
        with open(precious + '.old', encoding='utf-8') as file:
            checks.equal('mine', file.read(), 'a file that is no trace is kept too')


def no_regular_file(checks):
    """A name that is a folder, a pipe or a device is never moved away, and never waited for."""
    with lib.workdir() as folder:
        os.mkdir(os.path.join(folder, 'pictures'))
        os.mkfifo(os.path.join(folder, 'pipe'))
        for name in ('pictures', 'pipe'):
            before = os.lstat(os.path.join(folder, name))
            result = touch(folder, 'exit', '5', STAGETAP_OUT=name)
            after = os.lstat(os.path.join(folder, name))
            checks.equal(5, result.returncode, f'STAGETAP_OUT is a {name}: the target runs')
            checks.equal(
                (before.st_ino, before.st_mode), (after.st_ino, after.st_mode), f'STAGETAP_OUT is a {name}: it stays'
            )
        inside = traces(os.path.join(folder, 'pictures'))
        checks.ok(
            len(inside) == 1 and inside[0].startswith('stagetap-'),
            'a folder that is there is a folder, slash or not',
            inside,
        )
        beside = [name for name in os.listdir(folder) if re.fullmatch(r'pipe\.[0-9]+', name)]
        checks.equal(1, len(beside), 'a pipe: the trace is NAME.PID beside it')


def not_writable(checks):
    with lib.workdir() as folder:
        target = os.path.join(folder, 'no', 'such', 'folder', 'x.stap')
        result = touch(folder, STAGETAP_OUT=target, TMPDIR=folder)
        lines = result.stderr.splitlines()
        checks.ok(
            result.returncode == 0 and len(lines) == 1 and folder in lines[0],
            'folder not writable: one line says where instead',
            result.stderr,
        )
        checks.equal(['x.stap'], traces(folder), 'folder not writable: $TMPDIR')


def stray_child(checks):
    """A child that no fork handler saw ends at once and leaves its parent's trace alone."""
    script = (
        'import ctypes, os, time\n'
        'ctypes.CDLL("libcuda.so.1").cuInit(0)\n'
        'libc, start = ctypes.CDLL(None), time.monotonic()\n'
        'pid = libc._Fork()\n'
        'pid or libc.exit(3)\n'
        'print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), time.monotonic() - start < 3)'
    )
    with lib.workdir() as folder:
        result = lib.run(['python3', '-c', script], lib.environment(STAGETAP_OUT='x.stap'), folder)
        checks.equal(('3 True\n', ''), (result.stdout, result.stderr), 'a stray child exits at once, without a word')
        checks.equal(0, lib.stagetap('verify', os.path.join(folder, 'x.stap')).returncode, 'its parent has its trace')


def odd_files(checks):
    """A FIFO as a map does not keep the program from starting; a closed standard output stays closed."""
    with lib.workdir() as folder:
        os.mkfifo(os.path.join(folder, 'fifo.map'))
        result = touch(folder, STAGETAP_MAP='./fifo.map', STAGETAP_OUT='x.stap')
        checks.equal((0, ['x.stap']), (result.returncode, traces(folder)), 'a FIFO as a map: the program runs')
        checks.ok('fifo.map' in result.stderr, 'a FIFO as a map: is named', result.stderr)
    script = (
        'import ctypes, os, sys; ctypes.CDLL("libcuda.so.1").cuInit(0)\n'
        'try: os.write(1, b"text")\n'
        'except OSError as error: print(error.errno, file=sys.stderr)'
    )
    with lib.workdir() as folder:
        command = ['bash', '-c', f"exec python3 -c '{script}' >&-"]
        bare = lib.run(command, lib.environment(False), folder)
        seen = lib.run(command, lib.environment(STAGETAP_OUT='x.stap'), folder)
        checks.equal(bare.stderr, seen.stderr, 'closed standard output: writing fails as ever')
        checks.equal(0, lib.stagetap('verify', os.path.join(folder, 'x.stap')).returncode, 'and the trace is whole')


def buffers(checks):
    """STAGETAP_BUFFER is the size of each thread's ring, seen in the ring file of a process that still runs."""
    script = (
        'import ctypes, glob, os; ctypes.CDLL("libcuda.so.1").cuInit(0); '
        'print([os.stat(p).st_size for p in glob.glob("/dev/shm/stagetap.*") '
        'if os.getpid() == int.from_bytes(open(p, "rb").read(64)[60:], "little")])'
    )
    for value, slots in {'64K': 1 << 10, '1M': 1 << 14, '100K': 1 << 10, '16M': 1 << 18}.items():
        with lib.workdir() as folder:
            result = lib.run(['python3', '-c', script], lib.environment(STAGETAP_BUFFER=value), folder)
            want = f'[{RING_HEAD_BYTES + slots * SLOT_BYTES}]\n'
            checks.equal(want, result.stdout, f'STAGETAP_BUFFER={value}: {slots} slots')


def mode_off(checks):
    with lib.workdir() as folder:
        result = touch(folder, STAGETAP_MODE='off')
        checks.equal(
            (0, '', []), (result.returncode, result.stderr, traces(folder)), 'STAGETAP_MODE=off: no trace, no word'
        )
    with lib.workdir() as folder:
        env = lib.environment(STAGETAP_OUT='forked.stap')
        script = (
            'import ctypes, os; c = ctypes.CDLL("libcuda.so.1"); c.cuInit(0); pid = os.fork(); '
            'pid or os._exit(0); print(os.waitpid(pid, 0)[1])'
        )
        result = lib.run(['python3', '-c', script], env, folder)
        checks.equal(
            (0, '0\n', ''), (result.returncode, result.stdout, result.stderr), 'a forked child ends as it should'
        )
        checks.ok('forked.stap' in traces(folder), 'and its parent has its trace', traces(folder))


def main():
    checks = lib.Checks()
    with lib.workdir() as folder:
        bad_values(checks, folder)
        typos(checks, folder)
    patterns(checks)
    never_over(checks)
    no_regular_file(checks)
    not_writable(checks)
    buffers(checks)
    odd_files(checks)
    stray_child(checks)
    mode_off(checks)
    checks.finish()


if __name__ == '__main__':
    main()
