# SPDX-License-Identifier: Apache-2.0
"""A child that is forked by a process that has not used CUDA, one forked from within a stage, and one that
multiprocessing starts anew, directly and from its server: each makes pictures. The first process launches only after its forked children are gone."""

import multiprocessing
import os
import time

import studio.pipe
from launching import launch


def pictures(count):
    for _ in range(count):
        studio.pipe.Pipe()()
        launch()


def forked(count):
    child = os.fork()
    if child == 0:
        pictures(count)
        time.sleep(0.1)  # the simulator's truth is written now and then
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


if __name__ == '__main__':
    forked(1)
    studio.pipe.call(forked, 2)
    for way, count in (('spawn', 3), ('forkserver', 5)):
        process = multiprocessing.get_context(way).Process(target=pictures, args=(count,))
        process.start()
        process.join()
        assert process.exitcode == 0
    pictures(4)
