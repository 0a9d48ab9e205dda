#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do the names in the presets exist? Each Python pattern of config/*.map against the sources of real packages, read
without importing them; each log pattern of stable-diffusion.cpp against the texts that its sources print.

check_presets.py CACHE                 the packages that every test run checks (pip, kept in CACHE; 77: no network)
check_presets.py CACHE --all           all packages that pip can bring
check_presets.py --map FILE FOLDER…    one map against folders that stand on sys.path, such as a checkout of ComfyUI

A pattern must match in the newest version that a preset says it was checked against, and in the oldest, unless its
rule ends in `# from VERSION`."""
import argparse
import os
import re
import subprocess
import sys
import tarfile
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pynames

CONFIG = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, 'config')

# Per preset: the versions to check, oldest first; each a list of what pip brings. A pattern of a package that is not
# among them (transformers is 13 MB) is listed as not checked.
EVERY_RUN = {'diffusers': (('diffusers==0.30.0', 'safetensors==0.4.5', 'pillow==10.4.0'),
                           ('diffusers==0.42.1', 'safetensors==0.8.0', 'pillow==13.0.0'))}
ON_DEMAND = {'diffusers': (('diffusers==0.30.0', 'transformers==4.44.2', 'safetensors==0.4.5', 'pillow==10.4.0'),
                           ('diffusers==0.42.1', 'transformers', 'safetensors==0.8.0', 'pillow==13.0.0')),
             'invokeai': (('invokeai==6.0.0',), ('invokeai==6.14.2',)),
             'onnx': (('optimum-onnx==0.1.0', 'onnxruntime'),)}
SDCPP = 'stable-diffusion-cpp-python==0.4.7'

failures = []


def fail(text):
    failures.append(text)
    print('FAIL', text)


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def pip():
    """A Python that has pip."""
    for python in (sys.executable, 'python3'):
        if subprocess.run([python, '-c', 'import pip'], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    print('SKIP: no pip')
    sys.exit(77)


def fetch(cache, package, *options):
    """A package's archive, as pip has it; None if pip cannot bring it."""
    folder = os.path.join(cache, package.replace('==', '-'))
    if not os.path.isdir(folder) or not os.listdir(folder):
        command = [pip(), '-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-deps',
                   '--dest', folder, *options, package]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if done.returncode:
            print(f'{package}: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "pip failed"}')
            return None
    return os.path.join(folder, sorted(os.listdir(folder))[0])


def python_names(cache, package, text):
    """The functions of a package that a map's text may mean."""
    archive = fetch(cache, package, '--only-binary', ':all:')
    if not archive:
        return None
    folder = archive + '.d'
    if not os.path.isdir(folder):
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(folder + '.part', [name for name in wheel.namelist() if name.endswith('.py')])
        os.rename(folder + '.part', folder)
    return pynames.names_below(folder, pynames.wants_modules(text))


def check_map(path, versions):
    """versions: per version, oldest first, (title, names). → how many patterns were found in the newest."""
    found = 0
    packages = {re.split('[.:]', name)[0] for _, names in versions for name in names}
    for number, source, pattern, _, comment in pynames.rules(read(path)):
        where = f'{os.path.basename(path)}:{number}: python {pattern}'
        if source != 'python':
            continue
        top = re.split(r'[.:]', pattern)[0]
        if top not in packages and '*' not in top:
            print(f'not checked, as the package is not here: {where}')
            continue
        glob, is_newer = pynames.glob(pattern), comment.startswith('from ')
        counts = [sum(1 for name in names if glob.fullmatch(name)) for _, names in versions]
        for (title, _), count, is_newest in zip(versions, counts, [False] * (len(versions) - 1) + [True]):
            if count == 0 and (is_newest or not is_newer):
                fail(f'{where} matches nothing in {title}')
        if is_newer and len(counts) > 1 and counts[0] > 0:
            fail(f'{where} is in {versions[0][0]} already: no `# {comment}`')
        found += counts[-1] > 0
    return found


def check_header(path, versions):
    """`# checked:` says what is checked here."""
    for package in {title.split('==')[0] for title in versions[-1] if '==' in title}:
        said = re.search(rf'^# checked: {re.escape(package)} (\S+)(?: - (\S+))?$', read(path), re.MULTILINE)
        pinned = [title.split('==')[1] for version in versions for title in version if title.startswith(package + '==')]
        if said and ((said[1], said[2] or said[1]) != (pinned[0], pinned[-1])):
            fail(f'{os.path.basename(path)}: {said[0]}, but {pinned[0]} and {pinned[-1]} are what is checked')


def check_python(cache, wanted):
    missing = False
    for preset, versions in wanted.items():
        path, read_versions = os.path.join(CONFIG, preset + '.map'), []
        check_header(path, versions)
        for packages in versions:
            names, files = [], 0
            for package in packages:
                got = python_names(cache, package, read(path))
                if got is None:
                    missing = True
                else:
                    names, files = names + got[0], files + got[1]
            read_versions.append((' + '.join(packages), names))
            print(f'{preset}: {" + ".join(packages)}: {len(names)} functions in {files} files')
        if not missing:
            print(f'{preset}: {check_map(path, read_versions)} patterns found in the newest')
    return not missing


def printed_texts(archive):
    """What stable-diffusion.cpp prints: each text of a log call as it may look, and its progress bar."""
    texts = ['  |=>    | 3/20 - 1.53it/s', '  |=>    | 3/20 - 2.10s/it']
    with tarfile.open(archive) as sources:
        for member in sources:
            if not re.search(r'/(src|examples/cli)/[^/]+\.(cpp|hpp)$', member.name):
                continue
            source = sources.extractfile(member).read().decode(errors='replace')
            for text in re.findall(r'LOG_(?:INFO|WARN)\(\s*"((?:[^"\\]|\\.)*)"', source):
                texts.append(re.sub(r'%[-+ #0-9.]*(?:z|l|ll)?[a-z]', '1', text))
    return texts


def check_log(cache):
    archive = fetch(cache, SDCPP, '--no-binary', ':all:')
    if not archive:
        return False
    texts = printed_texts(archive)
    patterns = [(name, number, pattern) for name in ('sdcpp.map', 'sdcli.map')
                for number, source, pattern, _, _ in pynames.rules(read(os.path.join(CONFIG, name))) if source == 'log']
    for name, number, pattern in patterns:
        if not any(pynames.glob(pattern).fullmatch('[INFO ] file.cpp:1 - ' + text) for text in texts):
            fail(f'{name}:{number}: log "{pattern}" matches no line of {SDCPP}')
    print(f'sdcpp, sdcli: {len(patterns)} log patterns, {len(texts)} lines of {SDCPP}')
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('folders', nargs='+')
    parser.add_argument('--all', action='store_true')
    parser.add_argument('--map')
    options = parser.parse_args()
    is_here = True
    if options.map:
        wants = pynames.wants_modules(read(options.map))
        names = [name for folder in options.folders for name in pynames.names_below(folder, wants)[0]]
        print(f'{check_map(options.map, [(" ".join(options.folders), names)])} patterns found, {len(names)} functions')
    else:
        is_here = check_python(options.folders[0], ON_DEMAND if options.all else EVERY_RUN)
        if options.all:
            is_here = check_log(options.folders[0]) and is_here
    if failures:
        sys.exit(1)
    if not is_here:
        print('SKIP: a package cannot be had: no network?')
        sys.exit(77)


if __name__ == '__main__':
    main()
