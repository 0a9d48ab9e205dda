# SPDX-License-Identifier: Apache-2.0
"""The cases of the torch clients: torch_work.py in each of its ways."""

import agree
from client import HERE, Client

WORK = HERE / 'torch_work.py'
ZERO = 'small-d2h zero\n'  # what .item() reads is 0, not what lay in recycled memory


# Two pictures of four steps, as counted once with a tracer of every CUDA library's functions.
GEMMS, MATMULS, OWN_KERNELS = 760, 258, 2536
STEPS, READS_A_STEP, READ_BYTES = 2 * 4, 4, 8


def ddim_figures(client, label, run, seens):
    """The kernels of torch and the products of matrices; and the few bytes that DDIM reads back in each step."""
    counts = {kernel['name']: 0 for seen in seens for kernel in seen.report['kernels']}
    for seen in seens:
        for kernel in seen.report['kernels']:
            counts[kernel['name']] += kernel['count']
    products = {name: counts.pop(name, 0) for name in ('simgpu_gemm_f32', 'simgpu_matmul_f32')}
    client.check((GEMMS, MATMULS, OWN_KERNELS) == (*products.values(), sum(counts.values())),
                 f'{label}: GEMMs, matmuls and own kernels', (products, sum(counts.values())))
    ops = agree.read_ops(run.truths[0])
    reads = [op for op in ops if op.op == 'memcpy' and op.kind == 'd2h' and op.bytes <= READ_BYTES]
    client.check(len(reads) == STEPS * READS_A_STEP, f'{label}: small reads', len(reads))


def run(name):
    client = Client(name)
    client.make_stubs(client.packages() / 'torch' / 'lib')

    def case(label, *arguments, **options):
        return client.case(label, [client.python, WORK, *arguments], **options)

    case('DDIM', 'sd', model=ZERO, expect=ddim_figures)
    case('Euler', 'sd', '--scheduler', 'euler', '--cpu-timesteps')
    case('PixArt', 'pixart', '--cpu-timesteps')
    case('offload', 'sd', '--scheduler', 'euler', '--cpu-timesteps', '--offload')
    case('graph', 'graph')
    case('profiler', 'profile', has_device_times=False)
    client.finish()
