#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# no_toolkit.sh ROOT: the whole project configures and builds, without a warning, when there is no CUDA toolkit;
# then nothing of a toolkit is referred to and the programs that need none are there.
set -eu
root=$1
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
fail()
{
    cat "$build/log"
    echo "no_toolkit.sh: $1"
    exit 1
}
# -O0: only whether it builds matters here, and this is twice as fast.
meson setup "$build/b" "$root" -Dtoolkit=none -Dwerror=true -Dbuildtype=debug >"$build/log" 2>&1 || fail "meson setup"
ninja -C "$build/b" >"$build/log" 2>&1 || fail "ninja"
if grep -q 'cuda/include\|bin/nvcc' "$build/b/build.ninja"; then
    grep -m 3 'cuda/include\|bin/nvcc' "$build/b/build.ninja" >"$build/log"
    fail "a toolkit is used all the same"
fi
for product in preload/libstagetap.so analyzer/stagetap tests/demo/generate tests/simgpu/lib/libcuda.so.1 \
    tests/simgpu/lib/libcudart.so.12 tests/simgpu/lib/libcudart.so.13 tests/simgpu/lib/libcupti.so.12 \
    tests/simgpu/lib/libcupti.so.13; do
    [ -e "$build/b/$product" ] || fail "$product was not built"
done
[ ! -e "$build/b/tests/demo/generate_rt" ] || fail "generate_rt was built without nvcc"
echo "built without a toolkit"
