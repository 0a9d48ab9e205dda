#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""error_stubs.py OUT PROVIDED CLIENT…: stand-ins for the CUDA libraries that a client is linked to and simgpu has not.

CLIENT are shared objects, or folders of them. For each library that they need and that is not in the folder PROVIDED, a
library of that soname is compiled into OUT. It has just the functions that the clients import from it, with the
versions that they ask for; each returns the library's own error, so that a client that tries to use it is told so.
"""

import collections
import pathlib
import re
import subprocess
import sys

CUDA = re.compile(r'lib(cu[a-zA-Z]+|nccl|nv\w+)\.so\.\d+$')
# Imports without a version say by their prefix which library they mean.
PREFIXES = [
    ('nccl', 'libnccl.so'),
    ('cusparseLt', 'libcusparseLt.so'),
    ('cuFile', 'libcufile.so'),
    ('nvshmem', 'libnvshmem_host.so'),
    ('nvJitLink', 'libnvJitLink.so'),
    ('nvrtc', 'libnvrtc.so'),
    ('cudnn', 'libcudnn.so'),
]
ERRORS = {  # "not initialised", "not supported" or what comes nearest in the library's own enumeration
    'libcudnn.so': 1001, 'libcufft.so': 5, 'libcurand.so': 101, 'libcusolver.so': 1, 'libcusparse.so': 1,
    'libcusparseLt.so': 1, 'libnccl.so': 3, 'libnvrtc.so': 11, 'libcufile.so': 5001, 'libnvshmem_host.so': 1,
    'libnvJitLink.so': 7,
}
# What answers in another way than by an error: texts; versions, which clients compare with what they were built for; and
# what some clients do at their start, whether or not they have work for that library.
TEXT = re.compile(r'(String|Name)$')
VALUES = {'cudnnGetVersion': 92600, 'cudnnGetCudartVersion': 13000, 'cusparseDestroy': 0,
          'cudnnSetStream': 0, 'cudnnDestroy': 0}
BODIES = {
    'cudnnCreate': '(void **handle)\n{\n    static int only;\n    *handle = &only;\n    return 0;\n}\n',
    'cudnnGetProperty': '(int part, int *value)\n{\n    *value = part == 0 ? 9 : part == 1 ? 26 : 0;\n    return 0;\n}\n',
}


class Imports:
    def __init__(self):
        self.names = set()
        self.version = None  # node, where the clients ask for one


def needed(path):
    text = subprocess.run(['readelf', '--dynamic', '--wide', path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.findall(r'\(NEEDED\).*\[(.*)\]', text)


def undefined(path):
    """(name, version node or '')"""
    text = subprocess.run(['readelf', '--dyn-syms', '--wide', path], stdout=subprocess.PIPE, text=True, check=True).stdout
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 8 and words[6] == 'UND':
            name, _, version = words[7].partition('@')
            yield name, version.strip('@')


def objects(clients):
    for client in map(pathlib.Path, clients):
        for path in sorted(client.rglob('*.so*')) if client.is_dir() else [client]:
            with open(path, 'rb') as file:
                if file.read(4) == b'\x7fELF':
                    yield path


def soname_of(name, version, sonames):
    if version in sonames:
        return version
    if version and not version.startswith('NVSHMEM'):
        return None  # of libc and others
    for prefix, library in PREFIXES:
        if name.startswith(prefix):
            return next((soname for soname in sonames if soname.startswith(library + '.')), None)
    return None


def read_imports(paths):
    found = collections.defaultdict(Imports)
    for path in paths:
        for soname in needed(path):
            if CUDA.match(soname):
                found[soname]  # also those of which nothing is imported
    for path in paths:
        for name, version in undefined(path):
            soname = soname_of(name, version, found)
            if soname:
                found[soname].names.add(name)
                found[soname].version = version or found[soname].version
    return found


def source(soname, names):
    error = ERRORS.get(re.sub(r'\.\d+$', '', soname), 1)
    yield f'/* Made by error_stubs.py for the imports of a client of {soname}. */\n'
    for name in sorted(names):
        if TEXT.search(name):
            yield f'const char *{name}(void)\n{{\n    return "simulated: not available";\n}}\n'
        elif name in BODIES:
            yield f'int {name}{BODIES[name]}'
        else:
            yield f'long {name}(void)\n{{\n    return {VALUES.get(name, error)};\n}}\n'


def build(out, soname, imports):
    stem = out / soname
    code, script = stem.with_suffix(stem.suffix + '.c'), stem.with_suffix(stem.suffix + '.map')
    code.write_text(''.join(source(soname, imports.names)), encoding='ascii')
    command = ['cc', '-shared', '-fPIC', '-O1', '-w', '-fno-builtin', '-o', str(stem), str(code), f'-Wl,-soname,{soname}']
    if imports.version:
        script.write_text(f'{imports.version} {{ global: *; }};\n', encoding='ascii')
        command.append(f'-Wl,--version-script={script}')
    subprocess.run(command, check=True)


def make_named(out, soname, prefix, client):
    """A library that the client opens itself: it has the functions whose names lie in the client as text. Returns how many
    there are."""
    imports = Imports()
    imports.names = set(re.findall(prefix + '[A-Z][A-Za-z0-9_]+', pathlib.Path(client).read_bytes().decode('latin-1')))
    out.mkdir(parents=True, exist_ok=True)
    build(out, soname, imports)
    return len(imports.names)


def make(out, provided, clients):
    """Returns {soname: number of functions} of the libraries that were made."""
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    there = {path.name for path in pathlib.Path(provided).iterdir()}
    made = {}
    for soname, imports in sorted(read_imports(list(objects(clients))).items()):
        if soname not in there:
            build(out, soname, imports)
            made[soname] = len(imports.names)
    return made


if __name__ == '__main__':
    if len(sys.argv) < 4:
        sys.exit(__doc__.split('\n')[0])
    for made_soname, count in make(sys.argv[1], sys.argv[2], sys.argv[3:]).items():
        print(f'{made_soname}: {count} functions')
