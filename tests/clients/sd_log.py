# SPDX-License-Identifier: Apache-2.0
"""What the log of stable-diffusion.cpp must say, and which stages it tells of. A log that the stages are taken from has the
time in front of each line: [ns of CLOCK_MONOTONIC]."""

import json
import pathlib
import re
import statistics
import sys

import agree
from client import STAGETAP
import stages

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'truth'))
import placing  # noqa: E402
import truth  # noqa: E402

# What its output says of how long all took, where the loading bar was when it looked, and whether a graph came again in
# the same memory (then it captures it): that depends on what the heap gives it, and so do the numbers of launches.
VARYING = re.compile(r'\r  \|[=> ]*\| \d+/\d+ - \S+B/s\x1b\[K\n?|\[DEBUG\] [^\n]*CUDA graph warmup complete\n|'
                     r'\d+(\.\d+)? ?(s/it|it/s|ms|s)\b')
LINE = re.compile(r'\[(\d+)\] \S+ +- (.*)')
ROWS = {  # row → how the lines begin at which it begins and ends
    'request': ('generate_image 64x64', 'generate_image completed'),
    'encode': ('sampling using', 'get_learned_condition completed'),
    'sample': ('get_learned_condition completed', 'sampling completed'),
    'decode': ('decoding', 'decode_first_stage completed'),
}
CLOCK_NS, NEAR_NS = 2000, 1_000_000  # what two clocks may differ by; how near an edge must be
MOST = 0.9  # of the edges: a thread may lose its CPU between looking at the clock and printing


def used_cuda(client, label, run, seens):
    """Without a driver it silently takes the CPU, and makes the same picture."""
    said = run.stdout + run.stderr
    client.check('found 1 CUDA devices' in said and 'SimGPU' in said, f'{label}: says that it found the GPU', said[:2000])
    client.check('failed to initialize CUDA' not in said, f'{label}: uses it', said[:2000])
    client.check(sum(seen.total('launches') for seen in seens) > 0, f'{label}: kernels were launched')


# ---- stages by its own log and clock ----


def logged_spans(stderr, thread):
    """By the clock of the log itself, in the order of their ends."""
    spans, begun = [], {}
    for line in filter(None, map(LINE.match, stderr.splitlines())):
        at_ns, text = int(line[1]), line[2]
        for row, (_, end) in ROWS.items():
            if text.startswith(end) and row in begun:
                spans.append(placing.Span(row, placing.role_of(row), thread, begun.pop(row), at_ns, None, None))
        begun.update({row: at_ns for row, (begin, _) in ROWS.items() if text.startswith(begin)})
    return spans


def seen_spans(trace):
    """(row, begin, end, are both inferred) of what was not loading, in ns of CLOCK_MONOTONIC."""
    rules, clocks, begins, ends = {}, [], {}, {}
    for line in agree.run(STAGETAP, 'dump', '--json', trace).splitlines():
        row = json.loads(line)
        if row['table'] == 'RULE':
            rules[row['rule']] = row['name'] or 'request'
        elif row['table'] == 'CLOCK':
            clocks.append((row['ticks'], row['monotonic_ns']))
        elif row['table'] in ('SPAN_BEGIN', 'SPAN_END'):
            (begins if row['table'] == 'SPAN_BEGIN' else ends)[row['span']] = row
    (ticks, ns), (last_ticks, last_ns) = clocks[0], clocks[-1]
    rate = (last_ns - ns) / (last_ticks - ticks)
    for span, begin in sorted(begins.items(), key=lambda entry: entry[1]['at_ticks']):
        if rules[begin['rule']] != 'load':
            edges = begin, ends[span]
            yield (rules[begin['rule']], *(ns + (edge['at_ticks'] - ticks) * rate for edge in edges),
                   all(edge['inferred'] for edge in edges))


def counts_in_requests(document):
    """Of their stages, without the steps, whose bars have no times."""
    return {key: counts for key, counts in stages.counts_of(document).items()
            if key[0].startswith('stages ') and '/' not in key[1]}


def has_logged_stages(client, label, run, seens, pictures, steps):
    """The preset's stages are those of the log: what is in them, by the truth, and when they are, by the log's own clock.
    That a picture is asked for is seen exactly, by a function of the library."""
    used_cuda(client, label, run, seens)
    seen, = seens
    logged = sorted(logged_spans(run.stderr, seen.pid), key=lambda span: (span.start, -span.end))
    spans = sorted(seen_spans(run.traces[0]), key=lambda span: (span[1], -span[2]))
    wanted = [(row, row != 'request') for row in ROWS] * pictures
    client.check([span.row for span in logged] == [row for row, _ in wanted], f'{label}: its log has all stages', logged)
    if client.check([(row, is_inferred) for row, _, _, is_inferred in spans] == wanted,
                    f'{label}: stages of {pictures} pictures, by lines, requests by a function', spans):
        late_ns = sorted(seen_ns - logged_ns for span, (row, begin, end, _) in zip(logged, spans) if row != 'request'
                         for seen_ns, logged_ns in ((begin, span.start), (end, span.end)))
        client.check(late_ns[0] > -CLOCK_NS and late_ns[int(MOST * len(late_ns))] < NEAR_NS,
                     f'{label}: {len(late_ns)} edges after the log\'s own clock by {late_ns[0] / 1000:.1f} to '
                     f'{late_ns[-1] / 1000:.1f} us, median {statistics.median(late_ns) / 1000:.1f} us', late_ns)
    ops, calls, idles = placing.read_truth(run.truths[0])
    wanted = counts_in_requests(truth.figures_of(placing.Run(ops, idles, logged, calls=calls)))
    told = counts_in_requests(seen.report)
    client.check(wanted == told, f'{label}: its stages have what the truth has between their lines', (wanted, told))
    for request in seen.report['requests']:
        launches = {row['name']: row['launches'] for row in request['stages']}
        client.check(request['steps'] == steps and launches.get('sample/step') == launches.get('sample'),
                     f'{label}: request {request["id"]}: {steps} steps by its bars, nothing beside them', launches)
        client.check(launches['unattributed'] == 0, f'{label}: request {request["id"]}: no launch is unattributed', launches)
    loads = [row['calls'] for row in seen.report['outside']['before_first'] if row['name'] == 'load']
    client.check(loads == [1], f'{label}: loaded once, before', loads)
