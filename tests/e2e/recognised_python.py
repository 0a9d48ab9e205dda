#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python programs with no map set: packages of our own with the modules and names of diffusers and ComfyUI, that launch
on the simulated GPU. Which preset is taken, the stages that it gives, and what the report says of the version."""

import os
import sys
import textwrap

import lib
import pythons

STEPS, IMAGES = 3, 2
COVERED, NEWER = '0.41.0', '0.99.0'

GPU = '''
    """Launches by name, through ctypes."""
    import ctypes
    cuda = ctypes.CDLL('libcuda.so.1')
    handles, entries = {}, ['encode', 'unet', 'vae', 'comfy', 'other']
    image = '.version 6.0\\\\n.target sm_50\\\\n.address_size 64\\\\n'
    image += ''.join('.visible .entry %s() { ret; }\\\\n' % name for name in entries)
    def check(result):
        if result:
            raise RuntimeError(result)
    def launch(name, count=1):
        if not handles:
            context, module = ctypes.c_void_p(), ctypes.c_void_p()
            check(cuda.cuInit(0))
            check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
            check(cuda.cuCtxSetCurrent(context))
            check(cuda.cuModuleLoadData(ctypes.byref(module), image.encode()))
            for entry in entries:
                handles[entry] = ctypes.c_void_p()
                check(cuda.cuModuleGetFunction(ctypes.byref(handles[entry]), module, entry.encode()))
        for _ in range(count):
            check(cuda.cuLaunchKernel(handles[name], 1, 1, 1, 1, 1, 1, 0, None, None, None))
    def wait():
        check(cuda.cuCtxSynchronize())
'''

DIFFUSERS = {
    'diffusers/__init__.py': '''
        __version__ = '@VERSION@'
        from .pipelines.stable_diffusion.pipeline_stable_diffusion import StableDiffusionPipeline
    ''',
    'diffusers/pipelines/pipeline_utils.py': '''
        import gpu
        class DiffusionPipeline:
            @classmethod
            def from_pretrained(cls, name):
                return cls()
            def to(self, device):
                gpu.launch('other')
                return self
    ''',
    'diffusers/pipelines/stable_diffusion/pipeline_stable_diffusion.py': '''
        import gpu
        from diffusers.image_processor import VaeImageProcessor
        from diffusers.models.autoencoders.autoencoder_kl import AutoencoderKL
        from diffusers.models.unets.unet_2d_condition import UNet2DConditionModel
        from diffusers.pipelines.pipeline_utils import DiffusionPipeline
        from diffusers.schedulers.scheduling_ddim import DDIMScheduler
        class StableDiffusionPipeline(DiffusionPipeline):
            def encode_prompt(self, prompt):
                gpu.launch('encode', 2)
            def __call__(self, prompt, steps):
                unet, scheduler, vae = UNet2DConditionModel(), DDIMScheduler(), AutoencoderKL()
                self.encode_prompt(prompt)
                for step in range(steps):
                    unet.forward(step)
                    scheduler.step(step)
                vae.decode()
                return VaeImageProcessor().postprocess()
    ''',
    'diffusers/models/unets/unet_2d_condition.py': '''
        import gpu
        class UNet2DConditionModel:
            def forward(self, sample):
                gpu.launch('unet', 4)
    ''',
    'diffusers/models/autoencoders/autoencoder_kl.py': '''
        import gpu
        class AutoencoderKL:
            def decode(self):
                gpu.launch('vae', 3)
    ''',
    'diffusers/schedulers/scheduling_ddim.py': '''
        import gpu
        class DDIMScheduler:
            def step(self, sample):
                gpu.launch('other')
    ''',
    'diffusers/image_processor.py': '''
        import gpu
        from PIL import Image
        class VaeImageProcessor:
            def postprocess(self):
                gpu.wait()
                return Image.Image()
    ''',
    'PIL/Image.py': '''
        class Image:
            def save(self, path):
                open(path, 'w').close()
    ''',
}

COMFYUI = {
    'comfy/samplers.py': '''
        import gpu
        from diffusers.schedulers.scheduling_ddim import DDIMScheduler
        class KSamplerX0Inpaint:
            def __call__(self, x):
                gpu.launch('comfy', 5)
        class CFGGuider:
            def sample(self, steps):
                inner, scheduler = KSamplerX0Inpaint(), DDIMScheduler()
                for step in range(steps):
                    inner(step)
                    scheduler.step(step)
    ''',
    'execution.py': '''
        import comfy.samplers
        class PromptExecutor:
            def execute(self, steps):
                comfy.samplers.CFGGuider().sample(steps)
    ''',
}

SCRIPTS = {
    # the first save() is seen before anything is recognised, and must count all the same from then on
    'pictures.py': f'''
        import gpu
        from PIL import Image
        Image.Image().save('before')
        from diffusers import StableDiffusionPipeline
        pipe = StableDiffusionPipeline.from_pretrained('x').to('cuda')
        for n in range({IMAGES}):
            pipe('a prompt', {STEPS}).save('image%d' % n)
    ''',
    'server.py': f'''
        import diffusers
        from execution import PromptExecutor
        for n in range({IMAGES}):
            PromptExecutor().execute({STEPS})
    ''',
    'numbers_only.py': '''
        import gpu
        gpu.launch('other', 7)
        gpu.wait()
    ''',
    'no_cuda.py': 'import diffusers',
}


def lay_out(folder, version):
    for path, text in {'gpu.py': GPU, **DIFFUSERS, **COMFYUI, **SCRIPTS}.items():
        path = os.path.join(folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(textwrap.dedent(text).replace('@VERSION@', version).replace('\\\\n', '\\n'))


def traced(folder, script, python=sys.executable, **more):
    return lib.Traced(folder, [python, '-B', os.path.join(folder, script)], **more)


def reported(checks, folder, script, label, **more):
    """(the document, the line of the map) of a run."""
    run = traced(folder, script, **more)
    if not checks.ok(run.process.returncode == 0, f'{label}: runs', run.describe()):
        return None, ''
    checks.equal('', run.process.stderr, f'{label}: nothing on stderr')
    document = lib.report(checks, '--request', 'all', run.trace, what=label)
    screen = lib.stagetap('report', run.trace).stdout
    return document, next((line for line in screen.splitlines() if line.startswith('map')), '')


def check_pictures(checks, document, label):
    """Exactly encode, sample with its steps, decode, output per image, and the script's own save behind it."""
    checks.equal(IMAGES, len(document['requests']), f'{label}: one request an image')
    for request in document['requests']:
        rows, after = lib.rows(request), lib.rows(request, 'after')
        found = {name: (row['calls'], row['launches']) for name, row in rows.items() if row['calls'] or row['launches']}
        wanted = {'encode': (1, 2), 'sample': (1, 5 * STEPS), 'sample/step': (STEPS, 5 * STEPS), 'decode': (1, 3),
                  'output': (1, 0)}
        checks.equal(wanted, found, f'{label}: calls and launches of request {request["id"]}')
        checks.equal({'output': 1}, {name: row['calls'] for name, row in after.items() if row['calls']},
                     f'{label}: the picture is saved after request {request["id"]}')
    before = {row['name']: row for row in document['outside']['before_first']}
    checks.equal((2, 1), (before['load']['calls'], before['load']['launches']), f'{label}: load')
    checks.ok('output' not in before, f'{label}: what was saved before anything was recognised is no stage')


