# SPDX-License-Identifier: Apache-2.0
"""Frames of a trace file as the format's header describes them, read here a second time: where each frame
begins and ends. For the tests that cut and spoil traces."""

import ctypes
import struct

SKIPPABLE = range(0x184D2A50, 0x184D2A60)
HEADER = 0x184D2A50
CHUNK = 0x184D2A51
INDEX = 0x184D2A52
HEADER_CHECKED = slice(8, 8 + 112)  # bytes in the file that the header's check covers
HEADER_CHECK = slice(8 + 112, 8 + 120)
HEADER_RATE = slice(96, 104)  # ticks_per_second in the file
CHUNK_HEAD = struct.Struct('<IIIIIIQQQQQQ')  # sequence kind compressed payload ring thread slots ticks lost check


def frames(data):
    """(start, end, magic, kind) of each frame; a chunk's zstd frame has magic 0xFD2FB528 and its head's kind."""
    found, position, kind, compressed = [], 0, None, None
    while position + 8 <= len(data):
        magic, size = struct.unpack_from('<II', data, position)
        if magic in SKIPPABLE:
            end = position + 8 + size
            kind = compressed = None
            if magic == CHUNK:
                head = CHUNK_HEAD.unpack_from(data, position + 8)
                kind, compressed = head[1], head[2]
        elif compressed is not None:
            end, compressed = position + compressed, None
        else:
            raise ValueError(f'no frame at byte {position}')
        found.append((position, end, magic, kind))
        position = end
    if position != len(data):
        raise ValueError(f'{len(data) - position} bytes behind the last frame')
    return found


# ---- taking a trace apart and putting it together again, with right checksums ----------------------------


def xxh64(data):
    """XXH64 with seed 0."""
    primes = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
    mask = (1 << 64) - 1

    def rotate(value, bits):
        return (value << bits | value >> (64 - bits)) & mask

    def mix(state, lane):
        return rotate((state + lane * primes[1]) & mask, 31) * primes[0] & mask

    position = 0
    if len(data) >= 32:
        states = [(primes[0] + primes[1]) & mask, primes[1], 0, -primes[0] & mask]
        while position + 32 <= len(data):
            states = [mix(state, lane) for state, lane in zip(states, struct.unpack_from('<4Q', data, position))]
            position += 32
        total = sum(rotate(state, bits) for state, bits in zip(states, (1, 7, 12, 18))) & mask
        for state in states:
            total = ((total ^ mix(0, state)) * primes[0] + primes[3]) & mask
    else:
        total = primes[4]
    total = (total + len(data)) & mask
    while position + 8 <= len(data):
        total ^= mix(0, struct.unpack_from('<Q', data, position)[0])
        total = (rotate(total, 27) * primes[0] + primes[3]) & mask
        position += 8
    if position + 4 <= len(data):
        total ^= struct.unpack_from('<I', data, position)[0] * primes[0] & mask
        total = (rotate(total, 23) * primes[1] + primes[2]) & mask
        position += 4
    for byte in data[position:]:
        total = rotate(total ^ byte * primes[4] & mask, 11) * primes[0] & mask
    total = (total ^ total >> 33) * primes[1] & mask
    total = (total ^ total >> 29) * primes[2] & mask
    return total ^ total >> 32


def check_header(data):
    """The trace with the header's check made right again."""
    copy = bytearray(data)
    copy[HEADER_CHECK] = struct.pack('<Q', xxh64(bytes(copy[HEADER_CHECKED])))
    return bytes(copy)


class Zstd:
    """The two calls of libzstd that are needed."""

    def __init__(self):
        self.library = ctypes.CDLL('libzstd.so.1')
        for name in ('ZSTD_decompress', 'ZSTD_compress', 'ZSTD_compressBound', 'ZSTD_isError'):
            getattr(self.library, name).restype = ctypes.c_size_t

    def decompress(self, data, size):
        target = ctypes.create_string_buffer(max(size, 1))
        got = self.library.ZSTD_decompress(target, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
        if got != size:
            raise ValueError('a chunk does not unpack to the size that its head says')
        return target.raw[:size]

    def compress(self, data):
        bound = self.library.ZSTD_compressBound(ctypes.c_size_t(len(data)))
        target = ctypes.create_string_buffer(bound)
        got = self.library.ZSTD_compress(target, ctypes.c_size_t(bound), data, ctypes.c_size_t(len(data)), 1)
        if self.library.ZSTD_isError(ctypes.c_size_t(got)):
            raise ValueError('libzstd cannot compress')
        return target.raw[:got]


def take_apart(data):
    """(header frame, [(chunk head as a list of numbers, payload)]); index left out."""
    zstd, chunks = Zstd(), []
    found = frames(data)
    for (start, end, magic, _), (next_start, next_end, _, _) in zip(found, found[1:]):
        if magic == CHUNK:
            head = list(CHUNK_HEAD.unpack_from(data, start + 8))
            if xxh64(data[start + 8 : start + 8 + 64]) != head[-1]:
                raise ValueError(f'check of the chunk head at byte {start} is wrong')
            chunks.append((head, zstd.decompress(data[next_start:next_end], head[3])))
    return data[found[0][0] : found[0][1]], chunks


def put_together(header, chunks):
    """A trace file of these parts; sizes and checks are made right."""
    zstd, parts = Zstd(), [header]
    for head, payload in chunks:
        packed = zstd.compress(payload)
        fields = list(head)
        fields[2], fields[3] = len(packed), len(payload)
        body = CHUNK_HEAD.pack(*fields)[:64]
        parts += [struct.pack('<II', CHUNK, CHUNK_HEAD.size), body, struct.pack('<Q', xxh64(body)), packed]
    return b''.join(parts)
