#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""faults.py FAULTS.DEF OUTPUT VERSION: the manual page stagetap-faults(7) from the table of measurement faults."""
import re
import sys

ROW = re.compile(r'^ST_FAULT\((\w+), "([\w-]+)", "([^"]*)", "([^"]*)", "([^"]*)"\)$')
HEAD = re.compile(r"^/\* ---- (.*) ---- \*/$")

PAGE = r""".\" SPDX-License-Identifier: Apache-2.0
.\" Made from analyzer/doctor/faults.def.
.TH STAGETAP\-FAULTS 7 "2026" "stagetap %s" "Miscellaneous"
.SH NAME
stagetap\-faults \- measurement faults: symptom, test, correction
.SH DESCRIPTION
.B stagetap doctor
names what it finds by the ids below, with what it saw. Each entry says what the finding means, how it is told (test) and
what to do (correction).
"""


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in ".'" else text


def rows(path):
    """("head", text) and ("row", id, symptom, test, correction) in the order of the file."""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            row, head = ROW.match(line), HEAD.match(line)
            if row:
                yield ("row",) + row.groups()[1:]
            elif head:
                yield "head", head.group(1)
            elif line.startswith("ST_FAULT"):
                sys.exit("%s:%d: not understood" % (path, number))


def main():
    page = PAGE % sys.argv[3]
    for row in rows(sys.argv[1]):
        if row[0] == "head":
            page += ".SH %s\n" % escape(row[1].upper())
        else:
            page += ".TP\n.B %s\n%s\n.br\n.I Test:\n%s\n.br\n.I Correction:\n%s\n" % tuple(map(escape, row[1:]))
    page += ".SH SEE ALSO\n.BR stagetap (1),\n.BR stagetap\\-recipes (7)\n"
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(page)


main()
