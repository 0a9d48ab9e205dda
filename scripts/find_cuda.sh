#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Print the folder of a CUDA toolkit (one with include/cuda.h), or nothing.
for home in "$CUDA_HOME" "$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)" 2>/dev/null)")" 2>/dev/null)" /usr/local/cuda; do
    [ -n "$home" ] && [ -f "$home/include/cuda.h" ] && printf '%s\n' "$home" && exit 0
done
exit 0
