#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user of SlangPy does: functions called on whole arrays, kernels dispatched by hand and in one command buffer,
buffers written and read."""

import pathlib

import numpy
import slangpy

HERE = pathlib.Path(__file__).resolve().parent
SIDE = 64


def call_functions(device):
    module = slangpy.Module.load_from_file(device, 'work.slang')
    ones = numpy.ones(256, numpy.float32)
    print('add', module.add(ones, ones, _result='numpy').shape)
    colors = slangpy.Tensor.from_numpy(device, numpy.ones((16, 3), numpy.float32))
    for light in (0.5, 1.0, 2.0):
        module.shade(slangpy.float3(1, 2, 3), ones * light, _result='numpy')
    print('colors', colors.to_numpy().shape)


def buffer(device, values):
    usage = slangpy.BufferUsage.shader_resource | slangpy.BufferUsage.unordered_access
    return device.create_buffer(element_count=values.size, struct_size=4, usage=usage, data=values)


def dispatch_kernels(device):
    scale, product = (device.create_compute_kernel(device.load_program('work.slang', [name]))
                      for name in ('scale', 'product'))
    given = numpy.arange(SIDE * SIDE, dtype=numpy.float32)
    left, right, result = buffer(device, given), buffer(device, given), buffer(device, numpy.zeros_like(given))
    for number in range(3):
        scale.dispatch([SIDE * SIDE, 1, 1], factor=1.0 + number, given=left, result=right)
    commands = device.create_command_encoder()
    product.dispatch([SIDE, SIDE, 1], side=SIDE, left=left, right=right, result=result, command_encoder=commands)
    scale.dispatch([SIDE * SIDE, 1, 1], factor=0.5, given=result, result=left, command_encoder=commands)
    commands.copy_buffer(right, 0, left, 0, 1024)
    device.submit_command_buffer(commands.finish())
    device.wait_for_idle()
    pathlib.Path('result.bin').write_bytes(result.to_numpy().tobytes())


def main():
    device = slangpy.create_device(type=slangpy.DeviceType.cuda,
                                   include_paths=[HERE, pathlib.Path(slangpy.__file__).parent / 'slang'])
    print(device.info.adapter_name, device.info.type)
    call_functions(device)
    dispatch_kernels(device)
    device.close()


main()
