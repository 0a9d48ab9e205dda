#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the preload adds to the start and end of a process that never touches CUDA: /bin/true with and without,
interleaved, medians. The goal is 0.3 ms; only far more than that is an error, since machines differ.

exec_overhead.py BUILD_FOLDER [PAIRS]"""

import os
import statistics
import sys
import time

GOAL_MS, FAIL_MS = 0.3, 3.0


def run_ms(env):
    begin = time.perf_counter_ns()
    pid = os.posix_spawn('/bin/true', ['true'], env)
    _, status = os.waitpid(pid, 0)
    elapsed = (time.perf_counter_ns() - begin) / 1e6
    if status:
        sys.exit(f'/bin/true failed: {status}')
    return elapsed


def main():
    build, pairs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 300
    preload = os.path.join(build, 'preload', 'libstagetap.so')
    if not os.path.exists(preload):
        sys.exit(f'{preload} is not built')
    bare = {name: value for name, value in os.environ.items() if name != 'LD_PRELOAD'}
    preloaded = dict(bare, LD_PRELOAD=preload)
    for env in (bare, preloaded) * 10:
        run_ms(env)
    times = {'bare': [], 'preloaded': []}
    differences = []
    for index in range(pairs):
        order = (('bare', bare), ('preloaded', preloaded))
        pair = {name: run_ms(env) for name, env in (order if index % 2 else order[::-1])}
        for name, value in pair.items():
            times[name].append(value)
        differences.append(pair['preloaded'] - pair['bare'])
    added = statistics.median(differences)
    low, _, high = statistics.quantiles(differences, n=4)
    # the fastest tenth shows what an idle machine does
    quiet = {name: statistics.quantiles(values, n=10)[0] for name, values in times.items()}
    medians = {name: statistics.median(values) for name, values in times.items()}
    print(f'/bin/true: bare {medians["bare"]:.3f} ms, preloaded {medians["preloaded"]:.3f} ms')
    print(f'added {added:.3f} ms (median of {pairs} pairs, quartiles {low:.3f} … {high:.3f})')
    print(f'added, fastest tenths compared: {quiet["preloaded"] - quiet["bare"]:.3f} ms')
    print(f'goal ≤ {GOAL_MS} ms: {"met" if added <= GOAL_MS else "NOT met"}')
    sys.exit(1 if added > FAIL_MS else 0)


if __name__ == '__main__':
    main()
