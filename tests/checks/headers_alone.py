#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headers_alone.py ROOT BUILD CC [ARGUMENT...]: each header compiles by itself, without a warning, in any order.

The compiler gets one file that includes one header twice (guards work) and nothing else. A header beside a
C++ source of its name (NAME.cc) is C++. BUILD is where generated headers lie."""
import pathlib
import subprocess
import sys

FLAGS = ["-D_GNU_SOURCE", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter",
         "-Wno-unused-function", "-Wno-missing-field-initializers"]
FOLDERS = [".", "tests/simgpu", "tests/simgpu/driver"]  # where the build looks, in ROOT and BUILD
C, CXX = ["-std=gnu11", "-x", "c", "-"], ["-std=gnu++17", "-x", "c++", "-"]


def main():
    root, build, compiler = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]
    headers = sorted(path for top in ("analyzer", "config", "preload", "tests") for path in (root / top).rglob("*.h"))
    bad = 0
    for path in headers:
        name = path.relative_to(root).as_posix()
        text = '#include "%s"\n#include "%s"\n' % (name, name)
        language = CXX if path.with_suffix(".cc").exists() else C
        folders = [option for top in (root, build) for folder in FOLDERS for option in ("-I", str(top / folder))]
        command = [*compiler, *folders, *FLAGS, *language]
        done = subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            print("%s does not stand alone:\n%s" % (name, done.stdout))
            bad += 1
    print("%d headers, %d do not compile alone" % (len(headers), bad))
    return 1 if bad or not headers else 0


sys.exit(main())
