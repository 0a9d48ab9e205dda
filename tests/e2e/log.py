#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stages from the lines that a program prints: every way to print, into a pipe, a file, a terminal and both outputs into
one. The program prints the same bytes, ends alike and calls isatty() with the same answer as without us; its stages
have the launches that they have in truth."""

import os
import signal
import stat
import sys

import lib
import printing

THREADS_MAP = 'log "picture*" -> request; log encode -> encode; log decode -> decode; log saved -> end request'
LIBC = ('printf', 'printf-full', 'printf-line', 'printf-none', 'fprintf-full', 'vprintf-full', 'bar', 'puts', 'fputs',
        'putc-full', 'putchar_unlocked', 'fwrite-full', 'dprintf', 'perror', 'stderr', 'write', 'copy', 'writev', 'wprintf')
STREAMS = ('cout', 'endl', 'cerr', 'clog', 'nosync-endl', 'nosync-late')
PYTHON = ('flush', 'late', 'write', 'ctypes', 'stderr')
# Kept back until the end where the sink is no terminal: above libc, or in a buffer that an inlined macro writes to.
LATE = ('iostream nosync-late', 'python late', 'putchar_unlocked')


def printers():
    for kind in LIBC:
        yield kind, [lib.program('printer'), kind]
    for kind in ('printf-full', 'fprintf-full', 'vprintf-full', 'dprintf'):
        yield f'fortified {kind}', [lib.program('printer_fortified'), kind]
    if lib.is_built('printer_streams'):
        for kind in STREAMS:
            yield f'iostream {kind}', [lib.program('printer_streams'), kind]
    for kind in PYTHON if not lib.EMULATOR else ():
        script = os.path.join(lib.SOURCE, 'tests', 'e2e', 'programs', 'printer.py')
        yield f'python {kind}', [sys.executable, '-S', '-B', script, kind]


def pair(checks, label, command, sink, folder, mapping=printing.MAP):
    """The same without and with us. Returns the trace, and when the program printed its lines."""
    trace, times = os.path.join(folder, 'run.stap'), os.path.join(folder, 'times')
    without = printing.environment(preload=False, E2E_TIMES=times)
    env = printing.environment(STAGETAP_OUT=trace, STAGETAP_MAP=mapping, E2E_TIMES=times)
    bare, traced = printing.into(sink, command, without, folder, 'bare'), printing.into(sink, command, env, folder, 'traced')
    checks.equal(bare, traced, f'{label}: the same bytes and exit status')
    return trace, times


def print_all_ways(checks):
    everywhere = ('printf', 'puts', 'write', 'iostream cout', 'iostream cerr', 'python flush')
    for name, command in printers():
        for sink in ('pipe', 'terminal', 'file', 'both', 'null') if name in everywhere else ('pipe', 'terminal'):
            label = f'{name} into {sink}'
            # a program's own buffer, or one that it asked for, is full wherever it leads; Python looks for a terminal
            is_late = name in LATE and not (sink == 'terminal' and name != 'iostream nosync-late')
            with lib.workdir() as folder:
                trace, times = pair(checks, label, command, sink, folder)
                document = lib.report(checks, '--request', 'all', trace, what=label)
                if document is None:
                    continue
                printing.check_edges(checks, label, trace, times, is_late)
            checks.equal([], document['unmatched_rules'], f'{label}: every kind of line was seen')
            rows = [row for request in document['requests'] for row in request['stages'] if row['edges']]
            checks.equal({'inferred'}, {row['edges'] for row in rows}, f'{label}: edges are inferred')
            if is_late:
                doubts = [row['edges_doubt_ns'] for row in rows]
                checks.ok(max(doubts) > 1_000_000, f'{label}: the lines came late, and that is said', doubts)
                continue
            checks.equal([4, 4], [request['steps'] for request in document['requests']], f'{label}: steps')
            found = [printing.stages(request) for request in document['requests']]
            checks.equal([printing.TRUTH, printing.TRUTH], found, f'{label}: launches')


def hidden(checks):
    """Stage functions that are in no symbol table: their lines label them."""
    if not lib.is_built('hidden_stages'):
        checks.skip('hidden stages: no C++ compiler when this was built')
        return
    by_name = 'symbol *encode* -> encode; symbol *sample* -> sample;'
    with lib.workdir() as folder:
        trace, _ = pair(checks, 'hidden stages', [lib.program('hidden_stages')], 'pipe', folder, by_name + printing.MAP)
        document = lib.report(checks, '--request', 'all', trace, what='hidden stages')
    checks.equal(2, len(document['unmatched_rules']), 'hidden stages: no symbol of theirs')
    found = [printing.stages(request) for request in document['requests']]
    checks.equal([printing.TRUTH, printing.TRUTH], found, 'hidden stages: by their lines')


def demo(checks):
    """Against the truth. What a bar cannot know: sample's first launch is before the first step."""
    mapping = 'log "load ..." -> load; log "request ..." -> request; log "  image *" -> end request;' + ''.join(
        f'log "{line} ..." -> {row};' for line, row in
        [('encode', 'encode'), ('sample', 'sample'), ('decode', 'decode'), ('output', 'output'),
         ('copy_back', 'output/d2h'), ('write_png', 'output/png')]) + 'log "*step */*" -> sample step'
    for attempt in range(5):
        with lib.workdir() as folder:
            said = []
            for name, preload in (('run', True), ('bare', False)):
                # into a file: a reader that wakes would take the processor between a line and the demo's own note of it
                with open(os.path.join(folder, name + '.said'), 'w+', encoding='utf-8', newline='') as out:
                    one = lib.generate(folder, '--progress', images=3, steps=5, mapping=mapping, preload=preload, name=name,
                                       stdout=out)
                    out.seek(0)
                    said.append(out.read())
                traced = one if preload else traced
            document = lib.report(checks, '--request', 'all', traced.trace, what='demo')
            result = lib.compare.compare_document(document, traced.truth, traced.timings, (), lib.DEMO_ROWS, quiet=True)
            bars = [text.count('\r') for text in said]
        others = [text for text in result.violations if ' sample' not in text]
        if not others:  # else times on a busy machine: again
            break
    checks.equal([], others, 'demo: agrees with the truth but for where the steps begin')
    checks.equal([15, 15], bars, 'demo: its bars')
    for request in document['requests']:
        rows = printing.stages(request)
        checks.equal(((1, 101), (5, 101)), (rows['sample'], rows['sample/step']), f'demo: request {request["id"]}: steps')
        doubts = [row['edges_doubt_ns'] for row in request['stages'] if row['edges']]
        checks.ok(max(doubts) < 1_000_000, f'demo: request {request["id"]}: edges within 1 ms', doubts)


