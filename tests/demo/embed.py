#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""embed.py NAME INPUT OUTPUT: write a C file that defines `const char NAME[]` with the text of INPUT."""
import sys

name, source, target = sys.argv[1:]
with open(source, encoding="ascii") as text, open(target, "w", encoding="ascii") as out:
    out.write("extern const char %s[];\nconst char %s[] =\n" % (name, name))
    for line in text:
        escaped = line.rstrip("\n").replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
        out.write('    "%s\\n"\n' % escaped)
    out.write("    ;\n")
