#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stages from Python functions, on every CPython from 3.8 on that is found here (python3.N on PATH, pyenv, Debian's own).
A launch names the stage that it expects: launches per stage in the report must be those of the simulator's truth.

pythons.py          everything that functions can do, under each way to follow them
pythons.py beside   other tools in the process, children, subinterpreters, embedded, late; nothing where nothing is asked
"""

import collections
import json
import os
import re
import shutil
import subprocess
import sys

import lib

VERSIONS = ['3.%d' % minor for minor in range(8, 16)]
HERE = os.path.join(lib.SOURCE, 'tests', 'e2e', 'programs', 'python')
MAP = '''
    python studio.pipe:Pipe.__call__    -> request
    python studio.pipe:encode_*         -> encode
    python studio.pipe:*UNet*.forward   -> sample
    python studio.pipe:VAE.decode       -> decode
    python studio.pipe:VAE.fails        -> output
    python studio.pipe:VAE.Inner.decode -> output
    python studio.pipe:VAE.load         -> load
    python studio.pipe:VAE.fixed        -> static
    python studio.pipe:VAE.scale        -> property
    python studio.pipe:begin_loop       -> begin loop
    python studio.pipe:end_loop         -> end loop
    python studio.pipe:Pipe.numbers     -> generator
    python studio.pipe:Pipe.guarded     -> generator
    python studio.pipe:Pipe.wait        -> coroutine
    python studio.pipe:Pipe.pieces      -> coroutine
'''
NO_PYTHON_RULE = 'symbol no_such_function -> encode'
WALK = 'frames read at CUDA calls'


class Python:
    def __init__(self, path, version):
        self.path, self.version = path, version
        self.minor = int(version.split('.')[1])

    @property
    def hook(self):
        return 'sys.monitoring' if self.minor >= 12 else 'frame-evaluation hook'


def version_of(path):
    """Of a working CPython with ctypes, or None (pyenv's own stand-ins fail where no version is chosen)."""
    code = 'import ctypes, platform; print(platform.python_implementation(), platform.python_version())'
    try:
        result = subprocess.run([path, '-c', code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                universal_newlines=True)
    except OSError:
        return None
    words = result.stdout.split()
    return words[1] if words[:1] == ['CPython'] else None


def find_pythons(skip):
    """skip: is told of each version that is not here."""
    roots = os.path.join(os.environ.get('PYENV_ROOT', os.path.expanduser('~/.pyenv')), 'versions')
    found = []
    for wanted in VERSIONS:
        installed = sorted(os.listdir(roots)) if os.path.isdir(roots) else []
        candidates = [shutil.which('python' + wanted)]
        candidates += [os.path.join(roots, name, 'bin', 'python3') for name in installed if name.startswith(wanted + '.')]
        versions = [(path, version_of(path)) for path in candidates if path]
        good = next(((path, version) for path, version in versions if version), None)
        if good:
            found.append(Python(*good))
        else:
            skip(f'no Python {wanted} here')
    own = version_of('/usr/bin/python3')
    if own and own not in [one.version for one in found] and int(own.split('.')[1]) >= 8:
        found.append(Python('/usr/bin/python3', own))
    return found


# ---- running and comparing ---------------------------------------------------------------------------


def environment(preload, **env):
    return {'PYTHONPATH': None, 'PYTHONDONTWRITEBYTECODE': '1', **env}


def run(python, folder, script, *arguments, options=(), mapping=MAP, **env):
    command = [python.path, *options, os.path.join(HERE, script), *arguments]
    return lib.Traced(folder, command, mapping=mapping, **environment(True, **env))


def run_bare(python, folder, script, *arguments, options=()):
    command = [python.path, *options, os.path.join(HERE, script), *arguments]
    return lib.run(command, lib.environment(False, **environment(False)), folder)


def expected(truths):
    """stage → launches, as the names of the kernels say."""
    counts = collections.Counter()
    for path in truths:
        with open(path, encoding='ascii') as file:
            for entry in map(json.loads, file):
                if entry['op'] == 'kernel':
                    counts[entry['name'][len('k_'):]] += 1
    return dict(counts)


def row_groups(document):
    for request in document['requests']:
        yield [row for row in request['stages'] if row['name'] != 'shared']
        yield request['after']
    yield from document['outside'].values()


def found(document):
    counts = collections.Counter()
    for rows in row_groups(document):
        for row in rows:
            if not row['name'].startswith('unattributed/'):  # within "unattributed"
                counts['none' if row['name'] == 'unattributed' else row['name']] += row['launches'] or 0
    return {name: count for name, count in counts.items() if count}


def calls(document, name):
    return sum(row['calls'] or 0 for rows in row_groups(document) for row in rows if row['name'] == name)


def way(document):
    return next((entry['why'] for entry in document['capabilities'] if entry['kind'] == 'python'), None)


def dumped(trace, table):
    result = lib.stagetap('dump', '--json', trace)
    return [row for row in map(json.loads, result.stdout.splitlines()) if row['table'] == table]


def counters(trace):
    return {row['name']: row['value'] for row in dumped(trace, 'COUNTER')}


def check(checks, label, traced, stderr=''):
    """It ran, and each stage has its launches. Returns the report."""
    result = traced.process
    if not checks.ok(result.returncode == 0, f'{label}: runs', traced.describe()):
        return None
    said = re.sub(r'\n?simgpu: .*', '', result.stderr).strip()
    checks.equal(stderr, said, f'{label}: stderr')
    document = lib.report(checks, '--request', 'all', traced.trace, what=label)
    if document:
        checks.equal(expected([traced.truth]), found(document), f'{label}: launches of each stage')
    return document


# ---- what functions do -------------------------------------------------------------------------------


def functions(checks, python, choice, *options):
    """Returns nothing; `choice` of STAGETAP_PY."""
    label = f'Python {python.version} {" ".join((choice,) + options)}'
    is_walk = choice == 'walk'
    names_only = ['names'] if is_walk and python.minor < 11 else []
    with lib.workdir() as folder:
        traced = run(python, folder, 'cases.py', *names_only, options=options, STAGETAP_PY=choice)
        document = check(checks, label, traced)
        if not document:
            return
        checks.equal(f'{python.version}: {WALK if is_walk else python.hook}', way(document), f'{label}: the way')
        if names_only:
            return
        checks.equal(traced.process.stdout.strip(), str(len(document['requests'])), f'{label}: requests')
        told = counters(traced.trace)
        checks.equal(0, told['python.mismatches'], f'{label}: left as they were entered')
        checks.ok(is_walk or told['python.codes'] >= 15, f'{label}: code objects that match', told['python.codes'])
        if not is_walk:
            checks.equal([45, 22, 1], [calls(document, name) for name in ('encode', 'output', 'loop')],
                         f'{label}: calls of each stage')
        ends = [row['inferred'] for row in dumped(traced.trace, 'SPAN_END')]
        checks.equal({int(is_walk)}, set(map(int, ends)), f'{label}: edges of {choice} are concluded or seen')


def main_functions(checks, pythons):
    for python in pythons:
        functions(checks, python, 'auto')
        functions(checks, python, 'walk')
        functions(checks, python, 'auto', '-X', 'dev')


# ---- beside others, and where nothing is asked -------------------------------------------------------


def beside(checks, python):
    """Other tools see what they see without us, we see what we see without them; RecursionError comes as it did."""
    label = f'Python {python.version} beside tools'
    with lib.workdir() as folder:
        bare = run_bare(python, folder, 'beside.py')
        traced = run(python, folder, 'beside.py')
        document = check(checks, label, traced)
        checks.equal(bare.stdout, traced.process.stdout, f'{label}: the same is printed')
        if document:
            checks.equal(10 + 2 * (python.minor >= 12), len(document['requests']), f'{label}: requests')
            checks.equal(0, counters(traced.trace)['python.mismatches'], f'{label}: no mismatches')


def make_package(folder):
    home = os.path.join(folder, 'lib', 'site-packages')
    os.makedirs(os.path.join(home, 'few', 'deep'))
    for parts, text in ((['few'], ''), (['few', 'deep'], 'class Model:\n    def forward(self, launch):\n        launch()\n')):
        with open(os.path.join(home, *parts, '__init__.py'), 'w', encoding='ascii') as file:
            file.write(text)
    return home


def nothing_asked(checks, python):
    """No rule: no hook, but names and versions. Switched off: nothing. The same program with rules has its hook."""
    cases = (('no rule', {'mapping': NO_PYTHON_RULE}, False, True), ('off', {'STAGETAP_PY': 'off'}, False, False),
             ('rules', {}, True, True))
    for which, settings, has_hook, has_names in cases:
        label = f'Python {python.version} {which}'
        with lib.workdir() as folder:
            home = make_package(folder)
            traced = run(python, folder, 'state.py', home, **settings)
            document = check(checks, label, traced)
            if not document:
                continue
            want = (['unknown'] if python.minor == 8 else [4] * has_hook if python.minor >= 12 else [has_hook])
            checks.equal(str(want), traced.process.stdout.strip(), f'{label}: what is installed')
            names = {row['name'] for row in dumped(traced.trace, 'SEEN') if row['source'] == 2}
            star = '*' if python.minor < 11 else ''
            wanted = {f'few.deep:{star}{"" if star else "Model."}forward', f'__main__:{star}main',
                      f'*launching:{star}launch'}
            checks.equal(wanted if has_names else set(), wanted & names if has_names else names, f'{label}: names')
            facts = {row['key']: row['value'] for row in dumped(traced.trace, 'KEY') if row['group'] == 2}
            versions = {'torch': '2.9.1+cu130', 'torch.cuda': '13.0', 'diffusers': '0.36.0'}
            checks.equal(versions if has_names else {},
                         {key: facts[key] for key in [*versions, 'transformers', 'accelerate'] if key in facts},
                         f'{label}: versions')
            checks.equal(has_names, 'python' in facts, f'{label}: Python itself')


def asked_too_much(checks, python):
    """What this version can not do: one line, and the next best."""
    choice, why = (('eval', 'from 3.12 on a frame-evaluation hook makes RecursionError come too early')
                   if python.minor >= 12 else ('monitoring', 'sys.monitoring came with Python 3.12'))
    label = f'Python {python.version} STAGETAP_PY={choice}'
    line = f'stagetap: STAGETAP_PY={choice}: Python {python.version}: {why}; using {python.hook}'
    with lib.workdir() as folder:
        document = check(checks, label, run(python, folder, 'late.py', STAGETAP_PY=choice), line)
        if document:
            checks.equal(f'{python.version}: {python.hook}', way(document), f'{label}: the way')
            checks.ok(any(line[len('stagetap: '):] in note for note in document['notes']), f'{label}: noted')


def ids_taken(checks, python):
    for taken, want, tool in ((['4'], python.hook, [3]), (['4', '3'], python.hook, [5]), (['4', '3', '5'], WALK, [])):
        label = f'Python {python.version} ids {" ".join(taken)} taken'
        with lib.workdir() as folder:
            home = make_package(folder)
            traced = run(python, folder, 'state.py', home, *taken, mapping='python few.deep:Model.forward -> none')
            refused = (f'stagetap: STAGETAP_PY=auto: Python {python.version}: the tool ids 3, 4 and 5 of sys.monitoring '
                       f'are taken; using {WALK}')
            document = check(checks, label, traced, refused if want == WALK else '')
            checks.equal(str(tool), traced.process.stdout.strip(), f'{label}: ours')
            if document:
                checks.equal(f'{python.version}: {want}', way(document), f'{label}: the way')


def late(checks, python):
    """Python is met inside the function that is the request: seen by monitoring, which may be told late."""
    label = f'Python {python.version} late'
    mapping = MAP.replace('studio.pipe:Pipe.__call__', '__main__:work')
    with lib.workdir() as folder:
        document = check(checks, label, run(python, folder, 'late.py', options=['-S'], mapping=mapping))
        if document:
            is_implicit = [request['implicit'] for request in document['requests']]
            checks.equal([python.minor < 12], is_implicit, f'{label}: the request that runs already')


def processes(checks, python):
    label = f'Python {python.version} processes'
    with lib.workdir() as folder:
        mapping = MAP + 'python studio.pipe:call -> output'
        traced = run(python, folder, 'processes.py', mapping=mapping, STAGETAP_OUT=os.path.join(folder, 'p-%p.stap'))
        if not checks.ok(traced.process.returncode == 0, f'{label}: runs', traced.describe()):
            return
        counts, launches = [], collections.Counter()
        for name in sorted(os.listdir(folder)):
            pid = re.fullmatch(r'p-(\d+)\.stap', name)
            if pid:
                trace = os.path.join(folder, name)
                document = lib.report(checks, '--request', 'all', trace, what=f'{label}: a trace')
                counts.append(len(document['requests']))
                launches.update(found(document))
        checks.equal([1, 2, 3, 4, 5], sorted(counts), f'{label}: requests of each process')
        truths = [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith('run.truth')]
        checks.equal(expected(truths), dict(launches), f'{label}: launches of each stage')


def subinterpreters(checks, python):
    if subprocess.run([python.path, '-c', 'import _testcapi'], stderr=subprocess.DEVNULL).returncode:
        checks.skip(f'Python {python.version} has no _testcapi to make subinterpreters with')
        return
    with lib.workdir() as folder:
        label = f'Python {python.version} subinterpreters'
        document = check(checks, label, run(python, folder, 'subs.py'))
        if document:
            checks.equal(3, len(document['requests']), f'{label}: only the main interpreter has requests')


EMBEDDED = '''
def decode():
    launch('decode')
def encode():
    launch(FIRST)
    decode()
    launch(SECOND)
encode()
for turn in range(1000):
    pass
launch('none')
decode()
'''


def embedded_library(checks, python):
    """(path of libpython, its home), or (None, None)."""
    code = 'import sysconfig; print(*sysconfig.get_config_vars("LIBDIR", "LDLIBRARY", "Py_ENABLE_SHARED", "prefix"))'
    folder, name, is_shared, home = lib.run([python.path, '-c', code], lib.environment(False)).stdout.split()
    path = os.path.join(folder, name)
    if is_shared != '1' or not os.path.exists(path):
        checks.skip(f'Python {python.version} has no shared library')
        return None, None
    return path, home


def embedded(checks, python):
    """No import tells of Python: the first CUDA call does, with the GIL or without."""
    path, home = embedded_library(checks, python)
    if not path:
        return
    for scope, gil in (('local', 'held'), ('global', 'released')):
        label = f'Python {python.version} embedded {scope} {gil}'
        # a function that runs already: monitoring takes it over as soon as it can, the other hook can not
        is_taken_over = python.minor >= 12
        script = EMBEDDED.replace('FIRST', repr('encode' if is_taken_over and gil == 'held' else 'none'))
        script = script.replace('SECOND', repr('encode' if is_taken_over else 'none'))
        with lib.workdir() as folder:
            traced = lib.Traced(folder, [lib.program('embeds'), path, scope, gil, script], PYTHONHOME=home,
                                mapping='python __main__:encode -> encode; python __main__:decode -> decode')
            document = check(checks, label, traced)
            if document:
                checks.equal(f'{python.version}: {python.hook}', way(document), f'{label}: the way')


def main_beside(checks, pythons):
    for python in pythons:
        beside(checks, python)
        nothing_asked(checks, python)
        asked_too_much(checks, python)
        if python.minor >= 12:
            ids_taken(checks, python)
        late(checks, python)
        processes(checks, python)
        subinterpreters(checks, python)
        embedded(checks, python)


def main_of(parts):
    """parts: name of a part → function. E2E_PYTHON=3.11 leaves only that version."""
    checks = lib.Checks()
    pythons = [python for python in find_pythons(checks.skip) if python.version.startswith(os.environ.get('E2E_PYTHON', ''))]
    if not pythons:
        print('skipped: no CPython from 3.8 on, with ctypes, was found')
        sys.exit(77)
    parts[sys.argv[1] if sys.argv[1:] else ''](checks, pythons)
    checks.finish()


if __name__ == '__main__':
    main_of({'': main_functions, 'beside': main_beside})
