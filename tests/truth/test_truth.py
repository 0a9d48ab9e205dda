#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hand-drawn examples for truth.py: every expected figure can be counted off the drawing above it.

In the drawings one character is 10 ns; upper line: the host thread, lower lines: streams of the device.
"""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import placing  # noqa: E402
import truth  # noqa: E402


def span(row, start, end, thread=1):
    return placing.Span(row, placing.role_of(row), thread, start, end, 0, None)


def op(launched, start, end, kind='kernel', thread=1, device=0, direction=None, size=0, name='k', graph=None):
    return placing.Op(kind, name, device, 0, thread, launched, start, end, size, direction, graph)


def figures(spans, ops, rules=()):
    return truth.figures_of(placing.Run(ops, [], placing.name_steps(spans), rules))


def row(request, name, part='stages'):
    found = [entry for entry in request[part] if entry['name'] == name]
    assert len(found) == 1, (name, [entry['name'] for entry in request[part]])
    return found[0]


class SpillingEncode(unittest.TestCase):
    """Work launched in encode runs on while the host is in sample.

    host     |encode--|sample--------|          request 0..200
    stream A   eeeeeeeeeeee
    stream B              ssssssssssss          to 260: the device ends after the host
    pieces  iieeeeeeeeee##ssssssssss..          # both = shared
    """

    def setUp(self):
        self.request = figures(
            [span('request', 0, 200), span('encode', 0, 90), span('sample', 90, 200)],
            [op(10, 20, 140), op(100, 120, 260, name='s')],
        )['requests'][0]

    def test_request(self):
        self.assertEqual(self.request['wall_ns'], 260)
        self.assertEqual(self.request['host_return_ns'], 200)
        self.assertEqual(self.request['device_done_ns'], 260)

    def test_identity(self):
        device = self.request['devices'][0]
        self.assertEqual((device['stages_self_ns'], device['shared_ns'], device['idle_ns']), (100 + 120, 20, 20))
        self.assertEqual(device['residual_ns'], 0)
        self.assertEqual(device['busy_ns'], 240)

    def test_rows(self):
        encode, sample = row(self.request, 'encode'), row(self.request, 'sample')
        self.assertEqual((encode['device'][0]['busy_ns'], encode['device'][0]['self_ns']), (120, 100))
        self.assertEqual((sample['device'][0]['busy_ns'], sample['device'][0]['self_ns']), (140, 120))
        self.assertEqual((encode['host_inclusive_ns'], encode['host_self_ns']), (90, 90))
        self.assertEqual((encode['launches'], sample['launches']), (1, 1))

    def test_wall_share_sums_to_the_wall(self):
        # idle 0..20 goes to encode (the host was there): 20 + 100; shared 20; sample 120
        share = {entry['name']: entry['wall_share_ns'] for entry in self.request['stages']}
        self.assertEqual(share, {'encode': 120, 'sample': 120, 'unattributed': 0})
        self.assertEqual(self.request['shared_wall_ns'], 20)

    def test_gaps(self):
        self.assertEqual(
            [(gap['start_ns'], gap['duration_ns'], gap['before'], gap['after']) for gap in self.request['gaps']],
            [(0, 20, None, 'encode')],
        )


class NestedRows(unittest.TestCase):
    """Steps and a copy below stages; a span of the same row inside itself collapses.

    host     |sample-----------------||output------------|  |   request 0..500
               |step--|  |step------|    |d2h---|
    device       kk  kkkk   kkkkkkkk        cc  cc
    """

    def setUp(self):
        self.request = figures(
            [
                span('request', 0, 500),
                span('sample', 10, 250),
                span('step', 20, 100),
                span('step', 130, 240),
                span('output', 250, 450),
                span('output/d2h', 270, 340),
                span('output/d2h', 280, 330),
            ],
            [
                op(30, 40, 60),
                op(110, 120, 150),
                op(140, 150, 230),
                op(280, 290, 310, 'memcpy', direction='d2h', size=4096),
                op(345, 350, 370, 'memcpy', direction='d2h', size=100),
                op(455, 460, 470, 'memset', size=7),
            ],
        )['requests'][0]

    def test_counts(self):
        sample, step = row(self.request, 'sample'), row(self.request, 'sample/step')
        self.assertEqual((sample['calls'], step['calls'], self.request['steps']), (1, 2, 2))
        self.assertEqual((sample['launches'], sample['launches_self'], step['launches']), (3, 1, 2))
        output, d2h = row(self.request, 'output'), row(self.request, 'output/d2h')
        self.assertEqual(d2h['calls'], 1)
        self.assertEqual(output['copies']['d2h'], {'count': 2, 'bytes': 4196})
        self.assertEqual(d2h['copies']['d2h'], {'count': 1, 'bytes': 4096})
        self.assertEqual(output['copies']['h2d'], {'count': 0, 'bytes': 0})
        self.assertEqual(row(self.request, 'unattributed')['memsets'], {'count': 1, 'bytes': 7})

    def test_host(self):
        self.assertEqual(row(self.request, 'sample')['host_inclusive_ns'], 240)
        self.assertEqual(row(self.request, 'sample')['host_self_ns'], 240 - 80 - 110)
        self.assertEqual(row(self.request, 'output/d2h')['host_inclusive_ns'], 70)
        self.assertEqual(row(self.request, 'output/d2h')['host_self_ns'], 70)
        self.assertEqual(row(self.request, 'unattributed')['host_inclusive_ns'], 10 + 50)

    def test_device(self):
        sample = row(self.request, 'sample')['device'][0]
        self.assertEqual((sample['busy_ns'], sample['compute_ns'], sample['self_ns']), (130, 130, 30))
        self.assertEqual(row(self.request, 'sample/step')['device'][0]['self_ns'], 100)
        output = row(self.request, 'output')['device'][0]
        self.assertEqual((output['busy_ns'], output['copy_only_ns'], output['self_ns']), (40, 40, 20))
        device = self.request['devices'][0]
        self.assertEqual((device['stages_self_ns'], device['unattributed_ns'], device['idle_ns']), (170, 10, 320))

    def test_gap_neighbours(self):
        # 470..500: nothing more comes; 310..350 lies between the two rows of output
        gaps = {gap['start_ns']: gap for gap in self.request['gaps']}
        self.assertEqual((gaps[470]['before'], gaps[470]['after']), ('unattributed', None))
        self.assertEqual((gaps[310]['before'], gaps[310]['after']), ('output/d2h', 'output'))
        self.assertEqual(sum(gap['duration_ns'] for gap in gaps.values()), 320)


class DeepestRowWins(unittest.TestCase):
    """Within one stage the deepest row has the piece, ties the later launched.

    stream A   ssssssss          row sample
    stream B      tttttttt       row sample/step     → sample 30, sample/step 80
    """

    def test_self(self):
        request = figures(
            [span('request', 0, 200), span('sample', 0, 200), span('step', 10, 100)],
            [op(5, 20, 100), op(15, 50, 130)],
        )['requests'][0]
        self.assertEqual(row(request, 'sample')['device'][0]['self_ns'], 30)
        self.assertEqual(row(request, 'sample/step')['device'][0]['self_ns'], 80)
        self.assertEqual(request['devices'][0]['shared_ns'], 0)

    def test_tie(self):
        request = figures(
            [span('request', 0, 200), span('a/x', 0, 20), span('a/y', 20, 40)], [op(5, 50, 100), op(25, 70, 120)]
        )['requests'][0]
        self.assertEqual(row(request, 'a/x')['device'][0]['self_ns'], 20)
        self.assertEqual(row(request, 'a/y')['device'][0]['self_ns'], 50)
        self.assertEqual(row(request, 'a')['device'][0]['self_ns'], 0)


class TwoRequests(unittest.TestCase):
    """Two threads, two requests, one device.

    thread 1 |request 1-----------|             0..200
    thread 2          |request 2-----------|    100..300
    device      11111    22222   1111  xx       x: no request's thread, two requests open
    """

    def setUp(self):
        self.result = figures(
            [
                span('request', 0, 200),
                span('encode', 0, 200),
                span('request', 100, 300, 2),
                span('decode', 100, 300, 2),
            ],
            [op(10, 20, 70), op(110, 120, 170, thread=2), op(150, 200, 240), op(160, 250, 270, thread=3)],
        )
        self.first, self.second = self.result['requests']

    def test_other_is_not_idle(self):
        device = self.first['devices'][0]
        self.assertEqual(self.first['wall_ns'], 240)
        self.assertEqual((device['stages_self_ns'], device['other_ns'], device['idle_ns']), (90, 50, 100))
        device = self.second['devices'][0]
        self.assertEqual((device['stages_self_ns'], device['other_ns'], device['idle_ns']), (50, 60, 90))
        self.assertEqual(device['residual_ns'], 0)

    def test_stranger_is_outside(self):
        between = self.result['outside']['between']
        self.assertEqual([(entry['name'], entry['launches']) for entry in between], [('unattributed', 1)])

    def test_gap_beside_other(self):
        self.assertEqual(
            [(gap['start_ns'], gap['before'], gap['after']) for gap in self.second['gaps']],
            [(100, None, 'decode'), (170, 'decode', 'other'), (240, 'other', 'other'), (270, 'other', None)],
        )


class HelperThread(unittest.TestCase):
    """A thread without a request while exactly one is open: belongs to it; its stage is its own."""

    def test_joined(self):
        request = figures(
            [span('request', 0, 100), span('sample', 0, 100), span('fetch', 20, 60, 2)],
            [op(10, 20, 30), op(30, 30, 40, 'memcpy', 2, direction='h2d', size=8), op(70, 70, 80, thread=2)],
        )['requests'][0]
        self.assertEqual(row(request, 'fetch')['copies']['h2d'], {'count': 1, 'bytes': 8})
        self.assertEqual(row(request, 'fetch')['host_inclusive_ns'], 40)
        self.assertEqual(row(request, 'unattributed')['launches'], 1)
        self.assertEqual(request['devices'][0]['unattributed_ns'], 10)

    def test_before_the_request(self):
        result = figures([span('load', 0, 50), span('request', 100, 200)], [op(10, 20, 30), op(60, 60, 70)])
        rows = {entry['name']: entry['launches'] for entry in result['outside']['before_first']}
        self.assertEqual(rows, {'load': 1, 'unattributed': 1})
        self.assertEqual(result['requests'][0]['device_done_ns'], None)


class After(unittest.TestCase):
    """Saving the picture after the request's return is `after`, a load there is outside."""

    def test_after(self):
        result = figures(
            [
                span('request', 0, 100),
                span('output', 120, 180),
                span('load', 200, 220),
                span('request', 300, 400),
                span('output', 410, 430),
            ],
            [op(130, 140, 150, 'memcpy', direction='d2h', size=3), op(205, 210, 215), op(440, 441, 450)],
        )
        first, second = result['requests']
        self.assertEqual((first['wall_ns'], first['wall_with_tail_ns']), (100, 180))
        self.assertEqual(row(first, 'output', 'after')['copies']['d2h'], {'count': 1, 'bytes': 3})
        self.assertEqual(second['wall_with_tail_ns'], 130)
        self.assertEqual([entry['name'] for entry in result['outside']['between']], ['load'])
        self.assertEqual([entry['name'] for entry in result['outside']['after_last']], ['unattributed'])


