#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tidy.py ROOT: what every file of the project keeps to: a licence line, a length that can be read, no tabs
in C, no machine's paths, nothing left over."""
import pathlib
import re
import sys

LINES, COLUMNS = 800, 120
SKIP = re.compile(r"^(\.git|build[^/]*|\.venv)$|__pycache__")
CODE = {".c", ".cc", ".h", ".S", ".def", ".cu", ".py", ".sh", ".build"}
C_LIKE = {".c", ".cc", ".h", ".cu"}
# Written in two halves, so that this file passes its own test.
MACHINE = re.compile(r"(?<![\w.])/(wo" r"rk|ro" r"ot|ho" r"me)/")
LEFT_OVER = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b|<<<<" r"<<< |>>>>" r">>> ")


def files(folder):
    for path in sorted(folder.iterdir()):
        if SKIP.search(path.name) or path.is_symlink():
            continue
        if path.is_dir():
            yield from files(path)
        else:
            yield path


def problems(path, name):
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return  # not text: pictures, recorded bytes
    lines = text.splitlines()
    code = path.suffix in CODE
    if code and not any("SPDX-License-Identifier: Apache-2.0" in line for line in lines[:3]):
        yield "%s: no licence line" % name
    if code and len(lines) > LINES:
        yield "%s: %d lines, more than %d" % (name, len(lines), LINES)
    if text and code and not text.endswith("\n"):
        yield "%s: no newline at the end" % name
    for number, line in enumerate(lines, 1):
        where = "%s:%d:" % (name, number)
        if path.suffix in C_LIKE and len(line) > COLUMNS:
            yield "%s %d columns, more than %d" % (where, len(line), COLUMNS)
        if path.suffix in C_LIKE and "\t" in line:
            yield "%s a tab" % where
        if code and line != line.rstrip():
            yield "%s blanks at the end" % where
        if MACHINE.search(line):
            yield "%s a path of one machine: %s" % (where, line.strip())
        if code and LEFT_OVER.search(line):
            yield "%s left over: %s" % (where, line.strip())


def main():
    root, count, bad = pathlib.Path(sys.argv[1]), 0, 0
    for path in files(root):
        count += 1
        for problem in problems(path, path.relative_to(root).as_posix()):
            print(problem)
            bad += 1
    print("%d files, %d problems" % (count, bad))
    return 1 if bad or not count else 0


sys.exit(main())
