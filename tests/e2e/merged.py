#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several processes of one run in one report: each request is what its own trace says, but for what it sees of the
others on its device, and that is what the truths of all processes together say. And files that do not belong
together, cannot be read, or are there twice."""

import json
import os
import random
import re
import secrets
import shutil
import signal
import subprocess
import time

import hosts
import lib
import lives
import placing
import spoiled
import traces
import truth

BOOT = slice(8 + 96, 8 + 112)  # of the header, in the file
SESSION, RUN = slice(8 + 16, 8 + 32), slice(8 + 32, 8 + 48)


# ---- two processes at once --------------------------------------------------------------------------------


class Pair:
    """Two demo generators side by side under `stagetap run`: traces, truths and stage logs by process id."""

    def __init__(self, checks, folder, which='generate', images=4, steps=6):
        self.folder = folder
        parts = []
        for name in 'ab':
            os.makedirs(os.path.join(folder, name), exist_ok=True)
            parts.append(
                f'{lib.program(which)} --images {images} --steps {steps} --size 64 --quiet --out {name}/ '
                f'--timings {name}.timings'
            )
        env = lib.environment(
            False, SIMGPU_TRUTH=os.path.join(folder, 'truth'), SIMGPU_MODEL=lib.DEMO_MODEL, STAGETAP_META='who=pair'
        )
        command = [lib.STAGETAP, 'run', '--', 'sh', '-c', f'{parts[0]} & {parts[1]}; wait']
        self.process = lib.run(command, env, folder)
        checks.equal(0, self.process.returncode, 'pair: runs')
        self.traces, self.truths, self.timings = {}, {}, {}
        for name in sorted(os.listdir(folder)):
            if name.endswith('.stap'):
                path = os.path.join(folder, name)
                self.traces[lives.Header(path).pid] = path
        for pid in self.traces:
            other = os.path.join(folder, f'truth.{pid}')
            self.truths[pid] = other if os.path.exists(other) else os.path.join(folder, 'truth')
            for name in 'ab':
                path = os.path.join(folder, f'{name}.timings')
                if any(span.thread == pid for span in placing.read_timings(path, lib.DEMO_ROWS)):
                    self.timings[pid] = path
        checks.equal(2, len(self.traces), 'pair: two traces')
        checks.equal(1, len({lives.Header(path).run for path in self.traces.values()}), 'pair: one run id')


def without(intervals, taken):
    """Idle lines of the truth without what other processes' work covers."""
    for line in intervals:
        start = line['start_ns']
        for t0, t1 in taken:
            if t1 <= start or t0 >= line['end_ns']:
                continue
            if t0 > start:
                yield dict(line, start_ns=start, end_ns=t0)
            start = max(start, t1)
        if start < line['end_ns']:
            yield dict(line, start_ns=start)


def merged_truth(pair, pid):
    """Figures of one process with the others' work on its devices, from all truths."""
    ops, calls, idles = placing.read_truth(pair.truths[pid])
    others = []
    for other, path in pair.truths.items():
        if other != pid:
            others += [op for op in placing.read_truth(path)[0] if op.op in placing.BUSY_OPS]
    taken = sorted((op.start, op.end) for op in others)  # both see the one device
    spans = placing.read_timings(pair.timings[pid], lib.DEMO_ROWS)
    run = placing.Run(ops, list(without(idles, taken)), spans, (), calls)
    run.ops = run.ops + others  # placed already: these are nobody's here
    return truth.figures_of(run)


def of_process(document, pid):
    """What the merged report says of one process, with plain numbers as ids."""
    prefix = f'{pid}:'
    requests = [
        dict(entry, id=int(entry['id'][len(prefix) :]))
        for entry in document['requests']
        if entry['id'].startswith(prefix)
    ]
    gaps = [
        dict(entry, request=int(entry['request'][len(prefix) :]))
        for entry in document['gaps']
        if entry['request'].startswith(prefix)
    ]
    return requests, gaps


