# SPDX-License-Identifier: Apache-2.0
"""Builds for aarch64 and runs tests in qemu-user.

    check_aarch64.py SOURCE_ROOT BUILD_FOLDER TOOLKIT watch|whole [ANALYZER]

    watch   what catches calls; needs nothing but a cross compiler
    whole   the library with all it needs, on the simulated GPU; this machine's ANALYZER reads its traces

TOOLKIT has the CUDA headers, or is "none". The whole needs the libraries that scripts/aarch64_libs.sh BUILD_FOLDER/aarch64-libs fetches; with them there is one
build for both. It is kept: a second run builds only what changed. Skipped (77), with the reason, where something is
not installed (scripts/deps.sh) or not fetched."""
import json
import os
import re
import shutil
import subprocess
import sys

TOOLS = ("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++", "qemu-aarch64", "meson", "ninja")
SYSROOT_LIBC = "/usr/aarch64-linux-gnu/lib/libc.so.6"
# What tests say themselves when there are no CUDA headers to compare with.
NEED_HEADERS = {"calls rows", "cupti declarations", "nvtx declarations"}
# Of each part: the suites, further tests, how many must pass, what may be skipped: the emulator knows no seccomp.
PARTS = {
    "watch": (("watch",), (), 40, {"watch refused", "watch refused_audit"}),
    "whole": (("unit", "calls"), ("check-library", "check-hot-path", "e2e-emulated", "e2e-threads"), 27, set()),
}


def run(*command, **more):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("LD_", "MESON_", "NINJA_")) and name not in ("CC", "CXX", "CFLAGS", "LDFLAGS")}
    done = subprocess.run(command, env={**environment, **more}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace")
    if done.returncode != 0:
        print("".join(line[:400] + "\n" for line in done.stdout.splitlines()[-120:]))
        sys.exit("%s: exit status %d" % (" ".join(command[:2]), done.returncode))
    return done.stdout


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


def build_in(source, folder, *options):
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        shutil.rmtree(folder, ignore_errors=True)
        run("meson", "setup", folder, source, "--cross-file", os.path.join(source, "scripts", "aarch64.ini"), *options,
            "-Dwerror=true", "-Ddebug=false", "--optimization=1")
    run("ninja", "-C", folder)


def main():
    source, build, toolkit, part = sys.argv[1:5]
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if not os.path.exists(SYSROOT_LIBC):
        missing.append(SYSROOT_LIBC)
    if missing:
        skip("no " + ", ".join(missing))
    libs = os.path.join(build, "aarch64-libs")
    has_libs = os.path.exists(os.path.join(libs, "done"))
    if part == "whole" and not has_libs:
        skip("no libraries for aarch64 (scripts/aarch64_libs.sh %s, which needs the network once)" % libs)
    folder = os.path.join(build, "aarch64-whole" if has_libs else "aarch64")
    if has_libs:
        build_in(source, folder, "--cross-file", os.path.join(libs, "libs.ini"), "-Dtoolkit=" + toolkit)
    else:
        build_in(source, folder, "-Dparts=watch", "-Dtoolkit=none")

    suites, others, least, may_skip = PARTS[part]
    tests = {test["name"] for test in json.loads(run("meson", "introspect", "--tests", folder))
             if {suite.split(":")[-1] for suite in test["suite"]} & set(suites)} | set(others)
    more = {"STAGETAP_ANALYZER": os.path.abspath(sys.argv[5])} if part == "whole" else {}
    text = run("meson", "test", "-C", folder, "--no-rebuild", "--print-errorlogs", *sorted(tests), **more)
    skipped = set(re.findall(r"^ *\d+/\d+ \S+ / (.*?) +SKIP", text, re.M))
    figures = {name: int(count) for name, count in re.findall(r"^(Ok|Fail|Skipped|Timeout): +(\d+)", text, re.M)}
    print("aarch64:", figures, "skipped:", ", ".join(sorted(skipped)) or "none")
    may_skip |= NEED_HEADERS if toolkit == "none" else set()
    if skipped - may_skip or figures.get("Ok", 0) < least:
        sys.exit("skipped, or too few, where aarch64 must be tested")


main()
