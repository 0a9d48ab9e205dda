#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the demo promises, checked on simgpu (LD_LIBRARY_PATH and SIMGPU_MODEL come from meson).

check_demo.py pictures GENERATE [GENERATE_RT]   same picture by every way, another one when a wait is missing
check_demo.py usage GENERATE                    bad options, bad paths and failing calls: message and exit code
check_demo.py timings GENERATE                  the generator's own log is complete and nested
"""
import json
import os
import struct
import subprocess
import sys
import tempfile
import zlib

SMALL = ["--images", "2", "--steps", "6", "--quiet"]
failures = []


def expect(condition, what):
    print("ok  " if condition else "FAIL", what)
    if not condition:
        failures.append(what)


def run(program, *arguments, **variables):
    return subprocess.run([program, *arguments], env={**os.environ, **variables}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)


def unfilter(kind, row, above):
    """Undo one PNG row filter, three bytes a pixel."""
    for i in range(len(row)):
        left = row[i - 3] if i >= 3 else 0
        corner = above[i - 3] if i >= 3 else 0
        if kind == 1:
            guess = left
        elif kind == 2:
            guess = above[i]
        elif kind == 3:
            guess = (left + above[i]) // 2
        elif kind == 4:
            base = left + above[i] - corner
            guess = min((abs(base - left), 0, left), (abs(base - above[i]), 1, above[i]),
                        (abs(base - corner), 2, corner))[2]
        else:
            guess = 0
        row[i] = (row[i] + guess) & 255
    return row


def pixels(png):
    """Width and the raw RGB bytes of an 8-bit RGB PNG."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n", "not a PNG"
    at, data = 8, b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", body[:10])
            assert (depth, color) == (8, 2), "not 8-bit RGB"
        elif kind == b"IDAT":
            data += body
        at += length + 12
    raw, out = zlib.decompress(data), b""
    above = bytearray(width * 3)
    for y in range(height):
        line = raw[y * (width * 3 + 1):(y + 1) * (width * 3 + 1)]
        above = unfilter(line[0], bytearray(line[1:]), above)
        out += bytes(above)
    return width, out


def make(program, *options, seed="7"):
    """The PNG files that a small run writes."""
    with tempfile.TemporaryDirectory() as folder:
        done = run(program, *SMALL, "--seed", seed, "--out", folder, *options)
        if done.returncode != 0:
            expect(False, "%s %s: exit %d: %s" % (os.path.basename(program), " ".join(options), done.returncode,
                                                  done.stderr.strip()))
            return []
        return [open(os.path.join(folder, name), "rb").read() for name in sorted(os.listdir(folder))]


def check_pictures(programs):
    reference = make(programs[0])
    expect(len(reference) == 2 and reference[0] != reference[1], "two pictures, not the same")
    for png in reference:
        width, rgb = pixels(png)
        expect(width == 256 and len(set(rgb)) > 100, "a 256-pixel picture with more than 100 levels")
    for program in programs:
        name = os.path.basename(program)
        for option in [[], ["--pageable"], ["--item-sync"], ["--offload"], ["--two-streams"],
                       ["--graphs"], ["--graphs", "--two-streams"],
                       ["--two-streams", "--offload", "--item-sync", "--pageable"],
                       ["--graphs", "--two-streams", "--offload", "--item-sync", "--pageable"]]:
            expect(make(program, *option) == reference, "%s %s: the same files" % (name, " ".join(option)))
        slow = make(program, "--slow-png")
        expect(slow != reference and [pixels(png) for png in slow] == [pixels(png) for png in reference],
               name + " --slow-png: other files, the same pixels")
        expect(make(program, seed="8")[:1] == reference[1:], name + ": seeds count up from image to image")
        expect(make(program, "--prompt", "another one")[:1] != reference[:1], name + ": the prompt matters")
        expect(make(program, "--break", "wait")[:1] not in ([], reference[:1]),
               name + " without the wait for the copy: another picture")
        check_graphs(program, name)
        expect(make(program, "--two-streams", "--break", "join")[:1] not in ([], reference[:1]),
               name + " without the joins of its streams: another picture")


