#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`stagetap run --tee`: what the target prints is copied byte for byte into every kind of sink, and its lines become stages
also where nothing of libc prints them: by system calls of the program's own, or by a static program that starts it."""

import os
import re
import signal

import lib
import printing

MAP = 'log "picture*" -> request; log encode -> encode; log decode -> decode; log saved -> end request'
PAUSE = '20'  # ms after each line: longer than the copy of a line takes


def run(*arguments):
    return [lib.STAGETAP, 'run', '--tee', *arguments]


def without_note(outcome):
    """What came out but for the launcher's own last line."""
    return outcome[0], *(re.sub(rb'stagetap: trace [^\n]*\n$', b'', part.replace(b'\r\n', b'\n')) for part in outcome[1:])


def copies(checks):
    for kind, sinks in (('syscall', ('pipe', 'terminal', 'null', 'both')), ('stderr', ('terminal', 'both')), ('bar', ('pipe',))):
        for sink in sinks:
            label = f'{kind} into {sink}'
            command = [lib.program('printer'), kind]
            with lib.workdir() as folder:
                trace, times = os.path.join(folder, 'run.stap'), os.path.join(folder, 'times')
                env = printing.environment(preload=False, E2E_TIMES=times, E2E_PAUSE_MS=PAUSE)
                bare = printing.into(sink, command, env, folder, 'bare')
                copied = printing.into(sink, run('-o', trace, '-m', printing.MAP, *command), env, folder, 'copied')
                checks.equal(without_note(bare), without_note(copied), f'{label}: the same bytes and exit status')
                document = lib.report(checks, '--request', 'all', trace, what=label)
                if document is None:
                    continue
                checks.equal([], document['unmatched_rules'], f'{label}: every kind of line was seen')
                found = [printing.stages(request) for request in document['requests']]
                checks.equal([printing.TRUTH, printing.TRUTH], found, f'{label}: launches')
                ended = [request['complete'] for request in document['requests']]
                checks.equal([True, True], ended, f'{label}: the last line counts, too')
                printing.check_edges(checks, label, trace, times, is_late=True)
            rows = [row for request in document['requests'] for row in request['stages'] if row['edges']]
            checks.equal({'inferred'}, {row['edges'] for row in rows}, f'{label}: edges are inferred')


def last_lines(checks):
    """What is printed at once when the last CUDA call is over, before the end of the program."""
    with lib.workdir() as folder:
        trace = os.path.join(folder, 'run.stap')
        env = printing.environment(preload=False, E2E_PAUSE_MS='0')
        result = lib.run(run('-o', trace, '-m', printing.MAP, lib.program('printer'), 'syscall'), env, folder)
        checks.equal(0, result.returncode, 'last lines: runs')
        document = lib.report(checks, '--request', 'all', trace, what='last lines')
    checks.equal([True], [request['complete'] for request in document['requests'][-1:]], 'last lines: the request is over')


def unseen_without(checks):
    """What --tee is for: in the process nothing is seen of it."""
    with lib.workdir() as folder:
        trace = os.path.join(folder, 'run.stap')
        env = printing.environment(STAGETAP_OUT=trace, STAGETAP_MAP=printing.MAP)
        printing.into('pipe', [lib.program('printer'), 'syscall'], env, folder, 'plain')
        document = lib.report(checks, trace, what='syscall without --tee')
        checks.equal(6, len(document['unmatched_rules']), 'syscall without --tee: no rule matches')


def static_parent(checks):
    with lib.workdir() as folder:
        trace = os.path.join(folder, 'run.stap')
        command = run('-o', trace, '-m', MAP, lib.program('static_teller'), lib.program('launches_told'))
        result = lib.run(command, printing.environment(preload=False), folder)
        told = 'picture\nencode\ndecode\nsaved\n' * 2
        checks.equal((7, told), (result.returncode, result.stdout), 'static parent: its status and output')
        document = lib.report(checks, '--request', 'all', trace, what='static parent')
    want = {'encode': (1, 3), 'decode': (1, 5), 'unattributed': (0, 0)}
    checks.equal([want] * 2, [printing.stages(request) for request in document['requests']], 'static parent: launches')


def streams(checks):
    """What a shell can do with the output."""
    cases = (
        ('both in one file, in order', '{} sh -c "for i in 1 2 3 4 5 6 7 8 9; do echo $i; echo e$i >&2; done" > out 2>&1', 0),
        ('stdout closed', '{} sh -c "echo x" >&-', None),
        ('stderr closed', '{} sh -c "echo x; exit 3" 2>&-', 3),
        ('both closed', '{} sh -c "exit 4" >&- 2>&-', 4),
        ('a full device', '{} sh -c "echo x; exit 5" > /dev/full', None),
        ('a reader that leaves', '{} yes | head -n 2', None),
        ('much', '{} head -c 3000000 /dev/zero | tr "\\\\0" x | cksum', 0),
        ('a late reader', '{} head -c 100000 /dev/zero | (sleep 0.5; wc -c)', 0),
        ('nothing', '{} true', 0),
    )
    launcher = f'{lib.STAGETAP} run --tee -m "log a -> encode" --mode off'
    for label, shell, status in cases:
        outcomes = []
        for front in ('', launcher):
            with lib.workdir() as folder:
                result = lib.run(['bash', '-c', shell.format(front)], printing.environment(preload=False), folder)
                path = os.path.join(folder, 'out')
                written = open(path, encoding='utf-8').read() if os.path.exists(path) else ''
                outcomes.append((result.returncode if status is not None else 0, result.stdout, written))
        checks.equal(outcomes[0], outcomes[1], f'streams: {label}')
        if status is not None:
            checks.equal(status, outcomes[1][0], f'streams: {label}: status')


def ends(checks):
    env = printing.environment(preload=False)
    front = run('-m', 'log a -> encode', '--mode', 'off')
    for number in (signal.SIGTERM, signal.SIGKILL):
        result = lib.run([*front, 'sh', '-c', f'echo x; kill -{int(number)} $$'], env)
        checks.equal((128 + number, 'x\n'), (result.returncode, result.stdout), f'killed by {number}')
    result = lib.run([*front, 'sh', '-c', 'echo x; (sleep 30; echo late) & exit 2'], env, timeout=10)
    checks.equal((2, 'x\n'), (result.returncode, result.stdout), 'one that goes on in the background does not hold us')
    result = lib.run([*front, 'no-such-program-here'], env)
    checks.equal(127, result.returncode, 'no such command: 127')


def mistakes(checks):
    env = printing.environment(preload=False)
    cases = (
        ('no map', [], 'no log rule in the map'),
        ('no log rule', ['-m', 'nvtx a -> encode'], 'no log rule in the map'),
        ('a bad map', ['-m', 'log a ->'], 'column'),
        ('--exec', ['--exec', '-m', 'log a -> encode'], 'not with --exec'),
        ('--print-env', ['--print-env', '-m', 'log a -> encode'], 'not with --print-env'),
    )
    for label, options, words in cases:
        result = lib.run(run(*options, '--', 'sh', '-c', 'echo started'), env)
        checks.equal((125, ''), (result.returncode, result.stdout), f'{label}: refused before anything starts')
        checks.ok(words in result.stderr and len(result.stderr.splitlines()) == 1, f'{label}: one line', result.stderr)


checks = lib.Checks()
copies(checks)
last_lines(checks)
unseen_without(checks)
static_parent(checks)
streams(checks)
ends(checks)
mistakes(checks)
checks.finish()
