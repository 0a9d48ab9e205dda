#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does `stagetap report --json` agree with the truth? Exit 0 yes, 1 no (each violation on a line), 2 usage.

compare.py [--kernel GLOB=ROW] [--row LOGGED=ROW] [--quiet] REPORT.json TRUTH TIMINGS

Exact: every request present, launches, copies and memsets (count, bytes), integer identities inside the
report. Within a tolerance: wall, host return, device done and host inclusive (200 us or 2 %), device busy
and self (20 us or 1 %), gaps and their neighbours. The largest deviations are printed as a table.
"""

import argparse
import copy
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import truth  # noqa: E402

HOST_LIMIT = (200_000, 0.02)
DEVICE_LIMIT = (20_000, 0.01)
CAUSE_LIMIT = (100_000, 0.2)
GAP_FROM_NS = 60_000  # shorter gaps are checked in sum only
DIRECTIONS = ('h2d', 'd2h', 'd2d', 'p2p')


class Comparison:
    """Collects violations and the measured deviations. A host time out of its tolerance may be made by a thread that
    lost its CPU between the program's clock reading and ours; and with it the cause of idle time that ends with one of
    its calls: the simulator says when inside a call the work was enqueued, we know when the call was entered."""

    def __init__(self):
        self.violations = []
        self.beyond_host = []  # those that no slow host explains: what is counted, and times of the device
        self.deviations = []  # (share of the limit used, what, truth, report, limit)
        self.checks = 0

    def exact(self, what, want, got):
        self.checks += 1
        if want != got:
            self.add(f'{what}: expected {want}, report says {got}')

    @property
    def only_host(self):
        return not self.beyond_host

    def add(self, violation, by_host=False):
        self.violations.append(violation)
        if not by_host:
            self.beyond_host.append(violation)

    def near(self, what, want, got, limit):
        self.checks += 1
        if not isinstance(got, int) or isinstance(got, bool):
            self.add(f'{what}: expected about {want}, report says {got!r}')
            return
        allowed = max(limit[0], abs(want) * limit[1])
        self.deviations.append((abs(got - want) / allowed, what, want, got, allowed))
        if abs(got - want) > allowed:
            self.add(
                f'{what}: truth {want}, report {got}: off by {got - want:+d}, allowed {allowed:.0f} ns',
                limit in (HOST_LIMIT, CAUSE_LIMIT),
            )

    def table(self, count=12):
        lines = [f'{"of limit":>9} {"off ns":>10} {"truth ns":>14}  figure']
        for used, what, want, got, _ in sorted(self.deviations, key=lambda entry: -entry[0])[:count]:
            lines.append(f'{used:9.3f} {got - want:10d} {want:14d}  {what}')
        return '\n'.join(lines)


def compare_report(report, figures):
    """`figures`: what truth.compute() returned."""
    result = Comparison()
    result.exact('schema', 'stagetap.report/1', report.get('schema'))
    result.exact('simulated', True, report.get('simulated'))
    requests = report.get('requests') or []
    result.exact('number of requests', len(figures['requests']), len(requests))
    if not figures['requests']:
        result.add('the truth has no request: nothing was compared')
    base = report['traces'][0]['monotonic_start_ns'] if report.get('traces') else 0
    for want, got in zip(figures['requests'], requests):
        compare_request(result, want, got, base)
        check_identity(result, got)
    check_gaps_total(result, report)
    for want in figures['requests']:
        compare_gaps(result, want, report.get('gaps') or [], base)
    for part, rows in figures['outside'].items():
        compare_work_rows(result, f'outside.{part}', rows, (report.get('outside') or {}).get(part))
    return result


def compare_request(result, want, got, base):
    where = f'request {want["id"]}'
    result.exact(f'{where} id', want['id'], got.get('id'))
    result.exact(f'{where} complete', True, got.get('complete'))
    result.exact(f'{where} steps', want['steps'], got.get('steps'))
    result.near(f'{where} begin_ns', want['begin_ns'] - base, got.get('begin_ns'), HOST_LIMIT)
    for key in ('wall_ns', 'host_return_ns', 'device_done_ns', 'wall_with_tail_ns'):
        if want[key] is None:
            result.exact(f'{where} {key}', None, got.get(key))
        else:
            result.near(f'{where} {key}', want[key], got.get(key), HOST_LIMIT)
    devices = {entry['device']: entry for entry in got.get('devices') or []}
    result.exact(f'{where} devices', [entry['device'] for entry in want['devices']], sorted(devices))
    for entry in want['devices']:
        for key in ('busy_ns', 'stages_self_ns', 'shared_ns', 'unattributed_ns', 'other_ns', 'overlap_other_ns'):
            # what others did in this request depends on where the host says that it begins and ends
            limit = HOST_LIMIT if key == 'other_ns' else DEVICE_LIMIT
            result.near(
                f'{where} device {entry["device"]} {key}',
                entry[key],
                devices.get(entry['device'], {}).get(key),
                limit,
            )
        causes = devices.get(entry['device'], {}).get('idle_by_cause') or {}
        result.near(
            f'{where} device {entry["device"]} idle for a dependency',
            entry['dependency_ns'],
            sum(value for cause, value in causes.items() if cause.startswith('dependency.')),
            CAUSE_LIMIT,
        )
        # idle is cut off at the request's edges, which are host times
        result.near(
            f'{where} device {entry["device"]} idle_ns',
            entry['idle_ns'],
            devices.get(entry['device'], {}).get('idle_ns'),
            HOST_LIMIT,
        )
    compare_stages(result, where, want, got)
    compare_work_rows(result, f'{where} after', want['after'], got.get('after'), with_host=True)


def fold_unattributed(rows):
    """`unattributed` may be split by thread (unattributed/NAME): its own figures then are the sum of the parts."""
    whole = {row['name']: copy.deepcopy(row) for row in rows if not row['name'].startswith(truth.UNATTRIBUTED + '/')}
    for part in (row for row in rows if row['name'].startswith(truth.UNATTRIBUTED + '/')):
        target = whole[truth.UNATTRIBUTED]
        for key in ('launches_self', 'wall_share_ns', 'host_self_ns'):
            target[key] += part[key] or 0
        for device, own in zip(target['device'], part['device']):
            device['self_ns'] += own['self_ns']
    return whole


def compare_stages(result, where, want, got):
    rows = fold_unattributed(got.get('stages') or [])
    result.exact(f'{where} rows', sorted(row['name'] for row in want['stages']), sorted(set(rows) - {truth.SHARED}))
    if want['shared_wall_ns'] or truth.SHARED in rows:
        result.near(
            f'{where} shared wall_share_ns',
            want['shared_wall_ns'],
            rows.get(truth.SHARED, {}).get('wall_share_ns'),
            HOST_LIMIT,
        )
    for row in want['stages']:
        mine = rows.get(row['name'])
        if mine is None:
            continue
        label = f'{where} {row["name"]}'
        if row['calls'] is not None:
            result.exact(f'{label} calls', row['calls'], mine.get('calls'))
        result.near(f'{label} host_inclusive_ns', row['host_inclusive_ns'], mine.get('host_inclusive_ns'), HOST_LIMIT)
        result.near(f'{label} host_self_ns', row['host_self_ns'], mine.get('host_self_ns'), HOST_LIMIT)
        result.near(f'{label} wall_share_ns', row['wall_share_ns'], mine.get('wall_share_ns'), HOST_LIMIT)
        compare_work(result, label, row, mine)
        devices = {entry['device']: entry for entry in mine.get('device') or []}
        for entry in row['device']:
            for key in ('busy_ns', 'compute_ns', 'copy_only_ns', 'self_ns'):
                result.near(
                    f'{label} device {entry["device"]} {key}',
                    entry[key],
                    devices.get(entry['device'], {}).get(key),
                    DEVICE_LIMIT,
                )


def compare_work(result, label, row, mine):
    result.exact(f'{label} launches', row['launches'], mine.get('launches'))
    for key in ('launches_self', 'graph_launches', 'graph_nodes', 'captured'):
        result.exact(f'{label} {key}', row[key], mine.get(key))
    for key in ('count', 'bytes'):
        result.exact(f'{label} memsets {key}', row['memsets'][key], (mine.get('memsets') or {}).get(key))
        for direction in DIRECTIONS:
            copies = (mine.get('copies') or {}).get(direction) or {}
            result.exact(f'{label} copies {direction} {key}', row['copies'][direction][key], copies.get(key))


def compare_work_rows(result, where, want, got, with_host=False):
    rows = {row['name']: row for row in got or []}
    # rows in which nothing happened may be listed or not
    extra = [name for name, row in rows.items() if row.get('launches') and name not in {row['name'] for row in want}]
    result.exact(f'{where} rows beyond the truth', [], extra)
    for row in want:
        if row['name'] not in rows:
            result.add(f'{where}: row {row["name"]} is missing')
            continue
        compare_work(result, f'{where} {row["name"]}', row, rows[row['name']])
        if with_host:
            result.exact(f'{where} {row["name"]} calls', row['calls'], rows[row['name']].get('calls'))
            result.near(
                f'{where} {row["name"]} host_inclusive_ns',
                row['host_inclusive_ns'],
                rows[row['name']].get('host_inclusive_ns'),
                HOST_LIMIT,
            )


def check_identity(result, request):
    """The report's own integers, without the truth."""
    where = f'request {request.get("id")}'
    rows = request.get('stages') or []
    wall = request.get('wall_ns')
    for device in request.get('devices') or []:
        number = device['device']
        causes = sum((device.get('idle_by_cause') or {}).values())
        result.exact(f'{where} device {number} residual_ns', 0, device.get('residual_ns'))
        result.exact(f'{where} device {number} sum of idle_by_cause', device['idle_ns'], causes)
        result.exact(
            f'{where} device {number} identity',
            wall,
            device['stages_self_ns'] + device['shared_ns'] + device['unattributed_ns'] + device['other_ns'] + causes,
        )
        selfs = [
            (truth.top(row['name']) == truth.UNATTRIBUTED, entry['self_ns'])
            for row in rows
            for entry in row.get('device') or []
            if entry['device'] == number
        ]
        for is_unattributed, key in ((False, 'stages_self_ns'), (True, 'unattributed_ns')):
            result.exact(
                f'{where} device {number} {key}: sum over rows',
                device[key],
                sum(value for unattributed, value in selfs if unattributed == is_unattributed),
            )
    for row in rows:
        for entry in row.get('device') or []:
            result.exact(
                f'{where} {row["name"]} compute + copy only',
                entry['busy_ns'],
                entry['compute_ns'] + entry['copy_only_ns'],
            )
        parts = [row.get(key) for key in ('own_cpu_ns', 'off_cpu_ns', 'in_cuda_ns', 'waiting_ns')]
        if all(part is not None for part in parts):
            result.exact(f'{where} {row["name"]} host parts', row['host_inclusive_ns'], sum(parts))
    shares = {row['name']: row.get('wall_share_ns') for row in rows}
    if shares and all(share is not None for share in shares.values()):
        result.exact(f'{where} sum of wall shares', wall, sum(shares.values()))


