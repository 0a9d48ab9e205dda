#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tracing costs real clients where it is worst: kernels that take no time, so that nothing hides what the host
does. By hand, not in the tests: it takes minutes, and a busy machine tells in the spread.

    STAGETAP_BUILD=B tests/clients/cost.py [--rounds N] [torch|cyllama|cyllama-launches]…

Each process makes several pictures and times each itself; the first one warms up, and the fastest of the others is the
process's time, for whatever else runs on the machine can only slow one down. A round is a bare process, a traced one, one
traced without Python functions as stages, and one without device times, which shows what of the cost comes with CUPTI's
records: making them, and reading them in stagetap's thread. The order turns from round to round. No truth is written. Of
each round's ratio to bare: the median, and the interval that holds the true median with 95 % (order statistics); once of
the wall time, once of the CPU time of the thread that makes the pictures.
"""

import argparse
import math
import re
import shutil
import statistics
import sys

import model_file
from client import HERE, Client, Run

MODEL = 'kernel * 0ns\nsmall-d2h zero\n'
CONFIDENCE = 0.95
PICTURES = 12
ARMS = {'bare': None, 'traced': {}, 'without Python rules': {'STAGETAP_PY': 'off'},
        'without device times': {'STAGETAP_DEVICE': 'none'}}  # settings of the preload


def torch():
    client = Client('torch-cu13')
    client.make_stubs(client.packages() / 'torch' / 'lib')
    return client, [client.python, HERE / 'torch_work.py', 'sd', '--steps', 50, '--runs', PICTURES, '--time'], {}


def cyllama(**env):
    client = Client('cyllama')
    model = client.work / 'zero.safetensors'
    model_file.write(model, 'sd1_tensors.txt')
    return client, [client.python, client.folder / 'timed.py', model, 20, PICTURES], env


WORK = {
    'torch': torch,
    'cyllama': cyllama,  # mostly graph launches
    'cyllama-launches': lambda: cyllama(GGML_CUDA_DISABLE_GRAPHS=1),
}


def seconds(client, command, env, settings):
    """[wall, CPU] of one process."""
    folder = client.work / 'run'
    preload = settings is not None
    run = Run(client, folder, command, preload, MODEL, 600, {'SIMGPU_TRUTH': None, **env, **(settings or {})})
    told = re.findall(r'^seconds (\S+) (\S+)$', run.stderr, re.M)
    if run.status != 0 or len(told) < 2 or len(run.traces) != preload:
        sys.exit(run.describe())
    shutil.rmtree(folder)
    return [min(map(float, column)) for column in zip(*told[1:])]


def interval(values):
    """Of the median: the narrowest pair of ranks, from both ends alike, that holds it with at least CONFIDENCE."""
    ordered, count, rank = sorted(values), len(values), 0
    outside = 2 / 2**count
    while outside <= 1 - CONFIDENCE:
        rank += 1
        outside += 2 * math.comb(count, rank) / 2**count
    return (ordered[rank - 1], ordered[count - rank]) if rank > 0 else (-math.inf, math.inf)


def measure(name, rounds):
    client, command, env = WORK[name]()
    times = {arm: [] for arm in ARMS}
    for turn in range(rounds):
        for arm in [*ARMS, *ARMS][turn % len(ARMS):][:len(ARMS)]:
            times[arm].append(seconds(client, command, env, ARMS[arm]))
    shutil.rmtree(client.work)
    for arm in list(ARMS)[1:]:
        for kind, bare, traced in zip(('wall', 'CPU'), zip(*times['bare']), zip(*times[arm])):
            ratios = [after / before for before, after in zip(bare, traced)]
            low, high = interval(ratios)
            print(f'| {name} | {arm} | {kind} | {statistics.median(ratios):.3f} | {low:.3f} to {high:.3f} | '
                  f'{milliseconds(bare)} | {milliseconds(traced)} |', flush=True)


def milliseconds(times):
    return f'{1e3 * min(times):.1f} / {1e3 * statistics.median(times):.1f}'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--rounds', type=int, default=15)
    parser.add_argument('work', nargs='*', choices=[[], *WORK])
    options = parser.parse_args()
    print(f'{options.rounds} rounds; ms are of one picture, minimum / median\n'
          '| work | how | time | to bare, median | 95 % | bare, ms | so, ms |\n'
          '|---|---|---|---|---|---|---|', flush=True)
    for name in options.work or WORK:
        measure(name, options.rounds)


if __name__ == '__main__':
    main()
