# SPDX-License-Identifier: Apache-2.0
"""A Stable Diffusion 1.x model file whose weights are all zero: 2 GB long, and on the disk as large as its header, because
nothing is ever written behind that."""

import itertools
import json
import pathlib
import re
import struct

TENSORS = pathlib.Path(__file__).resolve().parents[2] / 'data' / 'sd1_tensors.txt'
BYTES = 2  # F16


def choices(braces):
    """'{0..2}' → 0 1 2, '{q,k}' → q k"""
    numbers = re.fullmatch(r'\{(\d+)\.\.(\d+)\}', braces)
    if numbers:
        return [str(n) for n in range(int(numbers[1]), int(numbers[2]) + 1)]
    return braces.strip('{}').split(',')


def names(pattern):
    return map(''.join, itertools.product(*map(choices, re.split(r'(\{[^}]*\})', pattern))))


def tensors():
    """(name, shape)"""
    for line in TENSORS.read_text(encoding='ascii').splitlines():
        if line.startswith('#'):
            continue
        pattern, shape, *bias = line.split()
        shape = [int(size) for size in shape.split('x')]
        for name in names(pattern):
            yield (name + '.weight' if bias else name), shape
            if bias:
                yield name + '.bias', shape[:1]


def write(path):
    """In the format of safetensors: length of the header, header, values."""
    header, end = {}, 0
    for name, shape in tensors():
        start, end = end, end + BYTES
        for size in shape:
            end += (end - start) * (size - 1)
        header[name] = {'dtype': 'F16', 'shape': shape, 'data_offsets': [start, end]}
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text)
        file.truncate(file.tell() + end)
