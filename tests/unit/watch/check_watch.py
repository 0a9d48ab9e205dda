# SPDX-License-Identifier: Apache-2.0
"""Runs one case of the watch tests: a program alone, then with the spy preloaded.

    check_watch.py FOLDER SPY SHIM CASE [SECONDS or ROUNDS]

STAGETAP_EMULATOR: the command that runs programs of another processor (qemu-user). Case names that end in _audit run
with the LD_AUDIT shim. The program must behave the same, and what the spy saw must be what the fake driver and runtime
executed.
"""
import collections
import os
import re
import shlex
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
    "direct_ibt": (["direct_ibt"], {}, ["direct"]),
    "direct_nopie_lazy": (["direct_nopie_lazy"], {}, ["direct"]),
    "direct_now_audit": (["direct_now"], {}, ["direct"]),
    "plugin_audit": (["loads_linked", "plugin"], {}, ["audited"]),
    "plugin_deep_audit": (["loads_linked", "plugin-deep"], {}, ["audited"]),
    "plugin_first": (["loads", "plugin"], {}, ["bound_before"]),
    "plugin_first_audit": (["loads", "plugin"], {}, ["audited"]),
    "own_loader_audit": (["loads", "own-loader"], {}, ["audited"]),
    "reload_audit": (["loads", "reload"], {}, ["sum", "reload", "audited"]),
    "fork_busy_audit": (["loads", "fork-busy"], {}, ["no_cuda", "audited"]),
    "refused_audit": (["loads", "refused"], {}, ["last", "refused"]),
    "far": (["far"], {}, ["unreached"]),
    "far_audit": (["far"], {"WATCH_MATCH": "own_loader_run"}, ["far"]),
    "linked": (["linked"], {}, []),
    "linked_audit": (["linked"], {}, ["audited"]),
    "data_symbol": (["data_symbol"], {}, []),
    "next_in_front": (["loads_linked", "plugin"], {"PRELOAD_BEFORE": "./libnext.so"}, []),
    "next_behind": (["loads_linked", "plugin"], {"PRELOAD_BEHIND": "./libnext.so"}, []),
    "static_pie": (["static_pie"], {}, ["out_of_process"]),
    "majors": (["ways", "runtimes", "libcudart.so.13", "./libcudart_older.so"], {}, ["sum"]),
    "renamed": (["ways", "runtimes", "./libcudart-1234abcd.so.13"], {}, ["renamed"]),
    "sysv_hash": (["ways", "driver", "./libcuda_sysv.so"], {}, []),
    "two_level": (["ways", "driver", "./libcuda_outer.so"], {}, ["two_level"]),
    "copied": (["copied"], {}, ["sum"]),
    "copied_audit": (["copied"], {}, ["sum", "audited"]),
    "variants": (["ways", "variants"], {}, ["variants"]),
    "patched_before": (["patcher", "before"], {}, []),
    "patched_after": (["patcher", "after"], {}, []),
    "patched_found": (["patcher", "found"], {}, []),
    "race": (["ways", "race"], {}, ["timed"]),
    "race_audit": (["ways", "race"], {}, ["timed", "audited"]),
    "provider_race": (["ways", "provider-race"], {}, ["timed", "no_loss"]),
    "provider_race_audit": (["ways", "provider-race"], {}, ["timed", "no_loss"]),
    "fork_busy_long": (["loads", "fork-busy"], {}, ["no_cuda"]),
    "awkward_clobber": (["awkward_now"], {"WATCH_MATCH": "awkward", "WATCH_CLOBBER": "1"}, ["stages"]),
}


