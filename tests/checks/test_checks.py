#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_checks.py CHECKS_FOLDER SCRIPTS_FOLDER CC...: each check of this folder passes a good input and refuses a
planted bad one."""
import json
import pathlib
import subprocess
import sys
import tempfile

checks, scripts, compiler = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]
failures = 0


def run(script, *arguments):
    return subprocess.run([sys.executable, str(script), *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)


def expect(good, what, done, text=""):
    global failures
    right = (done.returncode == 0) == good and text in done.stdout
    print("ok  " if right else "FAIL", what)
    if not right:
        failures += 1
        print(done.stdout)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_include_order(folder):
    script, table = checks / "include_order.py", checks / "include_order.txt"
    write(folder / "preload/trace/format.h", "")
    write(folder / "preload/record/record.h", '#include "preload/trace/format.h"\n')
    write(folder / "analyzer/reader/reader.c", '#include "preload/trace/format.h"\n')
    expect(True, "order: allowed includes", run(script, folder, table), "2 includes checked, 0 not")
    up = write(folder / "preload/trace/up.c", ' #  include "../record/record.h"\n')
    expect(False, "order: an include upwards", run(script, folder, table), "preload/trace may not use preload/record")
    up.unlink()
    across = write(folder / "analyzer/reader/across.c", '#include "preload/record/record.h"\n')
    expect(False, "order: analyzer uses the recorder", run(script, folder, table), "across.c includes")
    across.unlink()
    stray = write(folder / "preload/stray/a.c", '#include "preload/trace/format.h"\n')
    expect(False, "order: a folder without a line", run(script, folder, table), "no line in the table")
    stray.unlink()
    cyclic = write(folder / "table.txt", "preload/trace: \nconfig: preload/trace\n")
    expect(False, "order: a table with a cycle", run(script, folder, cyclic), "stands above it")


def build_so(folder, name, source, *options):
    path = folder / name
    subprocess.run([*compiler, "-shared", "-fPIC", "-nostartfiles", "-x", "c", "-", "-o", str(path),
                    "-Wl,-z,now", "-Wl,-z,initfirst", "-Wl,--no-as-needed", *options], input=source, text=True,
                   check=True)
    return path


def test_so(folder):
    script = checks / "check_so.py"
    good = "void dlsym(void) {} void dlopen(void) {} int InitializeInjectionNvtx2(void *p) { return p != 0; }\n"
    good = "#pragma GCC diagnostic ignored \"-Wbuiltin-declaration-mismatch\"\n" + good
    expect(True, "so: a good library", run(script, build_so(folder, "good.so", good)), "exports")
    for what, source, options, text in [
            ("an export too many", "void cuInit(void) {}", [], "exports cuInit"),
            ("libm", "", ["-lm"], "needs libm"),
            ("a run-time path", "", ["-Wl,-rpath,/opt"], "RUNPATH"),
            ("much TLS", "__thread char stagetap_big[300]; char *stagetap_get(void) { return stagetap_big; }", [],
             "static TLS"),
            ("a private symbol of another library", "void other(void); void stagetap_x(void) { other(); }", [],
             "uses other"),
            ("a new glibc", "unsigned arc4random(void); unsigned stagetap_x(void) { return arc4random(); }", [],
             "needs glibc 2.36 for arc4random"),
            ("system()", "int system(const char *); int stagetap_x(void) { return system(\"\"); }", [],
             "calls system")]:
        expect(False, "so: " + what, run(script, build_so(folder, "bad.so", good + source + "\n", *options)), text)
    expect(False, "so: no dlsym", run(script, build_so(folder, "bad.so", "int stagetap_x;\n")), "does not export dlsym")


def test_hot(folder):
    script = checks / "check_hot.py"
    for name, source in [("cold/a.o", "void help(void) {}"), ("good/a.o", "void help(void); void hot(void) { help(); }"),
                         ("bad/b.o", "int puts(const char *); void hot2(void) { puts(\"\"); }")]:
        (folder / name).parent.mkdir()
        subprocess.run([*compiler, "-c", "-x", "c", "-", "-o", str(folder / name)], input=source, text=True, check=True)
    expect(True, "hot: calls its own", run(script, folder, "good"), "1 hot objects, 0")
    expect(False, "hot: calls libc", run(script, folder, "good", "b.o"), "b.o calls puts")
    expect(False, "hot: no such object", run(script, folder, "none"), "no such object")


def test_headers(folder):
    script = checks / "headers_alone.py"
    write(folder / "config/good.h", "#ifndef G\n#define G\nstruct g { int x; };\n#endif\n")
    expect(True, "headers: a good one", run(script, folder, folder, *compiler), "1 headers, 0")
    bad = write(folder / "config/bad.h", "#ifndef B\n#define B\nuint32_t f(void);\n#endif\n")
    expect(False, "headers: one that needs another", run(script, folder, folder, *compiler), "bad.h does not stand alone")
    bad.unlink()
    write(folder / "config/bad.h", "struct twice { int x; };\n")
    expect(False, "headers: one without a guard", run(script, folder, folder, *compiler), "bad.h does not stand alone")


def test_tidy(folder):
    script, line = checks / "tidy.py", "/* SPDX-License-Identifier: Apache-2.0 */\n"
    write(folder / "a/good.c", line + "int x;\n")
    write(folder / "build/ignored.c", "no licence\n")
    expect(True, "tidy: a good file", run(script, folder), "1 files, 0 problems")
    for what, text, problem in [
            ("no licence", "int x;\n", "no licence line"), ("a long file", line + "int x;\n" * 800, "801 lines"),
            ("a long line", line + "//" + "x" * 119 + "\n", "121 columns"), ("a tab", line + "\tx\n", "a tab"),
            ("a path", line + "// /ro" + "ot/x\n", "path of one machine"),
            ("a note to self", line + "// TO" + "DO\n", "left over"), ("blanks", line + "x \n", "blanks at the end"),
            ("no last newline", line + "x", "no newline")]:
        write(folder / "a/bad.c", text)
        expect(False, "tidy: " + what, run(script, folder), problem)


def test_count(folder):
    script, log = scripts / "count_tests.py", folder / "testlog.json"

    def count(rows, status="0", clients=""):
        write(log, "".join(json.dumps({"name": name, "result": result, "stdout": out}) + "\n"
                           for name, result, out in rows))
        return run(script, log, status, folder / "clients", clients)
    good, skip = ("a", "OK", ""), ("b", "SKIP", "one\nno nvcc here\n")
    expect(True, "count: all is well", count([good, skip]), "skipped: b: no nvcc here\n1 passed, 0 failed, 1 skipped\n")
    expect(False, "count: a failure", count([good, ("c", "FAIL", "")], "1"), "failed: c (FAIL)\n1 passed, 1 failed")
    expect(False, "count: a timeout", count([good, ("c", "TIMEOUT", "")]), "1 passed, 1 failed, 0 skipped")
    expect(False, "count: nothing ran", count([]), "0 passed, 1 failed, 0 skipped")
    expect(False, "count: meson failed otherwise", count([good], "2"), "1 passed, 1 failed")
    expect(True, "count: an unknown client is skipped", count([good], clients="no"), "1 passed, 0 failed, 1 skipped")
    for name, code in [("yes", 0), ("not", 3)]:
        write(folder / "clients" / name / "run", "#!/bin/sh\necho launches 3/3\nexit %d\n" % code).chmod(0o755)
    expect(False, "count: clients", count([good], clients="all"), "client not: FAIL launches 3/3\nclient yes: ok")


for test in test_include_order, test_so, test_hot, test_headers, test_tidy, test_count:
    with tempfile.TemporaryDirectory() as name:
        test(pathlib.Path(name))
sys.exit(1 if failures else 0)
