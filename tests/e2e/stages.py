#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stages of programs that no preset knows, with a map given in the environment: work that runs later than
its stage, several threads and requests at once, kernel rules, NVTX ranges. Each is compared with the truth."""

import os

import lib
import traces

PAIR_MAP = 'symbol pair_render -> request; symbol pair_prepare -> encode; symbol pair_refine -> sample'
SPILL_MAP = 'symbol spill_picture -> request; symbol spill_encode -> encode; symbol spill_sample -> sample'
STRANGER_MAP = '''
    symbol stranger_paint_picture -> request
    symbol wordpiece_run          -> prepare      # comments are allowed
    symbol diffusion_sweep        -> refine
    symbol diffusion_pass         -> refine step
    symbol pixels_make            -> paint
    symbol pixels_fetch           -> paint/fetch
    symbol uploader_*             -> upload
    symbol album_save             -> album
    kernel sharpen_*              -> paint
    symbol no_such_function*      -> never
'''
RANGES_MAP = (
    'nvtx picture -> request; nvtx encode -> encode; nvtx sample -> sample; nvtx "denoise step" -> sample step; '
    'nvtx dec* -> decode'
)


def trace(checks, folder, label, command, mapping, kernel_rules=(), **env):
    return lib.compared(checks, label, lambda: lib.Traced(folder, command, mapping=mapping, **env), kernel_rules)


def spill(checks, streams):
    """4 × 5 ms launched in encode run while the host is in sample: charged to encode."""
    label = f'spilling encode, {streams} stream(s)'
    with lib.workdir() as folder:
        document = trace(checks, folder, label, [lib.program('spill'), streams], SPILL_MAP)
    for request in document['requests'] if document else []:
        rows, what = lib.rows(request), f'{label}: request {request["id"]}'
        encode, sample = rows['encode'], rows['sample']
        checks.ok(
            encode['host_inclusive_ns'] < 4_000_000,
            f'{what}: the host left encode long before its work was done',
            encode['host_inclusive_ns'],
        )
        checks.ok(
            abs(encode['device'][0]['busy_ns'] - 20_000_000) < 200_000,
            f'{what}: encode has its 20 ms of device time',
            encode['device'],
        )
        checks.ok(
            abs(sample['device'][0]['busy_ns'] - 10_000_000) < 100_000,
            f'{what}: sample has its 10 ms',
            sample['device'],
        )
        shared = request['devices'][0]['shared_ns']
        checks.ok(shared < 20_000 if streams == 'one' else shared > 5_000_000, f'{what}: shared time', shared)


def stranger(checks):
    with lib.workdir() as folder:
        document = trace(
            checks, folder, 'stranger', [lib.program('stranger')], STRANGER_MAP, [('sharpen_*', 'paint')]
        )
    if document is None:
        return
    first, second, third = document['requests']
    rows = lib.rows(first)
    checks.equal(
        (2, 2),
        (rows['paint']['launches'], rows['prepare']['launches']),
        'kernel rule: paint has upsample and sharpen, prepare its two embeds',
    )
    checks.equal(
        ['upload'], [name for name in rows if name == 'upload'], 'helper thread\'s stage is a row of the only request'
    )
    checks.equal(['album'], [row['name'] for row in first['after']], 'album is after the first request')
    for request in (second, third):
        device = request['devices'][0]
        checks.ok(
            device['other_ns'] + device['overlap_other_ns'] > 500_000,
            f'request {request["id"]}: the other request\'s work is other, not idle',
            device,
        )
    checks.ok(
        any('no_such_function*' in rule for rule in document['unmatched_rules']),
        'the rule that matched nothing is named',
        document['unmatched_rules'],
    )
    checks.ok(
        not any('sharpen' in rule or 'uploader' in rule for rule in document['unmatched_rules']),
        'rules that matched are not named',
        document['unmatched_rules'],
    )


def pair(checks):
    """Two devices; the request's end is the later device's, not the host's return."""
    with lib.workdir() as folder:
        model = os.path.join(folder, 'two.model')
        with open(model, 'w', encoding='utf-8') as file:
            file.write('devices 2\n')
        document = trace(checks, folder, 'two devices', [lib.program('pair')], PAIR_MAP, SIMGPU_MODEL=model)
    requests = document['requests'] if document else []
    for request in requests:
        what = f'two devices: request {request["id"]}'
        checks.equal([0, 1], [device['device'] for device in request['devices']], f'{what}: both are listed')
        checks.equal(
            max(request['host_return_ns'], request['device_done_ns']),
            request['wall_ns'],
            f'{what}: the wall ends with the later of host and last device',
        )
    # on a busy machine the host may be late now and then, not always
    checks.ok(
        any(request['device_done_ns'] > request['host_return_ns'] + 3_000_000 for request in requests),
        'two devices: the host returned before the devices were done',
    )


