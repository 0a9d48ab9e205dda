#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every runtime function that simgpu implements has the parameters that the headers of its CUDA version declare, in
number and size; and one that is only passed on has those of the driver function that it goes to.
usage: test_prototypes.py MAJOR SOURCE_ROOT INCLUDE COMPILER…     (finds prototypes.py by PYTHONPATH)"""
import glob
import json
import os
import subprocess
import sys

import prototypes

# Exports that the headers of 12 no longer declare.
OLD = {"cudaGetDeviceProperties": ("cudaError_t", "struct cudaDeviceProp *prop, int device")}
ROW = "forwarded: "


def preprocessed(compiler, major, root, text):
    command = compiler + ["-E", "-P", f"-DSIM_CUDA_MAJOR={major}", "-I", root, "-xc", "-"]
    return subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True).stdout


class Ours:
    """What the sources of simgpu's libcudart define, and where forward.def leads."""

    def __init__(self, compiler, major, root):
        folder = os.path.join(root, "tests", "simgpu", "runtime")
        rows = preprocessed(compiler, major, root,
                            f'#include "{folder}/../cuda_major.h"\n#define FWD(level, ...) {ROW}__VA_ARGS__;\n'
                            f'#define FWD_SZ FWD\n#include "{folder}/forward.def"\n')
        self.forwarded = {}
        for row in rows.split(ROW)[1:]:
            name, driver, version = row.split(";")[0].replace(" ", "").split(",")
            self.forwarded[name] = driver, int(version)
        sources = "".join(f'#include "{path}"\n' for path in sorted(glob.glob(folder + "/*.c"))
                          if not path.endswith("forward.c"))
        self.prototypes = {}
        for result, name, parameters in prototypes.declarations(preprocessed(compiler, major, root, sources)):
            self.prototypes.setdefault(name, (result, parameters))


def compared(label, ours, theirs, problems):
    """Assertions that two lists of parameters agree; lists of different length are a problem."""
    mine, real = prototypes.parameters(ours), prototypes.parameters(theirs)
    if len(mine) != len(real):
        problems.append(f"{label}: ({ours}) for ({theirs})")
        return []
    return [f'_Static_assert(sizeof({"void *" if a.is_pointer else a.type}) == sizeof({b.type}), "{label}: {b.name}");'
            for a, b in zip(mine, real)]


def main():
    major, root, include, *compiler = sys.argv[1:]
    ours = Ours(compiler, major, root)
    real = prototypes.Headers(compiler, include)
    with open(os.path.join(root, "tests", "data", "driver_pfn_map.json"), encoding="ascii") as f:
        exports = json.load(f)
    problems, lines = [], []

    def declared(name):
        base = name.rsplit("_pt", 1)[0]
        found = real.prototypes.get(base) or (OLD.get(base) if major == "12" else None)
        if not found:
            problems.append(f"{name}: not in the headers of {major}")
        return found and found[1]

    for name, (_, parameters) in sorted(ours.prototypes.items()):
        if not name.startswith("cuda") or name.endswith("_body"):
            continue # what nvcc's code calls is in no header that every package has
        theirs = declared(name)
        if theirs is not None:
            lines += compared(name, parameters, theirs, problems)
    for name, (driver, version) in sorted(ours.forwarded.items()):
        known = [(v, export) for symbol, v, suffix, export in exports if symbol == driver and not suffix and v <= version]
        theirs = declared(name)
        target = real.prototypes.get(max(known)[1] if known else driver)
        if not target:
            problems.append(f"{name}: {driver} of {version} is not in the headers")
        elif theirs is not None:
            lines += compared(f"{name} to {driver}", theirs, target[1], problems)
            if len(prototypes.parameters(theirs)) > 6:
                problems.append(f"{name}: more parameters than forward.c passes on")
    text = '#include <cuda.h>\n#include <cuda_runtime_api.h>\n#include "tests/simgpu/runtime/types.h"\n' + "\n".join(lines)
    command = compiler + ["-w", "-fsyntax-only", f"-DSIM_CUDA_MAJOR={major}", "-D__CUDA_API_VERSION_INTERNAL", "-I", root,
                          "-isystem", include, "-xc", "-"]
    done = subprocess.run(command, input=text + "\n", stderr=subprocess.PIPE, text=True, check=False)
    if problems or done.returncode or len(lines) < 400:
        sys.exit("\n".join(problems) + f"\n{done.stderr[:4000]}\n{len(lines)} parameters compared")
    print(f"CUDA {major}: {len(ours.prototypes)} and {len(ours.forwarded)} functions, {len(lines)} parameters")


if __name__ == "__main__":
    main()
