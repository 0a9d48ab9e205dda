#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one case about graphs or stream capture: test_graphs.py CASE PROGRAM LIBRARY_FOLDER KERNELS_PLUGIN

The program checks results and data itself; here the truth file is judged: a line for each node of each launch, with
the launch's call, and nothing for what was only captured."""
import collections
import os
import sys
import tempfile

import test_simgpu
from test_simgpu import require

MS = 1000000
MODELS = {"graph-devices": "devices 2\n", "graph-queue": "queue 4\n"}


def launches_of(ops, calls):
    """The operations of each graph launch, in order; each launch is one call of this thread."""
    of_call = {(c["thread"], c["start_ns"]): c["name"] for c in calls}
    runs = collections.OrderedDict()
    for op in sorted(ops, key=lambda op: op["launched_ns"]):
        require(op["graph"] is not None and op["graph_node"] >> 32 > 0, "graph of %s" % op)
        require(of_call[op["thread"], op["launched_ns"]].startswith("cuGraphLaunch"), "launched by a graph launch")
        runs.setdefault(op["correlation"], []).append(op)
    for run in runs.values():
        require(len({(o["launched_ns"], o["thread"], o["graph"]) for o in run}) == 1, "one call made one launch")
        require(len({o["graph_node"] for o in run}) == len(run), "each node once")
        run.sort(key=lambda op: (op["graph_node"] >> 32, op["graph_node"]))
    return list(runs.values())


def check_fork(runs):
    require([len(run) for run in runs] == [4, 4, 4], "four nodes, three launches")
    require(len({op["graph"] for run in runs for op in run}) == 1, "one executable graph")
    last_end = 0
    for first, left, right, last in runs:
        require(first["start_ns"] >= last_end, "launches of one graph overlap")
        require(left["start_ns"] == right["start_ns"] == first["end_ns"], "the branches begin together")
        require(last["start_ns"] == max(left["end_ns"], right["end_ns"]), "the join waits for both")
        require(last["end_ns"] - first["start_ns"] == 11 * MS, "5 + 5 + 1 ms")
        require(left["stream"] == first["stream"] != right["stream"], "a branch of its own")
        last_end = last["end_ns"]
    require(len({run[0]["stream"] for run in runs}) == 3, "the streams of the launches")


def check_devices(runs):
    require([len(run) for run in runs] == [5, 5], "five nodes, two launches")
    for first, here, there, copy, last in runs:
        require([o["device"] for o in (first, here, there, last)] == [0, 0, 1, 0], "devices of the nodes")
        require(copy["kind"] == "p2p" and (copy["device"], copy["peer_device"]) == (1, 0), "the copy between devices")
        require(there["start_ns"] == first["end_ns"] and last["start_ns"] == copy["end_ns"], "order between devices")
        require(there["context"] != here["context"], "contexts of the nodes")


def check_kinds(runs, wanted):
    for run in runs:
        require(sorted(op["op"] for op in run) == sorted(wanted), "kinds %s" % [op["op"] for op in run])


def judge(case, ops, calls, idle):
    runs = launches_of(ops, calls)
    by_hand = ["memset", "kernel", "kernel", "memcpy", "host_func"]
    if case == "graph-fork":
        check_fork(runs)
    elif case == "graph-devices":
        check_devices(runs)
    elif case == "graph-made":
        require(len(runs) == 2, "two launches")
        check_kinds(runs, by_hand)
    elif case == "graph-update":
        require([len(run) for run in runs] == [5, 4, 5], "nodes run: %s" % [len(run) for run in runs])
        check_kinds([runs[0], runs[2]], by_hand)
        require([o["memory"] for r in runs for o in r if o["op"] == "memcpy"] == ["pinned", "pinned", "pageable"],
                "the updated copy")
    elif case == "graph-nested":
        require(len(runs) == 3, "three launches")
        check_kinds(runs, ["memcpy", "kernel", "kernel", "host_func", "kernel", "kernel", "memcpy"])
        require(len({o["graph"] for run in runs for o in run}) == 1, "child graphs run as part of the launched one")
        require("host_function" in test_simgpu.reasons(idle), "no idle time behind the host function")
    elif case == "graph-queue":
        require([len(run) for run in runs] == [10] * 5, "ten nodes, five launches")
    elif case == "graph-objects":
        require([len(run) for run in runs] == [1], "one node, one launch")
    else:
        test_simgpu.fail("no case " + case)


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    case = sys.argv[1]
    program, libraries, plugin = (os.path.abspath(path) for path in sys.argv[2:])
    with tempfile.TemporaryDirectory(prefix="simgpu-") as folder:
        scene = test_simgpu.Scene(folder, program, libraries, plugin)
        scene.run(case, MODELS.get(case))
        if case.startswith("graph"):
            judge(case, *test_simgpu.check_truth(scene.truth()))
        else:
            names = {line["name"] for line in scene.truth() if line["op"] == "call"}
            require(any(name.startswith("cuStreamEndCapture") for name in names), "calls made: %s" % names)
            if case == "capture-basics":
                require(not [l for l in scene.truth() if l["op"] == "kernel"], "a captured kernel has run")


if __name__ == "__main__":
    main()
