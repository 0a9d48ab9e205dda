# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: the built products, running a program on simgpu with or without the
preload, reading reports (each validated against the JSON Schema), and counting what was checked.

Environment (set by meson.build): STAGETAP_BUILD, the build folder; STAGETAP_SOURCE, the source folder;
STAGETAP_EMULATOR, of a build for another processor, the command that starts its programs. STAGETAP_ANALYZER is then
the analyzer of this machine.
"""

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ.get('STAGETAP_SOURCE') or os.path.abspath(os.path.join(os.path.dirname(__file__), '..', '..'))
BUILD = os.environ.get('STAGETAP_BUILD') or sys.exit('STAGETAP_BUILD is not set: run through meson test')
PRELOAD = os.path.join(BUILD, 'preload', 'libstagetap.so')
EMULATOR = shlex.split(os.environ.get('STAGETAP_EMULATOR', ''))
STAGETAP = os.environ.get('STAGETAP_ANALYZER') or os.path.join(BUILD, 'analyzer', 'stagetap')
SIMGPU = os.path.join(BUILD, 'tests', 'simgpu', 'lib')
DEMO = os.path.join(BUILD, 'tests', 'demo')
PROGRAMS = os.path.join(BUILD, 'tests', 'e2e')
DEMO_MODEL = os.path.join(SOURCE, 'tests', 'demo', 'sd.model')
DEMO_ROWS = [('copy_back', 'output/d2h'), ('write_png', 'output/png')]  # names in its log, rows by its preset
RING_PID, RING_TRACE_PATH = 60, 128  # offsets in a ring's head page
SCHEMA = os.path.join(SOURCE, 'analyzer', 'render', 'report.schema.json')

sys.path.insert(0, os.path.join(SOURCE, 'tests', 'truth'))
import compare  # noqa: E402

try:
    import jsonschema
except ImportError:
    jsonschema = None


def is_built(name):
    """For what needs a toolkit: generate_rt, ranges_nvtx3."""
    return find_program(name) is not None


def find_program(name):
    paths = [os.path.join(folder, name) for folder in (PROGRAMS, DEMO)]
    return next((path for path in paths if os.access(path, os.X_OK)), None)


def program(name):
    """Path of a test program or of the demo."""
    return find_program(name) or sys.exit(f'{name} is not built in {BUILD}')


# ---- counting ----------------------------------------------------------------------------------------


class Checks:
    """Says what was checked and what failed; finish() ends the test."""

    def __init__(self):
        self.passed, self.failed, self.skipped = 0, [], 0

    def ok(self, condition, what, detail=''):
        if condition:
            self.passed += 1
            print(f'ok    {what}', flush=True)
        else:
            self.failed.append(what)
            print(f'FAIL  {what}' + (f'\n      {detail}' if detail != '' else ''), flush=True)
        return bool(condition)

    def equal(self, want, got, what):
        return self.ok(want == got, what, f'expected {short(want)}\n      got      {short(got)}')

    def skip(self, why):
        """A part that cannot run here; scripts/count_tests.py tells of it at the end."""
        self.skipped += 1
        print(f'skip  {why}', flush=True)

    def finish(self):
        print(f'{self.passed} checks held, {len(self.failed)} failed, {self.skipped} skipped')
        if not self.passed and not self.failed:
            print('nothing was checked')
        sys.exit(1 if self.failed or not self.passed else 0)


def short(value, limit=1500):
    text = repr(value)
    return text if len(text) <= limit else text[:limit] + ' …'


@contextlib.contextmanager
def workdir():
    """A fresh folder that is removed afterwards; kept where STAGETAP_KEEP is set."""
    path = tempfile.mkdtemp(prefix='stagetap-e2e-')
    try:
        yield path
    finally:
        for ring, _ in rings(path):  # killed targets leave theirs
            with contextlib.suppress(FileNotFoundError):
                os.unlink(ring)
        if os.environ.get('STAGETAP_KEEP'):
            print(f'kept: {path}')
        else:
            shutil.rmtree(path, ignore_errors=True)


def rings(folder):
    """Ring files in shared memory whose head names a trace in `folder`: (path, pid of the process)."""
    found = []
    for name in sorted(os.listdir('/dev/shm')):
        path = os.path.join('/dev/shm', name)
        if not name.startswith('stagetap.'):
            continue
        with contextlib.suppress(OSError), open(path, 'rb') as file:
            head = file.read(RING_TRACE_PATH + 2048)
            trace = head[RING_TRACE_PATH:].split(b'\0')[0].decode(errors='replace')
            if trace.startswith(folder + '/'):
                found.append((path, int.from_bytes(head[RING_PID : RING_PID + 4], 'little')))
    return found


# ---- running -----------------------------------------------------------------------------------------


def environment(preload=True, simgpu=True, **more):
    """The caller's environment without settings that change what is tested. None removes a name."""
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(('STAGETAP_', 'SIMGPU_', 'NVTX_', 'CUDA_', 'E2E_', 'LD_'))
    }
    if simgpu:
        env['LD_LIBRARY_PATH'] = SIMGPU
    if preload:
        env['LD_PRELOAD'] = PRELOAD
    env.update({name: str(value) for name, value in more.items() if value is not None})
    return env


def emulated(command, env):
    """What starts a program of the build folder. The emulator's own loader must not see what is meant for theirs."""
    if not EMULATOR or not command[0].startswith(BUILD + os.sep):
        return command, env
    settings = [part for name, value in env.items() if name.startswith('LD_') for part in ('-E', f'{name}={value}')]
    return EMULATOR + settings + command, {name: value for name, value in env.items() if not name.startswith('LD_')}