def against_truth(pair, document):
    """The comparison of all requests with the truth of all processes."""
    result = lib.compare.Comparison()
    base = document['traces'][0]['monotonic_start_ns']
    for pid in pair.traces:
        figures = merged_truth(pair, pid)
        requests, gaps = of_process(document, pid)
        result.exact(f'{pid}: requests', len(figures['requests']), len(requests))
        for want, got in zip(figures['requests'], requests):
            lib.compare.compare_request(result, want, got, base)
            lib.compare.check_identity(result, got)
            lib.compare.compare_gaps(result, want, gaps, base)
    lib.compare.check_gaps_total(result, document)
    return result


def device_rest(device):
    """What of a device does not depend on whoever else is there."""
    kept = ('device', 'busy_ns', 'stages_self_ns', 'shared_ns', 'shared_by_set', 'unattributed_ns', 'residual_ns')
    return {key: device[key] for key in kept} | {'rest': device['other_ns'] + device['idle_ns']}


def as_alone(checks, pair, document, alone):
    """Each request is what its own trace says, but for other and idle."""
    zero = document['traces'][0]['monotonic_start_ns']
    for pid, single in alone.items():
        shift = single['traces'][0]['monotonic_start_ns'] - zero
        requests, _ = of_process(document, pid)
        want_ids, got_ids = ([request['id'] for request in part] for part in (single['requests'], requests))
        checks.equal(want_ids, got_ids, f'{pid}: requests')
        for want, got in zip(single['requests'], requests):
            label = f'request {pid}:{got["id"]}'
            checks.equal(want['begin_ns'] + shift, got['begin_ns'], f'{label}: begins when it did')
            same = [key for key in want if key not in ('begin_ns', 'devices')]
            checks.equal(
                {key: want[key] for key in same}, {key: got[key] for key in same}, f'{label}: rows and times as alone'
            )
            checks.equal(
                [device_rest(device) for device in want['devices']],
                [device_rest(device) for device in got['devices']],
                f'{label}: device figures as alone',
            )


def were_together(document):
    devices = [device for request in document['requests'] for device in request['devices']]
    return any(device['other_ns'] + device['overlap_other_ns'] for device in devices)


def sums(documents, key, names, figures):
    """Lists by name, added up."""
    total = {}
    for document in documents:
        for entry in document[key]:
            at = total.setdefault(tuple(entry[name] for name in names), dict.fromkeys(figures, 0))
            for figure in figures:
                at[figure] += entry[figure]
    return total


def lists_add_up(checks, document, alone):
    for key, names, figures in (
        ('kernels', ('name', 'stage'), ('count', 'total_ns')),
        ('transfers', ('direction', 'kind', 'stage'), ('count', 'bytes')),
        ('syncs', ('call', 'blocked_stage'), ('count', 'wait_ns')),
    ):
        want = sums(alone.values(), key, names, figures)
        checks.equal(want, sums([document], key, names, figures), f'{key}: by name, the sums of both')
        checks.equal(len(want), len(document[key]), f'{key}: one entry for each name')
    for part in ('before_first', 'between', 'after_last'):
        for figure in ('calls', 'host_inclusive_ns', 'launches'):
            want, got = ({}, {})
            for documents, into in ((alone.values(), want), ([document], got)):
                for row in (row for one in documents for row in one['outside'][part]):
                    into[row['name']] = into.get(row['name'], 0) + (row[figure] or 0)
            checks.equal(want, got, f'outside.{part} {figure}: the sums of both')


def describes_the_run(checks, pair, document, alone):
    pids = sorted(pair.traces)
    checks.equal(pids, sorted(trace['pid'] for trace in document['traces']), 'traces: one for each process')
    starts = [trace['monotonic_start_ns'] for trace in document['traces']]
    checks.equal(sorted(starts), starts, 'traces: by start')
    for trace in document['traces']:
        single = alone[trace['pid']]['traces'][0]
        shift = trace['monotonic_start_ns'] - starts[0]
        want = dict(single, end_ns=single['end_ns'] + shift)
        checks.equal(want, trace, f'traces: {trace["pid"]} as alone')
    checks.equal(1, len(document['devices']), 'one device')
    checks.equal(pids, sorted(document['devices'][0]['pids']), 'devices: both processes')
    checks.equal({0}, {user['ordinal'] for user in document['devices'][0]['processes']}, 'devices: its number in each')
    checks.equal('pair', document['manifest']['declared']['who'], 'manifest: said once where both say the same')
    phases = [
        sorted(str(number) for single in alone.values() for number in single['rounds'][phase])
        for phase in ('first', 'warmup', 'steady')
    ]
    got = [
        sorted(text.split(':')[1] for text in document['rounds'][phase]) for phase in ('first', 'warmup', 'steady')
    ]
    checks.equal(phases, got, 'rounds: each process warms up by itself')
    checks.equal(
        sum(single['rounds']['steady_wall_ns']['n'] for single in alone.values()),
        document['rounds']['steady_wall_ns']['n'],
        'rounds: the summary is over both',
    )


