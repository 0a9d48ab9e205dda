#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library exports every name of the list with its soname as version node, and nothing else; it needs no
other CUDA library.  usage: test_exports.py LIBRARY NAMES"""
import os
import subprocess
import sys


def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *arguments], capture_output=True, text=True, check=True).stdout


def main():
    library, names = sys.argv[1:]
    soname = os.path.basename(library)
    with open(names, encoding="ascii") as f:
        wanted = {line.strip() for line in f if line.strip() and not line.startswith("#")}
    rows = [row.split() for row in readelf("--dyn-syms", library).splitlines()]
    defined = [row[7] for row in rows if len(row) == 8 and row[3] == "FUNC" and row[6] != "UND"]
    exported = {name.split("@@")[0] for name in defined if name.endswith("@@" + soname)}
    if exported != wanted or len(defined) != len(wanted):
        sys.exit(f"{soname}: missing {sorted(wanted - exported)[:9]}, too many {sorted(exported - wanted)[:9]}, "
                 f"without node {[n for n in defined if not n.endswith('@@' + soname)][:9]}")
    dynamic = readelf("-d", library)
    needed = [line for line in dynamic.splitlines() if "NEEDED" in line]
    if f"soname: [{soname}]" not in dynamic or any("libcu" in line or "nvidia" in line for line in needed):
        sys.exit(f"{soname}: wrong soname or dependencies: {needed}")
    print(f"{soname}: {len(exported)} names")


if __name__ == "__main__":
    main()
