#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cost per intercepted, recorded call, as a ratio to two reads of the clock, bare and preloaded. Prints figures,
fails only if nothing was measured.   call_cost.py BUILD_FOLDER [BURSTS]"""

import json
import os
import subprocess
import sys
import tempfile


def measure(program, bursts, **env):
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(('STAGETAP_', 'LD_PRELOAD', 'SIMGPU_'))
    }
    result = subprocess.run(
        [program, bursts], env=dict(clean, **env), stdout=subprocess.PIPE, universal_newlines=True, check=True
    )
    return [float(word) for word in result.stdout.split()]


def main():
    build, bursts = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else '60'
    program = os.path.join(build, 'tests', 'bench', 'call_cost')
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, 'call.stap')
        plain, launch, pair = measure(program, bursts)
        print(
            f'bare       plain call {plain:6.2f} ns   launch {launch:6.2f} ns   two clock reads {pair:6.2f} ns   '
            f'ratio {(launch - plain) / pair:5.2f}'
        )
        plain, launch, pair = measure(
            program,
            bursts,
            LD_PRELOAD=os.path.join(build, 'preload', 'libstagetap.so'),
            STAGETAP_OUT=trace,
            STAGETAP_FLUSH='10ms',
        )
        print(
            f'preloaded  plain call {plain:6.2f} ns   launch {launch:6.2f} ns   two clock reads {pair:6.2f} ns   '
            f'ratio {(launch - plain) / pair:5.2f}   (added {launch - plain:.2f} ns a call)'
        )
        report = subprocess.run(
            [os.path.join(build, 'analyzer', 'stagetap'), 'report', '--json', trace],
            stdout=subprocess.PIPE,
            universal_newlines=True,
        )
        if report.returncode:
            sys.exit('no readable trace: the calls were not recorded')
        document = json.loads(report.stdout)
        seen = sum(row['launches'] or 0 for rows in document['outside'].values() for row in rows)
        lost = sum(document['traces'][0]['lost'].values())
        made = 6000 * (int(bursts) + 1)
        clock = document['traces'][0]['clock']['source']
        print(
            f'{seen} of {made} launches recorded, {lost} events lost, clock {clock}, '
            f'{os.path.getsize(trace) / max(seen, 1):.2f} bytes a call on disk'
        )
        if seen < made * 0.99:
            sys.exit('calls were lost: the figures above are not those of recorded calls')


if __name__ == '__main__':
    main()
