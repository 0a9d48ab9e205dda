#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What following Python costs a Python call that no rule matches, one that a rule matches (entry and exit), one that
raises, and a CUDA call below ten frames: on each CPython from 3.8 on that is found here.

python_cost.py BUILD_FOLDER          nanoseconds: bare, with the library but STAGETAP_PY=off, with the hook, with walk;
                                     the same programs in turn, the least of all; ratios to the call bare
python_cost.py BUILD_FOLDER gate     instructions added to `off` by the hook (valgrind's callgrind, two lengths compared):
                                     fails above GATE; exit status 77 without valgrind
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

ROUNDS, TURNS = 3, {'launch': 20000}
KINDS = ('unmatched', 'matched', 'raising', 'launch')
RULE = 'python __main__:matched -> encode'
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'python_calls.py')
# (first minor version, last): most instructions added to an unmatched call, a matched one
GATE = {(8, 10): (64, 510), (11, 11): (310, 745), (12, 15): (1, 1165)} # a tenth above what was measured
PROTOTYPE = {  # ns added: unmatched call, matched call; by hook, another machine of the same kind
    8: ('1 to 2', '-'), 9: ('2', '-'), 10: ('2', '-'), 11: ('15 to 17', '-'), 12: ('0', '28'), 13: ('0', '29'),
    14: ('0', '24'), 15: ('0', '31'),
}  # fmt: skip


def pythons(build):
    os.environ.setdefault('STAGETAP_BUILD', build)
    sys.path.insert(0, os.path.join(os.path.dirname(PROGRAM), '..', 'e2e'))
    from pythons import find_pythons

    return find_pythons(lambda why: print(f'skipped: {why}'))


def environment(build, folder, way):
    env = {name: value for name, value in os.environ.items() if not name.startswith(('STAGETAP_', 'LD_', 'PYTHON'))}
    env.update(LD_LIBRARY_PATH=os.path.join(build, 'tests', 'bench'), PYTHONHASHSEED='0', PYTHONDONTWRITEBYTECODE='1')
    if way != 'bare':
        env.update(LD_PRELOAD=os.path.join(build, 'preload', 'libstagetap.so'), STAGETAP_MAP=RULE, STAGETAP_PY=way,
                   STAGETAP_OUT=os.path.join(folder, 'cost.stap'))
    return env


def run(command, env):
    result = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    if result.returncode:
        sys.exit(f'{command}: {result.returncode}\n{result.stderr}')
    return result


# ---- time --------------------------------------------------------------------------------------------


def times(build, folder, python, kind):
    """way → nanoseconds a turn, without the loop."""
    least = {}
    for _ in range(ROUNDS):
        for way in ('bare', 'off', 'auto', 'walk'):
            env, turns = environment(build, folder, way), str(TURNS.get(kind, 200000))
            for which in (kind, 'nothing'):
                took = float(run([python.path, '-S', PROGRAM, which, turns, 'time'], env).stdout)
                least[way, which] = min(took, least.get((way, which), took))
    return {way: least[way, kind] - (least[way, 'nothing'] if kind != 'launch' else 0) for way, _ in least}


def show_times(build, folder, found):
    print(f'{"":8} {"":10} {"bare":>9} {"off":>9} {"hook":>9} {"walk":>9}   hook: added, ratio to bare   the prototype')
    for python in found:
        for kind in KINDS:
            took = times(build, folder, python, kind)
            known = PROTOTYPE.get(python.minor, ('-', '-'))
            then = {'unmatched': known[0], 'matched': known[1]}.get(kind, '-')
            print(f'{python.version:8} {kind:10} ' + ' '.join(f'{took[way]:9.1f}' for way in ('bare', 'off', 'auto', 'walk'))
                  + f'   {took["auto"] - took["off"]:+8.1f} ns {took["auto"] / took["bare"]:6.2f}    {then:>10}', flush=True)


# ---- instructions ------------------------------------------------------------------------------------


def instructions(python, kind, turns, env):
    command = ['valgrind', '--tool=callgrind', '--callgrind-out-file=/dev/null', python.path, '-S', PROGRAM, kind, str(turns)]
    result = run(command, env)
    collected = re.search(r'Collected : (\d+)', result.stderr)
    if not collected:
        sys.exit(f'{command}: valgrind tells no count\n{result.stdout}{result.stderr}')
    return int(collected.group(1))


def added(build, folder, python, kind):
    """By the hook to a call, compared with STAGETAP_PY=off."""
    counts = []
    for way in ('off', 'auto'):
        env = environment(build, folder, way)
        few, many = instructions(python, kind, 2000, env), instructions(python, kind, 22000, env)
        counts.append((many - few) / 20000)
    return counts[1] - counts[0]


def gate(build, folder, found):
    if not shutil.which('valgrind'):
        print('skipped: no valgrind')
        return 77
    failed = False
    for python in found:
        allowed = next(most for (first, last), most in GATE.items() if first <= python.minor <= last)
        for kind, most in zip(('unmatched', 'matched'), allowed):
            count = added(build, folder, python, kind)
            failed |= count > most
            print(f'{"FAIL" if count > most else "ok":4}  Python {python.version}: {python.hook}: a call that is {kind}: '
                  f'{count:.1f} instructions added, at most {most}', flush=True)
    return int(failed)


def main():
    build = os.path.abspath(sys.argv[1])
    found = pythons(build)
    if not found:
        print('skipped: no CPython from 3.8 on, with ctypes, was found')
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        if sys.argv[2:] == ['gate']:
            sys.exit(gate(build, folder, found))
        show_times(build, folder, found)


if __name__ == '__main__':
    main()