def agrees(checks, which):
    """Repeated where nothing but host times is off, as lib.compared() does, or where one came so late to a CPU that the
    two were not at work at the same time."""
    for attempt in range(3):
        with lib.workdir() as folder:
            pair = Pair(checks, folder, which)
            document = lib.report(checks, '--request', 'all', *pair.traces.values(), what=f'{which}: both')
            alone = {pid: lib.report(checks, '--request', 'all', path) for pid, path in pair.traces.items()}
            if document is None or None in alone.values():
                return
            if attempt < 2 and not were_together(document):
                print(f'{which}: attempt {attempt + 1}: one after the other')
                continue
            checks.ok(were_together(document), 'the two were at work at the same time')
            as_alone(checks, pair, document, alone)
            lists_add_up(checks, document, alone)
            describes_the_run(checks, pair, document, alone)
            result = against_truth(pair, document)
            print(f'{result.checks} figures compared\n{result.table(6)}')
            if not result.violations or not result.only_host:
                break
            print(f'{which}: attempt {attempt + 1}: host times are off, nothing else')
    violations = '\n      '.join(result.violations[:20])
    checks.ok(not result.violations, f'{which}: agrees with the truths of both', violations)


# ---- what is meant by FILE --------------------------------------------------------------------------------


def json_of(result):
    return json.loads(result.stdout) if result.returncode == 0 else None


def ways_to_name(checks, pair):
    """A folder, nothing, both files in any order: the same document."""
    paths = list(pair.traces.values())
    want = lib.report(checks, *paths)
    for trace in want['traces']:
        trace['file'] = os.path.basename(trace['file'])
    ways = {'in the other order': paths[::-1], 'a folder': [pair.folder], 'nothing': [], 'each twice': paths + paths}
    ways['a folder and a file of it'] = [pair.folder, paths[0]]
    for label, words in ways.items():
        result = lib.stagetap('report', '--json', *words, cwd=pair.folder)
        document = json_of(result)
        for trace in document['traces'] if document else []:
            trace['file'] = os.path.basename(trace['file'])
        checks.equal((want, ''), (document, result.stderr), f'{label}: the same report')
    lines = lib.stagetap('report', cwd=pair.folder).stdout.splitlines()
    checks.ok('2 processes' in lines[0] and '.stap' in lines[0], 'nothing named: said on the first line', lines[0])
    for pid in pair.traces:
        checks.ok(any(f'process {pid}: generate' in line for line in lines[1:3]), f'process {pid} is named', lines[:3])
    said = pair.process.stderr.splitlines()[-1]
    checks.ok('and 1 more of this run · stagetap report .' in said, '`run` says how to see both', said)


