#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo, labelled by each source of stages alone: functions, NVTX ranges, printed lines, kernel names. What belongs to
which stage must be the same for all, as far as a source can know; what was concluded from lines must say so."""

import sys

import lib

STEPS, IMAGES = 4, 2
NVTX = """nvtx request -> request; nvtx load -> load; nvtx encode -> encode; nvtx sample -> sample; nvtx step -> step
nvtx decode -> decode; nvtx output -> output; nvtx copy_back -> output/d2h; nvtx write_png -> output/png"""
# A line tells that a stage begins; the bar is drawn when a step is over.
LOG = """log "request ..." -> begin request; log "  image *" -> end request; log "load ..." -> begin load
log "encode ..." -> begin encode; log "sample ..." -> begin sample; log "  step */*" -> sample step-end
log "decode ..." -> begin decode; log "output ..." -> begin output"""
KERNEL = """kernel text_* -> encode; kernel latent_noise -> sample; kernel unet_* -> sample; kernel guide -> sample
kernel sampler_step -> sample; kernel vae_* -> decode"""
STAGES = ['encode', 'sample', 'decode', 'output']


def run(folder, name, mapping, *options):
    def once():
        return lib.generate(folder, *options, images=IMAGES, steps=STEPS, mapping=mapping, name=name)

    return once


def figures(row):
    """What is the same however a stage was found: work, and whom it belongs to."""
    if row is None:
        return None
    copies = {kind: (sums['count'], sums['bytes']) for kind, sums in row['copies'].items()}
    return row['launches'], copies, row['memsets']['count'], row['graph_launches']


def of_stages(document):
    return [{name: figures(lib.rows(request).get(name)) for name in STAGES} for request in document['requests']]


def edges(document):
    return {row['edges'] for request in document['requests'] for row in request['stages'] if row['edges']}


def main():
    checks = lib.Checks()
    with lib.workdir() as folder:
        by_symbol = lib.compared(checks, 'symbol', run(folder, 'symbol', 'demo'), row_names=lib.DEMO_ROWS)
        by_nvtx = lib.compared(checks, 'nvtx', run(folder, 'nvtx', NVTX), row_names=lib.DEMO_ROWS)
        want = of_stages(by_symbol)
        checks.equal(want, of_stages(by_nvtx), 'nvtx: the same work in each stage as by functions')
        checks.equal({'exact'}, edges(by_symbol) | edges(by_nvtx), 'functions and ranges are exact')

        traced = run(folder, 'log', LOG, '--progress')()
        checks.ok(traced.process.returncode == 0, 'log: runs', traced.describe())
        by_log = lib.report(checks, '--request', 'all', traced.trace, what='log')
        checks.equal(want, of_stages(by_log), 'log: the same work in each stage as by functions')
        checks.equal([STEPS] * IMAGES, [request['steps'] for request in by_log['requests']], 'log: steps')
        checks.ok('inferred' in edges(by_log), 'log: edges are inferred', edges(by_log))

        traced = run(folder, 'kernel', KERNEL)()
        checks.ok(traced.process.returncode == 0, 'kernel: runs', traced.describe())
        by_kernel = lib.report(checks, '--request', 'all', traced.trace, what='kernel')
        launches = {name: sum(stages[name][0] for stages in want) for name in STAGES[:3]}
        parts = [request['stages'] for request in by_kernel['requests']] + list(by_kernel['outside'].values())
        got = {name: sum(row['launches'] for part in parts for row in part if row['name'] == name) for name in launches}
        checks.equal(launches, got, 'kernel: the same launches in each stage as by functions')
    checks.finish()


if __name__ == '__main__':
    sys.exit(main())
