#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line: exit codes, where messages go, and `stagetap run` as a stand-in for its target."""

import json
import os
import re
import signal
import subprocess
import time

import lib

VIEWS = ['report', 'gaps', 'dump', 'verify']


def usage(checks):
    for arguments in (
        ['nosuchcommand'],
        ['report', '--nosuchoption'],
        ['report', '--request'],
        ['report', '--unit', 'years', '.'],
        ['report', '--request', 'sometimes', '.'],
        ['verify'],
        ['gaps', '--min', 'soon', '.'],
        ['run'],
        [],
    ):
        result = lib.stagetap(*arguments)
        want = 125 if arguments == ['run'] else 2
        name = ' '.join(['stagetap'] + arguments)
        checks.equal(want, result.returncode, f'{name}: exit {want}')
        checks.ok(
            result.stderr and not result.stdout,
            f'{name}: says so on stderr only',
            (result.stdout[:200], result.stderr[:200]),
        )
    for arguments in (['--version'], ['--help'], ['report', '--help'], ['run', '--help'], ['help', 'gaps']):
        result = lib.stagetap(*arguments)
        checks.ok(
            result.returncode == 0 and result.stdout and not result.stderr,
            f'stagetap {" ".join(arguments)}: exit 0, on stdout',
        )
    checks.ok(re.search(r'\d+\.\d+', lib.stagetap('--version').stdout), '--version has a version')


def missing(checks, folder):
    absent = os.path.join(folder, 'absent.stap')
    for view in VIEWS:
        result = lib.stagetap(view, absent)
        checks.equal((3, ''), (result.returncode, result.stdout), f'{view}: missing file: exit 3, nothing on stdout')
        checks.ok(
            result.stderr.startswith(f'stagetap: {absent}: ') and len(result.stderr.splitlines()) == 1,
            f'{view}: missing file: one line names it',
            result.stderr,
        )
    result = lib.stagetap('report', cwd=folder)
    checks.equal(3, result.returncode, 'report in a folder without traces: exit 3')
    result = lib.stagetap('report', '99999999')
    checks.equal(3, result.returncode, 'report of a process that is not there: exit 3')


def selection(checks, folder):
    """What FILE may be: nothing, a folder, several options of the report."""
    traced = lib.generate(folder, images=3, steps=2, name='generate-1')
    checks.equal(0, traced.process.returncode, 'generate runs')
    plain = lib.stagetap('report', cwd=folder)
    checks.ok(
        plain.returncode == 0 and 'generate-1.stap' in plain.stdout.splitlines()[0],
        'no FILE: the newest run, named on the first line',
        plain.stdout[:300] + plain.stderr,
    )
    checks.equal(0, lib.stagetap('report', folder).returncode, 'FILE may be a folder')
    text = lib.stagetap('report', traced.trace)
    checks.ok('\x1b' not in text.stdout, 'no colour in a pipe')
    checks.ok('SIMULATED' in text.stdout.splitlines()[0], 'the head says SIMULATED', text.stdout[:200])
    for word in (
        'encode',
        'sample',
        'sample/step',
        'decode',
        'output',
        'unattributed',
        'identity',
        'residual 0 ns',
        'idle',
    ):
        checks.ok(word in text.stdout, f'the screen has "{word}"', text.stdout[:3000])
    colour = lib.stagetap('report', '--color', 'always', traced.trace)
    checks.equal(0, colour.returncode, '--color always')
    for options in (
        ['--request', 'first'],
        ['--request', '2'],
        ['--request', 'steady'],
        ['--unit', 'ms'],
        ['--top', '0'],
        ['--min', '0'],
        ['--stage', 'sample'],
        ['--device', '0'],
    ):
        result = lib.stagetap('report', *options, traced.trace)
        checks.equal(0, result.returncode, f'report {" ".join(options)}')
    first = lib.report(checks, '--request', 'first', traced.trace)
    if first:
        checks.equal([1], [request['id'] for request in first['requests']], '--request first selects it')
    checks.equal(
        2, lib.stagetap('report', '--request', '77', traced.trace).returncode, 'a request that is not there: exit 2'
    )
    views(checks, folder, traced.trace)
    gaps = lib.stagetap('gaps', '--min', '1us', '--top', '5', traced.trace)
    checks.equal(0, gaps.returncode, 'gaps')
    full = subprocess.run(
        [lib.STAGETAP, 'report', traced.trace],
        stdout=open('/dev/full', 'w'),
        stderr=subprocess.PIPE,
        env=lib.environment(preload=False, simgpu=False),
    )
    checks.ok(full.returncode != 0 and full.stderr, 'a full disk under stdout is an error', full.returncode)


