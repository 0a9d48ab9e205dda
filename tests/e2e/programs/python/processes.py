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


def pictures_and_truth(count):
    """Before an end by os._exit(): the simulator's truth is written now and then."""
    pictures(count)
    time.sleep(0.1)


def forked(count):
    child = os.fork()
    if child == 0:
        pictures_and_truth(count)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


if __name__ == '__main__':
    forked(1)
    studio.pipe.call(forked, 2)
    for way, count in (('spawn', 3), ('forkserver', 5)):
        process = multiprocessing.get_context(way).Process(target=pictures_and_truth, args=(count,))
        process.start()
        process.join()
        assert process.exitcode == 0
    pictures(4)
