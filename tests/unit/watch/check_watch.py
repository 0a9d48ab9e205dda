# SPDX-License-Identifier: Apache-2.0
"""Runs one case of the watch tests: a program alone, then with the spy preloaded.

    check_watch.py FOLDER SPY CASE

The program must behave the same, and what the spy saw must be what the fake driver and runtime executed.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile

# case: (program, arguments, extra environment, extra checks)
CASES = {
    "direct_now": (["direct_now"], {}, ["direct"]),
    "direct_lazy": (["direct_lazy"], {}, ["direct"]),
    "direct_noplt": (["direct_noplt"], {}, ["direct"]),
    "direct_nopie": (["direct_nopie"], {}, ["direct"]),
    "runtime": (["runtime"], {}, ["runtime"]),
    "registered_only": (["runtime", "no-cuda"], {}, ["no_cuda"]),
    "plugin": (["loads_linked", "plugin"], {}, []),
    "plugin_deep": (["loads_linked", "plugin-deep"], {}, []),
    "own_loader": (["loads", "own-loader"], {}, []),
    "reload": (["loads", "reload"], {}, ["sum", "reload"]),
    "fork": (["loads", "fork"], {}, ["fork"]),
    "fork_busy": (["loads", "fork-busy"], {}, ["no_cuda"]),
    "threads": (["loads", "threads"], {}, []),
    "refused": (["loads", "refused"], {}, ["last", "refused"]),
    "weak": (["loads", "weak"], {}, ["no_cuda"]),
    "awkward_now": (["awkward_now"], {"WATCH_MATCH": "awkward"}, ["stages"]),
    "awkward_lazy": (["awkward_lazy"], {"WATCH_MATCH": "awkward"}, ["stages"]),
    "awkward_clobber": (["awkward_now"], {"WATCH_MATCH": "awkward", "WATCH_CLOBBER": "1"}, ["stages"]),
}


class Failed(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Failed(text)


def run(folder, command, extra):
    environment = dict(os.environ, LD_LIBRARY_PATH=folder, **extra)
    environment.pop("LD_PRELOAD", None)
    if "PRELOAD" in extra:
        environment["LD_PRELOAD"] = extra["PRELOAD"]
    done = subprocess.run([os.path.join(folder, command[0])] + command[1:], cwd=folder, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    return done.returncode, done.stdout.decode(errors="replace")


def numbers(pattern, text):
    found = collections.Counter()
    for name, count in re.findall(pattern, text, re.M):
        found[name] += int(count)
    return found


def field(text, line, name):
    match = re.search(rf"^{line} .*\b{name} (\d+)", text, re.M)
    expect(match, f"no {name} in the spy's line {line}")
    return int(match.group(1))


def check_direct(output, seen, spy):
    expect("miss cuStreamQuery 99000 0" in spy, "a pointer that could not be judged is not listed")
    expect(spy.count("miss ") == 1, "listed more than once, or more than that one")
    for name, value in {"asked": 7, "found": 6, "wrapped": 4, "passed": 2, "not_found": 1}.items():
        expect(field(spy, "lookups", name) == value, f"lookups {name} is not {value}")
    expect("name 2 f00 decode_kernel" in spy, "the function's name was not told")
    expect("call cuLaunchKernel_ptsz result 0 direction 0 a abc b 8" in spy, "launch words")
    expect(re.search("call cuMemcpyHtoD_v2 result 0 direction 1 a 7000 b [0-9a-f]+ c 1000 d 0", spy), "copy words")
    expect("call cuGetProcAddress_v2 result 500" in spy, "the failed look-up's result")
    expect("first_calls 1 inits 1 at_main 1 mains 1 environ 1" in spy, "hooks")


def check_runtime(output, seen, spy):
    for line in ("seen cuLaunchKernel 3 inner 3 has_inner 0", "seen cudaLaunchKernel 3 inner 0 has_inner 3",
                 "seen cudaMemcpy 2 inner 0 has_inner 1", "seen cuMemcpyHtoD_v2 1 inner 1 has_inner 0",
                 "early_name 3 decode_kernel", "provider libcudart.so.13 layer 2 functions 5 mapped 1"):
        expect(line in spy, f"missing: {line}")
    expect("lookups asked 4 found 4 wrapped 4" in spy, "a look-up inside a look-up counts once")


def check_no_cuda(output, seen, spy):
    expect("first_calls 0" in spy and not seen, "the process did not use CUDA")


def check_stages(output, seen, spy):
    # awkward_all() twice, each 8 thrown and 8 jumped over; every entry that was not comes back
    entered, returned = field(spy, "stages", "entered"), field(spy, "stages", "returned")
    thrown, abandoned = field(spy, "stages", "thrown"), field(spy, "stages", "abandoned")
    expect(thrown == 16, f"{thrown} entries closed by exceptions, not 16")
    expect(abandoned == 16, f"{abandoned} entries closed after longjmp, not 16")
    expect(entered == returned + thrown + abandoned, "entries and exits differ")
    expect(entered > 350, f"only {entered} entries")
    expect("slots_refused 0" in spy and "open 0" in spy, "refused slots or open entries")


def check_reload(output, seen, spy):
    expect(spy.count("provider libcuda.so.1") == 1, "one library, one provider")
    expect(field(spy, "stats", "edits") == 60, "ten symbols, edited in each of six rounds")


CHECKS = {
    "direct": check_direct,
    "runtime": check_runtime,
    "no_cuda": check_no_cuda,
    "stages": check_stages,
    "reload": check_reload,
    "refused": lambda output, seen, spy: expect(field(spy, "stats", "refused") > 0, "nothing was refused"),
}


def check(folder, spy_path, case):
    command, extra, checks = CASES[case]
    base_code, base = run(folder, command, {})
    if base_code == 77:
        return "skipped: the system does not let the program set its scene", 77
    with tempfile.TemporaryDirectory() as place:
        out = os.path.join(place, "spy")
        code, output = run(folder, command, dict(extra, PRELOAD=spy_path, WATCH_OUT=out))
        expect(os.path.exists(out), f"the spy wrote nothing; exit status {code}, output:\n{output}")
        with open(out, encoding="utf-8") as file:
            spy = file.read()
    try:
        expect(code == base_code, f"exit status {code}, alone {base_code}")
        expect(output == base, f"output differs; alone:\n{base}\npreloaded:\n{output}")
        seen = numbers(r"^seen (\S+) (\d+)", spy)
        executed = collections.Counter()
        for name, count in re.findall(r"^executed (\S+) (\d+)", output, re.M):
            executed[name] = executed[name] + int(count) if "sum" in checks else int(count)
        if "direct" in checks:
            expect(executed.pop("cuStreamQuery") == 1 and not seen["cuStreamQuery"], "the pointer that passes through")
        if "fork" in checks:
            expect(executed["cuMemcpyHtoD_v2"] == 3, "the child goes on counting")
            expect(spy.count("first_calls 2") == 1 and spy.count("first_calls 1 ") == 1, "a first call in each process")
        for name, count in executed.items():
            expect(seen[name] == count, f"{name}: executed {count}, seen {seen[name]}")
        for name in checks:
            if name in CHECKS:
                CHECKS[name](output, seen, spy)
    except Failed as why:
        raise Failed(f"{why}\n---- the spy:\n{spy}") from None
    return f"ok: {sum(executed.values())} executed, {sum(seen.values())} seen", 0


def main():
    if len(sys.argv) != 4 or sys.argv[3] not in CASES:
        sys.exit(f"usage: check_watch.py FOLDER SPY CASE\ncases: {' '.join(CASES)}")
    try:
        text, code = check(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3])
    except Failed as why:
        sys.exit(f"{sys.argv[3]}: {why}")
    print(f"{sys.argv[3]}: {text}")
    sys.exit(code)


main()
