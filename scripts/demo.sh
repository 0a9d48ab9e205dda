#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build, make four pictures with the demo generator under stagetap, and show the report. Uses an NVIDIA GPU if the
# machine has one with its driver, else the simulated GPU. Everything it makes lies in build/.
#   --simulated   the simulated GPU, also where there is a real one
#   all others    go to the generator, for example --item-sync, --pageable, --images N (demo.sh --help lists them)
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
simulated=no

usage()
{
    echo "usage: scripts/demo.sh [--simulated] [OPTION OF generate]...     e.g. scripts/demo.sh --item-sync"
    echo "options of generate:"
    sed -n 's/^ *"\(  --[a-z].*\)\\n".*$/\1/p' "$root/tests/demo/generate.c" | sed 's/\\"/"/g'
    exit "$1"
}

quote()
{
    case "$1" in
    *[!A-Za-z0-9_./:=,%+@-]* | '') printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")" ;;
    *) printf '%s' "$1" ;;
    esac
}

# Print a command line so that it can be pasted into a shell.
show()
{
    printf '   '
    for word in "$@"; do
        case "$word" in
        [A-Z]*=*) printf ' %s=%s' "${word%%=*}" "$(quote "${word#*=}")" ;;
        *) printf ' %s' "$(quote "$word")" ;;
        esac
    done
    printf '\n'
}

case "${1:-}" in
-h | --help) usage 0 ;;
--simulated) simulated=yes; shift ;;
esac

"$root/scripts/deps.sh"
build="$root/build"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "building in $build ..."
if ! { [ -f "$build/build.ninja" ] || meson setup "$build" "$root"; } >"$log" 2>&1 || ! ninja -C "$build" >>"$log" 2>&1; then
    cat "$log" >&2
    echo "demo.sh: the build failed" >&2
    exit 1
fi

out="$build/demo"
rm -rf "$out"
mkdir -p "$out"
set -- LD_PRELOAD="$build/preload/libstagetap.so" STAGETAP_OUT="$out/demo.stap" \
    "$build/tests/demo/generate" --out "$out/" "$@"
if [ "$simulated" = no ] && [ -e /dev/nvidia0 ] && /sbin/ldconfig -p | grep -q 'libcuda\.so\.1 '; then
    echo "device: the NVIDIA GPU of this machine"
else
    echo "device: simulated (no NVIDIA GPU and driver found, or not asked for)"
    set -- LD_LIBRARY_PATH="$build/tests/simgpu/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
        SIMGPU_MODEL="$root/tests/demo/sd.model" "$@"
fi

echo
show "$@"
env "$@"
echo
show "$build/analyzer/stagetap" report "$out/demo.stap"
"$build/analyzer/stagetap" report "$out/demo.stap"
echo
echo "pictures: $(ls "$out"/*.png 2>/dev/null | tr '\n' ' ')"
echo "try next, where each image waits for the device, and for whose work:"
show "$build/analyzer/stagetap" syncs "$out/demo.stap"
echo "or let every step read four bytes back, and compare its waiting calls and idle time with these:"
show "$root/scripts/demo.sh" --item-sync
