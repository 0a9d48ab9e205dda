# SPDX-License-Identifier: Apache-2.0
"""One case of programs/lives.c (or another small program), run twice in folders of its own: bare, and with the
preload. What both did must be the same; what the second left behind – traces, truth, rings – is found here."""

import glob
import os
import struct

import lib
import placing

MAP = '; '.join(
    f'symbol lives_{name} -> {name}' for name in ('request', 'encode', 'sample', 'decode')
)
STAGES = os.path.join(lib.PROGRAMS, 'liblives_stages.so')
HEADER = struct.Struct('<8sHHI16s16sIIQQQQQ16sQ')  # … rate, boot, check
OURS = ('run.stap', 'run.truth', 'made')  # beginnings of files that are not compared
PICTURE = 15  # launches of one lives_picture()


def lives(case, number=0):
    return [lib.program('lives'), case, str(number)]


class Header:
    def __init__(self, path):
        with open(path, 'rb') as file:
            fields = HEADER.unpack(file.read(8 + HEADER.size)[8:])  # behind the frame's magic and size
        self.run, self.pid, self.realtime_ns = fields[5].hex(), fields[6], fields[11]


class Run:
    """A finished run: returncode, stdout, stderr, files (name → bytes), and what it left."""

    def __init__(self, folder, command, preload, truth=True, wrapper=(), timeout=60, **env):
        os.makedirs(folder, exist_ok=True)
        self.folder = folder
        settings = {'SIMGPU_TRUTH': os.path.join(folder, 'run.truth') if truth else None}
        if preload:
            settings.update(STAGETAP_OUT=os.path.join(folder, 'run.stap'), STAGETAP_MAP=MAP)
        settings.update(env)
        result = lib.run(list(wrapper) + command, lib.environment(preload, **settings), folder, timeout)
        self.returncode, self.stdout, self.stderr = result.returncode, result.stdout, result.stderr
        self.files = {
            name: data for name, data in lib.pictures(folder).items() if not name.startswith(OURS)
        }

    def traces(self):
        return sorted(glob.glob(os.path.join(glob.escape(self.folder), 'run.stap*')))

    def kernels(self):
        """Kernels in each process's truth, largest first."""
        counts = []
        for path in glob.glob(os.path.join(glob.escape(self.folder), 'run.truth*')):
            ops, _, _ = placing.read_truth(path)
            counts.append(sum(1 for op in ops if op.op == 'kernel'))
        return sorted((count for count in counts if count), reverse=True)

    def made(self):
        with open(os.path.join(self.folder, 'made'), encoding='ascii') as file:
            return int(file.read())


def twice(checks, label, folder, command, says='', **options):
    """Bare and seen; same status, output and files. `says`: all that may stand on stderr, each line beginning so."""
    bare = Run(os.path.join(folder, 'bare'), command, False, **options)
    seen = Run(os.path.join(folder, 'seen'), command, True, **options)
    checks.equal(bare.returncode, seen.returncode, f'{label}: same exit status')
    checks.equal(bare.stdout, seen.stdout, f'{label}: same output')
    if says:
        lines = [line for line in seen.stderr.splitlines() if not line.startswith(says)]
        checks.equal(bare.stderr.splitlines(), lines, f'{label}: stderr is the same but for what we say')
    else:
        checks.equal(bare.stderr, seen.stderr, f'{label}: same stderr')
    checks.equal(bare.files, seen.files, f'{label}: same files')
    return bare, seen


def launches(document):
    groups = [request['stages'] + request['after'] for request in document['requests']]
    groups += list(document['outside'].values())
    return sum(row['launches'] or 0 for rows in groups for row in rows if '/' not in row['name'])


def check_sane(checks, label, document):
    """No negative figure anywhere, and the identity holds."""
    absurd = []

    def walk(value, where):
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(inner, f'{where}.{key}')
        elif isinstance(value, list):
            for inner in value:
                walk(inner, where)
        elif isinstance(value, (int, float)) and value < 0:
            absurd.append((where, value))

    walk(document, '')
    checks.equal([], absurd[:5], f'{label}: no negative figure')
    residuals = {device['residual_ns'] for request in document['requests'] for device in request['devices'] or []}
    checks.ok(residuals <= {0}, f'{label}: identity holds', residuals)


def report(checks, label, trace, complete=True):
    document = lib.report(checks, '--request', 'all', trace, what=label)
    if document is not None:
        check_sane(checks, label, document)
        if complete is not None:
            checks.equal([complete], [t['complete'] for t in document['traces']], f'{label}: complete: {complete}')
    return document


def lost(document):
    return sum(value or 0 for value in document['traces'][0]['lost'].values())
