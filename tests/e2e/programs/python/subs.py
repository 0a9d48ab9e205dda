# SPDX-License-Identifier: Apache-2.0
"""Pictures in a subinterpreter, with launches that are expected in no stage, between pictures in the main one."""

import sys

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

launch()
Pipe()()
for turn in range(2):
    assert _testcapi.run_in_subinterp(SUB % sys.path) == 0
    Pipe()()
    launch()
