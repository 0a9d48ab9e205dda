#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes that never touch CUDA do not notice the preload: same output and status, no file, no descriptor,
no thread, no mapping in /dev/shm. Shells and interpreters pass it on to their children."""

import os
import shutil

import lib

COMMANDS = [
    ['ls', '/'],
    ['ls', '/no/such/folder'],
    ['bash', '-c', 'python3 -c pass'],
    ['git', '--version'],
    ['bash', '-c', 'echo $((6*7)); exit 3'],
    ['bash', '-c', 'kill -TERM $$'],
    ['python3', '-c', 'import ctypes, json, threading; print(json.dumps(sorted(["a", "b"])))'],
    ['python3', '-c', 'import subprocess; print(subprocess.run(["true"]).returncode)'],
    ['sh', '-c', 'ls -l /proc/self/fd | wc -l'],
    ['sh', '-c', 'ls /proc/self/task | wc -l'],
]
PRINT_FDS = 'import os; print(sorted(os.listdir("/proc/self/fd")))'


def main():
    checks = lib.Checks()
    with lib.workdir() as folder:
        for command in COMMANDS + [['python3', '-c', PRINT_FDS]]:
            if shutil.which(command[0]) is None:
                print(f'{command[0]} is not installed: not checked')
                continue
            bare = lib.run(command, lib.environment(preload=False, simgpu=False), folder)
            preloaded = lib.run(command, lib.environment(preload=True, simgpu=False), folder)
            for name in ('returncode', 'stdout', 'stderr'):
                checks.equal(getattr(bare, name), getattr(preloaded, name), f'{" ".join(command)[:50]}: same {name}')
        environment_kept(checks, folder)
        checks.equal([], os.listdir(folder), 'no file left in the working folder')
        checks.equal([], lib.rings(folder), 'nothing left in /dev/shm')
        simgpu_unused(checks, folder)

    descriptors_of_a_cuda_process(checks)
    checks.finish()


def environment_kept(checks, folder):
    """`env` shows LD_PRELOAD and nothing else that is new or changed."""
    bare = lib.run(['env'], lib.environment(preload=False, simgpu=False), folder).stdout.splitlines()
    preloaded = lib.run(['env'], lib.environment(preload=True, simgpu=False), folder).stdout.splitlines()
    added = sorted(set(preloaded) - set(bare))
    checks.equal(['LD_PRELOAD=' + lib.PRELOAD], added, 'env differs by LD_PRELOAD only')
    checks.equal([], sorted(set(bare) - set(preloaded)), 'env lost nothing')


LOOK = """
import ctypes
for name, symbols in (("libcuda.so.1", ("cuInit", "cuLaunchKernel", "cuGetProcAddress_v2")),
                      ("libcudart.so.13", ("cudaMalloc", "cudaLaunchKernel")), ("libcupti.so.13", ("cuptiSubscribe",))):
    library = ctypes.CDLL(name, ctypes.RTLD_GLOBAL)
    print(name, [bool(ctypes.cast(getattr(library, symbol), ctypes.c_void_p)) for symbol in symbols])
"""
CALL = LOOK + 'print(ctypes.CDLL("libcuda.so.1").cuInit(0))'


def simgpu_unused(checks, folder):
    """As an import does: every CUDA library is loaded and functions are looked up, but none is called. Then there
    is no call by us either: the driver's own log has no line. That it would have one is shown by one call."""
    lines = {}
    for name, code in (('looked up', LOOK), ('called', CALL)):
        bare = None
        for preload in (False, True):
            with lib.workdir() as place:
                truth = os.path.join(place, 'run.truth')
                env = lib.environment(preload, SIMGPU_TRUTH=truth, STAGETAP_MAP='nvtx unused -> encode')
                env['STAGETAP_OUT'] = os.path.join(place, 'x.stap')
                result = lib.run(['python3', '-c', code], env, folder)
                outcome = result.returncode, result.stdout, result.stderr
                bare = bare or outcome
                checks.equal(bare, outcome, f'libraries {name}: the same')
                checks.equal(0, result.returncode, f'libraries {name}: runs')
                log = os.path.join(place, 'run.truth')
                with open(log if os.path.exists(log) else os.devnull, encoding='utf-8') as file:
                    lines[name, preload] = sum('"op":"call"' in line for line in file)
                if name == 'looked up':
                    checks.ok(not os.path.exists(env['STAGETAP_OUT']), 'libraries looked up, none called: no trace')
    checks.equal(0, lines['looked up', True], 'libraries looked up, none called: we call nothing')
    checks.equal(1, lines['called', False], 'one call is one line of the driver’s log')
    checks.equal(1, lines['called', True], 'one call: we make no further one')
    checks.equal([], os.listdir(folder), 'libraries loaded, never called: no file')


def descriptors_of_a_cuda_process(checks):
    """Low descriptors stay the program's: ours are close-on-exec, so that no child inherits one."""
    with lib.workdir() as folder:
        command = [lib.program('touch_cuda'), 'exec', 'python3', '-c', PRINT_FDS]
        bare = lib.run(command, lib.environment(preload=False), folder)
        preloaded = lib.run(command, lib.environment(preload=True), folder)
        checks.equal(bare.stdout, preloaded.stdout, 'a process that used CUDA hands no descriptor to its next image')
        checks.equal('', preloaded.stderr, 'and says nothing')


if __name__ == '__main__':
    main()
