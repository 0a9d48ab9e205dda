#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_hot.py BUILD_FOLDER PART...: object files of the recorded path call no function of libc.

Code that runs between the entry of a thunk and the real call must not: the caller's vector registers are
still live there. Each undefined symbol must be defined in one of the objects given, or be allowed below: GCC's atomic
operations for aarch64 are small functions of libgcc.a in general registers, linked into the library.
PART is an object (`watch_hook.c.o`) or a folder of objects (`libst_hot.a.p`), at any depth."""
import pathlib
import re
import subprocess
import sys

ALLOWED = re.compile("_GLOBAL_OFFSET_TABLE_|__stack_chk_fail|__aarch64_(cas|swp|ldadd|ldclr|ldeor|ldset)[1248]_[a-z_]+")


def symbols(path, option):
    lines = subprocess.run(["nm", option, "--format=posix", str(path)], check=True, stdout=subprocess.PIPE,
                           text=True).stdout.splitlines()
    return {line.split()[0] for line in lines}


def main():
    everything = list(pathlib.Path(sys.argv[1]).rglob("*.o"))
    parts = set(sys.argv[2:])
    hot = [path for path in everything if {path.name, path.parent.name} & parts]
    missing = parts - {name for path in hot for name in (path.name, path.parent.name)}
    if missing:
        sys.exit("no such object: " + " ".join(sorted(missing)))
    ours = set().union(*(symbols(path, "--defined-only") for path in everything))
    bad = 0
    for path in sorted(hot):
        for name in sorted(symbols(path, "--undefined-only") - ours):
            if ALLOWED.fullmatch(name):
                continue
            print("%s calls %s" % (path.name, name))
            bad += 1
    print("%d hot objects, %d calls out of the library" % (len(hot), bad))
    return 1 if bad else 0


sys.exit(main())