def views(checks, pair):
    pid = min(pair.traces)
    name = f'{pid}:2'
    for view in (['report'], ['gaps'], ['kernels'], ['transfers'], ['syncs'], ['rounds'], ['stage', 'sample']):
        for options in ([], ['--request', name], ['--device', '0'], ['--format', 'csv'], ['--format', 'md', '--utc']):
            result = lib.stagetap(*view, *options, cwd=pair.folder)
            checks.equal((0, ''), (result.returncode, result.stderr), f'{" ".join(view + options)}: answers')
    screen = lib.stagetap('report', cwd=pair.folder).stdout
    loads = re.search(r' · load (.*), not in any request', screen)
    named = set(re.findall(r'in process (\d+)', loads.group(1))) if loads else set()
    checks.equal({str(pid) for pid in pair.traces}, named, 'report: each load names its process')
    screen = lib.stagetap('report', '--request', name, cwd=pair.folder).stdout
    checks.ok(f'request {name} (warm-up)' in screen, 'report --request: this one', screen[:600])
    checks.ok('✓ (residual 0 ns)' in screen and '✗' not in screen, 'report --request: the identity holds')
    rounds = lib.stagetap('rounds', '--format', 'csv', cwd=pair.folder).stdout
    checks.equal(8, len(re.findall(r'^\d+:\d,', rounds, re.M)), 'rounds: each request by process and number')
    document = json_of(lib.stagetap('report', '--json', '--request', name, cwd=pair.folder))
    checks.equal([name], [request['id'] for request in document['requests']], '--request PID:N selects')
    others = {gap['request'] for gap in document['gaps']} - {name}
    checks.equal(set(), others, '--request PID:N: only its gaps')
    alone = json_of(lib.stagetap('report', '--json', '--request', name, pair.traces[pid]))
    checks.equal([2], [request['id'] for request in alone['requests']], 'PID:N is fine for one process, too')
    for options, says in (
        (['--request', '2'], 'of which process'),
        (['--request', '1:2'], 'no request 1:2'),
        (['--request', 'x:2'], 'give steady'),
        (['--device', '1'], 'has no device 1'),
        (['--stage', 'nowhere'], 'no such row'),
    ):
        result = lib.stagetap('report', *options, cwd=pair.folder)
        checks.ok(result.returncode == 2 and says in result.stderr, f'{" ".join(options)}: refused', result.stderr)


# ---- files that do not belong together, or cannot be read ------------------------------------------------


def write(path, data):
    with open(path, 'wb') as file:
        file.write(data)
    return path


def read(path):
    with open(path, 'rb') as file:
        return file.read()


def refused(checks, label, words, *says):
    result = lib.stagetap('report', *words)
    good = result.returncode == 2 and result.stdout == '' and all(text in result.stderr for text in says)
    checks.ok(good, f'{label}: refused', f'exit {result.returncode} {result.stdout[:200]} {result.stderr}')


def unlike(checks, pair, folder):
    """Another run, another machine, a copy."""
    paths = list(pair.traces.values())
    data = read(paths[0])
    with open('/proc/sys/kernel/random/boot_id', encoding='ascii') as file:
        checks.equal(file.read().strip().replace('-', ''), data[BOOT].hex(), 'the header tells the boot')
    other = bytearray(data)
    other[RUN], other[SESSION] = secrets.token_bytes(16), secrets.token_bytes(16)
    other_path = write(os.path.join(folder, 'other.stap'), traces.check_header(other))
    run, names = lives.Header(paths[0]).run, [os.path.basename(path) for path in paths + [other_path]]
    refused(checks, 'two runs', paths + [other_path], *names, run[:8], lives.Header(other_path).run[:8], 'one run')

    away = bytearray(data)
    away[BOOT], away[SESSION] = secrets.token_bytes(16), secrets.token_bytes(16)
    away_path = write(os.path.join(folder, 'away.stap'), traces.check_header(away))
    refused(checks, 'another machine', [paths[0], away_path], 'away.stap', names[0], 'clocks cannot be compared')
    checks.equal(0, lib.stagetap('report', away_path).returncode, 'another machine: by itself it can be shown')

    copy = write(os.path.join(folder, 'copy.stap'), data)
    result = lib.stagetap('report', '--json', *paths, copy)
    document = json_of(result)
    checks.equal([], document['left_out'] if document else None, 'a copy: nothing is missing')
    checks.equal(2, len(document['traces']) if document else 0, 'a copy: counted once')
    checks.ok('copy.stap: the same process as' in result.stderr, 'a copy: said', result.stderr)


