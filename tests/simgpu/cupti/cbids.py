#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of CUPTI callback names by id.  usage: cbids.py DRIVER.txt RUNTIME.txt OUT.c"""
import sys


def read_table(path):
    with open(path, encoding="ascii") as f:
        rows = [line.split() for line in f if line.strip() and not line.startswith("#")]
    if [int(number) for number, _ in rows] != list(range(len(rows))):
        sys.exit(f"cbids.py: {path}: ids are not 0, 1, 2, ...")
    return [name for _, name in rows]


def main():
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
