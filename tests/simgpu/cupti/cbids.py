#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of CUPTI callback names by id.
usage: cbids.py DRIVER.txt RUNTIME.txt OUT.c       the names as C arrays
       cbids.py --ids TABLE.txt OUT.inc            a line ID(number, name) each, to be checked against a header"""
import sys


def read_table(path):
    with open(path, encoding="ascii") as f:
        rows = [line.split() for line in f if line.strip() and not line.startswith("#")]
    if [int(number) for number, _ in rows] != list(range(len(rows))):
        sys.exit(f"cbids.py: {path}: ids are not 0, 1, 2, ...")
    return [name for _, name in rows]


def write_ids(table, out):
    with open(out, "w", encoding="ascii") as f:
        f.writelines(f"ID({number}, {name})\n" for number, name in enumerate(read_table(table)) if number > 0)


def main():
    if sys.argv[1] == "--ids":
        write_ids(*sys.argv[2:])
        return
    driver, runtime, out = sys.argv[1:]
    with open(out, "w", encoding="ascii") as f:
        f.write('/* Made by cbids.py from tests/data/cupti_cbid_*.txt. */\n#include "cupti.h"\n')
        for label, path in (("driver", driver), ("runtime", runtime)):
            names = read_table(path)
            f.write(f"\nconst char *const sim_{label}_cbid_names[] = {{\n")
            f.writelines(f'    "{name}",\n' for name in names)
            f.write(f"}};\nconst unsigned sim_{label}_cbid_count = {len(names)};\n")


if __name__ == "__main__":
    main()
