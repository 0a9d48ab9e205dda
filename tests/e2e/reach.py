#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stages that are native functions, declared in every way: exact where a symbol leads to them, inferred from stacks where
none does, and where there is no way the report says why. What the program prints and launches stays the same."""

import json
import os

import lib

CXX_MAP = """
    symbol reach_picture                   -> request
    symbol vae::encode*(*)                 -> encode
    symbol "unet::Sampler::sample"         -> sample
    symbol "(anonymous namespace)::step"   -> sample step
    symbol vae::decode                     -> decode
"""
C_MAP = """
    symbol reach_picture -> request
    symbol vae_encode    -> encode
    symbol unet_sample   -> sample
    symbol unet_step     -> sample step
    symbol vae_decode    -> decode
"""
LAUNCHES = {'encode': 2, 'sample': 9, 'sample/step': 6, 'decode': 2}  # of a picture; sample with its steps
EXACT, INFERRED = 'exact', 'inferred'
# program: map, what is collected, how the edges of encode and decode are known
WAYS = {
    'reach_shared': (CXX_MAP, None, EXACT),
    'reach_symbolic': (CXX_MAP, 'stacks', INFERRED),
    'reach_hidden': (CXX_MAP, None, INFERRED),
    'reach_program': (CXX_MAP, None, INFERRED),
    'reach_static': (C_MAP, None, INFERRED),
}


def environment(folder, collect=None, **more):
    return lib.environment(STAGETAP_OUT=os.path.join(folder, 'run.stap'), STAGETAP_COLLECT=collect, **more)


def bare(checks, name, *arguments):
    result = lib.run([lib.program(name), *arguments], lib.environment(preload=False))
    checks.equal((0, ''), (result.returncode, result.stderr), f'{name}: runs bare')
    return result.stdout


def traced(checks, folder, label, name, mapping, collect=None, arguments=(), **env):
    """The report, after the program has printed what it prints bare."""
    result = lib.run([lib.program(name), *arguments], environment(folder, collect, STAGETAP_MAP=mapping, **env), folder)
    checks.equal(
        (0, bare(checks, name, *arguments), ''),
        (result.returncode, result.stdout, result.stderr),
        f'{label}: exit status and output as bare',
    )
    return lib.report(checks, '--request', 'all', os.path.join(folder, 'run.stap'), what=label)


def way(checks, name, arguments):
    mapping, collect, stage_edges = WAYS[name]
    label = ' '.join([name, *arguments])
    if not lib.is_built(name):
        checks.skip(f'{label}: no C++ compiler when this was built')
        return
    with lib.workdir() as folder:
        document = traced(checks, folder, label, name, mapping, collect, arguments)
    requests = document['requests'] if document else []
    checks.equal(3, len(requests), f'{label}: pictures')
    for request in requests:
        what, rows = f'{label}: request {request["id"]}', lib.rows(request)
        checks.equal(LAUNCHES, {row: rows[row]['launches'] for row in LAUNCHES if row in rows}, f'{what}: launches')
        checks.equal(3, request['steps'], f'{what}: steps')
        checks.equal(0, rows['unattributed']['launches'], f'{what}: nothing is left over')
        for row in ('encode', 'decode'):
            checks.equal(stage_edges, rows[row]['edges'], f'{what}: edges of {row}')
        for row in ('sample/step', 'sample'):  # a row is as well known as what is in it
            checks.equal(INFERRED, rows[row]['edges'], f'{what}: edges of {row}, a function in no symbol table')
        checks.equal(
            [1, 1, 1], [rows[row]['calls'] for row in ('encode', 'sample', 'decode')], f'{what}: recursion is one call'
        )
    checks.equal([], document['unmatched_rules'] if document else None, f'{label}: every rule matched')


def reasons(checks):
    """A rule that cannot work says why."""
    for name, mapping, collect, wanted in (
        ('reach_symbolic', CXX_MAP, None, 'symbol vae::decode -> decode: defined in libreach_symbolic.so, but no caller'),
        ('reach_symbolic', CXX_MAP, None, '`stagetap run --collect stacks` looks for it'),
        ('reach_stripped', CXX_MAP, None, 'symbol vae::decode -> decode: no function of this name in any loaded object'),
        ('reach_stripped', CXX_MAP, None, 'nor have static and hidden ones of stripped files'),
        ('reach_inlined', CXX_MAP, None, 'inlined ones have no symbol'),
        ('reach_shared', 'symbol reach_picture -> request; symbol vae::none -> x', None, 'symbol vae::none -> x: no function'),
        ('reach_shared', 'symbol reach_spare -> x', None, 'defined in libreach_shared.so, and never called by way of its'),
        ('reach_shared', 'symbol reach_unused -> x', None, 'defined in libreach_shared.so, but no caller goes by its symbol'),
        ('reach_symbolic', 'symbol reach_unused -> x', 'stacks', 'it was on no stack at a CUDA call either'),
        ('reach_static', 'symbol reach_spare -> x', None, 'in the .symtab of the program only (static or hidden); it was on no'),
    ):
        label = f'{name}: {wanted}'
        if not lib.is_built(name):
            checks.skip(f'{name}: no C++ compiler when this was built')
            continue
        with lib.workdir() as folder:
            document = traced(checks, folder, label, name, mapping, collect)
        notes = [note for note in document['notes'] if note.startswith('rule: ')] if document else []
        checks.ok(any(wanted in note for note in notes), f'{label}: said', notes)


def no_unwinder(checks):
    """Without libgcc_s nothing can be found on stacks: said, and the program runs on."""
    label = 'no unwinder'
    with lib.workdir() as folder:
        with open(os.path.join(folder, 'libgcc_s.so.1'), 'w', encoding='ascii') as file:
            file.write('not a library')
        result = lib.run(
            [lib.program('reach_static')],
            environment(folder, STAGETAP_MAP=C_MAP, LD_LIBRARY_PATH=f'{folder}:{lib.SIMGPU}'),
            folder,
        )
        checks.equal((0, bare(checks, 'reach_static'), ''), (result.returncode, result.stdout, result.stderr), label)
        document = lib.report(checks, os.path.join(folder, 'run.stap'), what=label)
    text = 'libgcc_s.so.1, which unwinds stacks, could not be loaded'
    checks.ok(any(text in note for note in document['notes']), f'{label}: said beside the rule', document['notes'])
    checks.ok(any(text in what for what in document['not_collected']), f'{label}: not collected', document['not_collected'])


def names(checks):
    """With `stacks` the functions that were met are names for a map, C++ ones as people write them."""
    for name, wanted in (
        ('reach_hidden', {'vae::encode', 'vae::decode', 'unet::Sampler::sample', 'main', 'reach_picture'}),
        ('reach_static', {'vae_encode', 'vae_decode', 'unet_sample', 'unet_step', 'main'}),
    ):
        if not lib.is_built(name):
            checks.skip(f'{name}: no C++ compiler when this was built')
            continue
        with lib.workdir() as folder:
            traced(checks, folder, f'{name}: names', name, 'symbol reach_picture -> request', 'stacks', ['slow'])
            dump = lib.stagetap('dump', '--json', os.path.join(folder, 'run.stap')).stdout.splitlines()
        seen = {row.get('name') for row in map(json.loads, dump) if row.get('table') == 'SEEN'}
        checks.ok(wanted <= seen, f'{name}: names seen', f'missing {sorted(wanted - seen)} of {sorted(map(str, seen))}')


def main():
    checks = lib.Checks()
    for name in WAYS:
        way(checks, name, [])
    for name in ('reach_shared', 'reach_symbolic', 'reach_hidden', 'reach_program'):
        way(checks, name, ['throw'])
    reasons(checks)
    no_unwinder(checks)
    names(checks)
    checks.finish()


main()
