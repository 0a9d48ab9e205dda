#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""count_tests.py TESTLOG MESON_STATUS CLIENTS_FOLDER CLIENTS: the last lines of test.sh.

Counts meson's results, says why each skipped test was skipped, runs the named clients (CLIENTS: comma
list, `all`, `none`, or empty: those without a file `on_demand`; a client is a folder with a `run` script: exit 0 ok,
77 skip) and ends with one line
`N passed, N failed, N skipped`. Exit 0 only if something passed, nothing failed and meson agrees."""
import json
import os
import pathlib
import subprocess
import sys

PASSED = {"OK", "EXPECTEDFAIL"}


def last_line(text):
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    return lines[-1] if lines else ""


def read_results(path):
    """(name, result, last line of output) of each test of the run, and (name, why) of parts that could not run."""
    results, parts = [], []
    with open(path, encoding="utf-8", errors="replace") as log:
        for line in log:
            row = json.loads(line)
            output = row.get("stdout") or ""
            results.append((row["name"], row["result"], last_line(output) or last_line(row.get("stderr"))))
            parts += [(row["name"], line[6:]) for line in output.splitlines() if line.startswith("skip  ")]
    return results, parts


def run_clients(folder, names):
    here = sorted(path.name for path in folder.iterdir() if (path / "run").exists()) if folder.is_dir() else []
    wanted = {"all": here, "none": [], "": [name for name in here if not (folder / name / "on_demand").exists()]}
    results = []
    for name in wanted.get(names, [name for name in names.split(",") if name]):
        if name not in here:
            result = ("client " + name, "SKIP", "tests/clients has no such client")
        else:
            done = subprocess.run([str(folder / name / "run")], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
            state = {0: "OK", 77: "SKIP"}.get(done.returncode, "FAIL")
            for line in done.stdout.splitlines():
                if state == "FAIL" or line.startswith("|"):
                    print(line)
            result = ("client " + name, state, last_line(done.stdout))
        results.append(result)
        print("client %s: %s %s" % (name, {"OK": "ok", "SKIP": "skip"}.get(result[1], "FAIL"), result[2]))
    return results


def main():
    path, status, clients_folder, clients = sys.argv[1:]
    results, parts = read_results(path) if os.path.exists(path) else ([], [])
    results += run_clients(pathlib.Path(clients_folder), clients)
    passed = sum(result in PASSED for _, result, _ in results)
    skipped = [(name, why) for name, result, why in results if result == "SKIP"]
    failed = [(name, result) for name, result, _ in results if result not in PASSED and result != "SKIP"]
    for name, why in parts:
        print("skipped in %s: %s" % (name, why))
    for name, why in skipped:
        print("skipped: %s: %s" % (name, why or "no reason given"))
    for name, result in failed:
        print("failed: %s (%s)" % (name, result))
    bad = len(failed)
    if not bad and (status != "0" or not passed):
        print("failed: the test runner itself (exit %s, %d tests seen)" % (status, len(results)))
        bad = 1
    print("%d passed, %d failed, %d skipped" % (passed, bad, len(skipped)))
    return 1 if bad else 0


sys.exit(main())
