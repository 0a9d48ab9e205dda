#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every function that simgpu's cuBLAS and cuBLASLt implement has the parameters that the toolkit's headers declare, in
number and size.   usage: test_blas_prototypes.py SOURCE_ROOT INCLUDE COMPILER…     (finds prototypes.py by PYTHONPATH)"""
import os
import re
import subprocess
import sys

import prototypes

DECLARATION = re.compile(r"\b(cublas\w+)\s*\(([^(){};]*)\)\s*;")
HEADERS = '#include <cublas_v2.h>\n#include <cublasLt.h>\n'


def declared(compiler, options, text):
    command = compiler + ["-E", "-P", *options, "-xc", "-"]
    text = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True).stdout
    found = {}
    for name, parameters in DECLARATION.findall(text): # the declaration comes first, then calls
        found.setdefault(name, " ".join(parameters.split()))
    return found


def main():
    root, include, *compiler = sys.argv[1:]
    folder = os.path.join(root, "tests", "simgpu", "blas")
    ours = {}
    for source in ("blas.c", "lt.c"):
        ours.update(declared(compiler, ["-I", folder], f'#include "{folder}/{source}"\n'))
    real = declared(compiler, ["-isystem", include], HEADERS)
    lines, problems = [], []
    for name, text in sorted(ours.items()):
        single = name.replace("Hgemm", "Sgemm") # those of half precision are declared for C++ only
        header = real.get(name) or real.get(single) or real.get(single.replace("Sgemm", "Sgemm_v2"))
        if header is None:
            problems.append(f"{name}: not in the headers")
            continue
        mine, theirs = prototypes.parameters(text), prototypes.parameters(header)
        if len(mine) != len(theirs):
            problems.append(f"{name}: ({text}) for ({header})")
            continue
        lines += [f'_Static_assert(sizeof({"void *" if a.is_pointer else a.type}) == sizeof({b.type}), "{name}: {b.name}");'
                  for a, b in zip(mine, theirs)]
    done = subprocess.run(compiler + ["-w", "-fsyntax-only", "-isystem", include, "-xc", "-"], text=True,
                          input="#include <stdint.h>\n" + HEADERS + "\n".join(lines) + "\n", stderr=subprocess.PIPE,
                          check=False)
    if problems or done.returncode or len(lines) < 1000:
        sys.exit("\n".join(problems) + f"\n{done.stderr[:4000]}\n{len(lines)} parameters compared")
    print(f"{len(ours)} functions, {len(lines)} parameters")


if __name__ == "__main__":
    main()
