# SPDX-License-Identifier: Apache-2.0
"""printer.py KIND: what printer.h describes, in Python: print() with and without flush, os.write, libc by ctypes."""

import ctypes
import os
import sys
import time

cuda = ctypes.CDLL('libcuda.so.1')
libc = ctypes.CDLL(None)
PTX = b'.version 6.0\n.target sm_50\n.address_size 64\n.visible .entry paint()\n{\n\tret;\n}\n'


def check(result):
    if result:
        sys.exit(f'error {result}')


def start():
    device, context, module, function = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    check(cuda.cuInit(0))
    check(cuda.cuDeviceGet(ctypes.byref(device), 0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
    check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b'paint'))
    return function


def launch(function, count):
    for _ in range(count):
        check(cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None))


SAY = {
    'flush': lambda line: print(line, flush=True),
    'late': print,
    'write': lambda line: os.write(1, line.encode() + b'\n'),
    'ctypes': lambda line: libc.printf(b'%s\n', line.encode()),
    'stderr': lambda line: print(line, file=sys.stderr),
}


def main():
    times = open(os.environ['E2E_TIMES'], 'w') if 'E2E_TIMES' in os.environ else None

    def say(line):
        before = time.monotonic_ns()
        SAY[sys.argv[1]](line)
        if times:
            times.write(f'{before} {time.monotonic_ns()} {line}\n')

    say(f'terminals {int(os.isatty(1))} {int(os.isatty(2))}')
    function = start()
    launch(function, 1)
    for picture in (1, 2):
        say(f'picture {picture}')
        say('encode')
        launch(function, 3)
        say('sample')
        for step in range(1, 5):
            launch(function, 2)
            time.sleep(0.0002)
            say(f'step {step}/4')
        say('decode')
        launch(function, 5)
        say('saved')
    check(cuda.cuCtxSynchronize())


main()
