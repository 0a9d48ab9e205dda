#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one case of simgpu's tests: test_simgpu.py CASE PROGRAM LIBRARY_FOLDER KERNELS_PLUGIN DATA_FOLDER

Sets model, faults and truth, runs the program on simgpu (with the tests' own kernel plug-in), and judges exit
status, messages and the truth file. Cases named gpa-* and exports look at the library itself."""
import collections
import ctypes
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

MODELS = {
    "argument-time": "kernel gemm_* 2us+3ns*argument\n",
    "small-d2h": "small-d2h zero\n",
    "copy-engines": "copy h2d 1GB/s 0us\ncopy d2h 1GB/s 0us\n",
    "pageable": "copy h2d 1GB/s 0us # every kind of memory\ncopy d2h 1GB/s 0us\n",
    "queue": "queue 4\n",
    "serial": "streams serial\n",
    "peer": "devices 2\n",
    "nvml": "devices 2\n",
    "pools": "devices 2\n",
    "vmm-handles": "devices 2\n",
    "foreign": "foreign 20%\nkernel wait_1ms 100us\n",
}
FAULTS = {"launch-fail": "launch-fail=3", "malloc-fail": "malloc-fail=2"}


def fail(text):
    sys.exit("test_simgpu: " + text)


def require(condition, text):
    if not condition:
        fail(text)


class Scene:
    """A folder with the library, the tests' plug-in beside it, and the files of one run."""

    def __init__(self, folder, program, libraries, plugin):
        self.folder, self.program = folder, program
        for library in ("libcuda.so.1", "libnvidia-ml.so.1"):
            os.symlink(os.path.join(libraries, library), os.path.join(folder, library))
        os.symlink(plugin, os.path.join(folder, "simgpu-kernels.so"))
        self.truth_path = os.path.join(folder, "truth")

    def environment(self, model=None, faults=None):
        env = {k: v for k, v in os.environ.items() if not k.startswith("SIMGPU_")}
        env.update(LD_LIBRARY_PATH=self.folder, SIMGPU_TRUTH=self.truth_path)
        if model is not None:
            env["SIMGPU_MODEL"] = os.path.join(self.folder, "model")
            with open(env["SIMGPU_MODEL"], "w", encoding="ascii") as out:
                out.write(model)
        if faults is not None:
            env["SIMGPU_FAULTS"] = faults
        return env

    def run(self, case, model=None, faults=None, status=0):
        done = subprocess.run([self.program, case], env=self.environment(model, faults), capture_output=True,
                              text=True, timeout=60, check=False)
        require(done.returncode == status, "%s ended with %d\n%s" % (case, done.returncode, done.stderr))
        return done

    def truth(self, path=None):
        with open(path or self.truth_path, encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]


def disjoint(intervals, what):
    last = 0
    for start, end in sorted(intervals):
        require(start >= last and end >= start, "%s overlap at %d" % (what, start))
        last = end


def union(intervals):
    total, last = 0, 0
    for start, end in sorted(intervals):
        total += max(0, end - max(start, last))
        last = max(last, end)
    return total


def check_truth(lines, serial=False):
    """What holds for every truth file: engines and streams run one thing at a time, idle fills the rest."""
    keys = {"op", "name", "device", "stream", "context", "thread", "correlation", "launched_ns", "start_ns", "end_ns",
            "bytes", "kind", "memory", "graph"}
    ops = [l for l in lines if l["op"] in ("kernel", "memcpy", "memset", "host_func")]
    calls = [l for l in lines if l["op"] == "call"]
    idle = [l for l in lines if l["op"] == "idle"]
    lanes, streams, busy = (collections.defaultdict(list) for _ in range(3))
    by_thread = collections.defaultdict(list)
    require(len(calls) > 0, "no call lines")
    for call in calls:
        by_thread[call["thread"]].append((call["start_ns"], call["end_ns"]))
    for thread, intervals in by_thread.items():
        disjoint(intervals, "calls of thread %d" % thread)
    entries = {(c["thread"], c["start_ns"]) for c in calls}
    require(len({(o["correlation"], o.get("graph_node")) for o in ops}) == len(ops), "two operations of one call")
    for op in ops:
        interval = (op["start_ns"], op["end_ns"])
        require(keys <= set(op), "keys missing: %s" % op)
        require(op["launched_ns"] <= op["start_ns"] <= op["end_ns"], "times of %s" % op)
        require((op["thread"], op["launched_ns"]) in entries, "no call launched %s" % op)
        require((op["kind"] is not None) == (op["op"] == "memcpy"), "kind of %s" % op)
        streams[op["context"], op["stream"]].append(interval)
        if op["op"] == "host_func":
            continue
        busy[op["device"]].append(interval)
        if op["kind"] in ("h2d", "d2h"):
            lanes[op["device"], op["kind"]].append(interval)
        if op["kind"] == "p2p":
            busy[op["peer_device"]].append(interval)
        if serial and op["op"] == "kernel":
            lanes[op["device"], "kernel"].append(interval)
    for key, intervals in lanes.items():
        disjoint(intervals, "operations of engine %s" % (key,))
    for key, intervals in streams.items():
        disjoint(intervals, "operations of stream %s" % (key,))
    for device, intervals in busy.items():
        gaps = [(l["start_ns"], l["end_ns"]) for l in idle if l["device"] == device]
        disjoint(gaps, "idle intervals")
        first = min(start for start, _ in gaps + intervals)
        last = max(end for _, end in intervals)
        require(union(gaps + intervals) == last - first, "device %d: idle and busy leave a hole" % device)
        require(union(gaps) + union(intervals) == last - first, "device %d: idle while busy" % device)
    return ops, calls, idle


def reasons(idle):
    return {line["why"] for line in idle}


def run_case(scene, case):
    lines_of = {"data-order": 17, "queue": 8, "events": 4, "pageable": 8}
    scene.run(case, MODELS.get(case), FAULTS.get(case))
    ops, calls, idle = check_truth(scene.truth(), serial=case == "serial")
    if case in lines_of:
        require(len(ops) == lines_of[case], "%d operations in the truth" % len(ops))
    if case == "events":
        times = [o["end_ns"] - o["start_ns"] for o in ops]
        require(times == [50000000, 50000000, 5000000, 5000000], "kernels of 50 and 5 ms took %s" % times)
    if case == "pageable":
        require([o["memory"] for o in ops] == [None, "pinned", "pinned"] + 3 * ["pageable"] + [None, "pageable"],
                "memory kinds")
        require("staging" in reasons(idle), "no idle time for staging")
    if case == "host-function":
        require("host_function" in reasons(idle), "no idle time behind a host function")
    if case == "peer":
        copy = [o for o in ops if o["kind"] == "p2p"]
        require(len(copy) == 1 and copy[0]["device"] == 0 and copy[0]["peer_device"] == 1, "the copy between devices")
    if case == "errors":
        require({c["result"] for c in calls} >= {0, 1, 3, 101, 201, 301, 400, 500}, "results in the truth")
    if case == "argument-time":
        times = [o["end_ns"] - o["start_ns"] for o in sorted(ops, key=lambda o: o["start_ns"])]
        require(times == [5000, 8000, 14000, 14000, 17000, 2015, 2000, 2000], "2 us and 3 ns times: %s" % times)
    if case == "ptx":
        require([o["end_ns"] - o["start_ns"] for o in ops] == [2000000], "the time in a mangled name")


def case_killed(scene):
    """SIGKILL: the file is whole lines, and lacks no more than the last moments."""
    child = subprocess.Popen([scene.program, "forever"], env=scene.environment())
    time.sleep(0.5)
    child.send_signal(signal.SIGKILL)
    killed_ns = time.monotonic_ns()
    child.wait()
    ops = [l for l in scene.truth() if l["op"] == "kernel"]
    require(len(ops) > 10, "only %d kernels" % len(ops))
    late_ms = (killed_ns - ops[-1]["end_ns"]) / 1e6
    require(late_ms < 200, "the last line is %.0f ms older than the kill" % late_ms)


def case_fork(scene):
    scene.run("fork")
    others = glob.glob(scene.truth_path + ".*")
    require(len(others) == 2, "truth files of two children: %s" % others)
    kernels = [len([l for l in scene.truth(p) if l["op"] == "kernel"]) for p in [scene.truth_path] + others]
    require(kernels[0] == 1 and sorted(kernels[1:]) == [0, 1], "kernels of the processes: %s" % kernels)
    scene.run("launches")
    require(len(glob.glob(scene.truth_path + ".*")) == 3, "a later process must not overwrite the file")


def case_faults(scene):
    scene.run("launches", faults="abort=4", status=-signal.SIGABRT)
    require(len([l for l in scene.truth() if l["op"] == "kernel"]) == 3, "three launches before the abort")
    for faults in ("nonsense", "launch-fail", "launch-fail=x", "drop=5", "no-cupti=1"):
        done = scene.run("init", faults=faults)
        require(done.stdout == "1\n" and faults in done.stderr, "SIMGPU_FAULTS=%s: %s" % (faults, done.stderr))
    require(scene.run("init", faults="no-cupti,drop=5%,cupti-layout=11.8").stdout == "0\n", "good faults")


def case_model(scene):
    for text in ("kernel x", "kernel x 3", "kernel x 2us+1ns", "copy h2d 6", "copy up 6GB/s", "queue 0", "queue -1",
                 "streams none", "speed 0", "foreign 20", "devices 99", "launch", "nonsense 1us", "memset 5us",
                 "kernel x -3us", "kernel x 2us+1ns*arguments", "kernel x 2us+1*argument", "kernel x 1ns*argument",
                 "small-d2h", "small-d2h one", "small-d2h zero 16", "copy h2d pinned 1GB/s 2us 3us"):
        done = scene.run("init", model="# a comment\n\n" + text + "\n")
        require(done.stdout == "1\n" and ":3: not understood: " + text in done.stderr, "%s: %s" % (text, done.stderr))
    require(scene.run("init", model="devices 0\n").stdout == "100\n", "no device")
    scene.run("launches", model="kernel none 1us\nkernel wait_* 40us+2ns*threads\nkernel wait_1ms 9ms\nlaunch 200us\n"
              "first-launch 20ms\nspeed 0.5 after 1ms\n")
    path = max(glob.glob(scene.truth_path + "*"), key=os.path.getmtime)
    ops, calls, _ = check_truth(scene.truth(path))
    require([o["end_ns"] - o["start_ns"] for o in ops] == [80128] * 10, "40 us + 32 threads, at half speed")
    costs = [c["end_ns"] - c["start_ns"] for c in calls if c["name"] == "cuLaunchKernel"]
    require(costs[0] >= 20200000 and min(costs) >= 200000 and sorted(costs)[5] < 5000000, "launch costs %s" % costs)


def case_foreign(scene):
    scene.run("launches", MODELS["foreign"])
    ops, _, idle = check_truth(scene.truth())
    require(all(o["start_ns"] % 2000000 >= 400000 for o in ops), "something began in foreign time")
    require(len(ops) == 10 and reasons(idle) <= {"foreign", "not_enqueued", "launch_latency"}, str(reasons(idle)))


# ---- the library itself -----------------------------------------------------------------------------------------

def read_lines(path):
    with open(path, encoding="ascii") as lines:
        return [line.rstrip("\n") for line in lines if line.strip() and not line.startswith("#")]


def read_rows(data, which):
    with open(os.path.join(data, which + "_pfn_map.json"), encoding="ascii") as text:
        return json.load(text)


def sanitized(library_path):
    with open(library_path, "rb") as library:
        return re.search(rb"__[at]san_init", library.read()) is not None


def look_up(library, name, version, flags):
    pointer, status = ctypes.c_void_p(1), ctypes.c_int(-1)
    result = library.cuGetProcAddress_v2(name, ctypes.byref(pointer), ctypes.c_int(version), ctypes.c_uint64(flags),
                                         ctypes.byref(status))
    require(result == 0, "cuGetProcAddress_v2(%s, %d, %d) returned %d" % (name, version, flags, result))
    return pointer.value, status.value


def address(library, name):
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value


def case_gpa(library, data):
    """Every row of the map, from its version on; then what a real runtime asks for."""
    rows = read_rows(data, "driver") + read_rows(data, "graphics")
    versions = collections.defaultdict(set)
    for base, version, _, _ in rows:
        versions[base].add(version)
    for base, version, suffix, export in rows:
        got, status = look_up(library, base.encode(), version, 2 if suffix else 0)
        if suffix or ("_pt" not in export):
            require(got == address(library, export) and status == 0, "%s at %d is not %s" % (base, version, export))
        if version == min(versions[base]):
            got, status = look_up(library, base.encode(), version - 1, 0)
            require(got is None and status == 2, "%s before %d: status %d" % (base, version, status))
    found = named = 0
    for line in read_lines(os.path.join(data, "cudart13_gpa_requests.txt")):
        if line.endswith("->"):
            continue  # the empty name
        name, version, flags = line.split()
        version, flags = int(version.split("=")[1]), int(flags.split("=")[1])
        named += 1
        found += look_up(library, name.encode(), version, flags)[0] is not None
    require((named, found) == (439, 439), "%d of %d requests of the runtime resolve" % (found, named))
    require(look_up(library, b"", 0, 0) == (None, 1) and look_up(library, None, 0, 0) == (None, 1), "empty names")
    require(look_up(library, b"cuNotThere", 13000, 0) == (None, 1), "unknown name")
    require(look_up(library, b"cuGetProcAddress", 11030, 0)[0] == address(library, "cuGetProcAddress"), "itself, v1")
    require(look_up(library, b"cuGetProcAddress", 12000, 0)[0] == address(library, "cuGetProcAddress_v2"), "itself, v2")
    pointer = ctypes.c_void_p(1)
    for bad in ((13010, 0), (13000, 3), (13000, 4)):
        result = library.cuGetProcAddress_v2(b"cuInit", ctypes.byref(pointer), bad[0], ctypes.c_uint64(bad[1]), None)
        require(result == 1 and pointer.value is None, "version and flags %s" % (bad,))
    require(library.cuGetProcAddress(b"cuMemAlloc", ctypes.byref(pointer), 3020, ctypes.c_uint64(0)) == 0 and
            pointer.value == address(library, "cuMemAlloc_v2"), "the old entry point")


def case_exports(library_path, data):
    """The names of the real library, no other but ours, no version node; a stub says its name once."""
    wanted = set(read_lines(os.path.join(data, "libcuda13_exports.txt")))
    listing = subprocess.run(["nm", "-D", "--defined-only", library_path], capture_output=True, text=True, check=True)
    names = [line.split()[2] for line in listing.stdout.splitlines()]
    require(len(wanted) == 637, "the list has %d names" % len(wanted))
    graphics = {export for _, _, _, export in read_rows(data, "graphics")}
    require(len(graphics) == 35 and not graphics & wanted, "names of graphics that the list lacks")
    ours = {"simgpu_tracer_set", "simgpu_fault", "simgpu_graph_id", "simgpu_context_id", "simgpu_used_bytes"}
    require(set(names) == wanted | graphics | ours, "%s" % (set(names) ^ wanted ^ graphics))
    code = "import ctypes; c = ctypes.CDLL(%r).cuGraphDebugDotPrint; print(c(0, 0, 0), c(0, 0, 0))" % library_path
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    require(done.stdout == "801 801\n" and done.stderr.count("cuGraphDebugDotPrint") == 1, done.stdout + done.stderr)


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    case = sys.argv[1]
    program, libraries, plugin, data = (os.path.abspath(path) for path in sys.argv[2:])
    library_path = os.path.join(libraries, "libcuda.so.1")
    if case in ("gpa", "exports") and sanitized(library_path):
        sys.exit(77)  # Python cannot load it
    if case == "gpa":
        case_gpa(ctypes.CDLL(library_path), data)
        return
    if case == "exports":
        case_exports(library_path, data)
        return
    with tempfile.TemporaryDirectory(prefix="simgpu-") as folder:
        scene = Scene(folder, program, libraries, plugin)
        special = {"killed": case_killed, "fork": case_fork, "faults": case_faults, "model": case_model,
                   "foreign": case_foreign}
        if case in special:
            special[case](scene)
        else:
            run_case(scene, case)


if __name__ == "__main__":
    main()
