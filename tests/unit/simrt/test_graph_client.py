#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Graphs through libcudart, and libcupti's records of them against the truth file.
usage: test_graph_client.py CASE LIBRARY_FOLDER KERNELS.so PROGRAM"""
import sys
import tempfile

import test_simrt
from test_simrt import check


def same_times(records, truth, pairs):
    """Every record has its line's times, all with one offset between the clocks."""
    offsets = {(r["start"] - start, r["end"] - end) for r in records for start, end in [pairs(r)]}
    check(len(offsets) == 1 and len(set(offsets.pop())) == 1, "times of records and truth")


def check_nodes(records, nodes):
    """One record for each node of each launch: as in the truth."""
    of = {(n["op"], n["correlation"], n["graph_node"]): n for n in nodes}
    mine = [r for r in records if r["graph_node"] != 0]
    check(len(of) == len(nodes) == 12 and len(mine) == 12, "%d records of %d nodes" % (len(mine), len(nodes)))
    for r in mine:
        line = of.get((r["kind"], r["correlation"], r["graph_node"]))
        check(line is not None and (r["graph"], r["stream"]) == (line["graph"], line["stream"]), "record %s" % r)
    same_times(mine, nodes, lambda r: [of[r["kind"], r["correlation"], r["graph_node"]][k]
                                       for k in ("start_ns", "end_ns")])


def check_whole(records, nodes):
    """One record for each launch, from its first start to its last end, and none for the nodes."""
    check(not [r for r in records if r["graph_node"] != 0], "records of nodes beside those of launches")
    mine = [r for r in records if r["kind"] == "graph"]
    check([r["correlation"] for r in mine] == sorted({n["correlation"] for n in nodes}) and len(mine) == 3,
          "launches: %s" % mine)
    check({(r["graph"], r["stream"]) for r in mine} == {(nodes[0]["graph"], nodes[0]["stream"])}, "graph and stream")

    def span(record):
        own = [n for n in nodes if n["correlation"] == record["correlation"]]
        return min(n["start_ns"] for n in own), max(n["end_ns"] for n in own)
    same_times(mine, nodes, span)


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    case, libraries, kernels, program = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="simrt-") as folder:
        place = test_simrt.Place(folder, libraries, kernels)
        done = place.succeed([program, case])
        truth = place.truth()
    nodes = [line for line in test_simrt.device_lines(truth) if line["graph"] is not None]
    records = test_simrt.read_lines(done.stdout)
    if case == "api":
        check(len(nodes) == 3 * 3 + 3 * 4, "%d nodes ran" % len(nodes))
        check(not done.stderr, done.stderr)
        return
    exec_id = [r["graph"] for r in records if r["kind"] == "exec"]
    check(exec_id == [nodes[0]["graph"]], "cuptiGetGraphExecId")
    records = [r for r in records if r["kind"] != "exec"]
    check(len([r for r in records if r["graph"] == 0]) == (0 if case == "late" else 1), "the copy before the graph")
    if case == "whole":
        check_whole(records, nodes)
    else: # a graph that was instantiated before anybody asked for whole launches is told by node
        check(not [r for r in records if r["kind"] == "graph"], "a record of a whole launch")
        check_nodes(records, nodes)


if __name__ == "__main__":
    main()
