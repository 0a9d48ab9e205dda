#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what makes one of simgpu's libraries export every name of the real one:
a C file with a weak stub per name (an ordinary definition elsewhere in the library takes its place) and
the linker's version script.  usage: stubs.py NAMES NODE ERROR OUT.c OUT.map"""
import sys


def read_names(path):
    with open(path, encoding="ascii") as f:
        return [line.strip() for line in f if line.strip() and not line.startswith("#")]


def main():
    names_path, node, error, out_c, out_map = sys.argv[1:]
    names = read_names(names_path)
    if not names or len(set(names)) != len(names):
        sys.exit(f"stubs.py: {names_path}: empty or a name twice")
    with open(out_c, "w", encoding="ascii") as f:
        f.write(f"/* Made by stubs.py: every export of {node}; what is not implemented says so once. */\n"
                "#include <stdatomic.h>\n#include <stdio.h>\n\n"
                "static int not_implemented(const char *name, atomic_flag *said)\n{\n"
                "    if (!atomic_flag_test_and_set(said)) {\n"
                f"        fprintf(stderr, \"simgpu: %s: not implemented (in {node})\\n\", name);\n    }}\n"
                f"    return {error};\n}}\n\n"
                "#define STUB(name)                                     \\\n"
                "    int name(void);                                    \\\n"
                "    __attribute__((weak)) int name(void)               \\\n"
                "    {                                                  \\\n"
                "        static atomic_flag said = ATOMIC_FLAG_INIT;    \\\n"
                "        return not_implemented(#name, &said);          \\\n"
                "    }\n\n")
        f.writelines(f"STUB({name})\n" for name in names)
    with open(out_map, "w", encoding="ascii") as f:
        f.write(f"{node} {{\n    global:\n")
        f.writelines(f"        {name};\n" for name in names)
        f.write("    local:\n        *;\n};\n")


if __name__ == "__main__":
    main()
