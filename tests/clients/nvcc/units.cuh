/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

extern __device__ int rounds; /* defined in units.cu */
__device__ float mix(float value);
void launch_elsewhere(float *device);
