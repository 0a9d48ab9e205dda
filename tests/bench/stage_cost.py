#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cost of a stage function by the way in which it is followed: ns, multiples of two clock readings of the same run, and
with valgrind instructions. Prints figures.   stage_cost.py BUILD_FOLDER [BURSTS]"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

KINDS = ('plain', 'exact', 'same', 'fresh')
EXACT, HIDDEN = 'symbol stage_exact -> sample', 'symbol stage_hidden -> decode'
CALLS = 1500


def environment(build, folder, mapping):
    env = {name: value for name, value in os.environ.items() if not name.startswith(('STAGETAP_', 'LD_PRELOAD'))}
    if mapping:
        env.update(
            LD_PRELOAD=os.path.join(build, 'preload', 'libstagetap.so'),
            STAGETAP_OUT=os.path.join(folder, 'cost.stap'),
            STAGETAP_FLUSH='10ms',
            STAGETAP_MAP=mapping,
        )
    return env


def instructions(program, env, folder, kind):
    """A call: more bursts, less few bursts."""
    counts = []
    for bursts in (2, 6):
        out = os.path.join(folder, f'callgrind.{bursts}')
        command = ['valgrind', '--tool=callgrind', f'--callgrind-out-file={out}', program, str(bursts), kind]
        text = subprocess.run(command, env=env, stderr=subprocess.PIPE, universal_newlines=True).stderr
        found = re.search(r'Collected : (\d+)', text)
        if not found:
            return None
        counts.append(int(found.group(1)))
    return (counts[1] - counts[0]) / (4 * CALLS)


def main():
    build, bursts = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else '40'
    program = os.path.join(build, 'tests', 'bench', 'stage_cost')
    with tempfile.TemporaryDirectory() as folder:
        for label, mapping in (
            ('bare', None),
            ('no such rule', 'symbol none_such -> none'),
            ('exact alone', EXACT),
            ('both', f'{EXACT}; {HIDDEN}'),
        ):
            env = environment(build, folder, mapping)
            text = subprocess.run([program, bursts], env=env, stdout=subprocess.PIPE, check=True).stdout
            pair, *found = [float(word) for word in text.split()]
            print(f'{label:13} two clock readings {pair:6.2f} ns', end='')
            for kind, ns in zip(KINDS, found):
                print(f'   {kind} {ns:8.1f} ns {ns / pair:6.1f}x', end='')
            print()
            if shutil.which('valgrind'):
                counts = [(kind, instructions(program, env, folder, kind)) for kind in KINDS]
                print(f'{"":13} instructions', *(f'  {kind} {"-" if n is None else round(n)}' for kind, n in counts))


if __name__ == '__main__':
    main()
