#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Getting in: the commands of stagetap-recipes(7) with stand-ins for the programs; what `stagetap run` says when the
preload was lost on the way; children of another word size or C library, which must not notice."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import lib

PAGE = os.path.join(lib.SOURCE, 'analyzer', 'man', 'stagetap-recipes.7')
# Works a little: an allocation and a memset count as CUDA work, and need no kernel.
WORK = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
context, memory = ctypes.c_void_p(), ctypes.c_void_p()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4096)) == 0
assert cuda.cuMemsetD8_v2(memory, 1, ctypes.c_size_t(4096)) == 0
print("ready", flush=True)
"""
SERVE = (
    'import time\ntry:'
    + WORK.replace('\n', '\n    ')
    + 'time.sleep(60)\nexcept KeyboardInterrupt:\n    sys.exit(0)\n'
)
# As the launchers of web UIs do: TCMalloc where nothing else is set …
WEBUI = """#!/usr/bin/env bash
if [[ -z "${NO_TCMALLOC}" ]] && [[ -z "${LD_PRELOAD}" ]]; then
    export LD_PRELOAD="@MALLOC@"
fi
exec @PYTHON@ launch.py "$@"
"""
# … and as start scripts of container images: whatever is set.
WORKER = '#!/bin/sh\nMALLOC=@MALLOC@\nexport LD_PRELOAD="${MALLOC}"\nexec @PYTHON@ launch.py\n'
MAPPED = """
import re
print("mapped", sorted({m for m in re.findall(r"lib(tcmalloc|stagetap)", open("/proc/self/maps").read())}), flush=True)
"""


def page_text():
    with open(PAGE, encoding='utf-8') as file:
        return file.read().replace('\\-', '-').replace('\\e', '\\')


def run(command, folder, env=None, **more):
    return lib.run(command, env or lib.environment(preload=False, **more), folder)


def write(folder, name, text, mode=0o644, **values):
    path = os.path.join(folder, name)
    for key, value in dict(values, PYTHON=sys.executable).items():
        text = text.replace(f'@{key}@', value)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    os.chmod(path, mode)
    return path


def traces(folder):
    return sorted(name for name in os.listdir(folder) if '.stap' in name)


def last_line(result):
    return (result.stderr.splitlines() or [''])[-1]


def is_in_page(checks, command):
    checks.ok(command in page_text(), f'the page has: {command.splitlines()[0]}')


# ---- the pages ---------------------------------------------------------------------------------------


def script(checks, folder):
    """A diffusers script, and a generator of one's own."""
    is_in_page(checks, 'stagetap run -- python3 script.py\nstagetap report\n')
    write(folder, 'script.py', WORK)
    result = run([lib.STAGETAP, 'run', '--', sys.executable, 'script.py'], folder)
    checks.ok(
        result.returncode == 0 and re.match(r'stagetap: trace \S*stagetap-script\.py-\d+\.stap · ', last_line(result)),
        'a script: its name is in the name of the trace',
        result.stderr,
    )
    report = lib.stagetap('report', cwd=folder)
    checks.ok(report.returncode == 0 and 'script.py (pid ' in report.stdout, 'a script: report', report.stdout[:300])
    own = 'symbol demo_make_image -> request; symbol demo_step -> sample step'
    is_in_page(checks, "run -m 'symbol make_picture -> request; symbol one_step -> sample step' -- ./program\n")
    command = [lib.program('generate'), '--images', '2', '--steps', '2', '--out', folder + '/', '--quiet']
    result = run([lib.STAGETAP, 'run', '-m', own, '-o', 'own.stap', '--', *command], folder)
    checks.equal('stagetap: trace own.stap · stagetap report own.stap', last_line(result), 'your own program: runs')
    document = lib.report(checks, os.path.join(folder, 'own.stap'), what='your own program') or {}
    checks.equal(2, document.get('request_total'), 'your own program: two pictures')