def check_graphs(program, name):
    """Each step recorded once, 20 launches each, and replayed for each image: by simgpu's account of what ran."""
    with tempfile.TemporaryDirectory() as folder:
        truth = folder + "/truth"
        done = run(program, *SMALL, "--graphs", "--out", folder, SIMGPU_TRUTH=truth)
        rows = [json.loads(line) for line in open(truth)]
    calls = [row["name"] for row in rows if row["op"] == "call"]
    nodes = [row for row in rows if row["op"] == "kernel" and row["graph"] is not None]
    count = {call: len([c for c in calls if c.startswith(call)])
             for call in ("cuStreamBeginCapture", "cuGraphInstantiate", "cuGraphLaunch", "cuGraphExecDestroy")}
    expect(done.returncode == 0 and list(count.values()) == [6, 6, 12, 6], "%s --graphs: %s" % (name, count))
    expect(len(nodes) == 12 * 20 and len({row["correlation"] for row in nodes}) == 12,
           "%s --graphs: %d kernels run by 12 graph launches" % (name, len(nodes)))
    launches = len([c for c in calls if c.startswith("cuLaunchKernel")])
    ran = len([row for row in rows if row["op"] == "kernel" and row["graph"] is None])
    expect(launches == ran + 6 * 20, "%s --graphs: %d launches, %d of them only recorded" % (name, launches, 6 * 20))


def check_usage(program):
    for options, text in [(["--images", "0"], "--images 0"), (["--size", "100"], "multiple of 8"),
                          (["--steps", "ten"], "--steps ten"), (["--nonsense"], "nonsense"), (["x"], "x"),
                          (["--seed", "-1"], "--seed -1"), (["--size", "99999999999999999999"], "--size"),
                          (["--break", "glass"], "glass")]:
        done = run(program, *options)
        expect(done.returncode == 2 and text in done.stderr, "%s: exit 2, named" % " ".join(options))
    done = run(program, "--help")
    expect(done.returncode == 0 and "--two-streams" in done.stdout, "--help")
    with tempfile.TemporaryDirectory() as folder:
        done = run(program, *SMALL, "--out", folder + "/no/such/place/x.png")
        expect(done.returncode == 1 and "no/such/place" in done.stderr, "a place that does not exist: exit 1, named")
        done = run(program, "--images", "1", "--steps", "1", "--quiet", "--out", folder + "/a-%d.png")
        expect(done.returncode == 0 and os.listdir(folder) == ["a-1.png"], "a name with %d")
        for fault, call in [("malloc-fail=1", "cuMemAlloc"), ("launch-fail=3", "CUDA_ERROR_LAUNCH_FAILED")]:
            done = run(program, *SMALL, "--out", folder, SIMGPU_FAULTS=fault)
            expect(done.returncode == 1 and call in done.stderr, "%s: exit 1, %s named" % (fault, call))


def check_timings(program):
    with tempfile.TemporaryDirectory() as folder:
        log = folder + "/timings"
        run(program, *SMALL, "--out", folder, "--timings", log)
        rows = [json.loads(line) for line in open(log)]
    count = {}
    for row in rows:
        count[row["stage"]] = count.get(row["stage"], 0) + 1
        expect(row["start_ns"] < row["end_ns"], "%s ends after its start" % row["stage"])
    stages = ["request", "encode", "sample", "decode", "output", "copy_back", "write_png"]
    expect(count == {"load": 1, "step": 12, **{stage: 2 for stage in stages}}, "each stage as often as it ran")
    for image in 1, 2:
        own = [row for row in rows if row["image"] == image]
        whole = [row for row in own if row["stage"] == "request"][0]
        expect(all(whole["start_ns"] <= row["start_ns"] and row["end_ns"] <= whole["end_ns"] for row in own),
               "image %d: all inside its request" % image)


{"pictures": lambda: check_pictures(sys.argv[2:]), "usage": lambda: check_usage(sys.argv[2]),
 "timings": lambda: check_timings(sys.argv[2])}[sys.argv[1]]()
sys.exit(1 if failures else 0)
