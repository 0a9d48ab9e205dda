#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What simgpu says of CUDA 12 against the real headers and libcupti, where SIMGPU_CUDA12 names the folder in which the
# wheels nvidia-cuda-runtime-cu12 and nvidia-cuda-cupti-cu12 are unpacked.
# usage: real_cuda12.sh SOURCE_ROOT CBIDS.inc NEXT_RECORD OUR_LIBCUPTI PYTHON COMPILER...
set -eu
root=$1 cbids=$2 next_record=$3 ours=$4 python=$5
shift 5
if [ -z "${SIMGPU_CUDA12:-}" ]; then
    echo "skipped: SIMGPU_CUDA12 does not say where the headers of CUDA 12 are"
    exit 77
fi
runtime=$SIMGPU_CUDA12/nvidia/cuda_runtime cupti=$SIMGPU_CUDA12/nvidia/cuda_cupti
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$@" -w -DSIM_CUDA_MAJOR=12 -I "$root" -I "$(dirname "$cbids")" -isystem "$runtime/include" \
    -isystem "$cupti/include" -o "$work/check_headers" "$root/tests/unit/simrt/check_headers.c"
"$work/check_headers"
"$python" -B "$root/tests/unit/simrt/test_prototypes.py" 12 "$root" "$runtime/include" "$@"
"$next_record" "$ours" "$cupti/lib/libcupti.so.12"
