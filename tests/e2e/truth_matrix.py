#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The report agrees with the truth: the demo with each of its modes, 4 images × 20 steps, traced on simgpu.

truth_matrix.py generate|generate_rt
"""

import sys

import lib

MODES = [[], ['--two-streams'], ['--item-sync'], ['--pageable'], ['--offload']]
IMAGES, STEPS = 4, 20


def one_mode(checks, which, mode):
    label = f'{which} {" ".join(mode) or "default"}'
    with lib.workdir() as folder:
        document = lib.compared(
            checks,
            label,
            lambda: lib.generate(folder, *mode, which=which, images=IMAGES, steps=STEPS, size=256),
            row_names=lib.DEMO_ROWS,
        )
        if document is None:
            return
        checks.equal(IMAGES, len(document['requests']), f'{label}: a request for each image')
        checks.equal([STEPS] * IMAGES, [request['steps'] for request in document['requests']], f'{label}: steps')
        checks.equal({True}, {trace['complete'] for trace in document['traces']}, f'{label}: trace complete')
        checks.equal({0}, set(document['traces'][0]['lost'].values()), f'{label}: nothing lost')


def main():
    which = sys.argv[1]
    if which == 'generate_rt' and not lib.is_built(which):
        print(f'{which} is not built here (no nvcc)')
        sys.exit(77)
    checks = lib.Checks()
    for mode in MODES:
        one_mode(checks, which, mode)
    checks.finish()


if __name__ == '__main__':
    main()