def folders(checks, pair, folder):
    """The newest run of a folder and nothing else."""
    paths = [shutil.copy(path, folder) for path in pair.traces.values()]
    older = bytearray(read(paths[0]))
    older[RUN], older[SESSION] = secrets.token_bytes(16), secrets.token_bytes(16)
    older_path = write(os.path.join(folder, 'older.stap'), traces.check_header(older))
    noise = write(os.path.join(folder, 'noise.stap'), b'no trace')
    os.utime(older_path, (1, 1))
    not_readable(checks, folder, noise, paths)
    document = lib.report(checks, folder, what='a folder with an older run')
    checks.equal(sorted(pair.traces), sorted(trace['pid'] for trace in document['traces']), 'a folder: its newest run')
    os.utime(older_path)
    for path in paths:
        os.utime(path, (1, 1))
    document = lib.report(checks, folder, what='a folder with a newer run')
    checks.equal([older_path], [trace['file'] for trace in document['traces']], 'a folder: the newer run alone')
    numbers = [number for phase in ('first', 'warmup', 'steady') for number in document['rounds'][phase]]
    checks.equal([1, 2, 3, 4], sorted(numbers), 'one process: requests are numbers')
    os.unlink(older_path)
    away = bytearray(read(paths[0]))
    away[BOOT], away[SESSION] = secrets.token_bytes(16), secrets.token_bytes(16)
    away_path = write(os.path.join(folder, 'away.stap'), traces.check_header(away))
    os.utime(away_path, (0, 0))
    result = lib.stagetap('report', '--json', folder)
    document = json_of(result)
    checks.equal(2, len(document['traces']), 'a folder with a trace of another machine: the others')
    checks.ok(
        'away.stap' in result.stderr and any('away.stap' in text for text in document['left_out']),
        'a folder with a trace of another machine: that is said',
        result.stderr,
    )


def not_readable(checks, folder, noise, paths):
    """Files that are named like traces and cannot be read: named, counted, and what is newer is said to be."""
    for name in ('noise.stap.old', 'noise.stap.1', 'noise.stap.old.2'):
        write(os.path.join(folder, name), b'')
    for name in ('noise.stap.json', 'noise.stapler', 'notes.txt'):
        write(os.path.join(folder, name), b'no trace at all')
    os.mkdir(os.path.join(folder, 'folder.stap'))
    damaged = bytearray(read(paths[0]))
    damaged[60] ^= 4
    broken = write(os.path.join(folder, 'broken.stap'), bytes(damaged))
    named = ['broken.stap', 'noise.stap', 'noise.stap.1', 'noise.stap.old', 'noise.stap.old.2']
    document = lib.report(checks, folder, what='a folder with files that cannot be read')
    left_out = document['left_out'] if document else []
    checks.equal(named, [os.path.basename(line.split(': ')[0]) for line in left_out], 'not readable: all named')
    checks.ok('header is damaged' in left_out[0] and 'empty file' in left_out[2], 'not readable: why', left_out)
    checks.ok(all('newer than what is shown' in line for line in left_out), 'not readable: newer is said', left_out)
    checks.ok(set(left_out) <= {line.replace('left out: ', '') for line in document['missing']}, 'not readable: missing')
    result = lib.stagetap('report', '--strict', folder)
    checks.equal(1, result.returncode, 'not readable: --strict')
    checks.ok(f'{broken}: ' in result.stderr and f'left out: {broken}' in result.stdout, 'not readable: said twice')
    for name in named:
        os.utime(os.path.join(folder, name), (1, 1))
    left_out = lib.report(checks, folder, what='older files that cannot be read')['left_out']
    checks.ok(len(left_out) == 5 and not any('newer' in line for line in left_out), 'not readable: older', left_out)
    for name in named:
        if name != os.path.basename(noise):
            os.unlink(os.path.join(folder, name))
    alone = os.path.join(folder, 'folder.stap')
    write(os.path.join(alone, 'broken.stap'), bytes(damaged))
    result = lib.stagetap('report', alone)
    good = result.returncode == 3 and 'broken.stap: the header is damaged' in result.stderr
    checks.ok(good, 'not readable: nothing else there: exit 3', result.stderr)
    result = lib.stagetap('verify', os.path.join(alone, 'broken.stap'))
    checks.ok(result.returncode == 3 and 'header is damaged' in result.stderr, 'verify: a damaged header', result.stderr)


