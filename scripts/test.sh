#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build with warnings as errors and run every test. Ends with one line `N passed, N failed, N skipped`; exit 0
# only if nothing failed. Needs no GPU and no network once the packages are there.
#   --long            also the tests marked long
#   --clients NAMES   these real programs (folders of tests/clients, comma-separated; all; none) and not those that
#                     run without being asked for
#   --sanitize        unit and fuzz tests only, built with AddressSanitizer and UBSan
#   --fuzz SECONDS    before that each fuzz target with libFuzzer for so long (tests/fuzz/README.md); needs clang
set -eu

usage()
{
    echo "usage: scripts/test.sh [--long] [--clients NAME,...|all|none] [--sanitize] [--fuzz SECONDS]"
    exit "$1"
}

root=$(cd "$(dirname "$0")/.." && pwd)
long=no clients='' sanitize=no fuzz=0
while [ $# -gt 0 ]; do
    case "$1" in
    --long) long=yes ;;
    --sanitize) sanitize=yes ;;
    --fuzz) [ $# -ge 2 ] || usage 2 >&2; fuzz=$2; shift ;;
    --clients) [ $# -ge 2 ] || usage 2 >&2; clients=$2; shift ;;
    --clients=*) clients=${1#*=} ;;
    -h | --help) usage 0 ;;
    *) echo "test.sh: unknown option $1" >&2; usage 2 >&2 ;;
    esac
    shift
done

"$root/scripts/deps.sh"
build="$root/build-ci"
options="-Dwerror=true"
if [ "$sanitize" = yes ]; then
    build="$root/build-sanitize" clients=none
    options="-Db_sanitize=address,undefined -Db_lundef=false"
fi
if [ ! -f "$build/build.ninja" ]; then
    rm -rf "$build"
    meson setup "$build" "$root" $options
fi
ninja -C "$build"
# Whoever has the cross compiler tests aarch64, too.
if [ "$sanitize" = no ] && command -v aarch64-linux-gnu-gcc >/dev/null; then
    "$root/scripts/aarch64_libs.sh" "$build/aarch64-libs" || echo "test.sh: the whole library is not tested on aarch64"
fi

# An outer preload or stagetap setting must not reach the tests.
for name in $(env | sed -n 's/^\(STAGETAP_[A-Z_0-9]*\|SIMGPU_[A-Z_0-9]*\|LD_PRELOAD\|LD_AUDIT\)=.*/\1/p'); do
    [ "$name" = STAGETAP_CLIENTS_CACHE ] || unset "$name"
done
# Finds something: its input lies in BUILD/tests/fuzz, and set -e ends the script here.
if [ "$fuzz" -gt 0 ]; then
    for source in "$root"/tests/fuzz/fuzz_*.c; do
        target=$(basename "$source" .c)
        ninja -C "$build" "tests/fuzz/$target"
        mkdir -p "$build/tests/fuzz/more_$target"
        "$build/tests/fuzz/$target" -max_total_time="$fuzz" -artifact_prefix="$build/tests/fuzz/" -print_final_stats=1 \
            "$build/tests/fuzz/more_$target" "$root/tests/fuzz/corpus/${target#fuzz_}"
    done
fi
suites='--no-suite long'
[ "$long" = no ] || suites=''
[ "$sanitize" = no ] || suites="$suites --suite unit --suite fuzz"
export STAGETAP_BUILD="$build"
status=0
meson test -C "$build" --no-rebuild --print-errorlogs $suites || status=$?
python3 "$root/scripts/count_tests.py" "$build/meson-logs/testlog.json" "$status" "$root/tests/clients" "$clients"
