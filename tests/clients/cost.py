#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tracing costs real clients where it is worst: kernels that take no time, so that nothing hides what the host does.
By hand, not in the tests: it takes minutes, and a busy machine tells in the spread.

    STAGETAP_BUILD=B tests/clients/cost.py [--pairs N] [torch|cyllama|cyllama-launches]…

Each process makes several pictures and times each itself; the first one warms up, and the median of the others is the
process's time. Bare and traced processes alternate; which one of a pair comes first alternates, too. No truth is written.
Of the ratios traced/bare of the pairs: the median, and the interval that holds the true median with 95 % (order statistics);
once of the wall time, once of the CPU time of the thread that makes the pictures, which other programs disturb less.
"""

import argparse
import math
import re
import shutil
import statistics
import sys

from client import HERE, Client, Run

sys.path.insert(0, str(HERE / 'cyllama'))
import sparse_model  # noqa: E402

MODEL = 'kernel * 0ns\nsmall-d2h zero\n'
CONFIDENCE = 0.95


def torch():
    client = Client('torch-cu13')
    client.make_stubs(client.packages() / 'torch' / 'lib')
    return client, [client.python, HERE / 'torch_work.py', 'sd', '--steps', 50, '--runs', 6, '--time'], {}


def cyllama(**env):
    client = Client('cyllama')
    model = client.work / 'zero.safetensors'
    sparse_model.write(model)
    return client, [client.python, client.folder / 'timed.py', model, 20, 6], env


WORK = {
    'torch': torch,
    'cyllama': cyllama,  # mostly graph launches
    'cyllama-launches': lambda: cyllama(GGML_CUDA_DISABLE_GRAPHS=1),
}


def seconds(client, command, env, preload):
    """[wall, CPU] of one process."""
    folder = client.work / 'run'
    run = Run(client, folder, command, preload, MODEL, 600, dict(env, SIMGPU_TRUTH=None))
    told = re.findall(r'^seconds (\S+) (\S+)$', run.stderr, re.M)
    if run.status != 0 or len(told) < 2 or len(run.traces) != preload:
        sys.exit(run.describe())
    shutil.rmtree(folder)
    return [statistics.median(map(float, column)) for column in zip(*told[1:])]


def interval(values):
    """Of the median: the narrowest pair of ranks, from both ends alike, that holds it with at least CONFIDENCE."""
    ordered, count, outside = sorted(values), len(values), 0
    for rank in range(count // 2):
        outside += 2 * math.comb(count, rank) / 2**count
        if outside > 1 - CONFIDENCE:
            return (ordered[rank - 1], ordered[count - rank]) if rank > 0 else (-math.inf, math.inf)
    return ordered[count // 2 - 1], ordered[-(count // 2)]


def measure(name, pairs):
    client, command, env = WORK[name]()
    times = {False: [], True: []}
    for pair in range(pairs):
        for preload in (False, True) if pair % 2 else (True, False):
            times[preload].append(seconds(client, command, env, preload))
    shutil.rmtree(client.work)
    for kind, bare, traced in zip(('wall', 'CPU'), zip(*times[False]), zip(*times[True])):
        ratios = [after / before for before, after in zip(bare, traced)]
        low, high = interval(ratios)
        print(f'| {name} | {kind} | {pairs} | {statistics.median(ratios):.3f} | {low:.3f} to {high:.3f} | '
              f'{1e3 * min(bare):.1f} / {1e3 * statistics.median(bare):.1f} | '
              f'{1e3 * min(traced):.1f} / {1e3 * statistics.median(traced):.1f} |', flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--pairs', type=int, default=15)
    parser.add_argument('work', nargs='*', choices=[[], *WORK])
    options = parser.parse_args()
    print('| work | time | pairs | traced/bare, median | 95 % | bare, ms a picture: min / median | traced: min / median |\n'
          '|---|---|---|---|---|---|---|', flush=True)
    for name in options.work or WORK:
        measure(name, options.pairs)


if __name__ == '__main__':
    main()
