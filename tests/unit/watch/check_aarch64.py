# SPDX-License-Identifier: Apache-2.0
"""Builds what catches calls, and the tests of this folder, for aarch64 and runs them in qemu-user.

    check_aarch64.py SOURCE_ROOT BUILD_FOLDER

The build folder is kept: a second run builds only what changed. Skipped (77) where the cross compilers or the
emulator are not installed (scripts/deps.sh)."""
import os
import re
import shutil
import subprocess
import sys

TOOLS = ("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++", "qemu-aarch64", "meson", "ninja")
SYSROOT_LIBC = "/usr/aarch64-linux-gnu/lib/libc.so.6"
# what the emulator can not do
MAY_SKIP = {"watch refused", "watch refused_audit"}


def run(*command):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("LD_", "MESON_", "NINJA_")) and name not in ("CC", "CXX", "CFLAGS", "LDFLAGS")}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace")
    if done.returncode != 0:
        print("".join(line[:400] + "\n" for line in done.stdout.splitlines()[-120:]))
        sys.exit("%s: exit status %d" % (" ".join(command[:2]), done.returncode))
    return done.stdout


def main():
    source, build = sys.argv[1:3]
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if not os.path.exists(SYSROOT_LIBC):
        missing.append(SYSROOT_LIBC)
    if missing:
        print("skipped: no " + ", ".join(missing))
        sys.exit(77)
    if not os.path.exists(os.path.join(build, "build.ninja")):
        shutil.rmtree(build, ignore_errors=True)
        run("meson", "setup", build, source, "--cross-file", os.path.join(source, "scripts", "aarch64.ini"),
            "-Dparts=watch", "-Dtoolkit=none", "-Dwerror=true", "--optimization=1")
    run("ninja", "-C", build)
    text = run("meson", "test", "-C", build, "--no-rebuild", "--no-suite", "long", "--print-errorlogs")
    skipped = set(re.findall(r"^ *\d+/\d+ \S+ / (.*?) +SKIP", text, re.M))
    figures = {name: int(count) for name, count in re.findall(r"^(Ok|Fail|Skipped|Timeout): +(\d+)", text, re.M)}
    print("aarch64:", figures, "skipped:", ", ".join(sorted(skipped)) or "none")
    if skipped - MAY_SKIP or figures.get("Ok", 0) < 40:
        sys.exit("skipped, or too few, where aarch64 must be tested")


main()
