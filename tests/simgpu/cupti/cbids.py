#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of CUPTI callback names by id: the names as C arrays, and a line DRIVER_ID(number, name) or
RUNTIME_ID(number, name) each, to be checked against a header.
usage: cbids.py OUT.c OUT.inc DRIVER.txt RUNTIME.txt [CHANGES.txt]
CHANGES.txt has rows `API ID NAME` and, for the first id that an older library lacks, `API ID`."""
import sys


def rows(path):
    with open(path, encoding="ascii") as f:
        return [line.split() for line in f if line.strip() and not line.startswith("#")]


def read_table(path):
    table = rows(path)
    if [int(number) for number, _ in table] != list(range(len(table))):
        sys.exit(f"cbids.py: {path}: ids are not 0, 1, 2, ...")
    return [name for _, name in table]


def main():
    out_c, out_inc, driver, runtime, *changes = sys.argv[1:]
    tables = {"driver": read_table(driver), "runtime": read_table(runtime)}
    for api, number, *name in [row for path in changes for row in rows(path)]:
        if name:
            tables[api][int(number)] = name[0]
        else:
            del tables[api][int(number):]
    with open(out_c, "w", encoding="ascii") as f:
        f.write('/* Made by cbids.py from tests/data/cupti*_cbid*.txt. */\n#include "cupti.h"\n')
        for api, names in tables.items():
            f.write(f"\nconst char *const sim_{api}_cbid_names[] = {{\n")
            f.writelines(f'    "{name}",\n' for name in names)
            f.write(f"}};\nconst unsigned sim_{api}_cbid_count = {len(names)};\n")
    with open(out_inc, "w", encoding="ascii") as f:
        for api, names in tables.items():
            f.writelines(f"{api.upper()}_ID({number}, {name})\n" for number, name in enumerate(names) if number > 0)


if __name__ == "__main__":
    main()
