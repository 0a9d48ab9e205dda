# SPDX-License-Identifier: Apache-2.0
"""Running a client – a program that nobody here wrote – on simgpu, bare and under the preload, and holding both runs and
the trace against each other and against the simulator's truth. The `run` script of each client's folder uses this.

    client = Client('tinygrad')            # installs it (requirements.txt in its folder), or skips with the reason
    client.case('matmul', [client.python, 'matmul.py'])
    client.finish()                        # prints the matrix rows and the last line, sets the exit status

Installed clients are kept in $STAGETAP_CLIENTS_CACHE (default ~/.cache/stagetap/clients), by what was asked for.
"""

import difflib
import filecmp
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import agree
import error_stubs

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get('STAGETAP_BUILD', HERE.parent.parent / 'build-ci')).resolve()
PRELOAD, STAGETAP = BUILD / 'preload' / 'libstagetap.so', BUILD / 'analyzer' / 'stagetap'
SIMGPU = BUILD / 'tests' / 'simgpu' / 'lib'
CACHE = pathlib.Path(os.environ.get('STAGETAP_CLIENTS_CACHE', pathlib.Path.home() / '.cache' / 'stagetap' / 'clients'))
SKIP = 77
OURS = ('run.truth', 'run.stap', 'run.model')


def skip(reason):
    print(reason)
    sys.exit(SKIP)


def say(text):
    print(text, flush=True)


def environment(**more):
    kept = {key: value for key, value in os.environ.items()
            if not key.startswith(('STAGETAP_', 'SIMGPU_', 'LD_', 'CUDA_', 'PYTHON', 'XDG_'))}
    kept.update(HF_HUB_OFFLINE='1', PYTHONDONTWRITEBYTECODE='1', PYTHONHASHSEED='0')
    kept.update(PYTHONSAFEPATH='1')  # a folder here is no package, though it has the name of one
    kept.update({key: str(value) for key, value in more.items() if value is not None})
    return kept


class Run:
    def __init__(self, client, folder, command, preload, model, timeout, env):
        folder.mkdir()
        self.folder = folder
        home = folder.with_name(folder.name + '.home')  # what clients keep from one run for the next
        home.mkdir(exist_ok=True)
        settings = {'LD_LIBRARY_PATH': client.library_path, 'SIMGPU_TRUTH': folder / 'run.truth', 'HOME': home, **env}
        if model:
            (folder / 'run.model').write_text(model, encoding='ascii')
            settings['SIMGPU_MODEL'] = folder / 'run.model'
        if preload:
            settings.update(LD_PRELOAD=PRELOAD, STAGETAP_OUT=folder / 'run.stap')
        start = time.monotonic()
        with open(folder / 'run.stap.err', 'w+', encoding='utf-8', errors='replace') as errors:
            done = subprocess.run([str(part) for part in command], cwd=folder, env=environment(**settings),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, timeout=timeout)
            errors.seek(0)
            self.stderr = errors.read()
        self.wall_s = time.monotonic() - start
        self.status, self.stdout = done.returncode, done.stdout.decode(errors='replace')
        self.files = sorted(str(path.relative_to(folder)) for path in folder.rglob('*')
                            if path.is_file() and not path.name.startswith(OURS))
        self.traces = [path for path in sorted(folder.glob('run.stap*')) if path.name != 'run.stap.err']
        self.truths = sorted(folder.glob('run.truth*'))

    def describe(self):
        return f'exit {self.status}\n{self.stdout[-1500:]}\n{self.stderr[-2500:]}'