def duplicates(checks, pair, folder):
    """Of files of one process the whole one counts, else the one that holds more, whichever was written last."""
    data = read(list(pair.traces.values())[0])
    ends = [end for _, end, magic, _ in traces.frames(data) if magic not in (traces.CHUNK, traces.HEADER)]
    parts = {'whole': data, 'long': data[: ends[len(ends) * 2 // 3]], 'short': data[: ends[len(ends) // 3]]}
    damaged = bytearray(data)
    damaged[ends[1] - 6] ^= 1
    parts['damaged'] = bytes(damaged)
    for better, worse in (('whole', 'long'), ('long', 'short'), ('whole', 'damaged'), ('damaged', 'short')):
        for order in ((better, worse), (worse, better)):
            place = os.path.join(folder, '-'.join(order))
            os.mkdir(place)
            paths = {name: write(os.path.join(place, name + '.stap'), parts[name]) for name in order}
            os.utime(paths[order[0]], (1, 1))
            for words in ([place], [paths[name] for name in order]):
                result = lib.stagetap('report', '--json', *words)
                document = json_of(result)
                shown = [os.path.basename(trace['file']) for trace in document['traces']] if document else None
                checks.equal([better + '.stap'], shown, f'{" then ".join(order)}: {better} is shown')
                said = f'{worse}.stap: the same process as {paths[better]}'
                checks.ok(said in result.stderr, f'{" then ".join(order)}: said', result.stderr)


def unreadable(checks, pair, folder):
    """One that cannot be read beside others that can."""
    paths = list(pair.traces.values())
    data = read(paths[1])
    bad = {
        'cut in the header': write(os.path.join(folder, 'head.stap'), data[:60]),
        'no trace': write(os.path.join(folder, 'text.stap'), b'hello ' * 100),
        'empty': write(os.path.join(folder, 'empty.stap'), b''),
        'missing': os.path.join(folder, 'missing.stap'),
        'a folder without traces': os.path.join(folder, 'nothing'),
    }
    os.mkdir(bad['a folder without traces'])
    want = lib.report(checks, paths[0])
    for label, path in bad.items():
        name = os.path.basename(path)
        result = lib.stagetap('report', '--json', paths[0], path)
        document = json_of(result)
        if not checks.ok(document is not None, f'{label}: the other is shown', result.stderr):
            continue
        lib.validate(checks, document, label)
        checks.ok(name in result.stderr and name in document['left_out'][0], f'{label}: named', result.stderr)
        checks.equal(want['requests'], document['requests'], f'{label}: the other as ever')
        checks.ok(any(name in text for text in document['missing']), f'{label}: is missing', document['missing'])
        screen = lib.stagetap('report', paths[0], path)
        checks.ok(f'left out: {path}' in screen.stdout, f'{label}: on the screen', screen.stdout[-500:])
        strict = lib.stagetap('report', '--strict', paths[0], path)
        checks.equal(1, strict.returncode, f'{label}: --strict')
    result = lib.stagetap('report', *bad.values())
    checks.equal((3, ''), (result.returncode, result.stdout), 'nothing can be read: exit 3')
    checks.ok(all(path in result.stderr for path in bad.values()), 'nothing can be read: each is named', result.stderr)


def cut(checks, pair, folder):
    """A cut trace beside a whole one: its end is missing, and said to be; the whole one is not touched."""
    whole, damaged = list(pair.traces.items())
    data = read(damaged[1])
    ends = [end for _, end, _, _ in traces.frames(data)]
    for length in (ends[len(ends) // 2], ends[len(ends) // 2] + 30, ends[1]):
        path = write(os.path.join(folder, 'cut.stap'), data[:length])
        label = f'cut at {length} of {len(data)}'
        document = lib.report(checks, '--request', 'all', whole[1], path, what=label)
        if document is None:
            continue
        lives.check_sane(checks, label, document)
        state = {trace['pid']: trace['complete'] for trace in document['traces']}
        checks.equal({whole[0]: True, damaged[0]: False}, state, f'{label}: which one is not complete')
        requests, _ = of_process(document, whole[0])
        checks.equal([1, 2, 3, 4], [request['id'] for request in requests], f'{label}: the whole one has its requests')
        checks.ok(
            any(f'process {damaged[0]}: trace not complete' in text for text in document['missing']),
            f'{label}: missing says whose',
            document['missing'],
        )
        screen = lib.stagetap('report', whole[1], path).stdout
        checks.ok('1 of 2 complete' in screen.splitlines()[0], f'{label}: head', screen.splitlines()[:3])


def hostile(checks, pair, folder, seconds=4):
    """Any bytes beside a good trace (requirement X5): an answer or a refusal, never a crash or unbounded memory."""
    good, other = pair.traces.values()
    data = read(other)
    frames, (header, chunks) = traces.frames(data), traces.take_apart(data)
    path, end, seed, bad = os.path.join(folder, 'spoiled.stap'), time.monotonic() + seconds, 0, []
    while time.monotonic() < end and len(bad) < 5:
        seed += 1
        rng = random.Random(seed)
        if seed % 3 == 0:  # the header's numbers: pid, flags, starts, rate
            copy = bytearray(data)
            at = 8 + rng.choice((48, 52, 56, 64, 72, 80, 88))
            copy[at : at + 8] = rng.choice((0, 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)).to_bytes(8, 'little')
            write(path, traces.check_header(copy))
        else:
            inside = seed % 3 == 2
            write(path, spoiled.spoil_inside(rng, header, chunks) if inside else spoiled.spoil(rng, data, frames))
        command = [lib.STAGETAP, 'report', '--json', '--request', 'all', good, path]
        env = lib.environment(preload=False, simgpu=False)
        result = lib.run(command, env, timeout=20, preexec_fn=spoiled.limits)
        if result.returncode not in (0, 2) or 'Sanitizer' in result.stderr:
            bad.append(f'seed {seed}: exit {result.returncode} {result.stderr[-400:]}')
    checks.equal([], bad, 'spoiled traces beside a good one')
    checks.ok(seed >= 20, 'enough of them tried', seed)


# ---- other lives -------------------------------------------------------------------------------------------


def one_id_twice(checks):
    """exec: two images of one process id, one after the other."""
    with lib.workdir() as folder:
        seen = lives.Run(folder, lives.lives('exec', 3), True)
        paths = seen.traces()
        if not checks.equal(2, len(paths), 'exec: two traces'):
            return
        document = lib.report(checks, '--request', 'all', *paths, what='exec: both images')
        if document is None:
            return
        pid = document['traces'][0]['pid']
        checks.equal([str(pid), f'{pid}.2'], [trace['process'] for trace in document['traces']], 'exec: two processes')
        ids = [request['id'] for request in document['requests']]
        checks.equal(len(ids), len(set(ids)), 'exec: every id once')
        checks.ok(f'{pid}:1' in ids and f'{pid}.2:1' in ids, 'exec: both have a first request', ids)
        checks.equal([pid], document['devices'][0]['pids'], 'exec: one process id at the device')
        checks.equal(5 * lives.PICTURE, lives.launches(document), 'exec: every launch of both')
        lives.check_sane(checks, 'exec', document)
        selected = lib.report(checks, '--request', f'{pid}.2:2', *paths, what='exec: one of the second image')
        checks.equal([f'{pid}.2:2'], [r['id'] for r in selected['requests']] if selected else None, 'exec: selected')


def families(checks):
    """Without `stagetap run`: parent and children still have one run."""
    with lib.workdir() as folder:
        seen = lives.Run(folder, lives.lives('spawn', 1), True)
        document = lib.report(checks, '--request', 'all', folder, what='spawn: the folder')
        if document:
            checks.equal(len(seen.traces()), len(document['traces']), 'spawn: all of the family')
            checks.equal(4 * lives.PICTURE, lives.launches(document), 'spawn: every launch')
            lives.check_sane(checks, 'spawn', document)


def host_only(checks):
    """One process without device time beside one that has it."""
    with lib.workdir() as folder:
        run = secrets.token_hex(16)
        for name, device in (('with', 'auto'), ('without', 'none')):
            lib.generate(folder, name=name, STAGETAP_INTERNAL_RUN=run, STAGETAP_DEVICE=device)
        document = lib.report(checks, '--request', 'all', folder, what='one without device time')
        if not document:
            return
        names = {trace['process']: os.path.basename(trace['file']) for trace in document['traces']}
        for request in document['requests']:
            known = names[request['id'].split(':')[0]] == 'with.stap'
            checks.equal(known, request['devices'] is not None, f'{request["id"]}: device figures {known}')
        checks.equal('measured', document['device_time'], 'one without device time: device_time')
        blind = next(process for process, name in names.items() if name == 'without.stap')
        checks.ok(
            any(f'process {blind}: not collected' in text for text in document['notes']),
            'one without device time: which one is said',
            document['notes'],
        )
        checks.ok(f'process {blind}: device time not collected' in document['missing'], 'and counts for --strict')
        checks.ok(any(one['process'] == blind for one in document['capabilities']), 'capabilities: of which process')


def host_functions(checks):
    """What threads of the driver ran, by name: the sums of both processes."""
    with lib.workdir() as folder:
        run, alone = secrets.token_hex(16), []
        for name in ('one', 'two'):
            traced = lib.Traced(
                folder, [lib.program('hosts')], mapping=hosts.MAP, name=name, STAGETAP_INTERNAL_RUN=run
            )
            alone.append(lib.report(checks, '--request', 'all', traced.trace, what=f'host functions: {name}'))
        document = lib.report(checks, '--request', 'all', folder, what='host functions: both')
        if document is None or None in alone:
            return
        how = ('host_functions', ('function', 'stage'), ('count', 'total_ns'))
        want = sums(alone, *how)
        checks.ok(want, 'host functions: there are some')
        checks.equal(want, sums([document], *how), 'host functions: by name, the sums of both')
        for key, value in document['host_functions_total'].items():
            checks.equal(sum(one['host_functions_total'][key] for one in alone), value, f'host functions: {key}')


def live(checks):
    """One of two still runs."""
    with lib.workdir() as folder:
        run = secrets.token_hex(16)
        lib.generate(folder, name='done', STAGETAP_INTERNAL_RUN=run)
        env = lib.environment(
            STAGETAP_OUT=os.path.join(folder, 'running.stap'),
            SIMGPU_TRUTH=os.path.join(folder, 'running.truth'),
            SIMGPU_MODEL=lib.DEMO_MODEL,
            STAGETAP_INTERNAL_RUN=run,
            STAGETAP_FLUSH='100ms',
        )
        command = [lib.program('generate'), '--images', '500', '--steps', '20', '--size', '64', '--quiet']
        process = subprocess.Popen(command + ['--out', folder + '/'], env=env, stdout=subprocess.DEVNULL)
        try:
            document = None
            for _ in range(100):
                time.sleep(0.1)
                document = json_of(lib.stagetap('report', '--json', '--request', 'all', folder))
                if document and len(document['traces']) == 2 and len(document['requests']) >= 5:
                    break
            checks.equal(True, document['live'] if document else None, 'one still runs: live')
            state = {os.path.basename(trace['file']): trace['live'] for trace in document['traces']}
            checks.equal({'done.stap': False, 'running.stap': True}, state, 'one still runs: which one')
            lib.validate(checks, document, 'one still runs')
            lives.check_sane(checks, 'one still runs', document)
            head = lib.stagetap('report', folder).stdout.splitlines()
            checks.ok('1 still running' in head[0], 'one still runs: head', head[:3])
            checks.ok(any('still running' in line and str(process.pid) in line for line in head[1:3]), 'its line', head)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()


def main():
    checks = lib.Checks()
    agrees(checks, 'generate')
    if lib.is_built('generate_rt'):
        agrees(checks, 'generate_rt')
    with lib.workdir() as folder:
        pair = Pair(checks, folder)
        ways_to_name(checks, pair)
        views(checks, pair)
        for part in (unlike, folders, duplicates, unreadable, cut, hostile):
            with lib.workdir() as place:
                part(checks, pair, place)
    one_id_twice(checks)
    families(checks)
    host_only(checks)
    host_functions(checks)
    live(checks)
    checks.finish()


if __name__ == '__main__':
    main()
