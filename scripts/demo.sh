#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build, make two pictures with the demo generator under stagetap, and show the report. Uses an NVIDIA GPU
# if the machine has one with its driver, else the simulated GPU. Everything it makes lies in build/.
set -eu

usage()
{
    echo "usage: scripts/demo.sh [--simulated] [OPTION OF generate]...     e.g. scripts/demo.sh --item-sync"
    exit "$1"
}

root=$(cd "$(dirname "$0")/.." && pwd)
simulated=no
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

library_path=${LD_LIBRARY_PATH:-}
if [ "$simulated" = no ] && [ -e /dev/nvidia0 ] && /sbin/ldconfig -p | grep -q 'libcuda\.so\.1 '; then
    echo "device: the NVIDIA GPU of this machine"
else
    echo "device: simulated (no NVIDIA GPU and driver found, or not asked for)"
    library_path="$build/tests/simgpu/lib${library_path:+:$library_path}"
    export SIMGPU_MODEL="$root/tests/demo/sd.model"
fi

out="$build/demo"
rm -rf "$out"
mkdir -p "$out"
echo
echo "\$ LD_PRELOAD=libstagetap.so ./generate $*"
LD_LIBRARY_PATH="$library_path" LD_PRELOAD="$build/preload/libstagetap.so" STAGETAP_OUT="$out/demo.stap" \
    "$build/tests/demo/generate" --out "$out/" "$@"
echo
echo "\$ stagetap report demo.stap"
"$build/analyzer/stagetap" report "$out/demo.stap"
echo
echo "pictures: $(ls "$out"/*.png 2>/dev/null | tr '\n' ' ')"
echo "try next: scripts/demo.sh --item-sync        (a four-byte read in every step: look at the idle time)"
echo "          $build/analyzer/stagetap gaps $out/demo.stap"