def views(checks, folder, trace):
    """Scopes, unknown rows, words, --strict, and a reader that goes away."""
    text = lib.stagetap('report', trace).stdout
    checks.ok('over 1 steady request' in text, 'lists say over which requests they go', text[:3000])
    for view in ('report', 'gaps', 'kernels', 'transfers', 'syncs'):
        result = lib.stagetap(view, '--stage', 'nosuchstage', trace)
        checks.ok(
            result.returncode == 2 and not result.stdout and 'sample/step' in result.stderr,
            f'{view} --stage of an unknown row: exit 2, names the rows',
            (result.returncode, result.stderr),
        )
    result = lib.stagetap('stage', 'step', trace)
    checks.ok(result.returncode == 2 and 'sample/step' in result.stderr, 'stage step: names sample/step', result.stderr)
    for word in ('wall share ms', 'host late: after a wait', 'for work of', 'per step', 'identity', 'shape'):
        result = lib.stagetap('report', '--explain', word)
        checks.ok(result.returncode == 0 and ': ' in result.stdout, f'--explain {word}', result.stderr)
    checks.equal(2, lib.stagetap('report', '--explain', 'nosuchword').returncode, '--explain of no word: exit 2')
    rounds = lib.stagetap('rounds', '--rounds', 'warmup=0', trace).stdout
    checks.ok('rule warmup=0, chosen afterwards' in rounds, 'rounds: a rule chosen afterwards is marked', rounds)
    checks.ok('chosen afterwards' not in lib.stagetap('rounds', trace).stdout, 'rounds: the rule of the trace is not')
    for view in (['report'], ['gaps'], ['kernels'], ['transfers'], ['syncs'], ['rounds'], ['stage', 'sample']):
        heads = lib.stagetap(*view, '--format', 'csv', trace).stdout.splitlines()[0].split(',')
        checks.equal(len(set(heads)), len(heads), f'{" ".join(view)}: no two CSV columns of one name')
    checks.ok('×0' not in text, 'report: nothing that ran no time', text)
    for options, offered in (
        (['--top', '1', '--min', '0'], ' shown (--top)'),
        (['--top', '0', '--min', '1s'], ' shown (--min)'),
        (['--top', '0', '--min', '0', '--stage', 'output/png'], ' shown (--stage)'),
    ):
        shown = lib.stagetap('gaps', *options, trace).stdout
        checks.ok(offered in shown, f'gaps {" ".join(options)}: the footer offers what shows more', shown[-300:])
    shown = lib.stagetap('kernels', '--top', '1', trace).stdout
    checks.ok(' shown (--top)\n' in shown, 'kernels --top: nor --min, which cuts gaps', shown[-300:])
    shown = lib.stagetap('stage', 'output', '--min', '0', trace).stdout
    checks.ok(re.search(r'gaps of output over .*; of all stages \d+', shown), 'stage: gaps of the stage', shown[-300:])
    document = lib.report(checks, trace) or {}
    strict = lib.stagetap('report', '--strict', trace)
    checks.equal(1 if document.get('missing') else 0, strict.returncode, '--strict: 1 exactly when something is missing')
    cut = os.path.join(folder, 'cut-for-strict.stap')
    with open(trace, 'rb') as file, open(cut, 'wb') as short:
        short.write(file.read()[:-100])
    strict = lib.stagetap('report', '--strict', '--json', cut)
    checks.ok(
        strict.returncode == 1 and 'not complete' in strict.stderr and json.loads(strict.stdout)['missing'],
        '--strict --json of a cut trace: exit 1, and both say why',
        (strict.returncode, strict.stderr),
    )
    calls = lib.stagetap('dump', '--table', 'call', trace).stdout
    checks.ok('(cuInit)' in calls, 'dump: call numbers with names, tables in any case', calls[:300])
    wrong = lib.stagetap('dump', '--table', 'nosuchtable', trace)
    checks.ok(wrong.returncode == 2 and 'KERNEL' in wrong.stderr, 'dump: an unknown table: the tables', wrong.stderr)
    piped = lib.run(
        ['bash', '-c', 'trap "" PIPE; "$0" dump "$1" | head -n 1; echo ${PIPESTATUS[0]}', lib.STAGETAP, trace],
        lib.environment(preload=False, simgpu=False),
    )
    checks.ok(
        piped.stderr == '' and piped.stdout.splitlines()[1:] in (['141'], ['0']),
        'dump | head: ends quietly by SIGPIPE',
        (piped.stdout, piped.stderr),
    )
    unmatched = lib.generate(folder, images=1, steps=1, name='no-request', mapping='symbol nothing -> request')
    text = lib.stagetap('report', unmatched.trace).stdout
    checks.ok(
        'no request' in text and 'outside of requests' in text and 'nm -D --defined-only' in text,
        'no request: a table of what is outside, and how to go on',
        text,
    )


