# SPDX-License-Identifier: Apache-2.0
"""What the log of stable-diffusion.cpp must say."""


def used_cuda(client, label, run, seens):
    """Without a driver it silently takes the CPU, and makes the same picture."""
    said = run.stdout + run.stderr
    client.check('found 1 CUDA devices' in said and 'SimGPU' in said, f'{label}: says that it found the GPU', said[:2000])
    client.check('failed to initialize CUDA' not in said, f'{label}: uses it', said[:2000])
    client.check(sum(seen.total('launches') for seen in seens) > 0, f'{label}: kernels were launched')
