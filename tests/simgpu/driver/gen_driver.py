#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes simgpu's libcuda entry points from driver.def, the list of real exports and the cuGetProcAddress maps.

usage: gen_driver.py KIND EXPORTS DEF PFN_MAP GRAPHICS_PFN_MAP OUTPUT
The exports of the second map are additional ones: the list is of a link library, which lacks them.
KIND: api     prototypes of the implemented exports, for programs that are built without cuda.h
      header  prototypes of the implementations, sim_<name>
      source  exported wrappers, NOT_SUPPORTED stubs, the cuGetProcAddress table
      map     the linker's version script
      check   every signature declared again after the real cuda.h: compiles only if they agree
"""
import json
import re
import sys

ADDITIONAL_EXPORTS = ("simgpu_tracer_set", "simgpu_fault", "simgpu_graph_id", "simgpu_context_id",
                      "simgpu_used_bytes")
LINE = re.compile(r"^(any|init|ctx|calm)\s+(cu\w+)\((.*)\)((?:\s+\+\w+)*)\s*(?:=\s*(.+))?$")


class Function:
    def __init__(self, need, name, params, suffixes, aliases):
        self.need, self.name, self.suffixes, self.aliases = need, name, suffixes, aliases
        self.params = [p.strip() for p in params.split(",")] if params.strip() else []
        self.arguments = [re.search(r"(\w+)$", p).group(1) for p in self.params]
        self.extra_stream = bool(suffixes) and "stream" not in self.arguments

    def prototype(self, name):
        return "CUresult %s(%s)" % (name, ", ".join(self.params) or "void")

    def implementation(self):
        params = self.params + (["CUstream default_stream"] if self.extra_stream else [])
        return "CUresult sim_%s(%s)" % (self.name, ", ".join(params) or "void")

    def exports(self):
        """(exported name, call arguments) of each variant."""
        plain = self.arguments + (["NULL"] if self.extra_stream else [])
        yield from ((name, plain) for name in [self.name] + self.aliases)
        for suffix in self.suffixes:
            if self.extra_stream:
                arguments = self.arguments + ["CU_STREAM_PER_THREAD"]
            else:
                arguments = ["stream == NULL ? CU_STREAM_PER_THREAD : stream" if a == "stream" else a
                             for a in self.arguments]
            yield self.name + suffix, arguments


def read_functions(path):
    functions = []
    with open(path, encoding="ascii") as lines:
        for number, line in enumerate(lines, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            match = LINE.match(line)
            if not match:
                sys.exit("%s:%d: not understood: %s" % (path, number, line))
            need, name, params, suffixes, aliases = match.groups()
            functions.append(Function(need, name, params, ["_" + s for s in suffixes.replace("+", " ").split()],
                                      (aliases or "").split()))
    return functions


def read_names(path):
    with open(path, encoding="ascii") as lines:
        return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def read_rows(path):
    with open(path, encoding="ascii") as text:
        return json.load(text)


def write_header(out, functions):
    out.write("#ifndef SIMGPU_DRIVER_GEN_H\n#define SIMGPU_DRIVER_GEN_H\n#include \"cuda_min.h\"\n\n")
    for function in functions:
        out.write(function.implementation() + ";\n")
    out.write("\n#endif\n")


def write_api(out, functions):
    out.write("#ifndef SIMGPU_DRIVER_API_H\n#define SIMGPU_DRIVER_API_H\n#include \"cuda_min.h\"\n\n")
    for function in functions:
        for name, _ in function.exports():
            out.write(function.prototype(name) + ";\n")
    out.write("\n#endif\n")


def write_source(out, functions, names, pfn_map):
    out.write('#include "call.h"\n#include "driver_api.h"\n#include "driver_gen.h"\n#include "gpa.h"\n\n')
    done = set()
    for function in functions:
        for name, arguments in function.exports():
            done.add(name)
            prototype = function.prototype(name)
            out.write("%s\n{\n    struct sim_call call;\n" % prototype)
            if function.params:
                out.write("    const struct {\n        %s;\n    } packed = {%s};\n"
                          % (";\n        ".join(function.params), ", ".join(function.arguments)))
            out.write('    CUresult result = sim_call_begin(&call, "%s", SIM_NEED_%s, %s);\n'
                      % (name, function.need.upper(), "&packed" if function.params else "NULL"))
            out.write("    if (result == CUDA_SUCCESS) {\n        result = sim_%s(%s);\n    }\n"
                      % (function.name, ", ".join(arguments)))
            out.write("    return sim_call_end(&call, result);\n}\n\n")
    unknown = done.difference(names)
    if unknown:
        sys.exit("driver.def names what the real library does not export: %s" % ", ".join(sorted(unknown)))
    for name in names:
        if name not in done:
            out.write('CUresult %s(void);\nCUresult %s(void)\n{\n    static int said;\n'
                      '    return sim_not_supported("%s", &said);\n}\n\n' % (name, name, name))
    # cuProfiler*: exported, but in no typedef header; every variant of a symbol is a row, oldest version first.
    rows = sorted((base, version, suffix, export) for base, version, suffix, export in pfn_map)
    rows += [(name, 4000, "", name) for name in ("cuProfilerInitialize", "cuProfilerStart", "cuProfilerStop")]
    rows.sort()
    out.write("const struct sim_gpa_row sim_gpa_rows[] = {\n")
    for base, version, suffix, export in rows:
        out.write('    {"%s", %d, %d, (void *)%s},\n' % (base, version, 1 if suffix else 0, export))
    out.write("};\nconst unsigned sim_gpa_row_count = sizeof(sim_gpa_rows) / sizeof(sim_gpa_rows[0]);\n")


def write_map(out, names):
    out.write("{\nglobal:\n")
    for name in sorted(set(names).union(ADDITIONAL_EXPORTS)):
        out.write("    %s;\n" % name)
    out.write("local:\n    *;\n};\n")


def write_check(out, functions):
    out.write("#define __CUDA_API_VERSION_INTERNAL\n#include <cuda.h>\n#include <cudaProfiler.h>\n\n")
    for function in functions:
        for name, _ in function.exports():
            out.write(function.prototype(name) + ";\n")


def main():
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    kind, exports, definitions, pfn_map, graphics_map, output = sys.argv[1:]
    functions, graphics = read_functions(definitions), read_rows(graphics_map)
    names = read_names(exports) + [export for _, _, _, export in graphics]
    rows = read_rows(pfn_map) + graphics
    with open(output, "w", encoding="ascii") as out:
        if kind != "map":
            out.write("/* SPDX-License-Identifier: Apache-2.0 */\n/* Made by gen_driver.py from driver.def. */\n")
        if kind == "api":
            write_api(out, functions)
        elif kind == "header":
            write_header(out, functions)
        elif kind == "source":
            write_source(out, functions, names, rows)
        elif kind == "map":
            write_map(out, names)
        elif kind == "check":
            write_check(out, functions)
        else:
            sys.exit("unknown kind " + kind)


if __name__ == "__main__":
    main()
