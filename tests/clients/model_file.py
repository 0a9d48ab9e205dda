# SPDX-License-Identifier: Apache-2.0
"""Model files from a list of tensors in tests/data, half precision: of zeros, which take no room on the disk because nothing
is ever written behind the header, or of weights that are random, but the same each time."""

import itertools
import json
import math
import pathlib
import random
import re
import struct

DATA = pathlib.Path(__file__).resolve().parents[1] / 'data'
BYTES = 2  # F16
BIAS, MANTISSA, SIGN_AND_MANTISSA = 15, 10, 0x83ff


def choices(braces):
    """'{0..2}' → 0 1 2, '{q,k}' → q k"""
    numbers = re.fullmatch(r'\{(\d+)\.\.(\d+)\}', braces)
    if numbers:
        return [str(n) for n in range(int(numbers[1]), int(numbers[2]) + 1)]
    return braces.strip('{}').split(',')


def names(pattern):
    return map(''.join, itertools.product(*map(choices, re.split(r'(\{[^}]*\})', pattern))))


def tensors(listed):
    """(name, shape)"""
    for line in (DATA / listed).read_text(encoding='ascii').splitlines():
        if line.startswith('#'):
            continue
        pattern, shape, *bias = line.split()
        shape = [int(size) for size in shape.split('x')]
        for name in names(pattern):
            yield (name + '.weight' if bias else name), shape
            if bias:
                yield name + '.bias', shape[:1]


def repeated(half, count):
    return struct.pack('<H', half) * count


def random_values(numbers, name, shape):
    """Scales are 1 and biases 0. A weight has a random sign and 1 to 2 times a power of two, chosen so that a sum over the
    inputs comes out about as large as one input."""
    count = math.prod(shape)
    if len(shape) == 1:
        return repeated(0 if name.endswith('.bias') else BIAS << MANTISSA, count)
    exponent = BIAS + round(math.log2(0.65 / math.sqrt(count // shape[0])))
    keep, add = (int.from_bytes(repeated(half, count), 'little') for half in (SIGN_AND_MANTISSA, exponent << MANTISSA))
    return (numbers.getrandbits(8 * BYTES * count) & keep | add).to_bytes(BYTES * count, 'little')


def write(path, listed, seed=None):
    """In the format of safetensors: length of the header, header, values. Without a seed they are zeros."""
    header, end, wanted = {}, 0, list(tensors(listed))
    for name, shape in wanted:
        start, end = end, end + BYTES * math.prod(shape)
        header[name] = {'dtype': 'F16', 'shape': shape, 'data_offsets': [start, end]}
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    numbers = random.Random(seed)
    with open(path, 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text)
        if seed is None:
            file.truncate(file.tell() + end)
        else:
            for name, shape in wanted:
                file.write(random_values(numbers, name, shape))
