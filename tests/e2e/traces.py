# SPDX-License-Identifier: Apache-2.0
"""Frames of a trace file as the format's header describes them, read here a second time: where each frame
begins and ends. For the tests that cut and spoil traces."""
import struct

SKIPPABLE = range(0x184D2A50, 0x184D2A60)
CHUNK = 0x184D2A51
CHUNK_HEAD = struct.Struct('<IIIIIIQQQQQQ')    # sequence kind compressed payload ring thread slots ticks lost check


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