def maps(checks, folder):
    """`map check` and what it is checked for."""
    path = os.path.join(folder, 'bad.map')
    with open(path, 'w', encoding='utf-8') as file:
        file.write('symbol a -> encode\nsymbol b\nnonsense c -> d\nsymbol a -> decode\n')
    result = lib.stagetap('map', 'check', path)
    checks.ok(
        result.returncode == 1 and all(word in result.stderr for word in ('line 2', 'line 3', 'warning')),
        'map check: every mistake, and a warning for a double rule',
        result.stderr,
    )
    for name, want in (('demo', 0), ('nosuchpreset', 2), (os.path.join(folder, 'absent.map'), 3)):
        result = lib.stagetap('map', 'check', name)
        checks.equal(want, result.returncode, f'map check {os.path.basename(name)}: exit {want}')


def launcher(checks, folder):
    touch = lib.program('touch_cuda')
    env = lib.environment(preload=False)

    def run(*arguments):
        return lib.run([lib.STAGETAP, 'run', *arguments], env, folder)

    out = os.path.join(folder, 'launched.stap')
    result = run('-o', out, '--', touch, 'exit', '7')
    checks.equal(7, result.returncode, 'run: the target\'s status')
    checks.ok(os.path.exists(out), 'run: -o names the trace')
    lines = result.stderr.strip().splitlines()
    checks.ok(
        len(lines) == 1
        and f'trace {out} ' in lines[0]
        and 'no CUDA work seen' in lines[0]
        and lines[0].endswith(f'stagetap doctor {out}'),
        'run: a trace without work: one line, the file and who explains it',
        result.stderr,
    )
    worked = os.path.join(folder, 'worked.stap')
    result = lib.run(
        [lib.STAGETAP, 'run', '-o', worked, '--', lib.program('generate'), '--images', '1', '--steps', '1', '--quiet'],
        lib.environment(preload=False),
        folder,
    )
    checks.equal(
        f'stagetap: trace {worked} · stagetap report {worked}\n',
        result.stderr,
        'run: ends with one line, the file and the next command',
    )
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT):
        result = run('-o', out, touch, 'kill', str(int(number)))
        checks.equal(128 + number, result.returncode, f'run: target killed by {number}: exit {128 + number}')
    checks.equal(127, run('no-such-program-here').returncode, 'run: command not found: 127')
    checks.equal(126, run('/etc/passwd').returncode, 'run: not executable: 126')
    checks.equal(126, run('/').returncode, 'run: a folder: 126')
    result = run('--mode', 'sideways', '--', 'true')
    checks.ok(
        'allowed: trace|off (later versions: baseline|diagnose-sync)' in result.stderr,
        'run: a bad value: what this version takes, and what is for later',
        result.stderr,
    )
    checks.ok('-o, --output: STAGETAP_OUT' in ' '.join(run('--help').stdout.split()), 'run --help: STAGETAP_OUT')
    for arguments in (
        ['--mode', 'sideways'],
        ['--mode', 'baseline'],
        ['--window', 'profiler'],
        ['-m', 'symbol x ->'],
        ['-m', 'nosuchpreset'],
        ['-m', './absent.map'],
        ['--rounds', 'many'],
        ['--limit', 'big'],
        ['--nosuchoption'],
    ):
        marker = os.path.join(folder, 'started')
        result = run(*arguments, '--', 'touch', marker)
        checks.ok(
            result.returncode == 125 and result.stderr,
            f'run {" ".join(arguments)}: refused with 125',
            f'exit {result.returncode} {result.stderr}',
        )
        checks.ok(not os.path.exists(marker), f'run {" ".join(arguments)}: before the target starts')
    blanks = os.path.join(folder, 'my traces')
    os.mkdir(blanks)
    last = run('-o', blanks, '--', touch, 'exit', '0').stderr
    checks.ok(
        f"stagetap doctor '{blanks}/stagetap-touch_cuda-" in last and last.endswith("'\n"),
        'run: a folder that is there takes the trace; a path with a blank is quoted',
        last,
    )
    preload_kept(checks, folder)
    forwarded(checks, folder, env)
    printed(checks, run)
    result = run('--exec', '-o', os.path.join(folder, 'exec.stap'), '--', touch, 'exit', '4')
    checks.equal((4, ''), (result.returncode, result.stderr), 'run --exec: replaced by the target, says nothing')
    checks.ok(os.path.exists(os.path.join(folder, 'exec.stap')), 'run --exec: a trace')
    result = run('sh', '-c', 'echo out; echo err >&2; cat; exit 5')
    checks.equal((5, 'out\n'), (result.returncode, result.stdout), 'run: stdout and stdin pass')
    checks.ok(result.stderr.startswith('err\n'), 'run: stderr passes', result.stderr)


