# SPDX-License-Identifier: Apache-2.0
"""The cases of the torch clients: torch_work.py in each of its ways. Those that make pictures are unmodified scripts that no
map is set for; the stages of each launch are held against a reference run (torch_truth.py)."""

import json
import subprocess

import agree
import stages
from client import HERE, STAGETAP, Client, Run, environment

WORK = HERE / 'torch_work.py'
ZERO = 'small-d2h zero\n'  # what .item() reads is 0, not what lay in recycled memory


# Two pictures of four steps, as counted once with a tracer of every CUDA library's functions.
GEMMS, MATMULS, OWN_KERNELS = 760, 258, 2536
STEPS_A_PICTURE = 4
STEPS, READS_A_STEP, READ_BYTES = 2 * STEPS_A_PICTURE, 4, 8


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


# Per denoising step of DDIM and Euler, as counted by the same tracer; before the first step's denoiser the pipeline launches
# one kernel (a cat), with Euler one more (scaling), which belong to no stage.
GEMMS_A_STEP, MATMULS_A_STEP = 90, 26
OWN_KERNELS_A_STEP = {'DDIM': 275, 'Euler': 272}
COPIES_A_STEP = {'DDIM': ('d2h', 4), 'Euler': ('h2d', 1)}
BEFORE_FIRST = {'DDIM': 1, 'Euler': 2}
MOST_UNATTRIBUTED = 0.02  # of the launches
ROWS = {'encode', 'sample', 'sample/step', 'decode', 'output', 'unattributed'}


def step_figures(client, label, report):
    pictures, steps = len(report['requests']), STEPS_A_PICTURE * len(report['requests'])
    counts = {'simgpu_gemm_f32': 0, 'simgpu_matmul_f32': 0, 'own': 0}
    for kernel in report['kernels']:
        if kernel['stage'] == 'sample/step':
            counts[kernel['name'] if kernel['name'] in counts else 'own'] += kernel['count']
    direction, copies = COPIES_A_STEP[label]
    rows = [row for request in report['requests'] for row in request['stages'] if row['name'] == 'sample/step']
    counts['copies'] = sum(row['copies'][direction]['count'] for row in rows)
    wanted = {'simgpu_gemm_f32': GEMMS_A_STEP * steps, 'simgpu_matmul_f32': MATMULS_A_STEP * steps,
              'own': OWN_KERNELS_A_STEP[label] * steps - BEFORE_FIRST[label] * pictures, 'copies': copies * steps}
    client.check(counts == wanted, f'{label}: kernels and copies of each step', (wanted, counts))


def check_stages(client, label, reference, seen, is_set):
    """Those of the reference run, and no others; `is_set`: STAGETAP_MAP was."""
    report = seen.report
    wanted = ('diffusers', 'as set' if is_set else 'module diffusers was imported')
    used = report['traces'][0]['map']
    client.check((used['name'], used['why']) == wanted, f'{label}: the preset, and why', used)
    different = list(stages.differences(stages.reference(reference), report))
    client.check(not different, f'{label}: calls, launches, copies and memsets of each stage are the reference run\'s',
                 '\n'.join(different))
    names = [{row['name'] for row in request['stages']} - {'shared', 'load'} for request in report['requests']]
    client.check(all(rows == ROWS for rows in names), f'{label}: load, encode, sample with steps, decode, output', names)
    steps = [request['steps'] for request in report['requests']]
    client.check(steps == [STEPS_A_PICTURE] * len(steps), f'{label}: steps of each picture', steps)
    share = stages.unattributed_share(report)
    client.check(share < MOST_UNATTRIBUTED, f'{label}: launches without a stage', share)
    if label in OWN_KERNELS_A_STEP:
        step_figures(client, label, report)


PICTURES = {  # label: (arguments, options of Client.case)
    'DDIM': (('sd',), {'model': ZERO}),
    'Euler': (('sd', '--scheduler', 'euler', '--cpu-timesteps'), {}),
    'PixArt': (('pixart', '--cpu-timesteps'), {}),
    'offload': (('sd', '--scheduler', 'euler', '--cpu-timesteps', '--offload', '--runs', 3), {}),
    'compile': (('sd', '--scheduler', 'euler', '--cpu-timesteps', '--compile'), {}),
    'tools': (('sd', '--scheduler', 'euler', '--cpu-timesteps', '--tools', '--runs', 3), {'has_device_times': False}),
}
ALSO_SET = ('DDIM', 'offload')  # also run with STAGETAP_MAP set


def run_references(client):
    """The picture-making cases with stages marked from outside: one process for all. Returns label → folder."""
    folders, jobs = {}, []
    for label, (arguments, options) in PICTURES.items():
        folder = folders[label] = client.work / 'reference' / label
        folder.mkdir(parents=True)
        settings = {'SIMGPU_TRUTH': 'run.truth'}
        if 'model' in options:
            (folder / 'run.model').write_text(options['model'], encoding='ascii')
            settings['SIMGPU_MODEL'] = 'run.model'
        jobs.append(json.dumps({'folder': str(folder), 'command': [str(WORK), *map(str, arguments)], 'environment': settings}))
    done = subprocess.run([str(client.python), str(WORK.with_name('torch_truth.py'))], input='\n'.join(jobs), text=True,
                          env=environment(LD_LIBRARY_PATH=client.library_path, HOME=client.work / 'reference',
                                          PYTORCH_NVML_BASED_CUDA_CHECK=1),  # imports ask for devices, before the forks
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    if not client.check(done.returncode == 0, 'reference runs', done.stdout[-1500:] + done.stderr[-2500:]):
        client.finish()
    return folders


def run(name):
    client = Client(name)
    client.make_stubs(client.packages() / 'torch' / 'lib')
    references = run_references(client)
    for label, (arguments, options) in PICTURES.items():
        def expect(client, label, run, seens):
            if label == 'DDIM':
                ddim_figures(client, label, run, seens)
            check_stages(client, label, references[label], seens[0], False)

        command = [client.python, WORK, *arguments]
        client.case(label, command, expect=expect, **options)
        if label in ALSO_SET:
            traced = Run(client, client.work / f'{label}-set', command, True, options.get('model', ''), 300,
                         {'STAGETAP_MAP': 'diffusers'})
            if client.check(len(traced.traces) == 1, f'{label}, map set: a trace', traced.describe()):
                check_stages(client, label, references[label], agree.Seen(STAGETAP, traced.traces[0]), True)
    client.case('graph', [client.python, WORK, 'graph'])
    client.case('profiler', [client.python, WORK, 'profile'], has_device_times=False)
    client.finish()
