# SPDX-License-Identifier: Apache-2.0
"""What python_cost.py measures: calls of an empty function whose name a rule matches or not, launches below TURNS frames.
python_calls.py KIND TURNS [time]   `time` prints nanoseconds a turn, the least of seven; kinds see below."""

import sys
import time

import _json  # an extension module: a moment to install  # noqa: F401


def unmatched():
    pass


def matched():
    pass


def raising():
    raise ValueError


def numbers():
    while True:
        yield 1


def loop_nothing(turns):
    for _ in range(turns):
        pass


def loop_unmatched(turns):
    for _ in range(turns):
        unmatched()


def loop_matched(turns):
    for _ in range(turns):
        matched()


def loop_raising(turns):
    for _ in range(turns):
        try:
            raising()
        except ValueError:
            pass


def loop_launch(turns):
    import ctypes

    driver = ctypes.CDLL('libcuda.so.1')
    driver.cuInit(0)
    launch, nothing = driver.cuLaunchKernel, ctypes.c_void_p()

    def loop(depth):
        if depth:
            return loop(depth - 1)
        begin = time.perf_counter()
        for _ in range(turns):
            launch(nothing, 1, 1, 1, 1, 1, 1, 0, nothing, nothing, nothing)
        return time.perf_counter() - begin

    return loop(8)


def elapsed(loop, turns):
    begin = time.perf_counter()
    inner = loop(turns)
    return inner or time.perf_counter() - begin


def main():
    loop, turns = globals()['loop_' + sys.argv[1]], int(sys.argv[2])
    if sys.argv[3:] == ['time']:
        print(min(elapsed(loop, turns) for _ in range(7)) / turns * 1e9)
    else:
        loop(turns)


main()