def preload_kept(checks, folder):
    """An LD_PRELOAD of the user's stays in force, ours is an absolute path."""
    env = lib.environment(preload=False, LD_PRELOAD='libm.so.6')
    shown = lib.run([lib.STAGETAP, 'run', 'sh', '-c', 'echo $LD_PRELOAD'], env, folder).stdout.strip()
    parts = re.split('[: ]', shown)
    checks.ok(
        'libm.so.6' in parts and any(part.startswith('/') and part.endswith('libstagetap.so') for part in parts),
        'run: added to an existing LD_PRELOAD, absolute',
        shown,
    )


def forwarded(checks, folder, env):
    marker = os.path.join(folder, 'caught')
    script = f'trap "echo caught > {marker}; exit 9" TERM; echo ready; while :; do sleep 0.05; done'
    process = subprocess.Popen(
        [lib.STAGETAP, 'run', 'sh', '-c', script],
        env=env,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        universal_newlines=True,
    )
    process.stdout.readline()
    time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    try:
        status = process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        status = 'hangs'
    checks.equal(9, status, 'run: forwards SIGTERM and takes the target\'s status')
    checks.ok(os.path.exists(marker), 'run: the target got the signal')
    process.stdout.close()


def printed(checks, run):
    result = run('--print-env', '-o', 'x y.stap', '-m', 'symbol f* -> encode')
    checks.equal(0, result.returncode, 'run --print-env: exit 0')
    lines = result.stdout.splitlines()
    checks.ok(
        lines and all(line.startswith('export ') for line in lines), 'run --print-env: export lines', result.stdout
    )
    shown = lib.run(
        ['sh', '-c', result.stdout + 'unset LD_PRELOAD; echo "$STAGETAP_OUT|$STAGETAP_MAP"'],
        lib.environment(preload=False),
    ).stdout
    checks.ok(shown.strip().endswith('x y.stap|symbol f* -> encode'), 'run --print-env: quoted for a shell', shown)


def main():
    checks = lib.Checks()
    with lib.workdir() as folder:
        usage(checks)
        missing(checks, folder)
        launcher(checks, folder)
        maps(checks, folder)
    with lib.workdir() as folder:
        selection(checks, folder)
    checks.finish()


if __name__ == '__main__':
    main()
