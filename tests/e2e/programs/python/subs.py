# SPDX-License-Identifier: Apache-2.0
"""Pictures in a subinterpreter, with launches that are expected in no stage, between pictures in the main one; and
subinterpreters that run functions of the same names in threads meanwhile (from 3.12 on each with a GIL of its own)."""

import importlib
import sys
import threading

import _testcapi

from launching import launch
from studio.pipe import Pipe

SUB = '''
import sys
sys.path[:] = %r
import launching
import studio.pipe
true_launch = launching.launch
studio.pipe.launch = lambda name: true_launch()
for turn in range(2):
    studio.pipe.Pipe()()
'''

APART = '''
__name__ = 'studio.pipe'
def decode():
    pass
def encode_prompt(fail):
    decode()
    try:
        decode(fail)
    except TypeError:
        pass
for turn in range(3000):
    encode_prompt(1)
'''


def run_apart():
    try:
        interpreters = importlib.import_module('_interpreters' if sys.version_info >= (3, 13) else '_xxsubinterpreters')
    except ImportError:
        return
    number = interpreters.create()
    assert not interpreters.run_string(number, APART)
    interpreters.destroy(number)


launch()
threads = [threading.Thread(target=run_apart) for _ in range(2)]
for thread in threads:
    thread.start()
Pipe()()
for turn in range(2):
    assert _testcapi.run_in_subinterp(SUB % sys.path) == 0
    Pipe()()
    launch()
for thread in threads:
    thread.join()