def check_diffusers(checks, folder):
    for version, state in ((COVERED, 'covered'), (NEWER, 'outside')):
        lay_out(folder, version)
        document, line = reported(checks, folder, 'pictures.py', f'diffusers {version}')
        if document is None:
            continue
        check_pictures(checks, document, f'diffusers {version}')
        found = document['traces'][0]['map']
        checks.equal('diffusers', found['name'], f'{version}: the preset')
        checks.ok(found['why'].startswith('module diffusers'), f'{version}: why', found['why'])
        checks.equal([(version, state)], [(item['found'], item['state']) for item in found['checked']],
                     f'{version}: is it among those that were checked?')
        checks.ok(line.startswith('map: diffusers (recognised: module diffusers'), f'{version}: the screen', line)
        checks.equal(state == 'outside', f'to be verified: diffusers {version}' in line, f'{version}: its heading')
        unmatched = document['unmatched_rules']
        checks.ok(any('export_to_' in rule for rule in unmatched), f'{version}: rules of the preset that met nothing',
                  unmatched)
        checks.ok(not any('comfy' in rule or 'invokeai' in rule for rule in unmatched),
                  f'{version}: rules of presets that were not recognised are not told', unmatched)
    document, line = reported(checks, folder, 'pictures.py', 'as set', mapping='diffusers')
    if document:
        checks.equal('as set', document['traces'][0]['map']['why'], 'as set: why')
        checks.equal(IMAGES, len(document['requests']), 'as set: requests')


def check_every_python(checks, folder):
    lay_out(folder, COVERED)
    for python in pythons.find_pythons(checks.skip):
        label = f'Python {python.version}'
        document, _ = reported(checks, folder, 'pictures.py', label, python=python.path)
        if document:
            checks.equal('diffusers', document['traces'][0]['map']['name'], f'{label}: the preset')
            check_pictures(checks, document, label)


def check_others(checks, folder):
    lay_out(folder, COVERED)
    document, line = reported(checks, folder, 'server.py', 'comfyui')
    if document:
        checks.equal('comfyui', document['traces'][0]['map']['name'], 'comfyui stands over diffusers')
        checks.ok(line.startswith('map: comfyui (recognised: module comfy'), 'comfyui: the screen', line)
        for request in document['requests']:
            rows = lib.rows(request)
            checks.equal((1, STEPS, 6 * STEPS), (rows['sample']['calls'], rows['sample/step']['calls'],
                                                 rows['sample']['launches']), f'comfyui: request {request["id"]}')
    run = traced(folder, 'pictures.py', name='unmapped', mapping='nvtx request -> request')
    result = lib.stagetap('map', 'check', 'diffusers', run.trace)
    checks.ok(result.returncode == 0 and 'never matched' not in result.stdout and 'no sample of a stack' in result.stdout,
              'a run without Python rules: what no sample of a stack has is not known', result.stdout[-600:])
    said = result.stdout.split(':DiffusionPipeline.to ->')[1].splitlines()[2]
    checks.ok('matches names that were seen' in said, 'a run without Python rules: a module that is known in part', said)
    document, line = reported(checks, folder, 'numbers_only.py', 'no preset')
    if document:
        checks.equal('auto', document['traces'][0]['map']['name'], 'no preset: auto')
        checks.ok(not any(rule.startswith('python') for rule in document['unmatched_rules']),
                  'no preset: no Python rule is told', document['unmatched_rules'])
    run = traced(folder, 'no_cuda.py', name='none')
    checks.equal((0, '', False), (run.process.returncode, run.process.stderr, os.path.exists(run.trace)),
                 'a program that imports diffusers and uses no CUDA leaves no trace')


def main():
    checks = lib.Checks()
    with lib.workdir() as folder:
        check_diffusers(checks, folder)
        check_every_python(checks, folder)
        check_others(checks, folder)
    checks.finish()


if __name__ == '__main__':
    main()