class Client:
    def __init__(self, name, python_version=None, building=None):
        """`building`: variables for a package that is built where it is installed."""
        self.name, self.folder = name, HERE / name
        self.failed, self.rows = 0, []
        self.libraries, self.python = [SIMGPU], None  # folders of LD_LIBRARY_PATH, Python of the packages
        for needed in (PRELOAD, STAGETAP, SIMGPU / 'libcuda.so.1'):
            if not needed.exists():
                skip(f'{needed} is missing: build first (STAGETAP_BUILD names the build folder)')
        if (self.folder / 'requirements.txt').exists():
            self.python = self._install(python_version, building or {})
        self.work = pathlib.Path(tempfile.mkdtemp(prefix=f'stagetap-{name}-'))

    # ---- installing ----

    def _install(self, python_version, building):
        """A virtual environment with just what requirements.txt pins: --no-deps, so that no NVIDIA package comes along."""
        wanted = (self.folder / 'requirements.txt').read_bytes()
        interpreter = find_python(python_version)
        asked = wanted + interpreter.encode() + ''.join(f'\n{name}={value}' for name, value in building.items()).encode()
        key = hashlib.sha256(asked).hexdigest()[:16]
        home = CACHE / f'{self.name}-{key}'
        if not (home / 'complete').exists():
            shutil.rmtree(home, ignore_errors=True)
            home.parent.mkdir(parents=True, exist_ok=True)
            say(f'installing {self.name} into {home}')
            # Building takes minutes of all cores; and pip would keep what was built by the package's name alone.
            nice, keep = (['nice', '-n', '19'], ['--no-cache-dir']) if building else ([], [])
            for command in ([interpreter, '-m', 'venv', home],
                            [*nice, home / 'bin' / 'pip', 'install', '--quiet', '--disable-pip-version-check', *keep,
                             '--no-deps', '-r', self.folder / 'requirements.txt']):
                done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      text=True, env={**os.environ, **building})
                if done.returncode != 0:
                    skip('could not be installed: ' + (done.stdout.strip().splitlines() or ['no reason given'])[-1])
            (home / 'complete').touch()
        return home / 'bin' / 'python'

    def packages(self):
        return next(self.python.parent.parent.glob('lib/python*/site-packages'))

    def make_stubs(self, *clients):
        """Stand-ins for the libraries that simgpu has not, from the client's own imports."""
        self.libraries.append(self.work / 'stubs')
        made = error_stubs.make(self.libraries[-1], SIMGPU, clients)
        say('stand-ins: ' + ', '.join(f'{soname} ({count})' for soname, count in made.items()))

    @property
    def library_path(self):
        return ':'.join(map(str, self.libraries))

    def use_compiler(self):
        """NVRTC of the client's packages, also by the plain name that only toolkits have."""
        folder, links = self.packages() / 'nvidia' / 'cu13' / 'lib', self.work / 'compiler'
        links.mkdir()
        (links / 'libnvrtc.so').symlink_to(folder / 'libnvrtc.so.13')
        self.libraries += [links, folder]

    # ---- running ----

    def check(self, condition, what, details=''):
        say(('ok    ' if condition else 'FAIL  ') + what)
        if not condition:
            self.failed += 1
            say('      ' + str(details).replace('\n', '\n      '))
        return condition

    def case(self, label, command, model='', same_files=True, same_output=True, without=None, status=0, timeout=300,
             expect=None, has_device_times=True, **env):
        """Run it twice and compare. `model`: SIMGPU_MODEL's text. `without`: a pattern of what may differ in the output.
        `expect(client, label, run, seens)`: more to be checked. `env`: further variables. Returns the traced Run."""
        folder, failed = self.work / label.replace(' ', '-'), self.failed
        folder.mkdir()
        bare = Run(self, folder / 'bare', command, False, model, timeout, env)
        if not self.check(bare.status == status, f'{label}: runs on simgpu', bare.describe()):
            return None
        seen = Run(self, folder / 'seen', command, True, model, timeout, env)
        self.check(seen.status == bare.status, f'{label}: same exit status', seen.describe())
        if same_output:
            said = [re.sub(without, '', run.stdout) if without else run.stdout for run in (bare, seen)]
            self.check(said[0] == said[1], f'{label}: same output', difference(*said))
        self.check(seen.files == bare.files, f'{label}: same files', (bare.files, seen.files))
        if same_files:
            differ = [name for name in bare.files if not filecmp.cmp(bare.folder / name, seen.folder / name, False)]
            self.check(not differ, f'{label}: files are equal byte by byte', differ)
        totals = self._compare(label, bare, seen, expect, has_device_times)
        self._note_row(label, bare, seen, totals, self.failed == failed)
        return seen

    def _compare(self, label, bare, seen, expect, has_device_times):
        truths = {pid_of(path): path for path in seen.truths}
        seens = [agree.Seen(STAGETAP, path) for path in seen.traces]
        totals = {'truth': {}, 'seen': {}}
        self.check(len(seens) == len(truths), f'{label}: a trace of each process that used CUDA', (seen.traces, truths))
        for one in seens:
            path = truths.get(one.pid, truths.get(None))
            if not self.check(path is not None, f'{label}: process {one.pid} is in the truth', truths):
                continue
            truth, told, faults = agree.compare(one, path, has_device_times)
            self.check(not faults, f'{label}: report, calls of each thread and device times as the truth has them',
                       '\n'.join(faults[:20]))
            for key in truth:
                for which, figures in (('truth', truth), ('seen', told)):
                    before, value = totals[which].get(key), figures[key]
                    totals[which][key] = (value if before is None else
                                          tuple(map(sum, zip(before, value))) if isinstance(value, tuple) else
                                          before + value)
        if expect:
            expect(self, label, seen, seens)
        return totals

    def _note_row(self, label, bare, seen, totals, is_unchanged):
        def pair(of):
            return f'{of(totals["seen"])}/{of(totals["truth"])}' if totals['truth'] else '–'
        self.rows.append(f'| {self.name} | {label} | {"yes" if is_unchanged else "no"} | ' + ' | '.join((
            pair(lambda figures: figures['launches']),
            pair(lambda figures: sum(figures[d][0] for d in agree.DIRECTIONS)),
            pair(lambda figures: figures['memsets']),
            pair(lambda figures: figures['syncs']),
            pair(lambda figures: figures['graph_launches']),
            f'{seen.wall_s:.2f}/{bare.wall_s:.2f}')) + ' |')

    def finish(self):
        for row in self.rows:
            say(row)
        if self.failed:
            say(f'work folder: {self.work}')
        else:
            shutil.rmtree(self.work, ignore_errors=True)
        say(f'launches seen/executed: {" ".join(row.split(" | ")[3] for row in self.rows)}; {len(self.rows)} cases, '
            f'{self.failed} checks failed')
        sys.exit(1 if self.failed or not self.rows else 0)


