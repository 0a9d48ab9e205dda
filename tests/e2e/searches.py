#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What dlopen() finds by name depends on who calls it. The program, a plugin, its plugin and a library without a path
of its own find the same beside us as alone, by the same files tried and opened in the same order.

That a tool that becomes the caller is noticed here is shown with one (naive_dlopen)."""

import glob
import os
import re
import shutil
import sys

import lib
import lives

NAIVE = os.path.join(lib.PROGRAMS, 'libnaive_dlopen.so')
SISTER = os.path.join(lib.PROGRAMS, 'libsearch_sister.so')
FOLDERS = {'of_main': '.', 'of_plugin': 'plugins', 'of_grandchild': 'plugins/deeper'}
CALLS = ('cuInit', 'cuCtxSynchronize')
# What of ours may appear among the files that a process opens: no program of the test has such names.
OURS = re.compile(r'stagetap|/run\.stap|libcupti|^/proc/(self|\d+)/|^/sys/devices/system/|^/dev/shm|/boot_id$')


def install(folder, kind):
    """The tree of programs and libraries; returns the command."""
    for name, place in FOLDERS.items():
        home = os.path.join(folder, place, name)
        os.makedirs(home)
        shutil.copy(SISTER, home)
        shutil.copy(SISTER, os.path.join(home, f'libsearch_{name}.so'))
    command = [shutil.copy(lib.program(f'searches_{kind}'), os.path.join(folder, 'searches'))]
    for place, name in (
        ('plugins', f'plugin_{kind}'),
        ('plugins/deeper', f'grandchild_{kind}'),
        ('plugins', 'plain'),
        ('plugins', f'starter_{kind}'),
    ):
        file = f'libsearch_{name}.so'
        command.append(shutil.copy(os.path.join(lib.PROGRAMS, file), os.path.join(folder, place, file)))
    return command


def answers(result):
    return result.returncode, result.stdout.splitlines(), result.stderr


def differences(left, right):
    return [pair for pair in zip(left, right) if pair[0] != pair[1]][:4]


def found(checks, label, folder, command):
    env = {'STAGETAP_OUT': os.path.join(folder, 'run.stap'), 'STAGETAP_MAP': lives.MAP}
    runs = {
        name: answers(lib.run(command + ['cuda'], lib.environment(False, LD_PRELOAD=preload, **env), folder))
        for name, preload in (
            ('bare', None),
            ('seen', lib.PRELOAD),
            ('naive', NAIVE),
            ('in front of it', lib.PRELOAD + ':' + NAIVE),
            ('behind it', NAIVE + ':' + lib.PRELOAD),
        )
    }
    bare, seen = runs['bare'], runs['seen']
    checks.equal(0, bare[0], f'{label}: runs')
    for line in (
        'main 0 libsearch_sister.so: of_main',
        'plugin 0 libsearch_sister.so: of_plugin',
        'grandchild 0 libsearch_sister.so: of_grandchild',
        'grandchild 0 ${ORIGIN}/of_grandchild/libsearch_sister.so: of_grandchild',
        'in a constructor: of_plugin',
    ):
        checks.ok(line in bare[1], f'{label}: alone: {line}')
    checks.ok(bare == seen, f'{label}: {len(bare[1])} answers, the same beside us', differences(bare[1], seen[1]))
    checks.ok(runs['naive'][1] != bare[1], f'{label}: a tool that becomes the caller is noticed')
    for order in ('in front of it', 'behind it'):
        same = runs[order] == runs['naive']
        checks.ok(same, f'{label}: we {order}: as without us', differences(runs['naive'][1], runs[order][1]))
    dump = lib.stagetap('dump', os.path.join(folder, 'run.stap')).stdout
    names = dict(re.findall(r'^CALLDEF .*?\b(?:id|call|code)=(\d+) .*name="(\w+)"', dump, re.M))
    calls = [names.get(code) for code in re.findall(r'^CALL .*?\b(?:id|call|code)=(\d+)', dump, re.M)]
    checks.equal(sorted(CALLS), sorted(name or '?' for name in calls), f'{label}: the calls are in the trace')


def loader_log(folder, command, preload):
    """What the loader says it searched and tried, in order."""
    for old in glob.glob(os.path.join(folder, 'loader.*')):
        os.unlink(old)
    env = {'LD_DEBUG': 'libs', 'LD_DEBUG_OUTPUT': os.path.join(folder, 'loader')}
    result = lib.run(command, lib.environment(preload, **env), folder)
    lines = []
    for path in glob.glob(os.path.join(folder, 'loader.*')):
        with open(path, encoding='utf-8', errors='replace') as file:
            lines += [line.split('\t', 1)[-1].strip() for line in file]
    return result.returncode, [line for line in lines if line.startswith(('find library', 'search', 'trying'))]


def opened(folder, command, preload):
    """Files that the process opens, in order, by strace; None where that is not possible."""
    log = os.path.join(folder, 'opened')
    strace = ['strace', '-f', '-o', log, '-e', 'trace=open,openat,openat2', '-E', f'LD_PRELOAD={preload}']
    env = lib.environment(False, STAGETAP_OUT=os.path.join(folder, 'opens.stap'), STAGETAP_MAP=lives.MAP)
    result = lib.run(strace[:-2] + (strace[-2:] if preload else []) + command, env, folder)
    if result.returncode != 0:
        return None
    with open(log, encoding='utf-8', errors='replace') as file:
        return re.findall(r'\bopen(?:at2?)?\((?:\w+, )?"([^"]*)".* = (-?\w+)', file.read())


def same_files(checks, label, folder, command):
    bare, seen = (loader_log(folder, command, preload) for preload in (False, True))
    checks.ok(bare[0] == 0 and len(bare[1]) > 100, f'{label}: the loader tells of its searches', len(bare[1]))
    checks.ok(bare == seen, f'{label}: {len(bare[1])} searches in the same order', differences(bare[1], seen[1]))
    if not shutil.which('strace') or lib.run(['strace', '-o', '/dev/null', 'true']).returncode != 0:
        checks.skip(f'{label}: strace is not installed, or may not be used')
        return
    for what, program in ((label, command), (f'{label}, CUDA', lives.lives('pictures', 1))):
        bare = opened(folder, program, None)
        seen = opened(folder, program, lib.PRELOAD)
        if not checks.ok(bare and seen, f'{what}: runs under strace'):
            continue
        theirs = [(path, fd) for path, fd in seen if not OURS.search(path)]
        bare = [path for path, _ in bare if not OURS.search(path)]
        theirs = [path for path, _ in theirs]
        checks.ok(bare == theirs, f'{what}: {len(bare)} files opened in the same order', differences(bare, theirs))


def main():
    checks = lib.Checks()
    for kind in ('runpath', 'rpath'):
        with lib.workdir() as folder:
            command = install(folder, kind)
            found(checks, kind, folder, command)
            same_files(checks, kind, folder, command)
    checks.finish()


if __name__ == '__main__':
    sys.exit(main())
