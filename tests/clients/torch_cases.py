# SPDX-License-Identifier: Apache-2.0
"""The cases of the torch clients: torch_work.py in each of its ways."""

from client import HERE, Client

WORK = HERE / 'torch_work.py'
ZERO = 'small-d2h zero\n'  # what .item() reads is 0, not what lay in recycled memory


def run(name):
    client = Client(name)
    client.make_stubs(client.packages() / 'torch' / 'lib')

    def case(label, *arguments, **options):
        return client.case(label, [client.python, WORK, *arguments], **options)

    case('DDIM', 'sd', model=ZERO)
    case('Euler', 'sd', '--scheduler', 'euler', '--cpu-timesteps')
    case('PixArt', 'pixart', '--cpu-timesteps')
    case('offload', 'sd', '--scheduler', 'euler', '--cpu-timesteps', '--offload')
    case('graph', 'graph')
    case('profiler', 'profile')
    client.finish()