def difference(bare, seen):
    return '\n'.join(difflib.unified_diff(bare.splitlines(), seen.splitlines(), 'bare', 'seen', lineterm='', n=1))


def pid_of(truth):
    """The first process writes run.truth, others run.truth.PID."""
    return int(truth.suffix[1:]) if truth.suffix[1:].isdigit() else None


def find_toolkit():
    """The folder of a CUDA toolkit with nvcc."""
    script = HERE.parents[1] / 'scripts' / 'find_cuda.sh'
    toolkit = pathlib.Path(subprocess.run([script], stdout=subprocess.PIPE, text=True).stdout.strip() or '/nowhere')
    if not (toolkit / 'bin' / 'nvcc').exists():
        skip('no nvcc here')
    return toolkit


def find_python(version):
    """The interpreter of this version (None: the one that runs), from PATH or pyenv."""
    if version is None:
        return sys.executable
    found = shutil.which(f'python{version}')
    roots = pathlib.Path(os.environ.get('PYENV_ROOT', pathlib.Path.home() / '.pyenv')) / 'versions'
    candidates = ([found] if found else []) + [str(path) for path in sorted(roots.glob(f'{version}.*/bin/python3'))]
    for candidate in candidates:
        if subprocess.run([candidate, '-c', 'import venv'], stderr=subprocess.DEVNULL).returncode == 0:
            return candidate
    return skip(f'no Python {version} here')
