#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes: fork in all its ways, exec, spawn, each way to end, and what programs do to their files and
environment. With and without us the same; one trace for each process that uses CUDA; every launch in it."""

import os
import shutil
import stat
import subprocess
import sys
import time

import lib
import lives
import traces

STORM = {'short': 200, 'long': 2000}
DEVICE_RECORDS = 3  # kind of a chunk
SMALL_BYTES, SMALL_LAUNCHES = 96 << 10, 48000  # less than a trace of so many launches has as a rule


def one_trace(checks, label, run, complete=True):
    """The only trace has every launch of the truth. Returns its report."""
    names = [os.path.basename(path) for path in run.traces()]
    if not checks.equal(['run.stap'], names, f'{label}: one trace'):
        return None
    document = lives.report(checks, label, run.traces()[0], complete)
    if document is not None:
        checks.equal(0, lives.lost(document), f'{label}: nothing lost')
        checks.equal(run.kernels(), [lives.launches(document)], f'{label}: every launch is there')
    return document


def simple(checks, case, number, requests, **options):
    """A case with one process that uses CUDA."""
    with lib.workdir() as folder:
        _, seen = lives.twice(checks, case, folder, lives.lives(case, number), **options)
        document = one_trace(checks, case, seen)
        if document is not None:
            checks.equal(requests, len(document['requests']), f'{case}: requests')
        checks.equal([], lib.rings(folder), f'{case}: no ring is left')
        return document


def several(checks, case, number, traces, truth=True):
    """Processes that write a trace each: {what follows NAME, the process's number as PID: launches}."""
    with lib.workdir() as folder:
        _, seen = lives.twice(checks, case, folder, lives.lives(case, number))
        found, stages = {}, {}
        headers = [lives.Header(path) for path in seen.traces()]
        for path in seen.traces():
            name = os.path.basename(path)[len('run.stap') :]
            pid = lives.Header(path).pid
            document = lives.report(checks, f'{case}{name}', path, complete=None)
            if document is not None:
                stages[name.replace(str(pid), 'PID')] = {
                    row['name'] for request in document['requests'] for row in request['stages']}
                found[name.replace(str(pid), 'PID')] = lives.launches(document)
        checks.equal(traces, found, f'{case}: traces and their launches')
        counts = sorted((count for count in found.values() if count), reverse=True)
        if truth:
            checks.equal(seen.kernels(), counts, f'{case}: as the truth')
        checks.equal(1, len({header.run for header in headers}), f'{case}: all carry the same run id')
        return stages


# ---- fork ------------------------------------------------------------------------------------------------


def forks(checks):
    picture = lives.PICTURE
    simple(checks, 'fork_idle', 2, 4)
    simple(checks, 'fork_bare', 2, 4)
    simple(checks, 'fork_clone', 2, 4)
    stages = several(checks, 'fork_request', 1, {'': picture, '.PID': 0})
    checks.equal({'encode', 'decode', 'unattributed'}, stages.get('.PID'), 'fork_request: the stages of the child')
    simple(checks, 'fork_inside', 2, 2)


def fork_gone(checks):
    """The child's first call, while another thread of the parent was closing a library."""
    with lib.workdir() as folder:
        _, seen = lives.twice(checks, 'fork_gone', folder, lives.lives('fork_gone'))
        checks.equal((0, 'child 9\n'), (seen.returncode, seen.stdout), 'fork_gone: the child gets its error')


def fork_before(checks):
    """Parent and child race for the name; under `stagetap run` both have its run id."""
    with lib.workdir() as folder:
        trace = os.path.join(folder, 'run.stap')
        env = lib.environment(False, SIMGPU_TRUTH=os.path.join(folder, 'run.truth'))
        command = [lib.STAGETAP, 'run', '-m', lives.MAP, '-o', trace, '--'] + lives.lives('fork_before', 3)
        result = lib.run(command, env, folder)
        checks.equal((0, 'child 6\n'), (result.returncode, result.stdout), 'fork_before: runs under `stagetap run`')
        paths = sorted(path for path in os.listdir(folder) if path.startswith('run.stap'))
        headers = [lives.Header(os.path.join(folder, path)) for path in paths]
        checks.equal(2, len({header.pid for header in headers}), 'fork_before: a trace of each process')
        checks.equal(1, len({header.run for header in headers}), 'fork_before: one run id')
        other = [header.pid for path, header in zip(paths, headers) if path != 'run.stap']
        checks.equal(['run.stap'] + [f'run.stap.{pid}' for pid in other], paths, 'fork_before: NAME and NAME.PID')
        counts = []
        for path in paths:
            document = lives.report(checks, f'fork_before {path}', os.path.join(folder, path))
            counts.append(lives.launches(document) if document else None)
        checks.equal([3 * lives.PICTURE, 4 * lives.PICTURE], sorted(counts), 'fork_before: each has its launches')


def run_ids(checks):
    """What one command with us in front starts is one run, also where the command itself has no CUDA; the next command
    is another run."""
    with lib.workdir() as folder:
        env = lib.environment(True, STAGETAP_OUT=folder + '/', STAGETAP_MAP=lives.MAP)
        one = ' '.join(lives.lives('pictures', 1))
        runs = []
        for _ in range(2):
            result = lib.run(['sh', '-c', f'{one} & (sh -c "{one}; exit 0"); wait'], env, folder)
            checks.equal((0, ''), (result.returncode, result.stderr), 'run ids: the shell and its programs')
            found = {lives.Header(os.path.join(folder, path)).run for path in os.listdir(folder)}
            runs.append(found - set().union(*runs))
        checks.equal([1, 1], [len(run) for run in runs], 'run ids: one for each command')


def fork_storm(checks, rounds):
    label = f'{rounds} forks while three threads launch'
    with lib.workdir() as folder:
        begin = time.monotonic()
        _, seen = lives.twice(checks, label, folder, lives.lives('fork_storm', rounds), timeout=30 + rounds // 5)
        checks.equal(f'{rounds} children\n', seen.stdout, f'{label}: no child hangs or fails')
        print(f'note: {label}: {time.monotonic() - begin:.1f} s')
        traces = [path for path in seen.traces() if not path.endswith('.stap')]
        checks.equal([], traces, f'{label}: no trace of a child')
        document = lives.report(checks, label, seen.traces()[0])
        if document:
            counted = lives.launches(document) + lives.lost(document)
            checks.equal(seen.kernels(), [counted], f'{label}: the parent has every launch')


def images(checks):
    picture = lives.PICTURE
    several(checks, 'vfork_exec', 1, {'': 2 * picture, '.PID': 2 * picture})
    several(checks, 'spawn', 1, {'': 2 * picture, '.PID': 2 * picture})
    # The second image writes over the truth of the first.
    several(checks, 'exec', 3, {'': 3 * picture, '.2': 2 * picture}, truth=False)
    with lib.workdir() as folder:
        _, seen = lives.twice(checks, 'spawn_cleared', folder, lives.lives('spawn_cleared', 1))
        one_trace_of = [os.path.basename(path) for path in seen.traces()]
        checks.equal(['run.stap'], one_trace_of, 'spawn_cleared: without LD_PRELOAD the child is nobody’s')


# ---- the end ------------------------------------------------------------------------------------------------

ENDS = {0: ('exit', 10, True), 1: ('_exit', 11, False), 2: ('quick_exit', 12, True), 3: ('abort', -6, False)}
ENDS.update({4: ('SIGKILL', -9, False), 5: ('return from main', 15, True)})


def without_records(checks, name, trace):
    """As if it had ended before its first device records were written (on an idle machine it has): nothing claims that
    they are there, and what the host knows is shown."""
    with open(trace, 'rb') as file:
        header, chunks = traces.take_apart(file.read())
    kept = [(head, payload) for head, payload in chunks if head[1] != DEVICE_RECORDS]
    for number, (head, _) in enumerate(kept):
        head[0] = number
    with open(trace, 'wb') as file:
        file.write(traces.put_together(header, kept))
    document = lives.report(checks, f'{name} without records', trace, False)
    if document is None:
        return
    checks.equal('not_collected', document['device_time'], f'{name}: no device time')
    checks.equal(
        [True, True], [request['complete'] for request in document['requests']], f'{name}: requests end with the host'
    )
    checks.ok(not any('yet' in note for note in document['notes']), f'{name}: nothing is to come', document['notes'])
    screen = lib.stagetap('report', trace).stdout
    head = screen.splitlines()[0]
    checks.ok('no device record in the trace' in head and 'measured' not in head, f'{name}: head', head)
    row = next((line.split() for line in screen.splitlines() if line.startswith('decode ')), [])
    checks.ok('–' in row and row[4:5] != ['–'], f'{name}: host columns are shown, device columns are not', row)
    checks.equal(1, lib.stagetap('report', '--strict', trace).returncode, f'{name}: --strict')


def ends(checks):
    """While four threads launch. What had returned before the end began is in the trace or its ring."""
    for number, (name, status, is_orderly) in ENDS.items():
        with lib.workdir() as folder:
            _, seen = lives.twice(checks, name, folder, lives.lives('end', number))
            checks.equal(status, seen.returncode, f'{name}: status')
            if not checks.equal(1, len(seen.traces()), f'{name}: one trace'):
                continue
            document = lives.report(checks, name, seen.traces()[0], is_orderly)
            if document is None:
                continue
            counted, wanted = lives.launches(document) + lives.lost(document), seen.made() + 2 * lives.PICTURE
            checks.ok(counted >= wanted, f'{name}: all {wanted} launches before the end are there', counted)
            checks.equal(2, len(document['requests']), f'{name}: both requests')
            if number in (1, 3):
                without_records(checks, name, seen.traces()[0])
            verify = lib.stagetap('verify', seen.traces()[0])
            checks.ok(verify.returncode in (0, 1), f'{name}: verify', verify.stdout[-600:])
            if is_orderly:
                checks.ok('closed in order' in verify.stdout, f'{name}: closed in order', verify.stdout[-600:])
                checks.equal([], lib.rings(folder), f'{name}: no ring is left, though threads went on')
    with lib.workdir() as folder:
        label = 'launches in exit handlers and destructors'
        _, seen = lives.twice(checks, label, folder, lives.lives('end_late', 2))
        document = lives.report(checks, label, seen.traces()[0])
        if document:
            found, made = lives.launches(document), seen.kernels()[0]
            checks.equal(made, found, f'{label}: all launches are there')
            late = made - 2 * lives.PICTURE
            checks.equal(late, document['traces'][0]['lost']['launches_without_record'],
                         f'{label}: the late ones have no device record, and that is said')
    with lib.workdir() as folder:
        label = 'main() left by pthread_exit'
        _, seen = lives.twice(checks, label, folder, lives.lives('last_thread'), truth=False, timeout=20)
        document = lives.report(checks, label, seen.traces()[0])
        if document:
            checks.equal(2, len(document['requests']), f'{label}: both requests')
    for delay_us in (300, 900, 1600):
        with lib.workdir() as folder:
            lives.twice(checks, f'a thread works on when CUDA is done with ({delay_us} us)', folder,
                        lives.lives('last_worker', delay_us), truth=False, timeout=20)
    with lib.workdir() as folder:
        begin = time.monotonic()
        lives.twice(checks, 'exit() in a handler, from within malloc', folder, lives.lives('exit_in_handler'),
                    truth=False, MALLOC_ARENA_MAX='1')
        checks.ok(time.monotonic() - begin < 2.5, 'exit() in a handler, from within malloc: no wait',
                  time.monotonic() - begin)


# ---- files, folders, environment -------------------------------------------------------------------------------


def closed_stdio(checks):
    """Any of 0, 1 and 2 closed at the start: the program's files get those numbers, and keep their contents."""
    for closed in ('<&-', '>&-', '2>&-', '<&- >&- 2>&-'):
        with lib.workdir() as folder:
            shell = ['bash', '-c', f'exec "$@" {closed}', 'bash']
            label = f'no_stdio {closed}'
            # A bad setting would be a line on stderr: where there is none, it must not go into the program's file.
            env = {'STAGETAP_FLUSH': 'nonsense' if '2' in closed else None}
            _, seen = lives.twice(
                checks, label, folder, lives.lives('no_stdio', 2), wrapper=shell, truth=False, **env
            )
            document = lives.report(checks, label, seen.traces()[0])
            checks.equal(2 * lives.PICTURE, lives.launches(document), f'{label}: every launch is there')


def files(checks):
    simple_no_truth(checks, 'close_all', 6, 7)
    simple_no_truth(checks, 'chdir', 2, 2)
    simple_no_truth(checks, 'clearenv', 2, 2)


def simple_no_truth(checks, case, number, requests):
    """Where the program takes the simulator's truth away: descriptors, folder or environment."""
    with lib.workdir() as folder:
        _, seen = lives.twice(checks, case, folder, lives.lives(case, number), truth=False)
        document = lives.report(checks, case, seen.traces()[0])
        if document:
            checks.equal(
                (requests, requests * lives.PICTURE, 0),
                (len(document['requests']), lives.launches(document), lives.lost(document)),
                f'{case}: requests, launches, nothing lost',
            )
        checks.equal([], lib.rings(folder), f'{case}: no ring is left')


def default_name(checks):
    """Relative to the folder in which the process started, wherever it went."""
    with lib.workdir() as folder:
        env = lib.environment(True, STAGETAP_MAP=lives.MAP)
        result = lib.run(lives.lives('chdir', 1), env, folder)
        checks.equal((0, ''), (result.returncode, result.stderr), 'default name: runs')
        names = [name for name in os.listdir(folder) if name.startswith('stagetap-lives-')]
        checks.equal(1, len(names), 'default name: in the folder where the process started')


def limits(checks):
    with lib.workdir() as folder:
        label = 'RLIMIT_FSIZE'
        command = lives.lives('small_files', SMALL_BYTES)
        _, seen = lives.twice(checks, label, folder, command, says='stagetap: ', truth=False)
        checks.equal(0, seen.returncode, f'{label}: no signal to the program')
        checks.ok(all(os.path.getsize(path) <= SMALL_BYTES for path in seen.traces()), f'{label}: holds for us, too')
        for path in seen.traces():
            document = lives.report(checks, label, path)
            if document:
                lost = document['traces'][0]['lost']
                missing = SMALL_LAUNCHES - lives.launches(document)
                checks.ok(missing <= lost['limit'] + lost['disk'], f'{label}: what was lost is counted', (missing, lost))
                checks.equal(240, len(document['requests']), f'{label}: boundaries go on')
    with lib.workdir() as folder:
        label = 'RLIMIT_NOFILE before'
        _, seen = lives.twice(checks, label, folder, lives.lives('few_files', 12), says='stagetap: ', truth=False)
        checks.equal(([], True), (seen.traces(), 'no trace is written' in seen.stderr), f'{label}: no trace, said')
    with lib.workdir() as folder:
        label = 'RLIMIT_NOFILE in the middle'
        _, seen = lives.twice(checks, label, folder, lives.lives('full_files', 64), truth=False)
        document = lives.report(checks, label, seen.traces()[0])
        if document:
            checks.equal(3, len(document['requests']), f'{label}: all requests')
            checks.ok(lives.launches(document) >= 3 * lives.PICTURE + 2, f'{label}: launches', lives.launches(document))


def small_shm(checks):
    """A full /dev/shm: rings of private memory, all the same figures, and never a SIGBUS."""
    command = 'mount -t tmpfs -o size=16k tmpfs /dev/shm && exec "$@"'
    inside = ['unshare', '-m', 'bash', '-c', command, 'bash']
    if not shutil.which('unshare') or subprocess.run(inside + ['true'], stderr=subprocess.DEVNULL).returncode != 0:
        checks.skip('full /dev/shm: a mount namespace of our own is not permitted')
        return
    with lib.workdir() as folder:
        label = 'full /dev/shm'
        _, seen = lives.twice(checks, label, folder, lives.lives('many_threads', 20), wrapper=inside)
        traces = [path for path in seen.traces() if '.ring.' not in path]
        document = lives.report(checks, label, traces[0])
        if document:
            checks.equal(seen.kernels(), [lives.launches(document) + lives.lost(document)], f'{label}: every launch')
        left = [path for path in seen.traces() if '.ring.' in path]
        checks.equal([], left, f'{label}: no ring is left beside the trace')


def privileged(checks):
    """A set-user-id program: the loader leaves us out, or we stay out ourselves."""
    cat = shutil.which('cat')
    if os.getuid() != 0 or not cat:
        checks.skip('set-user-id program: only root can make one here')
        return
    with lib.workdir() as folder:
        os.chmod(folder, 0o755)
        copy = shutil.copy(cat, os.path.join(folder, 'cat'))
        os.chown(copy, 65534, 65534)
        os.chmod(copy, stat.S_ISUID | 0o755)
        status = lib.run([copy, '/proc/self/status'], lib.environment(False), folder).stdout
        if '\t65534\t' not in status.split('Uid:')[1].splitlines()[0]:
            checks.skip('set-user-id program: the file system of the temporary folder ignores the bit')
            return
        before = sorted(os.listdir(folder))
        result = lib.run([copy, os.path.join(lib.SOURCE, 'LICENSE')], lib.environment(True), folder)
        bare = lib.run([copy, os.path.join(lib.SOURCE, 'LICENSE')], lib.environment(False), folder)
        checks.equal(
            (bare.returncode, bare.stdout, bare.stderr),
            (result.returncode, result.stdout, result.stderr),
            'set-user-id program: runs as ever',
        )
        checks.equal(before, sorted(os.listdir(folder)), 'set-user-id program: no file')


def main():
    checks = lib.Checks()
    if 'storm' in sys.argv[1:]:
        fork_storm(checks, STORM['long'])
        checks.finish()
    forks(checks)
    fork_gone(checks)
    fork_before(checks)
    run_ids(checks)
    fork_storm(checks, STORM['short'])
    images(checks)
    ends(checks)
    closed_stdio(checks)
    files(checks)
    default_name(checks)
    limits(checks)
    small_shm(checks)
    privileged(checks)
    checks.finish()


if __name__ == '__main__':
    main()