class Failed(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Failed(text)


def run(folder, command, extra):
    loader = {"LD_LIBRARY_PATH": folder}
    parts = [extra[name] for name in ("PRELOAD_BEFORE", "PRELOAD", "PRELOAD_BEHIND") if name in extra]
    if parts:
        loader["LD_PRELOAD"] = ":".join(parts)
    if "LD_AUDIT" in extra:
        loader["LD_AUDIT"] = extra["LD_AUDIT"]
    environment = {name: value for name, value in {**os.environ, **extra}.items() if not name.startswith("LD_")}
    emulator = shlex.split(environment.pop("STAGETAP_EMULATOR", ""))
    if emulator:  # what is meant for the program's loader must not reach the emulator's own
        for name, value in loader.items():
            emulator += ["-E", f"{name}={value}"]
    else:
        environment.update(loader)
    done = subprocess.run(emulator + [os.path.join(folder, command[0])] + command[1:], cwd=folder, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    if done.stderr:
        print(done.stderr.decode(errors="replace"), end="")
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
    expect("miss cuStreamQuery 99000 0 (program)" in spy, "a pointer that could not be judged is not listed")
    expect(spy.count("miss ") == 1, "listed more than once, or more than that one")
    for name, value in {"asked": 8, "found": 7, "wrapped": 5, "passed": 2, "not_found": 1}.items():
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
    # twice: 100 kB by value, and a caller that nothing is known of
    expect(field(spy, "stages", "unbounded") == 4, "calls whose arguments have no known end, and no other, run unseen")
    expect(entered > 350, f"only {entered} entries")
    expect("slots_refused 0" in spy and "open 0" in spy, "refused slots or open entries")


def check_reload(output, seen, spy):
    expect(spy.count("provider libcuda.so.1") == 1, "one library, one provider")
    expect(field(spy, "stats", "edits") == 60, "ten symbols, edited in each of six rounds")


def check_unreached(output, seen, spy):
    expect(not seen, "something was seen of a namespace that is out of reach")
    # two namespaces, one file: named once
    expect(spy.count("unreached libcuda.so.1\n") == 1, "the driver that was out of reach is not named")
    expect(field(spy, "stats", "out_of_reach") == 1, "out_of_reach is not 1")


def check_far(output, seen, spy):
    expect(seen["cuMemcpyHtoD_v2"] == 11, f"{seen['cuMemcpyHtoD_v2']} of 11 copies seen")
    expect("lookups asked 2 found 2 wrapped 2" in spy, "look-ups")
    expect(field(spy, "stages", "entered") == 1, "the stage function in the other namespace")
    expect(spy.count(" far 1") == 1 and " far 0" not in spy, "one provider, in another namespace")
    expect("unreached" not in spy, "named as out of reach although it was reached")


def check_audited(output, seen, spy):
    expect("audited 1 bound_before 0" in spy, "the shim is not there, or it came late")
    expect(field(spy, "stats", "scans") <= 1, "with the shim no slot pass is needed after the start")


def check_bound_before(output, seen, spy):
    # 112 calls: 5 in the constructor and 100 in a callback that nobody looked up, before anybody knew
    expect(seen["cuMemcpyHtoD_v2"] >= 7, "not even the calls after the first look-up")
    expect("audited 0 bound_before 1 first libplugin.so" in spy, "the plugin that came with the driver is not named")


def check_renamed(output, seen, spy):
    expect(re.search(r"provider libcudart-1234abcd\.so\.13 layer 2 functions [5-9]", spy), "not known as a runtime")


def check_two_level(output, seen, spy):
    expect(field(spy, "thread", "nested") == 4, "3 copies and the look-up have one more call inside")
    expect(spy.count("provider libcuda.so.1") == 2, "two drivers")


def check_variants(output, seen, spy):
    misses = sorted(line for line in spy.splitlines() if line.startswith("miss "))
    expect(misses == ["miss cuLaunchFromNextYear 14000 0 (program)", "miss cuLaunchKernel 14000 0 (program)"],
           f"listed: {misses}")
    expect("lookups asked 6 found 6 wrapped 0 passed 6 not_found 0" in spy, "each passes through")


CHECKS = {
    "unreached": check_unreached,
    "far": check_far,
    "audited": check_audited,
    "bound_before": check_bound_before,
    "renamed": check_renamed,
    "two_level": check_two_level,
    "variants": check_variants,
    "direct": check_direct,
    "runtime": check_runtime,
    "no_cuda": check_no_cuda,
    "stages": check_stages,
    "reload": check_reload,
    "refused": lambda output, seen, spy: expect(field(spy, "stats", "refused") > 0, "nothing was refused"),
}


def check(folder, spy_path, shim, case, amount):
    command, extra, checks = CASES[case]
    command = command + amount
    if "timed" in checks:  # how often depends on the time: no run without us to compare with
        return check_timed(folder, spy_path, shim if case.endswith("_audit") else None, command, checks)
    base_code, base = run(folder, command, {})
    if base_code == 77:
        return "skipped: the system does not let the program set its scene", 77
    with tempfile.TemporaryDirectory() as place:
        out = os.path.join(place, "spy")
        preloaded = dict(extra, PRELOAD=spy_path, WATCH_OUT=out)
        if case.endswith("_audit"):
            preloaded["LD_AUDIT"] = shim
        code, output = run(folder, command, preloaded)
        if "out_of_process" in checks:
            expect((code, output) == (base_code, base) and not os.path.exists(out), "a static program is not as alone")
            return "ok: not reached, unharmed", 0
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
        if "bound_before" in checks:
            executed.clear()
        for name, count in executed.items():
            expect(seen[name] == count, f"{name}: executed {count}, seen {seen[name]}")
        for name in checks:
            if name in CHECKS:
                CHECKS[name](output, seen, spy)
    except Failed as why:
        raise Failed(f"{why}\n---- the spy:\n{spy}") from None
    return f"ok: {sum(executed.values())} executed, {sum(seen.values())} seen", 0


def check_timed(folder, spy_path, shim, command, checks):
    with tempfile.TemporaryDirectory() as place:
        out = os.path.join(place, "spy")
        extra = {"PRELOAD": spy_path, "WATCH_OUT": out, **({"LD_AUDIT": shim} if shim else {})}
        code, output = run(folder, command, extra)
        expect(code == 0, f"exit status {code}: {output}")
        with open(out, encoding="utf-8") as file:
            spy = file.read()
    spy = "\n".join(line for line in spy.splitlines() if not line.startswith("call "))
    # what a full ring could not hold was seen, too
    seen = numbers(r"^seen (\S+) (\d+)", spy)["cuMemcpyHtoD_v2"] + sum(numbers(r"open 0 (lost) (\d+)", spy).values())
    if "no_loss" in checks:
        expect(seen > 0, "nothing was seen")
        return f"ok: {seen} seen", 0
    executed = numbers(r"^executed (\S+) (\d+)", output)
    expect(set(executed) == {"cuMemcpyHtoD_v2"} and executed["cuMemcpyHtoD_v2"] > 1000, f"executed {executed}")
    expect(seen == executed["cuMemcpyHtoD_v2"], f"executed {executed}, seen {seen}\n{spy}")
    for name in set(checks) & set(CHECKS):
        CHECKS[name](output, seen, spy)
    return f"ok: all of {seen} calls seen", 0


def main():
    if len(sys.argv) < 5 or sys.argv[4] not in CASES:
        sys.exit(f"usage: check_watch.py FOLDER SPY SHIM CASE [AMOUNT]\ncases: {' '.join(CASES)}")
    folder, spy_path, shim = (os.path.abspath(path) for path in sys.argv[1:4])
    case = sys.argv[4]
    try:
        text, code = check(folder, spy_path, shim, case, sys.argv[5:])
    except Failed as why:
        sys.exit(f"{case}: {why}")
    print(f"{case}: {text}")
    sys.exit(code)


main()
