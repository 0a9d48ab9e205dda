#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs torch_work.py's pictures and writes down which stage they are in, from outside of the script and without stagetap:
the methods that one picture goes through are replaced by ones that also look at the clock (CLOCK_MONOTONIC).

torch_truth.py < JOBS     one JSON object a line: {"folder": F, "command": [script, argument…], "environment": {…}}

Each job is a fork, so that one import serves all; it runs in F, and writes there run.stages: a JSON line a span, as
tests/truth/placing.py reads them. `sample` is from the first call of the denoiser to the next stage
of the picture, a step from the last one's end (the first: from where `sample` begins) to the end of the scheduler's step.
"""

import contextlib
import functools
import json
import os
import runpy
import sys
import threading
import time

import diffusers
import PIL.Image
import torch
import transformers
from torch._dynamo.eval_frame import OptimizedModule

COMPILES = '--compile'  # Dynamo must find what it compiles as it is: such a thing is marked where it is called


class Marks:
    """What is open on the one thread that makes pictures."""

    def __init__(self, path):
        self.file = open(path, 'w', encoding='ascii')
        self.open_names = []
        self.sample_ns, self.step_ns = None, None

    def write(self, name, start_ns):
        json.dump({'stage': name, 'thread': threading.get_native_id(), 'start_ns': start_ns, 'end_ns': time.monotonic_ns()},
                  self.file)
        self.file.write('\n')
        self.file.flush()

    def end_sample(self):
        if self.sample_ns is not None:
            self.write('sample', self.sample_ns)
        self.sample_ns = None

    @contextlib.contextmanager
    def stage(self, name):
        if name in self.open_names:  # again inside itself: still the same
            yield
            return
        self.end_sample()
        self.open_names.append(name)
        start_ns = time.monotonic_ns()
        try:
            yield
        finally:
            if name == 'request':
                self.end_sample()
            self.write(name, start_ns)
            self.open_names.pop()

    @contextlib.contextmanager
    def denoiser(self):
        if self.sample_ns is None:
            self.sample_ns = self.step_ns = time.monotonic_ns()
        yield

    @contextlib.contextmanager
    def step(self):
        yield
        self.write('step', self.step_ns)
        self.step_ns = time.monotonic_ns()


def marked(function, around):
    @functools.wraps(function)
    def call(*args, **kwargs):
        with around():
            return function(*args, **kwargs)
    return call


def mark(owner, name, around):
    setattr(owner, name, marked(getattr(owner, name), around))


def mark_compiled(marks):
    """A compiled module is the denoiser, a compiled method has the name of its stage."""
    compile_ = torch.compile

    def compile_and_mark(what, **options):
        compiled = compile_(what, **options)
        if isinstance(what, torch.nn.Module):
            return compiled
        return marked(compiled, functools.partial(marks.stage, what.__name__))

    torch.compile = compile_and_mark
    mark(OptimizedModule, '__call__', marks.denoiser)


def mark_all(marks, is_compiled):
    stages = {
        'request': ((diffusers.StableDiffusionPipeline, '__call__'), (diffusers.PixArtAlphaPipeline, '__call__')),
        'load': ((diffusers.DiffusionPipeline, 'to'), (diffusers.ModelMixin, 'to'), (transformers.PreTrainedModel, 'to')),
        'encode': ((diffusers.StableDiffusionPipeline, 'encode_prompt'), (diffusers.PixArtAlphaPipeline, 'encode_prompt')),
        'output': ((diffusers.image_processor.VaeImageProcessor, 'postprocess'), (PIL.Image.Image, 'save')),
    }
    for name, methods in stages.items():
        for owner, method in methods:
            mark(owner, method, functools.partial(marks.stage, name))
    if is_compiled:
        mark_compiled(marks)
    else:
        mark(diffusers.UNet2DConditionModel, 'forward', marks.denoiser)
        mark(diffusers.PixArtTransformer2DModel, 'forward', marks.denoiser)
        mark(diffusers.AutoencoderKL, 'decode', functools.partial(marks.stage, 'decode'))
    for scheduler in (diffusers.DDIMScheduler, diffusers.EulerDiscreteScheduler):
        mark(scheduler, 'step', marks.step)


def run(job):
    os.chdir(job['folder'])
    os.environ.update(job['environment'])
    sys.argv = job['command']
    mark_all(Marks('run.stages'), COMPILES in sys.argv)
    runpy.run_path(sys.argv[0], run_name='__main__')


def main():
    jobs = [json.loads(line) for line in sys.stdin]
    assert not torch.cuda.is_initialized()
    for job in jobs:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            run(job)
            sys.exit(0)
        if os.waitpid(child, 0)[1] != 0:
            sys.exit(f'failed: {job}')


if __name__ == '__main__':
    main()