class KernelRule(unittest.TestCase):
    """A kernel rule moves device figures and launches of that kernel; host figures stay."""

    def test_moved(self):
        request = figures(
            [span('request', 0, 100), span('sample', 0, 100)],
            [op(10, 20, 30, name='gemm_1us'), op(20, 30, 50, name='upsample_2us')],
            [('upsample*', 'decode')],
        )['requests'][0]
        self.assertEqual((row(request, 'decode')['launches'], row(request, 'sample')['launches']), (1, 1))
        self.assertEqual(row(request, 'decode')['device'][0]['self_ns'], 20)
        self.assertEqual((row(request, 'decode')['host_inclusive_ns'], row(request, 'decode')['calls']), (0, 0))
        self.assertEqual(row(request, 'sample')['host_inclusive_ns'], 100)


class TwoDevices(unittest.TestCase):
    def test_identity_each(self):
        request = figures(
            [span('request', 0, 100), span('a', 0, 50), span('b', 50, 100)],
            [op(10, 10, 60), op(60, 60, 90, device=1)],
        )['requests'][0]
        first, second = request['devices']
        self.assertEqual((first['stages_self_ns'], first['idle_ns']), (50, 50))
        self.assertEqual((second['stages_self_ns'], second['idle_ns']), (30, 70))
        share = {entry['name']: entry['wall_share_ns'] for entry in request['stages']}
        self.assertEqual(share, {'a': 60, 'b': 40, 'unattributed': 0})


class Reading(unittest.TestCase):
    def test_cut_last_line(self):
        with tempfile.NamedTemporaryFile('w', suffix='.jsonl') as file:
            file.write('{"op":"call","name":"cuInit","thread":1,"start_ns":1,"end_ns":2,"result":0}\n{"op":"ker')
            file.flush()
            ops, calls, idles = placing.read_truth(file.name)
        self.assertEqual((len(ops), len(calls), len(idles)), (0, 1, 0))

    def test_union(self):
        self.assertEqual(truth.union_ns([]), 0)
        self.assertEqual(truth.union_ns([(5, 7), (0, 2), (1, 3), (6, 6)]), 5)


if __name__ == '__main__':
    unittest.main()