# ---- several threads ----------------------------------------------------------------------------------


def threads(checks):
    both = {'encode': (1, 3), 'decode': (1, 5), 'unattributed': (0, 0)}
    expected = {
        'each': [both] * 40,
        'logger': [both] * 2,
        'helper': [{'encode': (1, 10), 'decode': (1, 12), 'unattributed': (0, 0)}] * 2,
        'worker': [{'encode': (1, 3), 'unattributed': (0, 0)}] * 2,
    }
    for way, truth in expected.items():
        with lib.workdir() as folder:
            trace = os.path.join(folder, 'run.stap')
            command = [lib.program('printer_threads'), way]
            traced = lib.run(command, lib.environment(STAGETAP_OUT=trace, STAGETAP_MAP=THREADS_MAP), folder)
            checks.equal((0, ''), (traced.returncode, traced.stderr), f'threads, {way}: runs')
            document = lib.report(checks, '--request', 'all', trace, what=f'threads, {way}')
        checks.equal(truth, [printing.stages(request) for request in document['requests']], f'threads, {way}: launches')
        if way == 'each':
            checks.equal(2, len({request['thread'] for request in document['requests']}), f'threads, {way}: two of them')


def cancelled(checks):
    """A thread that is cancelled within a call of libc's leaves nothing locked."""
    for preload in (False, True):
        with lib.workdir() as folder:
            env = lib.environment(preload, STAGETAP_MAP=THREADS_MAP)
            result = lib.run([lib.program('printer_threads'), 'cancel'], env, folder, timeout=20)
            last = result.stdout.splitlines()[-1:]
            checks.equal((0, ['cancelled']), (result.returncode, last), f'cancelled: {"traced" if preload else "bare"}: prints on')


