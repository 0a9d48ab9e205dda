# SPDX-License-Identifier: Apache-2.0
"""Is each launch, copy and memset of a client in the stage in which a reference run has it? The reference is another process
of the same program, without us, whose own marks (run.stages) and the simulator's truth (run.truth) are put together by
tests/truth/placing.py. Times differ between two runs; counts and bytes do not."""

import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'truth'))
import placing  # noqa: E402

DIRECTIONS = ('h2d', 'd2h', 'd2d', 'p2p')


def count_rows(ops, spans):
    """row → {what: how often}, with what is below it, as in a report."""
    rows = collections.defaultdict(collections.Counter)
    for op, row in ops:
        what = {'kernel': 'launches', 'memset': 'memsets'}.get(op.op, op.kind)
        row = row or placing.UNATTRIBUTED
        for name in {row, placing.top(row)}:
            rows[name][what] += 1
            if op.op == 'memcpy':
                rows[name][what + ' bytes'] += op.bytes
    for span in spans:
        rows[span.row]['calls'] += 1
    return rows


def reference(folder):
    """(label of a place, its rows) of a reference run: each request, what comes after it, what is outside."""
    ops, calls, idles = placing.read_truth(folder / 'run.truth')
    run = placing.Run(ops, idles, placing.read_timings(folder / 'run.stages'), calls=calls)
    for request in run.requests:
        yield f'request {request.number}', count_rows(request.ops, request.spans)
        yield f'after {request.number}', count_rows(request.after_ops, request.after_spans)
    for part in ('before_first', 'between', 'after_last'):
        yield part, count_rows(run.outside_ops[part], run.outside_spans[part])


def reported(report):
    def rows_of(rows):
        figures = {}
        for row in rows:
            counts = {'calls': row['calls'], 'launches': row['launches'], 'memsets': row['memsets']['count']}
            for direction in DIRECTIONS:
                counts[direction] = row['copies'][direction]['count']
                counts[direction + ' bytes'] = row['copies'][direction]['bytes']
            figures[row['name']] = collections.Counter({key: value for key, value in counts.items() if value})
        return figures

    for request in report['requests']:
        yield f'request {request["id"]}', rows_of(row for row in request['stages'] if row['name'] != 'shared')
        yield f'after {request["id"]}', rows_of(request['after'])
    for part, rows in report['outside'].items():
        yield part, rows_of(rows)


def differences(folder, report):
    """What the report has otherwise than the reference run in `folder`, a line each."""
    truth, told = dict(reference(folder)), dict(reported(report))
    for place in sorted(truth.keys() | told.keys()):
        wanted, got = truth.get(place, {}), told.get(place, {})
        for row in sorted(wanted.keys() | got.keys()):
            if row.startswith(placing.UNATTRIBUTED + '/'):
                continue  # parts of a row, by thread
            if (wanted.get(row) or {}) != (got.get(row) or {}):
                yield f'{place}, {row}: reference {dict(wanted.get(row) or {})}, report {dict(got.get(row) or {})}'


def unattributed_share(report):
    """Of the launches of all requests."""
    launches = collections.Counter()
    for request in report['requests']:
        for row in request['stages']:
            if '/' not in row['name']:
                launches[row['name'] == placing.UNATTRIBUTED] += row['launches']
    return launches[True] / max(1, sum(launches.values()))
