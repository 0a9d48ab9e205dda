#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""More of pythons.py, on every CPython that is found here.

pythons_more.py names       how functions are named, wrapped and bound, under each value of STAGETAP_PY
pythons_more.py unnoticed   what a program prints, how it ends and what other tools say of it, with and without us
"""

import json
import os
import re
import zipfile

import lib
from pythons import HERE, MAP, NO_PYTHON_RULE, WALK, check, embedded_library, environment, main_of, run, run_bare, way

# ---- names -------------------------------------------------------------------------------------------

# rule → the first minor version that knows the name; frames read at CUDA calls know what is in NOT_IN_FRAMES less
NAMES = {
    'plain': 8, 'told_twice': 8, 'remembered': 8, 'dispatched': 8, 'managed': 8, 'comprehended': 8, 'patched': 8,
    'renamed': 8, 'größe': 8, '*<lambda>': 8, 'Owner.__init__': 8, 'Owner.__call__': 8,
    'Owner.__enter__': 8, 'Owner.__exit__': 8, 'Owner.__getattr__': 8, 'Owner.method': 8, 'Owner.of_class': 8,
    'Owner.of_none': 8, 'Owner.value': 8, 'Owner.once': 8, 'Owner._with': 8, 'Owner.told_of_class': 8,
    'Owner.Inner.deep': 8, 'Meta.made': 8, 'Meta.__call__': 8, 'Owner.Inner.Most.deeper': 11, 'outer.<locals>.inner': 11,
}  # fmt: skip
BY_STAR = {'Owner.Inner.Most.deeper': '*deeper', 'outer.<locals>.inner': '*<locals>.inner'}
NEVER = ('other_name', 'told.<locals>.no_such', 'Owner.with_one', 'len', 'sorted')  # and C functions have no code
NOT_IN_FRAMES = {'größe'}


def named_rules(minor):
    """The exact names where they are known, and what reaches the same functions elsewhere."""
    exact = [name for name, since in NAMES.items() if minor >= since]
    return exact + [BY_STAR[name] for name in BY_STAR if name not in exact]


def names(checks, python, choice):
    label = f'Python {python.version} names {choice}'
    is_walk, is_off = choice == 'walk', choice == 'off'
    if is_walk and python.minor < 11:
        return  # only the last part is known: pythons.py
    wanted = [f'python __main__:{name} -> named' for name in named_rules(python.minor)]
    never = [f'python __main__:{name} -> never' for name in NEVER] + ['python builtins:len -> never']
    made = [] if is_walk else ['python made:at_run_time -> named']
    mapping = '; '.join(never + wanted + made)
    with lib.workdir() as folder:
        traced = run(python, folder, 'named.py', mapping=mapping, STAGETAP_PY=choice)
        if is_off or is_walk:  # launches that no stage can claim
            checks.equal((0, ''), (traced.process.returncode, traced.process.stdout), f'{label}: runs')
            document = lib.report(checks, '--request', 'all', traced.trace, what=label)
        else:
            document = check(checks, label, traced)
        if not document:
            return
        lost = NOT_IN_FRAMES if is_walk else set()
        met = [] if is_off else [rule for rule in wanted + made if rule.split(':')[1].split(' ')[0] not in lost]
        checks.equal({*never, *wanted, *made} - set(met), set(document['unmatched_rules']),
                     f'{label}: rules that matched nothing')
        hook = None if is_off else f'{python.version}: {WALK if is_walk else python.hook}'
        checks.ok(is_off or way(document) == hook, f'{label}: the way', way(document))


def names_seen(checks, python):
    """Without a rule: every function that was on the stack of a launch, as a rule to paste; in a run of milliseconds."""
    label = f'Python {python.version} names seen'
    with lib.workdir() as folder:
        traced = run(python, folder, 'named.py', mapping=NO_PYTHON_RULE)
        result = lib.stagetap('map', 'names', '--json', '--source', 'python', '--top', '0', traced.trace)
        if not checks.ok(result.returncode == 0, f'{label}: answers', result.stderr):
            return
        seen = {entry['name'] for entry in json.loads(result.stdout)['names']}
        plain = {name for name in NAMES if '*' not in name} - NOT_IN_FRAMES
        if python.minor < 11:
            plain = {'*' + name.split('.')[-1] for name in plain}
        checks.equal(set(), {f'__main__:{name}' for name in plain} - seen, f'{label}: none is missing')


def main_names(checks, pythons):
    for python in pythons:
        names_seen(checks, python)
        for choice in ('auto', 'monitoring' if python.minor >= 12 else 'eval', 'walk', 'off'):
            names(checks, python, choice)


# ---- unnoticed ---------------------------------------------------------------------------------------

RULES = MAP + 'python studio.pipe:call -> output; python studio.pipe:turns -> generator'
BY_WALK = 'calls of Python functions have used up half of a thread\'s C stack, which Python 3.11 needs for itself'


def clean(stderr):
    return re.sub(r'\n?simgpu: .*', '', stderr).strip()


def same(checks, python, case, *arguments, options=(), status=0, repeats=1, stderr=None, judge=None, **env):
    """One case of plain.py on both sides. Returns the last report."""
    label = f'Python {python.version} {" ".join((*options, case))}'
    document = None
    with lib.workdir() as folder:
        bare = run_bare(python, folder, 'plain.py', case, *arguments, options=options)
        if bare.returncode != status:
            print(f'baseline: {label}: ends with {bare.returncode} without us')
            return None
        for turn in range(repeats):
            for name in os.listdir(folder):
                if name.startswith('run.'):
                    os.unlink(os.path.join(folder, name))
            traced = run(python, folder, 'plain.py', case, *arguments, options=options, mapping=RULES, **env)
            seen = (traced.process.returncode, traced.process.stdout)
            if not checks.equal((status, bare.stdout), seen, f'{label}: ends the same, prints the same'):
                print(traced.describe())
            if stderr is None:
                checks.equal(clean(bare.stderr), clean(traced.process.stderr), f'{label}: stderr')
        if status == 0:
            document = lib.report(checks, '--request', 'all', traced.trace, what=label)
            if document and judge:
                judge(label, traced, document)
    return document


def launches_right(checks):
    def judge(label, traced, document):
        traced.process.stderr = ''
        check(checks, label, traced)

    return judge


def ends(checks, python):
    same(checks, python, 'end_with_status', status=7)
    same(checks, python, 'end_with_error', status=1)
    same(checks, python, 'end_interrupted', status=-2)
    same(checks, python, 'end_at_once', status=3)
    if python.minor == 10:
        print(f'baseline: Python {python.version}: with running daemon threads it crashes now and then without us')
    else:
        same(checks, python, 'end_with_daemons', repeats=5)


def insides(checks, python):
    same(checks, python, 'state')
    same(checks, python, 'leaks')
    deep = same(checks, python, 'recursion', judge=launches_right(checks))
    high = same(checks, python, 'high_limit', judge=launches_right(checks))
    if python.minor == 11 and deep and high:
        for name, document, why in (('small stacks', deep, BY_WALK), ('a high limit', high, 'the recursion limit is')):
            checks.ok(any(why in note for note in document['notes']), f'Python {python.version} {name}: noted',
                      document['notes'])
            checks.equal(f'{python.version}: {WALK}', way(document), f'Python {python.version} {name}: the way')


def options(checks, python):
    right = launches_right(checks)
    for flags in (['-I'], ['-S'], ['-E', '-s'], ['-OO'], ['-X', 'faulthandler'], ['-X', 'tracemalloc'], ['-W', 'error']):
        same(checks, python, 'pictures', options=flags, judge=right)
    same(checks, python, 'pictures', options=['-X', 'importtime'], stderr='times', judge=right)


def other_hooks(checks, python):
    if python.minor == 8:
        checks.skip('Python 3.8 has no function to set a frame-evaluation hook with')
        return
    hook = os.path.join(lib.BUILD, 'tests', 'e2e', 'libeval_hook.so')
    document = same(checks, python, 'other_hook', hook, judge=launches_right(checks))
    checks.ok(document and way(document) == f'{python.version}: {python.hook}', f'Python {python.version} after: the way')
    path, home = embedded_library(checks, python)
    if not path:
        return
    label = f'Python {python.version} another hook before us'
    script = 'def decode():\n    launch("decode")\nlaunch("none")\nfor turn in range(3):\n    decode()\n'
    with lib.workdir() as folder:
        command = [lib.program('embeds'), path, 'global', 'held', script, '1', hook]
        traced = lib.Traced(folder, command, PYTHONHOME=home, mapping='python __main__:decode -> decode')
        check(checks, label, traced)
        checks.equal('the hook saw frames: yes\n', traced.process.stdout, f'{label}: it works')


def lives(checks, python):
    """Initialised three times in one process."""
    path, home = embedded_library(checks, python)
    if not path:
        return
    label = f'Python {python.version} three lives'
    script = 'import _json\ndef decode():\n    launch("decode")\ndecode()\ndecode()\n'
    with lib.workdir() as folder:
        command = [lib.program('embeds'), path, 'global', 'held', script, '3']
        bare = lib.run(command, lib.environment(False, PYTHONHOME=home), folder)
        if bare.returncode:
            print(f'baseline: {label}: ends with {bare.returncode} without us')
            return
        mapping = 'python __main__:decode -> decode'
        check(checks, label, lib.Traced(folder, command, PYTHONHOME=home, mapping=mapping))
        walks = lib.Traced(folder, command, PYTHONHOME=home, mapping=mapping, STAGETAP_PY='walk', name='walk')
        checks.equal(0, walks.process.returncode, f'{label} walk: runs')  # which knows no module of text


def tools(checks, python):
    """Python's own tools count the same calls and lines."""
    script, source = os.path.join(HERE, 'plain.py'), os.path.join(HERE, 'studio', 'pipe.py')
    with open(source, encoding='utf-8') as file:
        line = next(number for number, text in enumerate(file, 1) if "launch('decode')" in text)
    cases = {
        'pdb': ['-m', 'pdb', '-c', f'break {source}:{line}', '-c', 'continue', '-c', 'where',
                '-c', 'next', '-c', 'clear 1', '-c', 'continue', '-c', 'quit', script, 'pictures'],
        'trace': ['-m', 'trace', '--count', '-C', 'cover', '--ignore-dir=' + os.path.dirname(os.__file__), script,
                  'pictures'],
        'cProfile': ['-m', 'cProfile', '-s', 'name', script, 'pictures'],
        'coverage': ['-m', 'coverage', 'run', '--data-file=cover.data', script, 'pictures'],
    }
    for tool, command in cases.items():
        label = f'Python {python.version} {tool}'
        if tool == 'coverage' and lib.run([python.path, '-c', 'import coverage'], lib.environment(False)).returncode:
            checks.skip(f'{label}: not installed')
            continue
        told = []
        for is_traced in (False, True):
            with lib.workdir() as folder:
                traced = lib.Traced(folder, [python.path, *command], preload=is_traced, mapping=RULES,
                                    **environment(is_traced))
                if is_traced:
                    traced.process.stderr = ''
                    check(checks, label, traced)
                told.append(what_it_told(tool, python, folder, traced.process.stdout))
        checks.ok('pipe' in told[0], f'{label}: tells something', told[0][-1500:])
        checks.equal(told[0], told[1], f'{label}: tells the same')


