#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The manifest: what the user declared, what is found without asking, and what nobody said; rounds that were not
reached, and rules chosen afterwards."""

import os
import shutil

import lib

MAP = (
    'symbol windowed_picture -> request; symbol windowed_sample -> sample; symbol windowed_step -> step; '
    'symbol windowed_decode -> decode'
)


def driver_of_version(folder, version):
    """The folder with the simulator's libraries, its driver as an installed one is named: a link to a file with the
    version."""
    target = os.path.join(folder, 'lib')
    os.mkdir(target)
    for name in os.listdir(lib.SIMGPU):
        path = os.path.join(lib.SIMGPU, name)
        if name == 'libcuda.so.1':
            shutil.copy(path, os.path.join(target, f'libcuda.so.{version}'))
            os.symlink(f'libcuda.so.{version}', os.path.join(target, name))
        elif not os.path.isdir(path):
            os.symlink(path, os.path.join(target, name))
    return target


def run(checks, folder, requests, what, **env):
    command = [lib.program('windowed'), str(requests), '2', 'steps']
    traced = lib.Traced(folder, command, mapping=MAP, **env)
    checks.equal((0, ''), (traced.process.returncode, traced.process.stderr), f'{what}: runs, says nothing')
    return traced, lib.report(checks, traced.trace, what=what)


def facts(checks):
    with lib.workdir() as folder:
        _, document = run(
            checks, folder, 2, 'facts', LD_LIBRARY_PATH=driver_of_version(folder, '570.86.15'),
            STAGETAP_META='weights=sdxl-1.0;seed=7;size=1024x1024;note=a=b, c', CUDA_MODULE_LOADING='LAZY',
            PYTORCH_CUDA_ALLOC_CONF='expandable_segments:True', CUDA_LAUNCH_BLOCKING='0', SECRET_TOKEN='hidden',
        )  # fmt: skip
        manifest = document['manifest']
        checks.equal(
            {'weights': 'sdxl-1.0', 'seed': '7', 'size': '1024x1024', 'note': 'a=b, c'}, manifest['declared'],
            'declared: as it was typed',
        )
        found = manifest['found']
        checks.equal('570.86.15', found.get('driver'), 'the driver: by the file behind the link')
        checks.ok('cupti.version' in found, 'CUPTI', found)
        checks.equal(
            ('LAZY', 'expandable_segments:True', '0'),
            tuple(found.get(f'env.{name}') for name in
                  ('CUDA_MODULE_LOADING', 'PYTORCH_CUDA_ALLOC_CONF', 'CUDA_LAUNCH_BLOCKING')),
            'the environment that is listed',
        )
        checks.ok('hidden' not in str(document), 'and no more of it')
        checks.ok(all(device['name'] for device in document['devices']), 'device models', document['devices'])
        absent = manifest['not_recorded']
        checks.equal([], [word for word in ('weights', 'seed', 'size', 'allocator', 'driver', 'cupti') if word in absent],
                     'what is known is not "not recorded"')
        checks.equal([], [word for word in ('code', 'scheduler', 'compile', 'offload', 'tf32', 'runtime')
                          if word not in absent], 'what nobody said is: this program uses no runtime')


def rounds(checks):
    with lib.workdir() as folder:
        traced, document = run(checks, folder, 2, 'two rounds')
        found = document['rounds']
        checks.equal(([1], [2], []), (found['first'], found['warmup'], found['steady']), 'two rounds: phases')
        checks.equal((0, None), (found['steady_wall_ns']['n'], found['steady_wall_ns']['median']), 'no steady figure')
        checks.ok('steady was not reached' in (found['note'] or ''), 'said in JSON', found)
        screen = lib.stagetap('report', traced.trace).stdout
        checks.ok('\nsteady was not reached' in screen, 'and on the screen', screen)
        chosen = lib.report(checks, '--rounds', 'warmup=0', traced.trace, what='another rule')['rounds']
        checks.equal((True, 'warmup=0', [2], None), tuple(chosen[key] for key in
                     ('chosen_afterwards', 'rule', 'steady', 'note')), 'a rule that is chosen afterwards says so')
        checks.equal(None, chosen['stable'], 'one round tells nothing of stability')


def main():
    checks = lib.Checks()
    facts(checks)
    rounds(checks)
    checks.finish()


if __name__ == '__main__':
    main()
