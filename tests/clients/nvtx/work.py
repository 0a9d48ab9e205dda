#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Python program that marks its stages with NVTX, and calls it before CUDA is loaded, as modules that are decorated do:
`package` by the package nvtx (domains, registered strings, payloads, ranges across threads), `library` by libnvToolsExt."""

import ctypes
import os
import pathlib
import sys
import threading

PTX = b'.version 6.0\n.target sm_50\n.address_size 64\n' + b''.join(
    b'.visible .entry %s()\n{\nret;\n}\n' % name for name in (b'text_60us', b'unet_250us', b'vae_500us'))


class Device:
    def __init__(self):
        self.cuda = ctypes.CDLL('libcuda.so.1')
        context, module = ctypes.c_void_p(), ctypes.c_void_p()
        self.must(self.cuda.cuInit(0))
        self.must(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
        self.must(self.cuda.cuCtxSetCurrent(context))
        self.must(self.cuda.cuModuleLoadData(ctypes.byref(module), PTX))
        self.module = module

    def must(self, result):
        if result:
            raise SystemExit(f'CUDA error {result}')

    def launch(self, name):
        function = ctypes.c_void_p()
        self.must(self.cuda.cuModuleGetFunction(ctypes.byref(function), self.module, name))
        self.must(self.cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None))

    def wait(self):
        self.must(self.cuda.cuCtxSynchronize())


def by_package():
    import nvtx

    @nvtx.annotate('settings')
    def read_settings():
        return 4

    steps = read_settings()  # NVTX looks for its tool here
    device = Device()

    @nvtx.annotate('encode', color='blue', domain='pipeline')
    def encode():
        device.launch(b'text_60us')

    for _ in range(2):
        with nvtx.annotate('request', category='pictures', payload=7):
            encode()
            with nvtx.annotate('sample'):
                for number in range(steps):
                    nvtx.push_range(f'step {number}')
                    device.launch(b'unet_250us')
                    nvtx.pop_range()
            decoding = nvtx.start_range('decode')
            device.launch(b'vae_500us')
            other = threading.Thread(target=nvtx.end_range, args=(decoding,))
            other.start()
            other.join()
            device.wait()
            nvtx.mark('done')


def by_library():
    folder = next(pathlib.Path(path) for path in sys.path if path.endswith('site-packages'))
    nvtx = ctypes.CDLL(str(folder / 'nvidia' / 'nvtx' / 'lib' / 'libnvToolsExt.so.1'))
    nvtx.nvtxRangeStartA.restype = ctypes.c_uint64
    nvtx.nvtxRangePushA(b'settings')
    nvtx.nvtxRangePop()
    device = Device()
    for _ in range(2):
        nvtx.nvtxRangePushA(b'request')
        nvtx.nvtxRangePushA(b'encode')
        device.launch(b'text_60us')
        nvtx.nvtxRangePop()
        nvtx.nvtxRangePushA(b'sample')
        for number in range(4):
            nvtx.nvtxRangePushA(b'step %d' % number)
            device.launch(b'unet_250us')
            nvtx.nvtxRangePop()
        nvtx.nvtxRangePop()
        decoding = nvtx.nvtxRangeStartA(b'decode')
        device.launch(b'vae_500us')
        nvtx.nvtxRangeEnd(ctypes.c_uint64(decoding))
        device.wait()
        nvtx.nvtxRangePop()


if sys.argv[1] == 'package':
    by_package()
else:
    by_library()
print('variable', os.environ.get('NVTX_INJECTION64_PATH'))
