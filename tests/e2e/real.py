#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's own runtime and cuBLAS on simgpu's driver. They fail early and cleanly there – it has no private
tables – but not before they have asked for each driver function that they might need: every name of our table
must come back as a thunk, every other as it was, and the trace of even this failing program must say so.

Skipped where the toolkit is not installed."""

import os
import re
import sys

import lib

REQUESTS = os.path.join(lib.SOURCE, 'tests', 'data', 'cudart13_gpa_requests.txt')
LOGGER = os.path.join(lib.PROGRAMS, 'liblookup_log.so')
AUDIT = os.path.join(lib.BUILD, 'preload', 'libstagetap-audit.so')
TOOLKIT = os.environ.get('E2E_TOOLKIT', '')
SKIPPED = 77
OLDEST_AUDIT = (2, 35)


def golden():
    """(symbol, version, flags) in the order in which the static runtime asks."""
    with open(REQUESTS, encoding='utf-8') as file:
        return [
            (match.group(1), int(match.group(2)), int(match.group(3)))
            for match in (re.match(r'(\S*) ?ver=(\d+) flags=(\d+)', line) for line in file if line[0] != '#')
        ]


def asked(path):
    """(request, file, name there, address) of each logged look-up."""
    with open(path, encoding='utf-8') as file:
        for line in file:
            symbol, version, flags, where, name, address = line.rstrip('\n').split('\t')
            yield (symbol, int(version), int(flags)), os.path.basename(where), name, address


def watched_names(trace):
    """Exported driver names of our table, as the trace lists them."""
    dump = lib.stagetap('dump', trace)
    return set(re.findall(r'^CALLDEF .* layer=1 .* name="(\w+)"', dump.stdout, re.M))


def counters(document):
    return {name: document['traces'][0]['lookups'][name] for name in ('asked', 'found', 'wrapped', 'passed')}


def each_request(checks, folder):
    """The static runtime: each of its look-ups, alone and under the preload."""
    program = [lib.program('real_runtime')]
    logs = {}
    outputs = {}
    trace = os.path.join(folder, 'runtime.stap')
    for name, preload in {'alone': LOGGER, 'traced': LOGGER + ':' + lib.PRELOAD}.items():
        logs[name] = os.path.join(folder, name + '.lookups')
        result = lib.run(
            program,
            lib.environment(False, LD_PRELOAD=preload, E2E_LOOKUPS=logs[name], STAGETAP_OUT=trace),
            folder,
        )
        outputs[name] = (result.returncode, result.stdout, result.stderr)
    checks.equal(outputs['alone'], outputs['traced'], 'static runtime: the program ends as it does alone')
    alone, traced = list(asked(logs['alone'])), list(asked(logs['traced']))
    checks.equal(golden(), [row[0] for row in alone], 'static runtime: asks for what the golden list says')
    checks.equal([row[0] for row in alone], [row[0] for row in traced], 'static runtime: asks the same when traced')
    names = watched_names(trace)
    checks.ok(len(names) > 200, f'the table has driver names ({len(names)})')
    wrong, thunks, passed = [], {}, 0
    for (request, file, name, address), (_, traced_file, traced_name, traced_address) in zip(alone, traced):
        if name in names and file == 'libcuda.so.1':
            thunks.setdefault(name, set()).add(traced_address)
            if traced_file != 'libstagetap.so':
                wrong.append((request, 'of our table, but left alone', traced_file, traced_name))
        else:
            passed += address != '(nil)'
            if (file, name) != (traced_file, traced_name):
                wrong.append((request, 'not of our table, but changed', traced_file, traced_name))
    checks.equal([], wrong, 'static runtime: thunks for the names of our table, all others untouched')
    one_each = {address for addresses in thunks.values() for address in addresses}
    checks.equal(
        len(thunks), len(one_each), f'one thunk for each of {len(thunks)} functions'
    )
    document = lib.report(checks, trace)
    if document:
        wrapped = sum(1 for row in traced if row[1] == 'libstagetap.so')
        print(f'note: {len(traced)} asked, {wrapped} wrapped, {passed} passed')
        checks.equal(
            {'asked': len(traced), 'found': wrapped + passed, 'wrapped': wrapped, 'passed': passed},
            counters(document),
            'static runtime: the trace counts them',
        )
        checks.equal([], document['traces'][0]['not_intercepted'], 'static runtime: nothing is unknown')
        return counters(document)
    return None


def cublas(checks, folder, library, how, audit, want):
    label = f'cuBLAS by {how}{" with the shim" if audit else ""}'
    command = [lib.program('real_library'), library, how, 'cublasCreate_v2']
    alone = lib.run(command, lib.environment(False), folder)
    trace = os.path.join(folder, f'{how}{audit}.stap')
    traced = lib.run(command, lib.environment(STAGETAP_OUT=trace, LD_AUDIT=AUDIT if audit else None), folder)
    checks.equal(
        (alone.returncode, alone.stdout, alone.stderr),
        (traced.returncode, traced.stdout, traced.stderr),
        f'{label}: the program ends as it does alone',
    )
    checks.ok('create' in alone.stdout, f'{label}: cuBLAS was called', alone.stdout)
    document = lib.report(checks, trace, what=label)
    if document is None:
        return
    out_of_reach = [note for note in document['notes'] if note.startswith('out of reach: libcuda.so.1')]
    if want is None:
        checks.equal(dict.fromkeys(counters(document), 0), counters(document), f'{label}: nothing was seen')
        checks.equal(1, len(out_of_reach), f'{label}: and the trace says so')
    else:
        checks.equal(want, counters(document), f'{label}: every look-up is counted')
        checks.equal([], out_of_reach, f'{label}: nothing is out of reach')
        checks.equal([], document['traces'][0]['not_intercepted'], f'{label}: nothing is unknown')


def main():
    library = os.path.join(TOOLKIT, 'lib64', 'libcublas.so.13')
    if not lib.find_program('real_runtime') or not os.path.exists(library):
        print('skipped: no CUDA 13 toolkit with nvcc and cuBLAS')
        sys.exit(SKIPPED)
    checks = lib.Checks()
    with lib.workdir() as folder:
        want = each_request(checks, folder)
        cublas(checks, folder, library, 'plain', False, want)
        cublas(checks, folder, library, 'deepbind', False, want)
        cublas(checks, folder, library, 'dlmopen', False, None)
        if tuple(int(part) for part in os.confstr('CS_GNU_LIBC_VERSION').split()[1].split('.')[:2]) >= OLDEST_AUDIT:
            cublas(checks, folder, library, 'dlmopen', True, want)
            cublas(checks, folder, library, 'deepbind', True, want)
    checks.finish()


main()
