#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which stage map is in force when none is set, and what the report says of it."""

import os
import shutil

import lib


def map_of(checks, traced, label):
    """The map of the trace as JSON has it, and the line on the screen."""
    document = lib.report(checks, traced.trace, what=label)
    screen = lib.stagetap('report', traced.trace).stdout
    lines = [line for line in screen.splitlines() if line.startswith('map')]
    checks.equal(1, len(lines), f'{label}: the screen has one line for the map')
    return (document['traces'][0]['map'] if document else {}), (lines or [''])[0]


def demo_called(folder, called, **env):
    """The demo under the name of another program."""
    os.makedirs(os.path.join(folder, 'bin'), exist_ok=True)
    program = os.path.join(folder, 'bin', called)
    shutil.copy(lib.program('generate'), program)
    command = [program, '--images', '1', '--steps', '2', '--size', '16', '--out', folder + '/']
    return lib.Traced(folder, command, name=called, SIMGPU_MODEL=lib.DEMO_MODEL,
                      LD_LIBRARY_PATH=os.pathsep.join([lib.SIMGPU, lib.DEMO]), **env)


def check_programs(checks, folder):
    for name, preset, checked in (('generate', 'demo', []), ('sd-cli', 'sdcli', ['stable-diffusion.cpp']),
                                  ('sd-server', 'sdcpp', ['stable-diffusion.cpp'])):
        traced = demo_called(folder, name)
        found, line = map_of(checks, traced, name)
        checks.equal((preset, f'program {name}'), (found.get('name'), found.get('why')), f'{name}: preset and reason')
        checks.ok(line.startswith(f'map: {preset} (recognised: program {name})'), f'{name}: the screen says so', line)
        checks.equal(checked, [item['package'] for item in found.get('checked', [])], f'{name}: checked against')
        checks.equal(['not recorded'] * len(checked), [item['state'] for item in found.get('checked', [])],
                     f'{name}: its version is not known')


def check_others(checks, folder):
    traced = demo_called(folder, 'painter')
    found, line = map_of(checks, traced, 'painter')
    checks.equal({'name': 'auto', 'why': '', 'checked': []}, found, 'no preset: auto')
    checks.equal('map: auto (no preset was recognised: NVTX ranges that are named like stages)', line,
                 'no preset: the screen says so')
    inline = 'symbol demo_encode -> encode'
    for mapping, name in (('swarmui', 'swarmui'), (inline, 'inline'), ('demo+onnx', 'demo+onnx')):
        traced = demo_called(folder, 'painter', mapping=mapping)
        found, line = map_of(checks, traced, mapping)
        checks.equal((name, 'as set'), (found.get('name'), found.get('why')), f'{mapping}: as set')
        checks.ok(line.startswith(f'map: {name} (as set)'), f'{mapping}: the screen says so', line)
        packages = {'swarmui': ['comfyui'], 'demo+onnx': ['optimum-onnx', 'diffusers']}.get(mapping, [])
        checks.equal(packages, [item['package'] for item in found.get('checked', [])],
                     f'{mapping}: what it and those that belong to it were checked against')


def check_namesake(checks, folder):
    """A program that is called generate and is not the demo: its NVTX ranges count."""
    program = os.path.join(folder, 'bin', 'generate')
    shutil.copy(lib.program('nvtx_script'), program)
    traced = lib.Traced(folder, [program] + '+request +encode k - -'.split(), name='namesake')
    found, line = map_of(checks, traced, 'namesake')
    checks.equal(('auto', ''), (found.get('name'), found.get('why')), 'another program called generate: auto')
    document = lib.report(checks, '--request', 'all', traced.trace, what='namesake')
    rows = [lib.rows(request) for request in document['requests']] if document else []
    checks.equal([1], [row.get('encode', {}).get('launches') for row in rows], 'another program called generate: stages')


def main():
    checks = lib.Checks()
    with lib.workdir() as folder:
        check_programs(checks, folder)
        check_others(checks, folder)
        check_namesake(checks, folder)
    checks.finish()


if __name__ == '__main__':
    main()