def what_it_told(tool, python, folder, stdout):
    if tool == 'trace':
        with open(os.path.join(folder, 'cover', 'studio.pipe.cover'), encoding='utf-8') as file:
            return 'pipe\n' + file.read()
    if tool == 'cProfile':
        return '\n'.join(line.split()[0] + ' ' + line.split()[-1] for line in stdout.splitlines() if 'pipe.py' in line)
    if tool == 'coverage':
        return lib.run([python.path, '-m', 'coverage', 'report', '--data-file=cover.data'], lib.environment(False),
                       folder).stdout
    return stdout


def packed(checks, python):
    """As a module, and from a zip file."""
    names_of = [os.path.join(where, name) for where, _, names in os.walk(HERE) for name in names if name.endswith('.py')]
    for form in ('module', 'zip'):
        for choice in ('auto', 'walk'):
            label = f'Python {python.version} as a {form} {choice}'
            with lib.workdir() as folder:
                archive = os.path.join(folder, 'app.pyz')
                with zipfile.ZipFile(archive, 'w') as packed_file:
                    for name in names_of:
                        packed_file.write(name, os.path.relpath(name, HERE))
                    packed_file.writestr('__main__.py', 'import plain\n\n\ndef main():\n    plain.pictures()\n\n\nmain()\n')
                command = [archive]
                if form == 'module':
                    with zipfile.ZipFile(archive) as packed_file:
                        packed_file.extractall(folder)
                    command = ['-m', 'studio.start']
                    with open(os.path.join(folder, 'studio', 'start.py'), 'w', encoding='ascii') as file:
                        file.write('import plain\n\n\ndef main():\n    plain.pictures()\n\n\nmain()\n')
                mapping = MAP.replace('studio.pipe:Pipe.__call__', '__main__:main')
                mapping = mapping if python.minor >= 11 or choice == 'auto' else 'python __main__:main -> request'
                traced = lib.Traced(folder, [python.path, *command], mapping=mapping,
                                    **environment(True, STAGETAP_PY=choice))
                document = lib.report(checks, '--request', 'all', traced.trace, what=label)
                checks.equal((0, 1), (traced.process.returncode, document and len(document['requests'])),
                             f'{label}: main() is the request')


def main_unnoticed(checks, pythons):
    for python in pythons:
        ends(checks, python)
        insides(checks, python)
        options(checks, python)
        other_hooks(checks, python)
        lives(checks, python)
        tools(checks, python)
        packed(checks, python)


if __name__ == '__main__':
    main_of({'names': main_names, 'unnoticed': main_unnoticed})
