#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Make kernels.ptx from kernels.cu; to be run by hand after a change, with nvcc and ptxas on PATH.
# The device code uses nothing newer than PTX ISA 6.0 and sm_50: the header is lowered to these, so that old
# drivers take it too, and ptxas checks that this is true. -fmad=false: the host versions give the same bits.
set -eu
cd "$(dirname "$0")"
raw=$(mktemp)
trap 'rm -f "$raw" "$raw.cubin"' EXIT
nvcc -ptx -arch=compute_75 -fmad=false kernels.cu -o "$raw"
{
    printf '// SPDX-License-Identifier: Apache-2.0\n'
    printf '// Made by make_ptx.sh from kernels.cu, kernels.def and kernels_body.h: do not edit.\n'
    sed -e '/^\/\//d' -e 's/^\.version .*/.version 6.0/' -e 's/^\.target .*/.target sm_50/' "$raw"
} > kernels.ptx
for arch in sm_75 sm_80 sm_90; do
    ptxas -arch=$arch kernels.ptx -o "$raw.cubin"
done
