#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NVTX from programs that use it before CUDA is there, across threads, in domains and from the old shared library; the
environment stays as it is, and a process without CUDA leaves nothing."""

import json
import os

import lib


def names_of(checks, trace, *options):
    result = lib.stagetap('map', 'names', '--json', *options, trace)
    if not checks.ok(result.returncode == 0, 'map names: exit 0', result.stderr):
        return []
    document = json.loads(result.stdout)
    lib.validate(checks, document, 'map names', 'names.schema.json')
    return document['names']


def counts(names, source):
    return {name['name']: name['count'] for name in names if name['source'] == source}


def seen_early(checks):
    """A range in a constructor, before main() and before libcuda; all kinds of names."""
    if not lib.is_built('nvtx_ways'):
        print('nvtx_ways is not built here (no toolkit, or no C++ compiler)')
        return
    for tool in (None, '/no/such/tool.so'):
        with lib.workdir() as folder:
            command = [lib.program('nvtx_ways')]
            bare = lib.run(command, lib.environment(preload=False, NVTX_INJECTION64_PATH=tool), folder)
            traced = lib.Traced(folder, command, NVTX_INJECTION64_PATH=tool)
            label = f'NVTX before CUDA{", another tool is named" if tool else ""}'
            checks.equal(0, bare.returncode, f'{label}: runs')
            checks.equal(f'cuInit 0\nvariables {int(tool is not None)}\n{int(tool is not None)}\n', bare.stdout,
                         f'{label}: what the program sees without us')
            checks.equal((0, bare.stdout, ''), (traced.process.returncode, traced.process.stdout, traced.process.stderr),
                         f'{label}: the same with us: the variable of neither it nor its child')
            checks.equal(
                {'before main': 1, 'request': 1, 'encode': 1, 'sample ä': 1, 'decode': 1, 'output': 1, 'a mark': 1},
                counts(names_of(checks, traced.trace), 'nvtx'), f'{label}: every name was seen')
            document = lib.report(checks, '--request', 'all', traced.trace, what=label)
            for request in document['requests'] if document else []:
                found = {row['name']: row['calls'] for row in request['stages'] if row['calls']}
                checks.equal({'encode': 1, 'sample': 1}, found, f'{label}: the stages until the pop too many')
            checks.equal(1, len(document['requests']) if document else 0, f'{label}: one request')


def no_cuda(checks):
    """Ranges that are stages, in a process without CUDA: nothing is left behind but by a request."""
    if not lib.is_built('nvtx_ways'):
        checks.skip('ranges without CUDA: no NVTX headers when this was built')
        return
    with lib.workdir() as folder:
        command, mapping = [lib.program('nvtx_ways'), 'without'], 'nvtx encode -> encode; nvtx decode -> decode'
        bare = lib.run(command, lib.environment(preload=False), folder)
        seen = lib.run(command, lib.environment(STAGETAP_MAP=mapping), folder)
        checks.equal((bare.returncode, bare.stdout, bare.stderr), (seen.returncode, seen.stdout, seen.stderr),
                     'NVTX without CUDA: the same')
        checks.equal([], os.listdir(folder), 'NVTX without CUDA: no file')
        checks.equal([], lib.rings(folder), 'NVTX without CUDA: nothing in shared memory')


def ended_elsewhere(checks):
    with lib.workdir() as folder:
        label = 'a range that another thread ends'
        traced = lib.Traced(folder, [lib.program('nvtx_threads')])
        checks.equal((0, '', ''), (traced.process.returncode, traced.process.stdout, traced.process.stderr),
                     f'{label}: runs')
        document = lib.report(checks, '--request', 'all', traced.trace, what=label)
        for request in document['requests'] if document else []:
            rows = lib.rows(request)
            checks.equal((2, 3), (rows['decode']['launches'], rows['unattributed']['launches']),
                         f'{label}: 2 launches inside, 3 after it')
        checks.equal(3, len(document['requests']) if document else 0, f'{label}: 3 requests, for all the pops too many')
        rows = [json.loads(line) for line in
                lib.stagetap('dump', '--json', '--table', 'span_end', traced.trace).stdout.splitlines()]
        late = [row['late_ticks'] > 0 for row in rows]
        checks.equal(3, late.count(True), f'{label}: how late the end was noticed is recorded, and for no other end')


def old_library(checks):
    with lib.workdir() as folder:
        label = 'libnvToolsExt'
        command = [lib.program('nvtx_linked')]
        traced = lib.Traced(folder, command)
        checks.equal((0, 'cuInit 0\n', ''), (traced.process.returncode, traced.process.stdout, traced.process.stderr),
                     f'{label}: runs')
        checks.equal({'first of all': 1, 'request': 1, 'encode': 1, 'decode': 1},
                     counts(names_of(checks, traced.trace), 'nvtx'), f'{label}: names')
        document = lib.report(checks, '--request', 'all', traced.trace, what=label)
        found = [{row['name']: row['calls'] for row in request['stages'] if row['calls']}
                 for request in (document['requests'] if document else [])]
        checks.equal([{'encode': 1, 'decode': 1}], found, f'{label}: stages')


def not_asked(checks):
    """A map without an nvtx rule: NVTX is left alone, and the answer says so."""
    with lib.workdir() as folder:
        traced = lib.Traced(folder, [lib.program('nvtx_linked')], mapping='symbol main -> request')
        names = names_of(checks, traced.trace, '--source', 'nvtx')
        checks.equal([], names, 'no nvtx rule: no names')
        text = lib.stagetap('map', 'names', traced.trace).stdout
        checks.ok('nvtx: no names' in text and "STAGETAP_MAP='nvtx" in text, 'no nvtx rule: what to do is said', text)


def main():
    checks = lib.Checks()
    seen_early(checks)
    no_cuda(checks)
    ended_elsewhere(checks)
    old_library(checks)
    not_asked(checks)
    checks.finish()


if __name__ == '__main__':
    main()