def check_gaps_total(result, report):
    idle = sum(
        device['idle_ns'] for request in report.get('requests') or [] for device in request.get('devices') or []
    )
    total = report.get('gaps_total') or {}
    gaps = report.get('gaps') or []
    result.exact('gaps_total duration_ns against idle', idle, total.get('duration_ns'))
    if (total.get('count') or 0) <= 10_000:
        result.exact('gaps listed', total.get('count'), len(gaps))
        result.exact('sum of gaps against idle', idle, sum(gap['duration_ns'] for gap in gaps))
    for gap in gaps:
        parts = gap.get('parts')
        if parts is not None and sum(part['duration_ns'] for part in parts) != gap['duration_ns']:
            result.add(f'gap at {gap["start_ns"]}: parts do not sum to {gap["duration_ns"]}')
            break


def compare_gaps(result, want, gaps, base):
    mine = [gap for gap in gaps if gap['request'] == want['id']]
    for gap in want['gaps']:
        if gap['duration_ns'] < GAP_FROM_NS:
            continue
        where = f'request {want["id"]} gap at +{gap["start_ns"] - want["begin_ns"]}'
        start = gap['start_ns'] - base
        near = max(
            (other for other in mine if other['device'] == gap['device']),
            key=lambda other: min(start + gap['duration_ns'], other['start_ns'] + other['duration_ns'])
            - max(start, other['start_ns']),  # how much they overlap
            default=None,
        )
        if near is None:
            result.add(f'{where}: no such gap in the report')
            continue
        edge = gap['before'] is None or gap['after'] is None
        limit = HOST_LIMIT if edge else DEVICE_LIMIT
        result.near(f'{where} start_ns', start, near['start_ns'], limit)
        result.near(f'{where} duration_ns', gap['duration_ns'], near['duration_ns'], limit)
        for cause, at, allowed in (
            ('before_first', gap['before'], gap['before_own']),
            ('after_last', gap['after'], gap['after_own']),
        ):
            if at is None:
                result.exact(f'{where} cause at the edge', cause, near['cause'])
            elif not allowed:
                result.exact(f'{where} is {cause}', False, near['cause'] == cause)
        for key in ('before', 'after'):
            row = near.get(key)
            result.exact(
                f'{where} {key}',
                gap[key],
                truth.UNATTRIBUTED if row and truth.top(row) == truth.UNATTRIBUTED else row,
            )


def compare_document(report, truth_path, timings_path, kernel_rules=(), row_names=(), quiet=False):
    """Prints the outcome; returns the Comparison."""
    result = compare_report(report, truth.compute(truth_path, timings_path, kernel_rules, row_names))
    if not quiet:
        print(result.table())
    print(f'{result.checks} figures compared, {len(result.violations)} violations')
    for violation in result.violations[:60]:
        print(f'VIOLATION {violation}')
    return result


def main():
    parser = argparse.ArgumentParser(description='compare a report with the truth')
    parser.add_argument('report')
    truth.add_arguments(parser)
    parser.add_argument('--quiet', action='store_true', help='violations only')
    args = parser.parse_args()
    with open(args.report, encoding='utf-8') as file:
        report = json.load(file)
    result = compare_document(report, args.truth, args.timings, args.kernel, args.row, args.quiet)
    sys.exit(1 if result.violations else 0)


if __name__ == '__main__':
    main()