def ranges(checks):
    for name in ('ranges', 'ranges_nvtx3'):
        if name == 'ranges_nvtx3' and not lib.is_built(name):
            print(f'{name} is not built here (no toolkit)')
            continue
        for options, mapping in (([], RANGES_MAP), (['plain'], None)):
            label = f'NVTX: {name} with {"a map" if mapping else "no map"}'
            with lib.workdir() as folder:
                document = trace(checks, folder, label, [lib.program(name)] + options, mapping)
            if document:
                checks.equal([4, 4, 4], [request['steps'] for request in document['requests']], f'{label}: steps')


def range_parts(checks):
    """Three objects, each with an NVTX of its own, and another tool that is injected: all ranges reach both."""
    command = [lib.program('range_parts')]
    tool = os.path.join(lib.PROGRAMS, 'libnvtx_tool.so')
    for label, injected in (('no tool', None), ('a tool', tool), ('a tool that is not there', '/no/such/tool.so')):
        label = f'NVTX in three objects, {label}'
        with lib.workdir() as folder:
            logs = {}
            for name, on in (('bare', False), ('seen', True)):
                log = os.path.join(folder, name + '.log')
                trace_path = os.path.join(folder, 'run.stap')
                env = {'NVTX_INJECTION64_PATH': injected, 'TOOL_LOG': log}
                env.update({'STAGETAP_OUT': trace_path, 'STAGETAP_MAP': RANGES_MAP} if on else {})
                result = lib.run(command, lib.environment(on, **env), folder)
                checks.equal((0, '', ''), (result.returncode, result.stdout, result.stderr), f'{label}: {name} runs')
                with open(log if os.path.exists(log) else os.devnull, encoding='ascii') as file:
                    logs[name] = file.read().splitlines()
            checks.equal(3 + 3 * 8 if injected == tool else 0, len(logs['bare']), f'{label}: what the tool is told')
            checks.equal(logs['bare'], logs['seen'], f'{label}: the tool is told the same beside us')
            document = lib.report(checks, '--request', 'all', trace_path, what=label)
            for request in document['requests'] if document else []:
                found = {name: (row['calls'], row['launches']) for name, row in lib.rows(request).items()}
                wanted = {'encode': (1, 2), 'sample': (1, 1), 'decode': (1, 3)}
                checks.equal(wanted, {name: found.get(name) for name in wanted}, f'{label}: our stages')
            checks.equal(3, len(document['requests']) if document else 0, f'{label}: our requests')


def unknown_rate(checks):
    """A process that uses CUDA at once has no estimate of its counter's rate in the header: the clock table tells."""
    label = 'no rate in the header'
    with lib.workdir() as folder:

        def run_once():
            traced = lib.Traced(folder, [lib.program('ranges')], mapping=RANGES_MAP)
            with open(traced.trace, 'r+b') as file:
                data = bytearray(file.read())
                data[traces.HEADER_RATE] = bytes(8)
                file.seek(0)
                file.write(traces.check_header(data))
            return traced

        document = lib.compared(checks, label, run_once)
        if document:
            lost = document['traces'][0]['lost']
            checks.equal(0, lost['launches_without_record'], f'{label}: each launch found its record')


def main():
    checks = lib.Checks()
    spill(checks, 'one')
    spill(checks, 'two')
    stranger(checks)
    pair(checks)
    ranges(checks)
    range_parts(checks)
    unknown_rate(checks)
    checks.finish()


if __name__ == '__main__':
    main()
