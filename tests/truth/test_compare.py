#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py must be able to fail: a right report passes, and each single wrong figure is named."""

import copy
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compare  # noqa: E402
import placing  # noqa: E402
import truth  # noqa: E402
from test_truth import op, span  # noqa: E402

MS = 1_000_000


def example():
    """Two requests with copies, memsets, steps, two streams that overlap, and a stage afterwards."""
    spans, ops = [span('load', 0, 2 * MS)], [op(MS, MS, 2 * MS, 'memcpy', direction='h2d', size=999)]
    for number in range(2):
        t = (10 + number * 40) * MS
        spans += [
            span('request', t, t + 20 * MS),
            span('encode', t, t + 5 * MS),
            span('sample', t + 5 * MS, t + 14 * MS),
            span('step', t + 6 * MS, t + 9 * MS),
            span('step', t + 9 * MS, t + 13 * MS),
            span('decode', t + 14 * MS, t + 19 * MS),
            span('output', t + 21 * MS, t + 25 * MS),
        ]
        ops += [
            op(t + MS, t + MS, t + 8 * MS),
            op(t + 7 * MS, t + 7 * MS, t + 9 * MS),
            op(t + 10 * MS, t + 10 * MS, t + 12 * MS, 'memset', size=64),
            op(t + 15 * MS, t + 16 * MS, t + 22 * MS, 'memcpy', direction='d2h', size=4096),
            op(t + 19 * MS + 500_000, t + 22 * MS, t + 22 * MS + 300_000),
            op(t + 23 * MS, t + 23 * MS, t + 24 * MS, 'memcpy', direction='d2h', size=5),
        ]
    return truth.figures_of(placing.Run(ops, [], placing.name_steps(spans)))


def report_from(figures):
    """The document that a faultless stagetap would write for these figures."""
    document = {
        'schema': 'stagetap.report/1',
        'simulated': True,
        'traces': [{'monotonic_start_ns': 0}],
        'requests': [],
        'gaps': [],
        'outside': copy.deepcopy(figures['outside']),
    }
    for request in figures['requests']:
        entry = copy.deepcopy(request)
        entry['complete'] = True
        for device in entry['devices']:
            device['idle_by_cause'] = {'unknown': device['idle_ns']}
        for gap in entry['gaps']:
            gap['cause'] = (
                'before_first' if gap['before'] is None else 'after_last' if gap['after'] is None else 'unknown'
            )
        document['gaps'] += entry.pop('gaps')
        if entry['shared_wall_ns']:
            entry['stages'].append({'name': 'shared', 'wall_share_ns': entry['shared_wall_ns'], 'device': None})
        document['requests'].append(entry)
    document['gaps_total'] = {
        'count': len(document['gaps']),
        'duration_ns': sum(gap['duration_ns'] for gap in document['gaps']),
    }
    return document


def perturbations():
    """(name, function that spoils a report)."""

    def in_row(change):
        def spoil(report):
            row = next(row for row in report['requests'][1]['stages'] if row['name'] == 'encode')
            change(row)

        return spoil

    def request(change):
        return lambda report: change(report['requests'][0])

    def add(mapping, key, value):
        mapping[key] += value

    return [
        ('a request lost', lambda report: report['requests'].pop()),
        ('not complete', request(lambda r: r.update(complete=False))),
        ('wall 500 us longer', request(lambda r: add(r, 'wall_ns', 500_000))),
        ('host return null', request(lambda r: r.update(host_return_ns=None))),
        ('device done 1 ms early', request(lambda r: add(r, 'device_done_ns', -MS))),
        ('begin 300 us late', request(lambda r: add(r, 'begin_ns', 300_000))),
        ('a step too many', request(lambda r: add(r, 'steps', 1))),
        ('residual 1 ns', request(lambda r: r['devices'][0].update(residual_ns=1))),
        ('identity off by 1 ns', request(lambda r: add(r['devices'][0], 'shared_ns', 1))),
        ('idle cause missing', request(lambda r: r['devices'][0].update(idle_by_cause={}))),
        ('device lost', request(lambda r: r.update(devices=[]))),
        ('row lost', request(lambda r: r.update(stages=r['stages'][1:]))),
        ('stage after the return lost', request(lambda r: r.update(after=[]))),
        ('launch counted twice', in_row(lambda r: add(r, 'launches', 1))),
        ('launch in the wrong row', in_row(lambda r: add(r, 'launches_self', -1))),
        ('call missing', in_row(lambda r: add(r, 'calls', -1))),
        ('host time 300 us off', in_row(lambda r: add(r, 'host_inclusive_ns', 300_000))),
        ('wall share 300 us off', in_row(lambda r: add(r, 'wall_share_ns', 300_000))),
        ('device busy 100 us off', in_row(lambda r: add(r['device'][0], 'busy_ns', 100_000))),
        ('device self 100 us off', in_row(lambda r: add(r['device'][0], 'self_ns', 100_000))),
        ('device figures null', in_row(lambda r: r.update(device=None))),
        ('copy missing', in_row(lambda r: add(r['copies']['d2h'], 'count', 1))),
        ('a byte too few', in_row(lambda r: add(r['copies']['h2d'], 'bytes', 1))),
        ('memset missing', in_row(lambda r: add(r['memsets'], 'count', 1))),
        ('gap lost', lambda report: report['gaps'].pop(0)),
        ('gap has the wrong neighbour', lambda report: report['gaps'][1].update(before='decode')),
        ('edge of a request blamed on the host', lambda report: report['gaps'][0].update(cause='host_late.own_code')),
        ('a gap in the middle called an edge', lambda report: report['gaps'][1].update(cause='after_last')),
        (
            'waiting for an event that nobody waited for',
            request(
                lambda r: r['devices'][0].update(idle_by_cause={'dependency.event_wait': r['devices'][0]['idle_ns']})
            ),
        ),
        ('gap total wrong', lambda report: add(report['gaps_total'], 'duration_ns', -1)),
        ('load copy lost', lambda report: report['outside'].update(before_first=[])),
        ('not headed simulated', lambda report: report.update(simulated=False)),
    ]


class CanFail(unittest.TestCase):
    def test_right_report_passes(self):
        result = compare.compare_report(report_from(example()), example())
        self.assertEqual(result.violations, [])
        self.assertGreater(result.checks, 200)

    def test_within_tolerance_passes(self):
        report = report_from(example())
        report['requests'][0]['begin_ns'] += 150_000
        self.assertEqual(compare.compare_report(report, example()).violations, [])

    def test_each_perturbation_is_found(self):
        for name, spoil in perturbations():
            with self.subTest(name):
                report = report_from(example())
                spoil(report)
                self.assertNotEqual(compare.compare_report(report, example()).violations, [], name)

    def test_only_host_times_are_worth_a_second_run(self):
        spoiled = dict(perturbations())
        for name, expected in (
            ('host time 300 us off', True),
            ('begin 300 us late', True),
            ('launch counted twice', False),
            ('device self 100 us off', False),
            ('row lost', False),
        ):
            report = report_from(example())
            spoiled[name](report)
            result = compare.compare_report(report, example())
            self.assertEqual(result.only_host, expected, name)

    def test_empty_truth_is_no_agreement(self):
        empty = {'requests': [], 'outside': {}}
        report = report_from(empty)
        self.assertNotEqual(compare.compare_report(report, empty).violations, [])


if __name__ == '__main__':
    unittest.main()
