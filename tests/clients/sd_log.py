# SPDX-License-Identifier: Apache-2.0
"""What the log of stable-diffusion.cpp must say, and which stages it tells of. A log that the stages are taken from has two
times in front of each line, in ns of CLOCK_MONOTONIC: [before it is printed, after the one before was printed]."""

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
LINE = re.compile(r'\[(\d+) (\d+)\] \S+ +- (.*)')
ROWS = {  # row → how the lines begin at which it begins and ends
    'request': ('generate_image 64x64', 'generate_image completed'),
    'encode': ('sampling using', 'get_learned_condition completed'),
    'sample': ('get_learned_condition completed', 'sampling completed'),
    'decode': ('decoding', 'decode_first_stage completed'),
}
CLOCK_NS = 5000  # what the two clocks may differ by


def used_cuda(client, label, run, seens):
    """Without a driver it silently takes the CPU, and makes the same picture."""
    said = run.stdout + run.stderr
    client.check('found 1 CUDA devices' in said and 'SimGPU' in said, f'{label}: says that it found the GPU', said[:2000])
    client.check('failed to initialize CUDA' not in said, f'{label}: uses it', said[:2000])
    client.check(sum(seen.total('launches') for seen in seens) > 0, f'{label}: kernels were launched')


# ---- stages by its own log and clock ----


def logged_lines(stderr):
    """(before, after it was printed, text)"""
    lines = [(int(line[1]), int(line[2]), line[3]) for line in filter(None, map(LINE.match, stderr.splitlines()))]
    return [(before, after, text) for (before, _, text), (_, after, _) in zip(lines, lines[1:] + [(0, sys.maxsize, '')])]


def logged_spans(lines, thread):
    """By the clock of the log itself: (span, when the line at its begin and that at its end were printed), outer first."""
    spans, begun = [], {}
    for before, after, text in lines:
        for row, (_, end) in ROWS.items():
            if text.startswith(end) and row in begun:
                begin = begun.pop(row)
                span = placing.Span(row, placing.role_of(row), thread, begin[0], before, None, None)
                spans.append((span, begin, (before, after)))
        begun.update({row: (before, after) for row, (begin, _) in ROWS.items() if text.startswith(begin)})
    return sorted(spans, key=lambda entry: (entry[0].start, -entry[0].end))


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
    logged = logged_spans(logged_lines(run.stderr), seen.pid)
    spans = sorted(seen_spans(run.traces[0]), key=lambda span: (span[1], -span[2]))
    wanted = [(row, row != 'request') for row in ROWS] * pictures
    client.check([span.row for span, _, _ in logged] == [row for row, _ in wanted], f'{label}: its log has all stages',
                 logged)
    if client.check([(row, is_inferred) for row, _, _, is_inferred in spans] == wanted,
                    f'{label}: stages of {pictures} pictures, by lines, requests by a function', spans):
        edges = [(at_ns - before, after - at_ns) for (_, *printed), (row, *at, _) in zip(logged, spans) if row != 'request'
                 for (before, after), at_ns in zip(printed, at)]
        late_us = sorted(since / 1000 for since, _ in edges)
        client.check(all(min(edge) > -CLOCK_NS for edge in edges), f'{label}: {len(edges)} edges while their lines were '
                     f'printed, {late_us[0]:.1f} to {late_us[-1]:.1f} us after the log\'s own clock, '
                     f'median {statistics.median(late_us):.1f} us', edges)
    ops, calls, idles = placing.read_truth(run.truths[0])
    wanted = counts_in_requests(truth.figures_of(placing.Run(ops, idles, [span for span, _, _ in logged], calls=calls)))
    told = counts_in_requests(seen.report)
    client.check(wanted == told, f'{label}: its stages have what the truth has between their lines', (wanted, told))
    for request in seen.report['requests']:
        launches = {row['name']: row['launches'] for row in request['stages']}
        client.check(request['steps'] == steps and launches.get('sample/step') == launches.get('sample'),
                     f'{label}: request {request["id"]}: {steps} steps by its bars, nothing beside them', launches)
        client.check(launches['unattributed'] == 0, f'{label}: request {request["id"]}: no launch is unattributed', launches)
    loads = [row['calls'] for row in seen.report['outside']['before_first'] if row['name'] == 'load']
    client.check(loads == [1], f'{label}: loaded once, before', loads)
