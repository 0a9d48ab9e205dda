#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the test programs of this folder on simgpu and judges what they print.
usage: test_simrt.py CASE LIBRARY_FOLDER KERNELS.so PROGRAM

The programs run with a folder of their own on LD_LIBRARY_PATH: links to simgpu's libraries and, beside
libcuda.so.1, the plug-in with this folder's kernels."""
import collections
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

SONAMES = ("libcuda.so.1", "libcudart.so.12", "libcupti.so.12", "libcudart.so.13", "libcupti.so.13")
API_VERSIONS = {"11.8": 18, "12.4": 22, "12.8": 26, "13.0": 130001}
OWN_LAYOUT = {12: "12.8", 13: "13.0"}
KINDS = {"kernel", "memcpy", "memset"}
COPY_KINDS = {1: "h2d", 2: "d2h", 8: "d2d", 10: "p2p"}
MEMORIES = {1: "pageable", 2: "pinned", 3: "device", 5: "managed"}
TRUE_OFFSET_TOLERANCE_NS = 1_000_000


def fail(text):
    sys.exit(f"test_simrt: {text}")


def check(condition, text):
    if not condition:
        fail(text)


class Place:
    """A library folder, a truth file and a way to run a program there."""

    def __init__(self, folder, libraries, kernels, sonames=SONAMES):
        self.folder = folder
        self.truth_path = os.path.join(folder, "truth.jsonl")
        for name in sonames:
            os.symlink(os.path.abspath(os.path.join(libraries, name)), os.path.join(folder, name))
        os.symlink(os.path.abspath(kernels), os.path.join(folder, "simgpu-kernels.so"))

    def run(self, command, faults="", model="", timeout=60):
        env = dict(os.environ, LD_LIBRARY_PATH=self.folder, SIMGPU_TRUTH=self.truth_path, SIMGPU_FAULTS=faults)
        env.pop("LD_PRELOAD", None)
        env.pop("SIMGPU_MODEL", None)
        if os.path.exists(self.truth_path):
            os.remove(self.truth_path)
        if model:
            env["SIMGPU_MODEL"] = os.path.join(self.folder, "model")
            with open(env["SIMGPU_MODEL"], "w", encoding="ascii") as f:
                f.write(model)
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=timeout, check=False)

    def succeed(self, command, **options):
        done = self.run(command, **options)
        check(done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done

    def truth(self):
        with open(self.truth_path, encoding="utf-8") as f:
            return [json.loads(line) for line in f if line.strip()]


def read_lines(text):
    return [json.loads(line) for line in text.splitlines()]


def device_lines(truth):
    return [line for line in truth if line["op"] in KINDS]


def is_tail(line):
    return line.get("name", "").startswith("tail_")


# ---- records against truth ------------------------------------------------------------------------------


def offset_of(records, truth, key):
    """The one difference between record clock and truth clock; every record must have it."""
    by_key = {key(line): line for line in truth}
    check(len(by_key) == len(truth), "two lines of the truth share an identity")
    check({key(r) for r in records} <= set(by_key), "a record that the truth does not know")
    offsets = {(r["start"] - by_key[key(r)]["start_ns"], r["end"] - by_key[key(r)]["end_ns"]) for r in records}
    check(len(offsets) == 1, f"times differ by more than one offset: {sorted(offsets)[:4]}")
    start, end = offsets.pop()
    check(start == end, "start and end have different offsets")
    return start


def device_key(line):
    kind = line.get("kind") if "op" not in line else line["op"]
    return kind, line["correlation"]


def check_fields(record, line):
    same = [("device", "device"), ("context", "context"), ("stream", "stream"), ("correlation", "correlation")]
    if record["kind"] == "kernel":
        same.append(("name", "name"))
        check(record["completed"] == record["end"], "completed is not end")
        check(record["grid"] == [3, 2, 1] and record["block"] == [64, 2, 1], f"shape of {record}")
    else:
        same.append(("bytes", "bytes"))
    for mine, theirs in same:
        check(record[mine] == line[theirs], f"{mine}: record {record}, truth {line}")
    if record["kind"] == "memcpy":
        check(COPY_KINDS.get(record["copy_kind"]) == line["kind"], f"copy kind: record {record}, truth {line}")
        if line["kind"] in ("h2d", "d2h"):
            host = record["source"] if line["kind"] == "h2d" else record["target"]
            check(MEMORIES.get(host) == line["memory"], f"memory: record {record}, truth {line}")


def compare_device(records, truth):
    mine = [r for r in records if r["kind"] in KINDS and not is_tail(r)]
    theirs = [line for line in device_lines(truth) if not is_tail(line)]
    check(len(theirs) > 90, f"the program did only {len(theirs)} operations")
    check(len(mine) == len(theirs), f"{len(mine)} records for {len(theirs)} operations")
    by_key = {device_key(line): line for line in theirs}
    for record in mine:
        check_fields(record, by_key[device_key(record)])
    return offset_of(mine, theirs, device_key)


def compare_api(records, truth, names=None):
    def key(line):
        return line["name"], line["thread"], line["start"] if "start" in line else line["start_ns"] + offset

    mine = [r for r in records if r["kind"] == "api"]
    offset = compare_device(records, truth)
    first = min(r["start"] for r in mine) - offset
    theirs = [line for line in truth if line["op"] == "call" and line["start_ns"] >= first]
    if names:
        theirs = [line for line in theirs if line["name"] in names]
    # calls made after the last flush are in the truth only
    last = max(r["start"] for r in mine) - offset
    theirs = [line for line in theirs if line["start_ns"] <= last]
    check(len(mine) == len(theirs) > 80, f"{len(mine)} api records for {len(theirs)} calls")
    check(offset_of(mine, theirs, key) == offset, "api and device records have different clocks")
    launches = {r["correlation"] for r in mine if r["name"] == "cuLaunchKernel"}
    kernels = {r["correlation"] for r in records if r["kind"] == "kernel"}
    check(launches == kernels, "kernels and launch calls do not correlate one to one")
    return offset


def run_records(place, program, select=False, **options):
    command = [program, "records"] + (["select"] if select else [])
    done = place.succeed(command, **options)
    lines = read_lines(done.stdout)
    return lines[:-1], lines[-1]


def case_records(place, program):
    records, end = run_records(place, program)
    offset = compare_api(records, place.truth())
    check(end["dropped"] == 0, f"{end['dropped']} dropped")
    check(abs(end["realtime"] - end["monotonic"] - offset) < TRUE_OFFSET_TOLERANCE_NS, "records are not in REALTIME")
    check(abs(end["timestamp"] - end["realtime"]) < TRUE_OFFSET_TOLERANCE_NS, "cuptiGetTimestamp is not REALTIME")
    tail = [r for r in records if is_tail(r)]
    check(len(tail) == 1 and tail[0]["start"] > 0 and tail[0]["end"] == 0, f"unfinished kernel: {tail}")
    devices = [r for r in records if r["kind"] == "device"]
    check(devices and "SimGPU" in devices[0]["name"], f"device records {devices}")
    check(not [r for r in records if r["kind"] == "unknown"], "unknown kinds")


def case_select(place, program):
    records, _ = run_records(place, program, select=True)
    check({r["name"] for r in records if r["kind"] == "api"} == {"cuLaunchKernel"}, "other calls than the selected")
    compare_api(records, place.truth(), {"cuLaunchKernel"})


def case_two_devices(place, program):
    records, _ = run_records(place, program, model="devices 2\n")
    compare_api(records, place.truth())
    peers = [r for r in records if r["kind"] == "memcpy" and r["copy_kind"] == 10]
    check(len(peers) == 1 and peers[0]["peer"] == 1, f"peer copies {peers}")
    check({r["id"] for r in records if r["kind"] == "device"} == {0, 1}, "device records of two devices")


# ---- faults ------------------------------------------------------------------------------------------------


def status(place, program, faults=""):
    return json.loads(place.succeed([program, "status"], faults=faults).stdout)


def case_status(place, program):
    plain = status(place, program)
    check(plain.pop("number") == API_VERSIONS[OWN_LAYOUT[plain.pop("major")]], "version number")
    check(plain == {"version": 0, "subscribe": 0, "again": 39, "unsubscribe": 0, "register": 0,
                    "enable": 0, "runtime": 27, "overhead": 0, "bad_kind": 21, "next": 0, "timestamp": 0, "stub": 27},
          str(plain))
    none = status(place, program, "no-cupti")
    check({none[k] for k in ("version", "subscribe", "register", "enable", "next", "timestamp")} == {15}, str(none))
    taken = status(place, program, "subscriber-taken")
    check(taken["subscribe"] == 39 and taken["enable"] == 0, str(taken))
    denied = status(place, program, "no-privilege")
    check(denied["enable"] == 35 and denied["subscribe"] == 0, str(denied))


def case_layouts(place, program):
    """Records of every library's size are walked to the end; what an older one does not have is cut off."""
    for version, number in API_VERSIONS.items():
        fault = f"cupti-layout={version}"
        answer = status(place, program, fault)
        check(answer["number"] == number, f"{fault}: version {answer['number']}")
        records, _ = run_records(place, program, faults=fault)
        compare_api(records, place.truth())


def case_drop(place, program):
    records, end = run_records(place, program, faults="drop=10%")
    got = len(records)
    check(abs(end["dropped"] - (got + end["dropped"]) / 10) < 1, f"{end['dropped']} dropped beside {got}")
    check(end["dropped"] > 10, "hardly any dropped")


def case_unordered(place, program):
    records, end = run_records(place, program, faults="unordered")
    compare_device(records, place.truth())
    starts = [r["start"] for r in records if r["kind"] == "kernel"]
    check(starts != sorted(starts), "records arrived in order")
    check(end["buffers"] > 3, f"{end['buffers']} buffers")


def case_zero(place, program):
    records, _ = run_records(place, program, faults="zero-timestamps")
    work = [r for r in records if r["kind"] in KINDS and not is_tail(r)]
    zero = [r for r in work if r["start"] == 0 and r["end"] == 0]
    check(abs(len(zero) - len(work) / 10) <= 1, f"{len(zero)} of {len(work)} without times")


def case_clock_step(place, program):
    records, end = run_records(place, program, faults="clock-step", model="kernel work* 4ms\n")
    truth = {device_key(line): line for line in device_lines(place.truth())}
    offsets = collections.Counter(
        r["start"] - truth[device_key(r)]["start_ns"] for r in records if r["kind"] in KINDS)
    check(len(offsets) == 2, f"offsets {offsets}")
    check(max(offsets) - min(offsets) == 2_000_000_000, "the step is not 2 s")
    check(abs(end["timestamp"] - end["realtime"] - 2_000_000_000) < TRUE_OFFSET_TOLERANCE_NS, "clock not stepped")


def case_hang(place, program):
    begin = time.monotonic()
    try:
        place.run([program, "hang"], faults="hang-at-exit", timeout=2)
    except subprocess.TimeoutExpired as e:
        check(e.stdout is not None and e.stdout.decode() == "before\n", f"printed {e.stdout}")
        check(time.monotonic() - begin >= 2, "too early")
        return
    fail("FlushAll(1) returned")


def case_traps(place, program):
    for what, text in (("trap-flush", "cuptiActivityFlushAll"), ("trap-cuda", "inside a buffer callback"),
                       ("trap-finalize", "cuptiFinalize: called from inside"), ("trap-fork", "called in a forked child")):
        done = place.run([program, what])
        check(done.returncode == -signal.SIGABRT, f"{what}: exit {done.returncode}, not SIGABRT")
        check(text in done.stderr, f"{what}: message {done.stderr!r}")


def case_callbacks(place, program):
    """The program itself checks what it is told."""
    place.succeed([program])


# ---- the runtime library -------------------------------------------------------------------------------------


def case_compute(place, program):
    place.succeed([program, "compute"])
    calls = {line["name"] for line in place.truth() if line["op"] == "call"}
    wanted = {"cuLaunchKernel", "cuLaunchKernel_ptsz", "cuLaunchKernelEx", "cuLaunchCooperativeKernel",
              "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemcpyDtoHAsync_v2_ptsz", "cuMemcpyDtoH_v2_ptds",
              "cuStreamSynchronize_ptsz", "cuLibraryGetKernel"}
    check(wanted <= calls, f"driver calls not made: {wanted - calls}")


def case_errors(place, program):
    done = place.succeed([program, "errors"])
    check(done.stderr.count("cudaGraphicsMapResources: not implemented") == 1, f"said: {done.stderr!r}")


def case_nvcc(place, program):
    done = place.succeed([program])
    check(done.stdout.startswith("SimGPU") and done.stdout.endswith("warp 32\n"), done.stdout)
    kernels = [line["name"] for line in device_lines(place.truth()) if line["op"] == "kernel"]
    check(kernels == ["saxpy_50us", "saxpy_50us"], f"kernels {kernels}")


def case_plain(place, program):
    done = place.succeed([program])
    check(not done.stderr, done.stderr)


def case_no_driver(place, program):
    os.remove(os.path.join(place.folder, "libcuda.so.1"))
    place.succeed([program, "no-driver"])


CASES = {name[5:].replace("_", "-"): function for name, function in list(globals().items())
         if name.startswith("case_")}


def main():
    if len(sys.argv) != 5 or sys.argv[1] not in CASES:
        fail(f"usage: test_simrt.py {'|'.join(CASES)} LIBRARY_FOLDER KERNELS.so PROGRAM")
    case, libraries, kernels, program = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        CASES[case](Place(folder, libraries, kernels), program)


if __name__ == "__main__":
    main()
