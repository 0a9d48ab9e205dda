# SPDX-License-Identifier: Apache-2.0
"""What log.py and tee.py share: running a printer (programs/printer.h) into a sink, and what its lines became."""

import json
import os
import pty
import subprocess
import threading

import lib

MAP = '''
    log "*picture *"      -> request
    log "*encode*"        -> encode
    log "*sample*"        -> sample
    log "*step */4*"      -> sample step
    log "*decode*"        -> decode
    log "*saved*"         -> end request
'''
# calls and launches of a picture, as printer.h says
TRUTH = {'encode': (1, 3), 'sample': (1, 8), 'sample/step': (4, 8), 'decode': (1, 5), 'unattributed': (0, 0)}


# ---- sinks: (exit status, what came out) ---------------------------------------------------------------


def read_all(fd):
    parts = []
    while True:
        try:
            part = os.read(fd, 65536)
        except OSError:  # a terminal whose other side is closed
            part = b''
        if not part:
            return b''.join(parts)
        parts.append(part)


def into(sink, command, env, folder, name):
    command, env = lib.emulated(command, env)
    other = subprocess.PIPE
    if sink == 'file':
        out = os.open(os.path.join(folder, name + '.out'), os.O_RDWR | os.O_CREAT)
    elif sink == 'null':
        out = os.open(os.devnull, os.O_RDWR)
    elif sink == 'terminal':
        near, out = pty.openpty()
    else:
        near, out = os.pipe()
    if sink == 'both':
        other = out
    process = subprocess.Popen(command, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=other)
    said = []
    reader = threading.Thread(target=lambda: said.append(process.stderr.read() if process.stderr else b''))
    reader.start()
    if sink in ('file', 'null'):
        status = process.wait(60)
        os.lseek(out, 0, os.SEEK_SET)
        text = read_all(out)
        os.close(out)
    else:
        os.close(out)
        text = read_all(near)
        status = process.wait(60)
        os.close(near)
    reader.join()
    return status, text, said[0]


def environment(**more):
    """Without what the caller asks of Python."""
    return {name: value for name, value in lib.environment(**more).items() if not name.startswith('PYTHON')}


# ---- what the lines became ----------------------------------------------------------------------------


def stages(request):
    return {row['name']: (row['calls'], row['launches']) for row in request['stages']}


def edges(trace):
    """What the lines "picture", "encode", "sample", "step", "decode" and "saved" became, in this order: (earliest,
    latest) in ns of CLOCK_MONOTONIC."""
    rows = [json.loads(line) for line in lib.stagetap('dump', '--json', trace).stdout.splitlines()]
    clocks = [(row['ticks'], row['monotonic_ns']) for row in rows if row['table'] == 'CLOCK']
    (ticks, ns), (last_ticks, last_ns) = clocks[0], clocks[-1]
    rate = (last_ns - ns) / (last_ticks - ticks)
    requests = {row['span'] for row in rows if row['table'] == 'SPAN_BEGIN' and row['role'] == 2}
    found = []
    for row in rows:
        table = row['table']
        if table in ('SPAN_BEGIN', 'MARK') or (table == 'SPAN_END' and row['span'] in requests):
            late = row['b'] - 1 if table == 'MARK' else row['late_ticks']
            found.append((ns + (row['at_ticks'] - late - ticks) * rate, ns + (row['at_ticks'] - ticks) * rate))
    return sorted(found, key=lambda edge: edge[1])


def printed(times):
    """(before, after) of each line that became an edge."""
    with open(times, encoding='ascii') as file:
        lines = [line.split(maxsplit=2) for line in file]
    return [(int(before), int(after)) for before, after, text in lines if not text.startswith('terminals')]


def check_edges(checks, label, trace, times, is_late):
    """The interval of each edge holds an instant at which the line may have been printed; a late one all of them."""
    lines, found = printed(times), edges(trace)
    if not checks.equal(len(lines), len(found), f'{label}: an edge for each line'):
        return
    clock_ns = 2000  # what the two clocks may differ by
    outside = [
        (line, edge)
        for line, edge in zip(lines, found)
        if edge[1] < line[0] - clock_ns or edge[0] > line[1] + clock_ns
    ]
    checks.equal([], outside, f'{label}: intervals hold the true edges')
    if is_late:
        return
    within = sorted(edge[1] - line[0] for line, edge in zip(lines, found))
    checks.ok(within[len(within) // 2] < 1_000_000, f'{label}: edges within 1 ms of the program\'s own clock', within)