def server(checks, folder):
    """A ComfyUI server, read while it runs and stopped by SIGINT."""
    is_in_page(checks, 'stagetap run -o comfy.stap -- python3 main.py\nstagetap report comfy.stap\n')
    write(folder, 'main.py', SERVE)
    process = subprocess.Popen(
        [lib.STAGETAP, 'run', '-o', 'comfy.stap', '--', sys.executable, 'main.py'],
        env=lib.environment(preload=False, STAGETAP_FLUSH='20ms'),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    process.stdout.readline()
    report = lib.stagetap('report', 'comfy.stap', cwd=folder)
    checks.ok('still running' in report.stdout.splitlines()[0], 'a server: report while it runs', report.stdout[:300])
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    checks.ok(process.returncode == 0 and 'comfy.stap · ' in errors, 'a server: SIGINT ends both in order', errors)
    text = lib.stagetap('verify', 'comfy.stap', cwd=folder).stdout
    checks.ok('comfy.stap: whole' in text, 'a server: the trace is whole', text)


def find_malloc():
    listed = subprocess.run(['/sbin/ldconfig', '-p'], stdout=subprocess.PIPE, universal_newlines=True, check=False)
    return next(iter(re.findall(r'libtcmalloc\S*\.so\.\d+', listed.stdout)), None)


def web_ui(checks, folder):
    malloc = find_malloc()
    is_in_page(checks, 'LD_PRELOAD=libtcmalloc.so.4 stagetap run -- ./webui.sh\n')
    is_in_page(checks, 'export LD_PRELOAD="${TCMALLOC}${LD_PRELOAD:+:$LD_PRELOAD}"\n')
    if malloc is None:
        checks.skip('web UIs: no tcmalloc is installed')
        return
    write(folder, 'launch.py', WORK + MAPPED)
    webui = write(folder, 'webui.sh', WEBUI, 0o755, MALLOC=malloc)
    worker = write(folder, 'worker.sh', WORKER, 0o755, MALLOC=malloc)
    kept = WORKER.replace('"${MALLOC}"', '"${MALLOC}${LD_PRELOAD:+:$LD_PRELOAD}"')
    keeper = write(folder, 'keeper.sh', kept, 0o755, MALLOC=malloc)
    inside = WORKER.replace('exec @PYTHON@', f'exec {lib.STAGETAP} run --exec -- @PYTHON@')
    insider = write(folder, 'insider.sh', inside, 0o755, MALLOC=malloc)
    both, ours, theirs = "['stagetap', 'tcmalloc']", "['stagetap']", "['tcmalloc']"
    for label, command, preload, want in (
        ('webui.sh alone', [webui], None, theirs),
        ('webui.sh under run alone', [lib.STAGETAP, 'run', '--', webui], None, ours),
        ('webui.sh, tcmalloc named', [lib.STAGETAP, 'run', '--', webui], malloc, both),
        ('a script that overwrites', [lib.STAGETAP, 'run', '--', worker], None, theirs),
        ('a script that keeps', [lib.STAGETAP, 'run', '--', keeper], None, both),
        ('run inside the script', [insider], None, both),
    ):
        before = traces(folder)
        result = run(command, folder, LD_PRELOAD=preload)
        mapped = re.search(r'^mapped (.*)$', result.stdout, re.M)
        checks.equal((0, want), (result.returncode, mapped and mapped.group(1)), f'{label}: is mapped')
        checks.equal('stagetap' in want, traces(folder) != before, f'{label}: a trace')
    result = lib.stagetap('doctor', '--json', worker)
    seen = [(finding['id'], finding['seen']) for finding in json.loads(result.stdout)['findings']]
    checks.equal([('preload-replaced', 'line 3: export LD_PRELOAD="${MALLOC}"')], seen, 'the doctor reads the script')


def container(checks, folder):
    """What a container is to the loader: files elsewhere, 4 MiB of /dev/shm, output in a shared folder."""
    for part in ('--gpus all --shm-size=1g', '-e LD_PRELOAD=/opt/libstagetap.so', '-e STAGETAP_OUT=/traces/'):
        is_in_page(checks, part)
    if subprocess.run(['unshare', '-mp', '--fork', 'true'], stderr=subprocess.DEVNULL, check=False).returncode:
        checks.skip('a container: unshare is not permitted')
        return
    os.mkdir(os.path.join(folder, 'opt'))
    os.mkdir(os.path.join(folder, 'shared'))
    shutil.copy(lib.PRELOAD, os.path.join(folder, 'opt'))
    inside = 'mount -t tmpfs -o size=4m none /dev/shm && mount -t proc none /proc && exec "$@"'
    generate = [lib.program('generate'), '--images', '2', '--steps', '2', '--out', folder + '/', '--quiet']
    env = lib.environment(LD_PRELOAD=os.path.join(folder, 'opt', 'libstagetap.so'))
    env['STAGETAP_OUT'] = os.path.join(folder, 'shared') + '/'
    result = run(['unshare', '-mp', '--fork', 'sh', '-c', inside, 'sh', *generate], folder, env)
    checks.equal((0, ''), (result.returncode, result.stderr), 'a container: runs, says nothing')
    document = lib.report(checks, os.path.join(folder, 'shared'), what='a container') or {}
    checks.equal(2, document.get('request_total'), 'a container: its trace is read outside')


def service(checks, folder):
    """The lines of the unit file, as systemd would set them: no shell, a clean environment, SIGINT to stop."""
    text = page_text()
    lines = re.search(r'\[Service\]\n((?:\S+=\S+\n)+)', text).group(1)
    for word in ('ProtectSystem=', 'PrivateTmp=', 'RuntimeDirectory=', 'StateDirectory='):
        checks.ok(word in text, f'the page speaks of {word}')
    env = {'PATH': os.environ['PATH'], 'LD_LIBRARY_PATH': lib.SIMGPU}
    for name, value in re.findall(r'^Environment=(\w+)=(\S+)$', lines, re.M):
        where = {'LD_PRELOAD': lib.PRELOAD, 'STAGETAP_OUT': folder + '/state/'}[name]
        checks.equal(os.path.basename(value), os.path.basename(where), f'a service: {name}')
        env[name] = where
    os.mkdir(os.path.join(folder, 'state'))
    main_py = write(folder, 'main.py', SERVE)
    process = lib.start([sys.executable, main_py], env, cwd='/', stdout=subprocess.PIPE)
    process.stdout.readline()
    process.send_signal(getattr(signal, re.search(r'^KillSignal=(\w+)$', lines, re.M).group(1)))
    checks.equal(0, process.wait(20), 'a service: ends in order')
    process.stdout.close()
    found = traces(os.path.join(folder, 'state'))
    checks.ok(len(found) == 1 and found[0].startswith('stagetap-main.py-'), 'a service: its trace', found)


def wrappers(checks, folder):
    """`--print-env` in a script, and behind env -i."""
    is_in_page(checks, 'eval "$(stagetap run --print-env)"\n')
    write(folder, 'work.py', WORK)
    command = f'eval "$({lib.STAGETAP} run --print-env -o here.stap)"\n{sys.executable} work.py'
    result = run(['env', '-i', f'LD_LIBRARY_PATH={lib.SIMGPU}', '/bin/sh', '-c', command], folder)
    checks.ok(result.returncode == 0 and 'here.stap' in traces(folder), 'run --print-env in a script', result.stderr)


# ---- what `run` says ---------------------------------------------------------------------------------


def lost(checks, folder):
    idle, static = lib.program('idle'), lib.program('idle_static')
    more = ' · stagetap doctor PID, while it runs, tells more'
    fake = os.path.join(lib.PROGRAMS, 'libfake_hip.so')
    load = 'import ctypes, sys\nfor name in sys.argv[1:]: ctypes.CDLL(name)'
    none = 'loaded no CUDA library, and no request rule matched'
    no_preload = 'LD_PRELOAD is not in its environment [preload-missing]'
    is_static = 'is statically linked [static]'
    call_twice = f'import subprocess\nfor _ in "ab": subprocess.call(["{idle}"])'
    python = os.path.basename(sys.executable)
    who = f' · stagetap doctor {static}'
    cases = [
        ('no CUDA', [idle], f'idle {none}{more}'),
        ('a static program', [static], f'{static} {is_static}, so the library was not in it{who}'),
        ('behind env -i', ['env', '-i', idle, '1'], f'idle (pid N) ran without the library: {no_preload}{more}'),
        (
            'a static child',
            ['sh', '-c', f'{static} 1; exit 3'],
            f'idle_static (pid N) ran without the library: {os.path.realpath(static)} {is_static}{more}',
        ),
        (
            'several processes',
            [sys.executable, '-c', call_twice],
            f'none of 3 processes (idle first) {none.replace("no CUDA", "a CUDA")}{more}',
        ),
        (
            'another back-end',
            [sys.executable, '-c', load, fake],
            f'{python} {none}; another back-end was loaded, which is not collected: HIP{more}',
        ),
        (
            'the driver, not called',
            [sys.executable, '-c', load, 'libcuda.so.1'],
            f'libcuda.so.1 was loaded and never called{more}',
        ),
    ]
    for name, line, fault in (('drops', f'unset LD_PRELOAD; exec {idle}', 'preload-missing'),
                              ('sets', f'LD_PRELOAD= {idle}; exit 3', 'preload-replaced')):
        wrapper = write(folder, f'{name}.sh', f'#!/bin/sh\n{line}\n', 0o755)
        lost_there = f'{wrapper}, line 2: {line} [{fault}]: the library may be lost there · stagetap doctor {wrapper}'
        cases.append((f'a script that {name}', [wrapper], lost_there))
    for label, command, want in cases:
        result = run([lib.STAGETAP, 'run', '--', *command], folder)
        said = re.sub(r'\(pid \d+\)', '(pid N)', result.stderr)
        checks.equal(f'stagetap: no trace: {want}\n', said, f'{label}: one line')
    checks.equal([], traces(folder), 'lost: no trace')
    show = 'echo /dev/shm/stagetap-run.$STAGETAP_INTERNAL_RUN; ls -l /dev/shm/stagetap-run.$STAGETAP_INTERNAL_RUN'
    shown = run([lib.STAGETAP, 'run', '--', 'sh', '-c', show], folder).stdout.splitlines()
    checks.ok(len(shown) == 2 and shown[1].startswith('-rw------- '), 'lost: the notes, of this user only', shown)
    checks.ok(not os.path.exists(shown[0]), 'lost: no notes are left')
    result = run([lib.STAGETAP, 'run', '--mode', 'off', '--', idle], folder)
    checks.equal('', result.stderr, 'switched off: nothing is said')
    bare = run([idle], folder, lib.environment(STAGETAP_INTERNAL_RUN='0' * 32))
    checks.equal((3, 'ready\n', ''), (bare.returncode, bare.stdout, bare.stderr), 'no launcher: nobody is told')
    checks.ok(not os.path.exists('/dev/shm/stagetap-run.' + '0' * 32), 'no launcher: no notes')


def privileged(checks, folder):
    if os.geteuid() != 0 or shutil.which('setpriv') is None:
        checks.skip('a set-uid program: needs root and setpriv')
        return
    place = os.path.join(folder, 'bin')
    os.makedirs(os.path.join(folder, 'lib'))
    os.mkdir(place)
    for name in (folder, place):
        os.chmod(name, 0o755)
    shutil.copy(lib.STAGETAP, place)
    shutil.copy(lib.PRELOAD, os.path.join(folder, 'lib'))
    program = os.path.join(place, 'idle')
    shutil.copy(lib.program('idle'), program)
    os.chmod(program, 0o4755)
    drop = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups']
    result = run([*drop, os.path.join(place, 'stagetap'), 'run', '--', program], folder)
    want = f'{program} is set-uid [secure], so the library was not in it · stagetap doctor {program}'
    got = (result.returncode, result.stderr)
    checks.equal((3, f'stagetap: no trace: {want}\n'), got, 'a set-uid program: one line')
    if shutil.which('sudo'):
        result = run([lib.STAGETAP, 'run', '--', 'sudo', '-n', program, '1'], folder)
        checks.ok('[preload-missing]' in result.stderr or '[secure]' in result.stderr, 'sudo: one line', result.stderr)
    else:
        checks.skip('sudo: not installed')


# ---- children of another kind ------------------------------------------------------------------------


def same_beside_us(checks, label, program, folder, noise=None):
    """Bare, preloaded and as a child of a preloaded shell it does the same; no file. `noise`: what the loader says."""
    bare = run([program], folder, lib.environment(preload=False))
    checks.equal((3, 'ready\n', ''), (bare.returncode, bare.stdout, bare.stderr), f'{label}: runs bare')
    for how, command in (('preloaded', [program]), ('a child', ['sh', '-c', f'{program}; exit $?'])):
        ours = run(command, folder, lib.environment())
        checks.equal((bare.returncode, bare.stdout), (ours.returncode, ours.stdout), f'{label}, {how}: the same')
        rest = [line for line in ours.stderr.splitlines() if noise is None or not re.search(noise, line)]
        checks.equal([], rest, f'{label}, {how}: nothing else on stderr')
        if noise:
            checks.ok(ours.stderr, f'{label}, {how}: the loader says so')
    checks.equal([], traces(folder), f'{label}: no file')


def kind(checks, label, program, folder, fault, long):
    """`run` knows the kind by its file. Returns what the doctor finds in a process of it, started by `long`."""
    result = run([lib.STAGETAP, 'run', '--', program], folder)
    checks.ok(f'[{fault}]' in last_line(result), f'{label}: `run` says why', result.stderr)
    process = lib.start(long, lib.environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    process.stdout.readline()
    found = json.loads(lib.stagetap('doctor', '--json', process.pid).stdout)
    process.kill()
    process.wait()
    process.stdout.close()
    return [finding['id'] for finding in found['findings']]


def musl(checks, folder):
    if shutil.which('musl-gcc') is None:
        checks.skip('musl: musl-gcc is not installed')
        return
    source = os.path.join(lib.SOURCE, 'tests', 'e2e', 'programs')
    for name in ('idle', 'dynamic'):
        text = os.path.join(source, f'{name}.c')
        subprocess.run(['musl-gcc', '-o', os.path.join(folder, name), text], check=True)
    program = os.path.join(folder, 'idle')
    same_beside_us(checks, 'musl', program, folder)
    same_beside_us(checks, 'musl with dlopen', os.path.join(folder, 'dynamic'), folder)
    ids = kind(checks, 'musl', program, folder, 'other-libc', [program, '60'])
    checks.equal(['other-libc', 'no-cuda-library'], ids, 'musl: the doctor, of the process')


def thirty_two(checks, folder):
    libc = '/lib32/libc.so.6'
    if not os.path.exists(libc) or not os.path.exists('/lib/ld-linux.so.2'):
        checks.skip('32 bits: no 32-bit libc is installed (libc6-i386)')
        return
    source = os.path.join(lib.SOURCE, 'tests', 'e2e', 'programs', 'idle32.c')
    for name, options in (('idle32', []), ('idle32_long', ['-DIDLE_SECONDS=60'])):
        made = os.path.join(folder, name)
        flags = ['-m32', '-ffreestanding', '-fno-stack-protector', '-fno-pie', '-fcf-protection=none', '-O1', '-c']
        subprocess.run(['gcc', *flags, *options, '-o', made + '.o', source], check=True)
        link = ['ld', '-m', 'elf_i386', '-e', 'start', '-dynamic-linker', '/lib/ld-linux.so.2']
        subprocess.run([*link, '-o', made, made + '.o', libc], check=True)
    program = os.path.join(folder, 'idle32')
    same_beside_us(checks, '32 bits', program, folder, r'^ERROR: ld\.so: object .* cannot be preloaded .*: ignored\.$')
    ids = kind(checks, '32 bits', program, folder, 'word-size', [program + '_long'])
    checks.equal(['word-size', 'no-cuda-library'], ids, '32 bits: the doctor, of the process')


def main():
    checks = lib.Checks()
    begin = time.monotonic()
    for part in (script, server, web_ui, container, service, wrappers, lost, privileged, musl, thirty_two):
        with lib.workdir() as folder:
            part(checks, os.path.realpath(folder))
    print(f'{time.monotonic() - begin:.1f} s')
    checks.finish()


if __name__ == '__main__':
    main()
