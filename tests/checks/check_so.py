#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_so.py LIBRARY: a preloaded library that may sit in any process of the machine.

It needs nothing but libc, exports only what it must, takes little static TLS, uses no private or very new
libc symbol, and is bound and initialised early. Prints the highest GLIBC version that it needs.

That must not be newer than the oldest glibc that README.md promises, on any processor: where a preloaded library lacks
a version, the loader does not leave it out but ends every program. What libc has only since later (threads, dladdr,
stat64 …) is looked for at run time, or is a system call: preload/writer/spawn.h, preload/watch/loader.c,
preload/record/files.h."""
import re
import subprocess
import sys

EXPORTS = re.compile(r"dlsym|dlopen|InitializeInjectionNvtx2|stagetap_\w+")
MUST_EXPORT = {"dlsym", "dlopen", "InitializeInjectionNvtx2"}
NEEDED = re.compile(r"libc\.so\.6|ld-linux-aarch64\.so\.1")
TLS_BYTES = 256
OLDEST_GLIBC = (2, 17)
# Of libc's symbols these would mean that something large or dangerous came along. (`exit` is used: for a program whose
# last thread has ended, preload/writer/threads.h.)
NOT_WANTED = {"printf", "system", "popen", "abort", "fork", "dlmopen", "pthread_cancel", "setlocale"}


def readelf(*options):
    return subprocess.run(["readelf", "-W", *options, sys.argv[1]], check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def dynamic_symbols():
    """(name, version, is defined) of each global or weak dynamic symbol."""
    for line in readelf("--dyn-syms").splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[0].rstrip(":").isdigit() and fields[4] in ("GLOBAL", "WEAK", "UNIQUE"):
            name, _, version = fields[7].replace("@@", "@").partition("@")
            yield name, version, fields[6] != "UND", fields[4]


def problems():
    dynamic, headers = readelf("-d"), readelf("-l")
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        if not NEEDED.fullmatch(name):
            yield "needs " + name
    for tag in "RPATH", "RUNPATH", "TEXTREL":
        if "(%s)" % tag in dynamic:
            yield "has " + tag
    if not re.search(r"\(FLAGS_1\).*\bNOW\b", dynamic):
        yield "is not bound at load (-z now)"
    if not re.search(r"\(FLAGS_1\).*\bINITFIRST\b", dynamic):
        yield "is not initialised first (-z initfirst)"
    if re.search(r"GNU_STACK.*\bRWE\b", headers):
        yield "wants an executable stack"
    tls = re.search(r"^\s+TLS\s+\S+\s+\S+\s+\S+\s+\S+\s+(\S+)", headers, re.MULTILINE)
    tls_bytes = int(tls.group(1), 16) if tls else 0
    if tls_bytes > TLS_BYTES:
        yield "has %d bytes of static TLS, more than %d" % (tls_bytes, TLS_BYTES)
    exported, glibc = set(), [(0,)]
    for name, version, defined, binding in dynamic_symbols():
        if defined:
            exported.add(name)
            if not EXPORTS.fullmatch(name):
                yield "exports " + name
            continue
        if "PRIVATE" in version:
            yield "uses %s@%s" % (name, version)
        if name in NOT_WANTED:
            yield "calls " + name
        if version.startswith("GLIBC_") and version[6:7].isdigit():
            glibc.append(tuple(int(part) for part in version[6:].split(".")))
            if glibc[-1] > OLDEST_GLIBC:
                yield "needs glibc %s for %s" % (version[6:], name)
        elif binding == "GLOBAL":
            yield "uses %s, which is not of libc" % name
    for name in sorted(MUST_EXPORT - exported):
        yield "does not export " + name
    print("static TLS %d bytes; exports %s; needs GLIBC_%s" % (tls_bytes, " ".join(sorted(exported)),
                                                              ".".join(map(str, max(glibc)))))


found = list(problems())
for line in found:
    print("problem: %s %s" % (sys.argv[1], line))
sys.exit(1 if found else 0)
