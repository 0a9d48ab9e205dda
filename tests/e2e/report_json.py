#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`report --json` has every key of the contract in every document, and what was not collected is null, never 0:
checked on a full trace and on traces without device time (no CUPTI, refused, switched off)."""

import json

import lib

ROW = {
    'name',
    'calls',
    'wall_share_ns',
    'host_inclusive_ns',
    'host_self_ns',
    'own_cpu_ns',
    'off_cpu_ns',
    'in_cuda_ns',
    'waiting_ns',
    'device',
    'launches',
    'launches_self',
    'graph_launches',
    'graph_nodes',
    'captured',
    'failed',
    'memsets',
    'copies',
    'edges',
    'device_time',
}
KEYS = {
    '': {
        'schema',
        'simulated',
        'live',
        'open_requests',
        'traces',
        'devices',
        'capabilities',
        'manifest',
        'rounds',
        'requests',
        'outside',
        'gaps',
        'gaps_total',
        'syncs',
        'kernels',
        'transfers',
        'findings',
        'api_errors',
        'unmatched_rules',
        'notes',
    },
    'traces': {
        'file',
        'pid',
        'program',
        'mode',
        'complete',
        'lost',
        'clock',
        'monotonic_start_ns',
        'utc_start',
        'own_overhead_ns',
        'lookups',
        'not_intercepted',
    },
    'traces.clock': {'source', 'residual_ns'},
    'traces.lost': {'ring_full', 'cupti_dropped', 'unmatched_device'},
    'traces.lookups': {'asked', 'found', 'wrapped', 'passed', 'not_found'},
    'devices': {'device', 'uuid', 'name', 'pids'},
    'capabilities': {'kind', 'state', 'source', 'why'},
    'manifest': {'declared', 'found'},
    'rounds': {'rule', 'load_ns', 'first', 'warmup', 'steady', 'steady_wall_ns'},
    'rounds.steady_wall_ns': {'n', 'median', 'min', 'max', 'spread'},
    'requests': {
        'id',
        'complete',
        'thread',
        'shape',
        'phase',
        'implicit',
        'begin_ns',
        'wall_ns',
        'host_return_ns',
        'device_done_ns',
        'wall_with_tail_ns',
        'steps',
        'devices',
        'stages',
        'after',
    },
    'requests.devices': {
        'device',
        'busy_ns',
        'stages_self_ns',
        'shared_ns',
        'unattributed_ns',
        'other_ns',
        'overlap_other_ns',
        'idle_ns',
        'idle_by_cause',
        'residual_ns',
    },
    'requests.stages': ROW,
    'requests.after': ROW,
    'requests.stages.device': {'device', 'busy_ns', 'compute_ns', 'copy_only_ns', 'self_ns'},
    'requests.stages.memsets': {'count', 'bytes', 'busy_ns'},
    'requests.stages.copies': {'h2d', 'd2h', 'd2d', 'p2p'},
    'requests.stages.copies.h2d': {'count', 'bytes', 'busy_ns'},
    'outside': {'before_first', 'between', 'after_last'},
    'outside.before_first': ROW,
    'outside.between': ROW,
    'outside.after_last': ROW,
    'gaps': {'request', 'device', 'start_ns', 'duration_ns', 'before', 'after', 'cause', 'parts', 'drained_by'},
    'gaps.parts': {'cause', 'duration_ns'},
    'gaps_total': {'count', 'duration_ns'},
    'syncs': {'call', 'count', 'wait_ns', 'blocked_stage', 'awaited_stages'},
    'kernels': {'name', 'stage', 'count', 'total_ns', 'min_ns', 'median_ns', 'max_ns', 'per_step'},
    'transfers': {
        'direction',
        'kind',
        'stage',
        'count',
        'bytes',
        'busy_ns',
        'rate_bytes_per_s',
        'exposed_ns',
        'repeats',
        'round_trips',
    },
    'findings': {'id', 'state', 'stage', 'figures', 'text', 'next_check'},
    'api_errors': {'call', 'code', 'count', 'stage'},
}
CAUSES = {
    'excluded.window_edge',
    'excluded.missing_data',
    'excluded.own_overhead',
    'before_first',
    'after_last',
    'host_late.after_sync',
    'host_late.after_copy',
    'host_late.own_code',
    'host_late.off_cpu',
    'host_late.alloc_free',
    'host_late.module_load',
    'host_late.graph_instantiate',
    'host_late.other_call',
    'dependency.event_wait',
    'dependency.other_stream',
    'dependency.host_function',
    'dependency.pageable_staging',
    'launch_floor',
    'unseen_work',
    'unknown',
}
WITHOUT_DEVICE_TIME = [('SIMGPU_FAULTS', 'no-cupti'), ('SIMGPU_FAULTS', 'no-privilege'), ('STAGETAP_DEVICE', 'none')]


def keys_of(schema):
    """Every name of a property anywhere in it."""
    found = set()
    for name, value in schema.items() if isinstance(schema, dict) else []:
        found |= set(value) if name == 'properties' else set()
        found |= keys_of(value)
    for value in schema if isinstance(schema, list) else []:
        found |= keys_of(value)
    return found


def explained(checks, trace):
    """Every key of the document, and every column of every table."""
    with open(lib.SCHEMA, encoding='utf-8') as file:
        words = keys_of(json.load(file))
    checks.ok(len(words) > 100, 'explain: the schema has keys', len(words))
    for view in (['report'], ['gaps'], ['kernels'], ['transfers'], ['syncs'], ['rounds'], ['stage', 'sample']):
        for more in ([], ['--utc']):
            page = lib.stagetap(*view, '--format', 'md', *more, trace).stdout.splitlines()
            heads = [line for line, below in zip(page, page[1:]) if below.startswith('| ---')]
            checks.ok(heads, f'explain: {" ".join(view)} has tables')
            words |= {cell.strip() for line in heads for cell in line.strip('|').split('|') if cell.strip()}
    unknown = [word for word in sorted(words) if lib.stagetap('report', '--explain', word).returncode]
    checks.equal([], unknown, f'explain: {len(words)} keys and columns')
    result = lib.stagetap('report', '--explain', 'wall shore')
    checks.ok('nearest' in result.stderr and 'wall share' in result.stderr, 'explain: a miss: near words', result.stderr)
    checks.ok(len(result.stderr) < 400, 'explain: a miss: not all words', result.stderr)


def objects_at(document, path):
    """Every object at a path like requests.stages, whatever lies in lists between."""
    found = [document]
    for part in path.split('.') if path else []:
        found = [item[part] for item in found if isinstance(item, dict) and item.get(part) is not None]
        found = [item for value in found for item in (value if isinstance(value, list) else [value])]
    return found


def check_keys(checks, document, label, must_be_seen=()):
    for path, keys in KEYS.items():
        objects = objects_at(document, path)
        lacking = sorted({key for item in objects for key in keys - set(item)})
        if objects:
            checks.equal([], lacking, f'{label}: {path or "document"}: every key, in {len(objects)} object(s)')
        elif path in must_be_seen:
            checks.ok(False, f'{label}: {path}: none in the document')


def check_values(checks, document, label):
    checks.ok(
        all(isinstance(value, int) for value in document['traces'][0]['lost'].values()),
        f'{label}: lost counts are integers',
    )
    states = {entry['state'] for entry in document['capabilities']}
    checks.ok(
        states and states <= {'requested', 'accepted', 'seen', 'degraded', 'not_collected'},
        f'{label}: capability states',
        states,
    )
    phases = [request['phase'] for request in document['requests']]
    checks.equal(['first', 'warmup', 'steady', 'steady'], phases, f'{label}: phases of four requests')
    causes = {gap['cause'] for gap in document['gaps'] or []} | {
        part['cause'] for gap in document['gaps'] or [] for part in gap['parts'] or []
    }
    causes |= {cause for item in objects_at(document, 'requests.devices.idle_by_cause') for cause in item}
    checks.equal(set(), causes - CAUSES, f'{label}: causes are of the closed list')
    nulls = [key for key in ('syncs', 'kernels', 'transfers', 'findings') if document[key] is None]
    checks.ok(not nulls or document['notes'], f'{label}: a null list has a reason in notes', nulls)


def device_figures(document):
    """Every figure that rests on device time, as path → values."""
    figures = {}
    for request in document['requests']:
        figures.setdefault('device_done_ns', []).append(request['device_done_ns'])
        figures.setdefault('devices', []).append(request['devices'])
        for row in request['stages']:
            figures.setdefault('row.device', []).append(row['device'])
            figures.setdefault('wall_share_ns', []).append(row['wall_share_ns'])
            figures.setdefault('memsets.busy_ns', []).append((row['memsets'] or {}).get('busy_ns'))
            for direction in row['copies'].values():
                figures.setdefault('copies.busy_ns', []).append((direction or {}).get('busy_ns'))
    return figures


def full_trace(checks):
    with lib.workdir() as folder:
        traced = lib.generate(folder, '--item-sync', images=4, steps=3, STAGETAP_META='weights=demo;steps=3')
        checks.equal(0, traced.process.returncode, 'generate runs')
        document = lib.report(checks, '--request', 'all', traced.trace, what='full trace')
        if document is None:
            return None
        check_keys(
            checks,
            document,
            'full trace',
            (
                '',
                'traces',
                'requests',
                'requests.stages',
                'requests.devices',
                'gaps',
                'devices',
                'capabilities',
                'rounds',
                'outside.before_first',
                'requests.stages.device',
                'requests.stages.copies.h2d',
            ),
        )
        check_values(checks, document, 'full trace')
        checks.equal(
            {'weights': 'demo', 'steps': '3'},
            document['manifest']['declared'],
            'what was declared is in the manifest',
        )
        checks.ok(
            any('SimGPU' in (device['name'] or '') for device in document['devices']), 'the device says what it is'
        )
        checks.equal(
            {'measured'},
            {row['device_time'] for request in document['requests'] for row in request['stages']},
            'device time is measured',
        )
        rounds = document['rounds']
        checks.equal(
            (1, [1], [2], [3, 4]),
            (len(rounds['load_ns']), rounds['first'], rounds['warmup'], rounds['steady']),
            'rounds',
        )
        default = lib.report(checks, traced.trace, what='full trace, default selection')
        if default:
            check_keys(checks, default, 'default selection')
        explained(checks, traced.trace)
        for view in (['gaps'], ['kernels'], ['transfers'], ['syncs'], ['rounds'], ['stage', 'sample']):
            for options in ([] if view == ['rounds'] else [[]]) + [['--request', 'all']]:
                want = lib.stagetap('report', '--json', *options, traced.trace).stdout
                got = lib.stagetap(*view, '--json', *options, traced.trace).stdout
                checks.ok(want and want == got, f'{" ".join(view + options)} --json: the document of report')
        want = lib.stagetap('report', '--json', '--request', 'all', traced.trace).stdout
        checks.ok(want == lib.stagetap('rounds', '--json', traced.trace).stdout, 'rounds --json: of all requests')
        return traced.out and lib.pictures(traced.out), traced.process.stdout.count('\n')


def without_device_time(checks, expected):
    """All host figures as ever, each device figure null, the program unchanged."""
    for variable, value in WITHOUT_DEVICE_TIME:
        label = f'{variable}={value}'
        with lib.workdir() as folder:
            traced = lib.generate(folder, '--item-sync', images=4, steps=3, **{variable: value})
            checks.equal(0, traced.process.returncode, f'{label}: generate runs')
            if expected:
                checks.ok(
                    (lib.pictures(traced.out), traced.process.stdout.count('\n')) == expected,
                    f'{label}: same pictures and output',
                )
            document = lib.report(checks, '--request', 'all', traced.trace, what=label)
            if document is None:
                continue
            check_keys(checks, document, label, ('', 'traces', 'requests', 'requests.stages', 'capabilities'))
            check_values(checks, document, label)
            for name, values in device_figures(document).items():
                checks.equal(
                    {'null'},
                    {'null' if value is None else repr(value)[:60] for value in values},
                    f'{label}: {name} null',
                )
            checks.ok(
                document['gaps'] is None and (document['gaps_total'] or {}).get('duration_ns') is None,
                f'{label}: gaps null',
                (document['gaps'], document['gaps_total']),
            )
            for request in document['requests']:
                row = lib.rows(request)['sample']
                checks.ok(
                    row['host_inclusive_ns'] > 0 and row['launches'] > 0 and request['host_return_ns'] > 0,
                    f'{label}: request {request["id"]}: host figures and launches are there',
                )
            kinds = {entry['kind']: entry for entry in document['capabilities']}
            checks.ok(
                kinds.get('kernel', {}).get('state') == 'not_collected' and kinds['kernel']['why'],
                f'{label}: capability kernel says not_collected and why',
                kinds.get('kernel'),
            )
            screen = lib.stagetap('report', traced.trace)
            checks.ok(
                screen.returncode == 0 and 'not collected' in screen.stdout and '–' in screen.stdout,
                f'{label}: the screen says not collected',
                screen.stdout[:1200],
            )
            checks.equal(1, lib.stagetap('report', '--strict', traced.trace).returncode, f'{label}: --strict says 1')


def no_cuda_work(checks):
    """A process that only initialises CUDA: a trace without requests."""
    with lib.workdir() as folder:
        traced = lib.Traced(folder, [lib.program('touch_cuda')])
        document = lib.report(checks, traced.trace, what='no CUDA work')
        if document:
            check_keys(checks, document, 'no CUDA work')
            checks.equal([], document['requests'], 'no CUDA work: no requests')
        screen = lib.stagetap('report', traced.trace)
        checks.ok(
            'no CUDA work seen' in (screen.stdout.splitlines() or [''])[0],
            'no CUDA work: the first line says so',
            screen.stdout[:300],
        )


def main():
    checks = lib.Checks()
    expected = full_trace(checks)
    without_device_time(checks, expected)
    no_cuda_work(checks)
    checks.finish()


if __name__ == '__main__':
    main()