def run(command, env=None, cwd=None, timeout=60, stdout=subprocess.PIPE, **kwargs):
    """Runs to the end; stdout and stderr as text. A negative returncode is a signal."""
    command, env = emulated(command, env if env is not None else environment())
    return subprocess.run(
        command,
        env=env,
        cwd=cwd,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        errors='replace',
        **kwargs,
    )


def start(command, env, **kwargs):
    """A process that runs on."""
    command, env = emulated(command, env)
    return subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, **kwargs)


class Traced:
    """One run of a program on simgpu in its own folder: output, truth, stage log and trace."""

    def __init__(self, folder, command, preload=True, mapping=None, timeout=60, name='run', stdout=subprocess.PIPE,
                 **env):
        self.trace = os.path.join(folder, name + '.stap')
        self.truth = os.path.join(folder, name + '.truth')
        self.timings = os.path.join(folder, name + '.timings')
        settings = {'SIMGPU_TRUTH': self.truth, 'E2E_TIMINGS': self.timings}
        if preload:
            settings['STAGETAP_OUT'] = self.trace
            settings['STAGETAP_MAP'] = mapping
        settings.update(env)
        self.process = run(
            [part.replace('@TIMINGS@', self.timings) for part in command],
            environment(preload, **settings),
            folder,
            timeout,
            stdout,
        )

    def describe(self):
        return f'exit {self.process.returncode}\n{(self.process.stdout or "")[-1500:]}{self.process.stderr[-1500:]}'


def generate(folder, *options, which='generate', images=2, steps=4, size=64, **kwargs):
    """The demo generator; its pictures land in folder/NAME.out/. Further keywords: see Traced."""
    out = os.path.join(folder, kwargs.get('name', 'run') + '.out')
    os.makedirs(out, exist_ok=True)
    command = [
        program(which),
        '--images',
        str(images),
        '--steps',
        str(steps),
        '--size',
        str(size),
        '--out',
        out + '/',
        '--timings',
        '@TIMINGS@',
    ] + list(options)
    kwargs.setdefault('SIMGPU_MODEL', DEMO_MODEL)
    traced = Traced(folder, command, **kwargs)
    traced.out = out
    return traced


def pictures(folder):
    """name → bytes of every file below."""
    found = {}
    for parent, _, names in os.walk(folder):
        for name in sorted(names):
            with open(os.path.join(parent, name), 'rb') as file:
                found[os.path.relpath(os.path.join(parent, name), folder)] = file.read()
    return found


# ---- reading reports ---------------------------------------------------------------------------------


def stagetap(*arguments, cwd=None, timeout=60, **env):
    return run(
        [STAGETAP] + [str(argument) for argument in arguments],
        environment(preload=False, simgpu=False, **env),
        cwd,
        timeout,
    )


def report(checks, *arguments, what=None):
    """`stagetap report --json` as a document, or None. Every document is validated."""
    result = stagetap('report', '--json', *arguments)
    label = what or f'report --json {" ".join(os.path.basename(str(a)) for a in arguments)}'
    if not checks.ok(result.returncode == 0, f'{label}: exit 0', f'exit {result.returncode} {result.stderr[-800:]}'):
        return None
    try:
        document = json.loads(result.stdout)
    except ValueError as error:
        checks.ok(False, f'{label}: is JSON', f'{error} in {short(result.stdout)}')
        return None
    validate(checks, document, label)
    return document


def validate(checks, document, label, schema=SCHEMA):
    if jsonschema is None:
        checks.skip(f'{label}: not validated, python3-jsonschema is not installed')
        return
    schema_path = os.path.join(os.path.dirname(SCHEMA), schema)
    with open(schema_path, encoding='utf-8') as file:
        schema = json.load(file)
    errors = [
        f'{"/".join(str(part) for part in error.absolute_path)}: {error.message[:200]}'
        for error in jsonschema.Draft7Validator(schema).iter_errors(document)
    ]
    checks.ok(not errors, f'{label}: valid by {os.path.basename(schema_path)}', '\n      '.join(errors[:8]))


def compared(checks, label, run_once, kernel_rules=(), row_names=()):
    """Runs a program (run_once() returns a Traced), reports on it and compares with the truth. Returns the report
    or None. Only if host times alone are off – the thread was not on a CPU just between the program's clock
    reading and ours – the run is repeated, twice at most; any other difference fails at once. Host times of an emulated
    program, and what follows from them, are not judged: code is translated when it is first reached, which takes long."""
    for attempt in range(3):
        traced = run_once()
        if not checks.ok(traced.process.returncode == 0, f'{label}: runs', traced.describe()):
            return None
        checks.equal('', traced.process.stderr, f'{label}: nothing on stderr')
        document = report(checks, '--request', 'all', traced.trace, what=label)
        if document is None:
            return None
        result = compare.compare_document(document, traced.truth, traced.timings, kernel_rules, row_names)
        violations = result.beyond_host if EMULATOR else result.violations
        if not violations or not result.only_host:
            break
        print(f'{label}: attempt {attempt + 1}: host times are off, nothing else')
        os.unlink(traced.truth)
    checks.ok(
        not violations, f'{label}: agrees with the truth', f'{len(violations)} violations, see above'
    )
    return document


def rows(request, part='stages'):
    return {row['name']: row for row in request[part]}
