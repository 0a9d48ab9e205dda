#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`meson install` into an empty folder: what is there, that it works from there, and that uninstalling leaves nothing.
(Uninstalling goes by the build folder's log of the last installation: that of a real one is put back afterwards.)"""

import json
import os
import re
import shutil

import lib

LOG = os.path.join(lib.BUILD, 'meson-logs', 'install-log.txt')
WANT = [
    'bin/stagetap',
    'LIB/libstagetap-audit.so',
    'LIB/libstagetap.so',
    'share/man/man1/stagetap.1',
    'share/man/man7/stagetap-faults.7',
    'share/man/man7/stagetap-recipes.7',
]


def meson(*arguments, **more):
    env = lib.environment(preload=False, simgpu=False, **more)
    return lib.run([shutil.which('meson'), *arguments], env, lib.BUILD)


def files_below(folder):
    return sorted(
        os.path.relpath(os.path.join(parent, name), folder) for parent, _, names in os.walk(folder) for name in names
    )


def options():
    text = lib.run(['meson', 'introspect', '--buildoptions', lib.BUILD], lib.environment(False, False)).stdout
    return {option['name']: option['value'] for option in json.loads(text)}


def works(checks, folder, prefix, libdir):
    program = os.path.join(prefix, 'bin', 'stagetap')
    library = os.path.join(prefix, libdir, 'libstagetap.so')
    bare = lib.environment(preload=False)
    shown = lib.run([program, '--version'], bare)
    checks.ok(shown.stderr == '' and library in shown.stdout, '--version: the library beside it', shown.stdout)
    env = lib.run([program, 'run', '--print-env'], bare).stdout
    checks.ok(f'export LD_PRELOAD={library}\n' in env, 'run: takes the library beside it', env)
    generate = [lib.program('generate'), '--images', '3', '--steps', '2', '--out', folder + '/', '--quiet']
    for name, more in (('plain', []), ('audit', ['--audit'])):
        trace = os.path.join(folder, name + '.stap')
        result = lib.run([program, 'run', *more, '-o', trace, '--', *generate], bare, folder)
        checks.equal(
            (0, f'stagetap: trace {trace} · stagetap report {trace}\n'),
            (result.returncode, result.stderr),
            f'{name}: the demo runs',
        )
        report = lib.run([program, 'report', trace], bare)
        checks.ok('requests 3 = 1 first' in report.stdout and '✓' in report.stdout, f'{name}: reports', report.stdout)
    found = lib.run([program, 'doctor', '--json'], bare, folder).stdout
    checks.equal([], json.loads(found)['findings'], 'doctor: nothing is wrong')
    if shutil.which('man'):
        page = lib.run(['man', '-l', '-Tascii', os.path.join(prefix, 'share/man/man7/stagetap-faults.7')], bare)
        checks.equal((0, ''), (page.returncode, page.stderr), 'the manual page of faults can be read')


def main():
    if shutil.which('meson') is None:
        print('skip: meson is not on PATH')
        raise SystemExit(77)
    checks = lib.Checks()
    before = None
    if os.path.exists(LOG):
        with open(LOG, encoding='utf-8') as file:
            before = file.read()
    try:
        with lib.workdir() as folder:
            folder = os.path.realpath(folder)
            place = os.path.join(folder, 'there')
            result = meson('install', '--no-rebuild', '--destdir', place)
            checks.equal(0, result.returncode, f'meson install: {result.stderr[-300:]}')
            option = options()
            prefix = place + option['prefix']
            want = sorted(re.sub('^LIB', option['libdir'], name) for name in WANT)
            checks.equal(want, files_below(prefix), 'what is installed')
            checks.equal(len(want), len(files_below(place)), 'nothing outside the prefix')
            works(checks, folder, prefix, option['libdir'])
            checks.equal(0, meson('--internal', 'uninstall').returncode, 'uninstall')
            checks.equal([], files_below(place), 'uninstall leaves nothing')
    finally:
        if before is not None:
            with open(LOG, 'w', encoding='utf-8') as file:
                file.write(before)
        elif os.path.exists(LOG):
            os.unlink(LOG)
    checks.finish()


if __name__ == '__main__':
    main()
