# SPDX-License-Identifier: Apache-2.0
"""Is each launch, copy and memset of a client in the stage in which a reference run has it? The reference is another process
of the same program, without us, whose own marks (run.stages) and the simulator's truth (run.truth) tests/truth/truth.py puts
together. Times differ between two runs; counts and bytes do not."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'truth'))
import truth  # noqa: E402

UNATTRIBUTED = 'unattributed'
COUNTED = ('calls', 'launches', 'graph_launches', 'memsets', 'copies')
NONE = {'count': 0, 'bytes': 0}
NOTHING = {'calls': 0, 'launches': 0, 'graph_launches': 0, 'memsets': NONE,
           'copies': {direction: NONE for direction in ('h2d', 'd2h', 'd2d', 'p2p')}}


def reference(folder):
    return truth.compute(folder / 'run.truth', folder / 'run.stages')


def counts_of(document):
    """(place, row) → its counts; of a report or of a truth. Rows without any count are left out."""
    places = {f'{place} of request {request["id"]}': request[place]
              for request in document['requests'] for place in ('stages', 'after')}
    places.update(document['outside'])
    counts = {(place, row['name']): {key: without_times(row.get(key)) for key in COUNTED}
              for place, rows in places.items() for row in rows if not is_apart(row['name'])}
    return {key: row for key, row in counts.items() if row != NOTHING}


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(inner) for key, inner in value.items() if not key.endswith('_ns')}
    return value or 0


def is_apart(row):
    """Rows that take nothing in addition: work of two stages at once, the parts of `unattributed` by thread."""
    return row == 'shared' or row.startswith(UNATTRIBUTED + '/')


def differences(wanted, report):
    """What the report has otherwise than the reference, a line each."""
    truth_counts, told = counts_of(wanted), counts_of(report)
    for key in sorted(truth_counts.keys() | told.keys()):
        if truth_counts.get(key) != told.get(key):
            yield f'{key}: reference {truth_counts.get(key)}, report {told.get(key)}'


def unattributed_share(report):
    """Of the launches of all requests."""
    launches = {True: 0, False: 0}
    for (place, name), row in counts_of(report).items():
        if place.startswith('stages ') and '/' not in name:
            launches[name == UNATTRIBUTED] += row['launches']
    return launches[True] / max(1, sum(launches.values()))
