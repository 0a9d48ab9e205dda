# SPDX-License-Identifier: Apache-2.0
"""Runs a generated program (gen_rows.py) alone and under the preload. Both must find that every real function
received all bytes and that result and errno came back; the trace must hold exactly the calls that the program
wrote down, with the right name, class, result and a … d.

Usage: check_rows.py PROGRAM FOLDER_OF_STAND_INS LIBSTAGETAP STAGETAP CALLS
CALLS: how many calls there must be at least.
STAGETAP_EMULATOR: the command that starts programs of another processor; STAGETAP_ANALYZER: one of this machine.
"""
import json
import os
import shlex
import subprocess
import sys
import tempfile

MASK = (1 << 64) - 1
DIRECTION_SHIFT = 8
FIELDS = ('a', 'b', 'c', 'd')
EMULATOR = shlex.split(os.environ.get('STAGETAP_EMULATOR', ''))


def run(program, stand_ins, expected, preload=None, **more):
    env = {name: value for name, value in os.environ.items() if not name.startswith(('STAGETAP_', 'LD_', 'CUDA_'))}
    env.update(more)
    command, loader = [program, expected], {'LD_LIBRARY_PATH': stand_ins}
    if preload:
        loader['LD_PRELOAD'] = preload
    if EMULATOR:  # what is meant for the program's loader must not reach the emulator's own
        command = EMULATOR + [part for setting in loader.items() for part in ('-E', '='.join(setting))] + command
    else:
        env.update(loader)
    result = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, universal_newlines=True, timeout=60)
    return result.returncode, result.stdout


def dump(stagetap, trace, table):
    result = subprocess.run(stagetap + ['dump', '--json', f'--table={table}', trace], stdout=subprocess.PIPE,
                            universal_newlines=True, check=True, timeout=60)
    return [json.loads(line) for line in result.stdout.splitlines()]


def expected_calls(path):
    with open(path, encoding='utf-8') as file:
        for line in file:
            name, layer, class_id, result, a, b, c, d, direction, how = line.split()
            yield {'name': name, 'layer': int(layer), 'class': int(class_id), 'result': int(result),
                   'a': int(a), 'b': int(b), 'c': int(c), 'd': None if d == '-' else int(d),
                   'direction': int(direction)}, how


def traced_calls(stagetap, trace):
    rows = {row['call']: row for row in dump(stagetap, trace, 'CALLDEF')}
    for call in dump(stagetap, trace, 'CALL'):
        row = rows[call['call']]
        yield dict({field: call[field] & MASK for field in FIELDS}, name=row['name'], layer=row['layer'],
                   result=call['result'], direction=call['flags'] >> DIRECTION_SHIFT, **{'class': row['class']})


def differences(want, got):
    def text(value):
        return f'{value:#x}' if isinstance(value, int) else value

    return [f'{field} {text(value)}, should be {text(want[field])}' for field, value in got.items()
            if want[field] is not None and want[field] != value]


def compare(expected, traced):
    """Prints what differs; the number of calls that are wrong."""
    wrong = {}
    for (want, how), got in zip(expected, traced):
        found = differences(want, got)
        if found:
            wrong.setdefault(want['name'], []).append(f"{want['name']} ({how}): {'; '.join(found)}")
        if want['name'] != got['name']:
            print('the order of calls differs from here on')
            break
    for lines in list(wrong.values())[:60]:
        print(lines[0] + (f' … and {len(lines) - 1} more calls' if len(lines) > 1 else ''))
    return sum(len(lines) for lines in wrong.values())


def main():
    program, stand_ins, preload, stagetap, least = sys.argv[1:]
    own = os.environ.get('STAGETAP_ANALYZER')
    stagetap = [own] if own else EMULATOR + [stagetap]
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        trace, expected = os.path.join(folder, 'rows.stap'), os.path.join(folder, 'expected')
        alone = run(program, stand_ins, expected)
        preloaded = run(program, stand_ins, expected, preload, STAGETAP_OUT=trace, STAGETAP_DEVICE='none',
                        STAGETAP_ON_FULL='wait')
        for name, (code, output) in (('alone', alone), ('preloaded', preloaded)):
            print(f'{name}: {output.strip()}')
            if code != 0:
                failed.append(f'{name}: exit status {code}')
        if not os.path.exists(trace):
            sys.exit('no trace was written')
        want, got = list(expected_calls(expected)), list(traced_calls(stagetap, trace))
    wrong = compare(want, got)
    told = sum(1 for call, _ in want if any(call[field] for field in FIELDS))
    print(f'{len(want)} calls made, {len(got)} in the trace; {told} tell at least one value; {wrong} wrong')
    if alone != preloaded:
        failed.append('the program said something else under the preload')
    if len(want) != len(got) or wrong:
        failed.append('the trace is wrong')
    if len(want) < int(least):
        failed.append(f'fewer than {least} calls')
    sys.exit('; '.join(failed) if failed else 0)


main()
