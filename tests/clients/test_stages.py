#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stages.py must be able to fail: a right report passes, and whatever is in another stage is named."""

import copy
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / 'truth')]
import stages  # noqa: E402
from test_compare import example, report_from  # noqa: E402


def row(report, name, place='stages', request=0):
    return next(row for row in report['requests'][request][place] if row['name'] == name)


def move_launch(report):
    row(report, 'decode')['launches'] -= 1
    row(report, 'sample')['launches'] += 1


def move_copy(report):
    target = row(report, 'encode')['copies']['d2h']
    target['count'], target['bytes'] = 1, 4096
    row(report, 'decode')['copies']['d2h'] = dict(stages.NONE)


WRONG = {
    'a launch in another stage': move_launch,
    'a copy in another stage': move_copy,
    'bytes': lambda report: row(report, 'output', 'after')['copies']['d2h'].update(bytes=4),
    'a memset': lambda report: row(report, 'sample/step')['memsets'].update(count=2),
    'entered twice': lambda report: row(report, 'sample', request=1).update(calls=2),
    'a step less': lambda report: row(report, 'sample/step').update(calls=1),
    'no output': lambda report: report['requests'][1].update(after=[]),
    'one more stage': lambda report: report['requests'][0]['stages'].append(dict(row(report, 'encode'), name='refine')),
    'a request less': lambda report: report['requests'].pop(),
    'load lost': lambda report: report['outside'].update(before_first=[]),
}


class Stages(unittest.TestCase):
    def test_right_report(self):
        figures = example()
        self.assertEqual(list(stages.differences(figures, report_from(figures))), [])

    def test_each_wrong_report(self):
        figures = example()
        for what, spoil in WRONG.items():
            with self.subTest(what):
                report = copy.deepcopy(report_from(figures))
                spoil(report)
                self.assertTrue(list(stages.differences(figures, report)))

    def test_unattributed(self):
        report = report_from(example())
        before = stages.unattributed_share(report)
        row(report, 'unattributed')['launches'] += 1
        self.assertGreater(stages.unattributed_share(report), before)


if __name__ == '__main__':
    unittest.main()
