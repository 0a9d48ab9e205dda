# SPDX-License-Identifier: Apache-2.0
"""Launches of simgpu's driver from Python, by ctypes: launch(NAME) runs the kernel `k_NAME`, whose name says in which
stage the program expects to be: the simulator's truth then has what the report must say. Every second launch of a thread
holds the GIL."""

import ctypes
import threading

NAMES = ('none', 'load', 'encode', 'sample', 'decode', 'output', 'loop', 'generator', 'coroutine', 'static', 'property', 'named')
PTX = '.version 6.0\n.target sm_50\n.address_size 64\n' + ''.join(
    '.visible .entry k_%s ()\n{\n\tret;\n}\n' % name for name in NAMES
)
LIBRARIES = ctypes.CDLL('libcuda.so.1'), ctypes.PyDLL('libcuda.so.1')  # releases the GIL, holds it
state = {'functions': None, 'lock': threading.Lock()}
of_thread = threading.local()


def must(result):
    if result != 0:
        raise RuntimeError('CUDA error %d' % result)


def functions():
    with state['lock']:
        if state['functions'] is None:
            driver, context, module = LIBRARIES[0], ctypes.c_void_p(), ctypes.c_void_p()
            must(driver.cuInit(0))
            must(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
            must(driver.cuCtxSetCurrent(context))
            must(driver.cuModuleLoadData(ctypes.byref(module), PTX.encode()))
            found = {}
            for name in NAMES:
                found[name] = ctypes.c_void_p()
                must(driver.cuModuleGetFunction(ctypes.byref(found[name]), module, b'k_' + name.encode()))
            state['context'], state['functions'] = context, found
    return state['functions']


def launch(name='none'):
    function = functions()[name]
    if not hasattr(of_thread, 'count'):
        of_thread.count = 0
        must(LIBRARIES[0].cuCtxSetCurrent(state['context']))
    of_thread.count += 1
    must(LIBRARIES[of_thread.count % 2].cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None))