# ---- ends, and what is out of order ----------------------------------------------------------------------


def ends(checks):
    for how in ('abort', '_exit', 'segv', 'fork', 'redirect', 'error', 'odd'):
        for sink in ('pipe', 'terminal') if how == 'fork' else ('pipe',):
            with lib.workdir() as folder:
                trace, _ = pair(checks, f'{how}, {sink}', [lib.program('printer'), 'printf-full', how], sink, folder)
                document = lib.report(checks, '--request', 'all', trace, what=how)
                checks.equal(1, len([name for name in os.listdir(folder) if name.endswith('.stap')]),
                             f'{how}, {sink}: a child without CUDA leaves no trace')
            checks.equal([printing.TRUTH, printing.TRUTH], [printing.stages(request) for request in document['requests'][:2]], f'{how}, {sink}: stages')
            if how == 'odd':
                checks.equal(2, len(document['requests']), 'odd: what is written to memory is no line')


def without_reader(checks):
    """A closed stdout, a full device, and a pipe that nobody reads: the program sees its error, or its signal."""
    for label, shell in (('closed', '"$@" >&-'), ('full', '"$@" > /dev/full'), ('unread', '(sleep 0.2; exec "$@") | true'),
                         ('signal', '"$@" | head -c 5')):
        kind = 'write' if label == 'signal' else 'puts'
        command = ['bash', '-c', 'set -o pipefail; ' + shell, 'sh', lib.program('printer'), kind, 'error']
        if label == 'signal':
            command = command[:-1]
        with lib.workdir() as folder:
            env = lib.environment(STAGETAP_OUT=os.path.join(folder, 'run.stap'), STAGETAP_MAP=printing.MAP)
            bare, traced = (lib.run(command, one, folder) for one in (lib.environment(preload=False), env))
        if label == 'signal':  # whether it is met is a race
            allowed = (0, 9, 128 + signal.SIGPIPE)
            checks.ok(bare.returncode in allowed and traced.returncode in allowed, 'signal: ends as it did', traced.returncode)
        else:
            checks.equal((bare.returncode, bare.stdout, bare.stderr), (traced.returncode, traced.stdout, traced.stderr),
                         f'{label}: the program sees the same')


def untouched(checks):
    """Nothing is redirected where no rule asks for lines."""
    for label, mapping, preload in (('bare', None, False), ('no log rule', 'symbol f -> encode', True),
                                    ('a log rule', printing.MAP, True)):
        with lib.workdir() as folder:
            path = os.path.join(folder, 'told')
            lib.run([lib.program('printer'), 'is-patched', path], lib.environment(preload, STAGETAP_MAP=mapping), folder)
            with open(path, encoding='ascii') as file:
                want = 'other 0' if label == 'a log rule' else 'libc 1'
                checks.equal(want, file.read().strip(), f'{label}: libc prints by {"ours" if mapping == printing.MAP else "its own"}')
            checks.equal(['told'], os.listdir(folder), f'{label}: no trace of a program without CUDA')


def bystanders(checks):
    """Programs without CUDA that print what rules match."""
    for command in (['bash', '-c', 'echo picture 1; echo encode >&2; echo saved | cat | tee copy'],
                    [sys.executable, '-c', 'print("picture 1\\nencode")'], ['ls', '-l', lib.SOURCE]):
        with lib.workdir() as folder:
            bare = lib.run(command, lib.environment(preload=False), folder)
            traced = lib.run(command, lib.environment(STAGETAP_MAP=printing.MAP), folder)
            checks.equal((bare.returncode, bare.stdout, bare.stderr), (traced.returncode, traced.stdout, traced.stderr),
                         f'{command[0]}: the same')
            checks.equal([], [name for name in os.listdir(folder) if '.stap' in name], f'{command[0]}: no trace')


checks = lib.Checks()
assert stat.S_ISCHR(os.stat('/dev/full').st_mode)
print_all_ways(checks)
hidden(checks)
demo(checks)
threads(checks)
cancelled(checks)
ends(checks)
without_reader(checks)
untouched(checks)
bystanders(checks)
checks.finish()
