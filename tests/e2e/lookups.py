#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What dlsym() answers depends on who asks, and names say nothing about what a function is. Libraries that forward
by RTLD_NEXT find the next one, not themselves; a library whose names begin as CUDA's do, or are exactly CUDA's, keeps
its functions, wherever it is installed.

That a dlsym() that becomes the caller is noticed here is shown with one (naive_dlsym)."""

import os
import re
import shutil
import sys

import lib
import lives

NAIVE = os.path.join(lib.PROGRAMS, 'libnaive_dlsym.so')
FIRST, SECOND, TOOL = (os.path.join(lib.PROGRAMS, f'libforward_{name}.so') for name in ('first', 'second', 'tool'))
FORWARDS = {
    'one runtime': ['global', FIRST],
    'one runtime, local': ['local', FIRST],
    'two runtimes': ['global', FIRST, SECOND],
    'two runtimes, local': ['local', FIRST, SECOND],
    'a tool in front and behind': ['global', TOOL, FIRST, SECOND, TOOL],
}
# linked, so that all are in the program's own scope; the last one is the tool
LINKED = 'libforward_first.so: next in libforward_second.so, ends with the tool'
ODD_PATH = 'libcuda.so.1 – “odd”/libcudart.so.13/with space'


def answers(command, folder, *preloads):
    env = lib.environment(False, LD_PRELOAD=':'.join(preloads) or None)
    env.update(STAGETAP_OUT=os.path.join(folder, 'run.stap'), STAGETAP_MAP=lives.MAP)
    result = lib.run(command, env, folder, 20)
    return result.returncode, result.stdout.splitlines(), result.stderr


def forwards(checks, folder, label, command, alone):
    bare = answers(command, folder)
    checks.equal((0, ''), (bare[0], bare[2]), f'{label}: runs')
    checks.ok(any(alone in line for line in bare[1]), f'{label}: alone: {alone}', bare[1])
    checks.ok(not any('itself' in line for line in bare[1]), f'{label}: alone: nobody finds itself', bare[1])
    checks.equal(bare, answers(command, folder, lib.PRELOAD), f'{label}: the same beside us')
    naive = answers(command, folder, NAIVE)
    for order, preloads in {'in front of': (lib.PRELOAD, NAIVE), 'behind': (NAIVE, lib.PRELOAD)}.items():
        beside = answers(command, folder, *preloads)
        checks.equal(naive, beside, f'{label}: we {order} a dlsym() that becomes the caller: as without us')
    return naive != bare


def weak_forwarders(checks):
    noticed = 0
    with lib.workdir() as folder:
        for label, arguments in FORWARDS.items():
            command = [lib.program('forwards')] + arguments
            noticed += forwards(checks, folder, label, command, 'next in nobody, ends with nobody')
        command = [lib.program('forwards_linked'), 'global', FIRST, SECOND]
        noticed += forwards(checks, folder, 'linked', command, LINKED)
        checks.equal([], os.listdir(folder), 'forwarders: no file')
    checks.ok(noticed > 0, 'a dlsym() that becomes the caller is noticed', noticed)


def like_names(checks):
    for label, place in (('here', 'plain'), ('an odd path', ODD_PATH)):
        with lib.workdir() as folder:
            home = os.path.join(folder, place)
            os.makedirs(home)
            outer, _ = (
                shutil.copy(os.path.join(lib.PROGRAMS, f'lib{name}.so'), os.path.join(home, f'lib{name}.so.9'))
                for name in ('cudnn_few', 'cudnn_few_ops')
            )
            command = [lib.program('names'), outer]
            bare = answers(command, folder)
            checks.equal((0, ''), (bare[0], bare[2]), f'names like CUDA’s, {label}: runs')
            checks.ok('depth 1, looked up in its part' in bare[1], f'names like CUDA’s, {label}: alone', bare[1])
            seen = answers(command, folder, lib.PRELOAD)
            checks.equal(bare, seen, f'names like CUDA’s, {label}: {len(bare[1])} answers, the same beside us')
            dump = lib.stagetap('dump', os.path.join(folder, 'run.stap')).stdout
            checks.equal(1, len(re.findall(r'^CALL ', dump, re.M)), f'names like CUDA’s, {label}: only cuInit is a call')


def main():
    checks = lib.Checks()
    weak_forwarders(checks)
    like_names(checks)
    checks.finish()


if __name__ == '__main__':
    sys.exit(main())
