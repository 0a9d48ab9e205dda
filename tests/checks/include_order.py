#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""include_order.py ROOT TABLE: every #include "..." of analyzer/, config/ and preload/ is allowed by TABLE.

The table (include_order.txt) is checked too: a folder may only name folders that stand further down."""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
TOPS = ("analyzer", "config", "preload")


def read_table(path):
    """{folder: set of folders and single files it may use}, in the order of the file."""
    table = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        line = line.split("#")[0].strip()
        if line:
            folder, _, allowed = line.partition(":")
            if folder in table:
                sys.exit("%s:%d: %s stands there twice" % (path, number, folder))
            table[folder] = set(allowed.split())
    places = {folder: place for place, folder in enumerate(table)}
    for folder, allowed in table.items():
        for other in allowed:
            target = other if other in places else other.rpartition("/")[0]
            if target not in places:
                sys.exit("%s: %s may use %s, which has no line of its own" % (path, folder, other))
            if places[target] <= places[folder]:
                sys.exit("%s: %s may use %s, which stands above it" % (path, folder, other))
    return table


def violations(root, table):
    found, seen = [], 0
    for path in sorted(path for top in TOPS for path in (root / top).rglob("*")):
        if path.suffix not in {".c", ".h", ".def", ".S"}:
            continue
        name = path.relative_to(root).as_posix()
        folder = name.rpartition("/")[0]
        if folder not in table:
            found.append("%s: its folder has no line in the table" % name)
            continue
        for included in INCLUDE.findall(path.read_text(encoding="utf-8", errors="replace")):
            seen += 1
            beside = path.parent / included
            target = (beside if beside.exists() else root / included).resolve()
            if not target.exists():
                continue  # generated at build time, beside nothing: the compiler finds it or not
            target_name = target.relative_to(root).as_posix()
            target_folder = target_name.rpartition("/")[0]
            if target_folder != folder and not {target_folder, target_name} & table[folder]:
                found.append("%s includes %s: %s may not use %s" % (name, target_name, folder, target_folder))
    return found, seen


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    found, seen = violations(root, read_table(pathlib.Path(sys.argv[2])))
    for line in found:
        print(line)
    print("%d includes checked, %d not allowed" % (seen, len(found)))
    return 1 if found or not seen else 0


sys.exit(main())
