#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Matrix products of simgpu's cuBLAS are launches: named, on the caller's stream, with the time of their operations.
usage: test_blas.py PROGRAM LIBRARY_FOLDER MAJOR"""
import json
import os
import subprocess
import sys
import tempfile

FIXED_NS, PER_THOUSAND_NS = 3000, 0.02
EXPECTED = [ # kernel, thousands of operations, in a graph?
    ("simgpu_gemm_f32", 2_000_000, False), ("simgpu_gemm_f16", 8_000, True), ("simgpu_gemm_f16", 8_000, True),
    ("simgpu_matmul_f32", 60_000, False),
]


def main():
    program, folder, major = sys.argv[1:]
    with tempfile.TemporaryDirectory() as work:
        truth = os.path.join(work, "truth")
        env = dict(os.environ, LD_LIBRARY_PATH=folder, SIMGPU_TRUTH=truth)
        done = subprocess.run([program, folder, major], env=env, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode or "cublasSsyrk_v2: not implemented" not in done.stderr:
            sys.exit(f"exit {done.returncode}: {done.stderr}")
        with open(truth, encoding="ascii") as f:
            ops = [op for op in map(json.loads, f) if op["op"] == "kernel"]
    made = [(op["name"], op["end_ns"] - op["start_ns"], op["graph"] is not None) for op in ops]
    wanted = [(name, round(FIXED_NS + PER_THOUSAND_NS * work), in_graph) for name, work, in_graph in EXPECTED]
    if made != wanted or len({op["stream"] for op in ops}) != 1:
        sys.exit(f"launched {made}, expected {wanted}; streams {[op['stream'] for op in ops]}")


if __name__ == "__main__":
    main()
