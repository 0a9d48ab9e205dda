#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Everything at once, for a while (argument: seconds): launches in several threads, plugins that come and go, look-ups,
forks, children that launch and children that become another image. No hang, no bad child, no wrong answer, and
each launch is in the trace or counted as lost."""

import os
import sys
import time

import lib
import lives

SHORT_S, BARE_S = 10, 1
SPARE_S = 120  # until a hang is one: a busy machine is not
IMAGE_LAUNCHES = 15
PLUGINS = [os.path.join(lib.PROGRAMS, f'libeverything_{name}.so') for name in ('one', 'two')]


def run(folder, preload, seconds):
    """No truth: the driver's lines of a minute are too many."""
    command = [lib.program('everything'), str(seconds)] + PLUGINS
    return lives.Run(folder, command, preload, truth=False, timeout=seconds + SPARE_S)


def main():
    checks = lib.Checks()
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else SHORT_S
    with lib.workdir() as folder:
        bare = run(os.path.join(folder, 'bare'), False, BARE_S)
        checks.equal(0, bare.returncode, 'alone: runs')
        begin = time.monotonic()
        seen = run(os.path.join(folder, 'seen'), True, seconds)
        print(f'{seen.stderr}note: {time.monotonic() - begin:.1f} s')
        checks.equal((bare.returncode, bare.stdout), (seen.returncode, seen.stdout), 'beside us: status and answers')
        checks.equal('0 bad children\n0 wrong answers\n', seen.stdout, 'no child hangs or fails, no look-up differs')
        said = [line for line in seen.stderr.splitlines() if not line.startswith('note: ')]
        checks.equal([], said, 'nobody has anything to say')

        document = lives.report(checks, 'the process', os.path.join(seen.folder, 'run.stap'))
        if document:
            lost = document['traces'][0]['lost']
            found = lives.launches(document)
            # what is lost may be any event, not only a launch; where nothing is, the figures are equal
            made = seen.made()
            what = f'{found} recorded, {made} made, {lost["ring_full"]} events lost'
            checks.ok(found <= made <= found + lost['ring_full'], f'{what}: each launch is recorded or lost')
            checks.equal(lost['ring_full'], lives.lost(document), 'nothing is lost in another way')
        with open(os.path.join(seen.folder, 'made.others'), encoding='ascii') as file:
            images, callers = map(int, file.read().split())
        counts = []
        for path in seen.traces():
            if not path.endswith('.stap'):
                result = lib.stagetap('report', '--json', path)
                counts.append(result.returncode or lives.launches(lib.json.loads(result.stdout)))
        wanted = [0] * callers + [IMAGE_LAUNCHES] * images
        checks.equal(wanted, sorted(counts), f'a trace of each of {images} images and {callers} children that called')
        # a child that called the driver and ended by _exit() leaves its ring; nobody else does
        left = {pid for _, pid in lib.rings(folder)}
        ours = lives.Header(os.path.join(seen.folder, 'run.stap')).pid
        checks.ok(ours not in left and len(left) <= callers, 'no other ring is left', (len(left), callers))
    checks.finish()


if __name__ == '__main__':
    sys.exit(main())
