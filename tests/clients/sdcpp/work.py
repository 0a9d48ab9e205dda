# SPDX-License-Identifier: Apache-2.0
"""work.py MODEL [--steps N] [--pictures N] [--offload] [--bar]: pictures, by the classes of the package. The library's log
goes to stderr, with times as sd_log.py reads them; its progress bars, if asked for, to stdout."""

import argparse
import ctypes
import sys
import time

import stable_diffusion_cpp


done_ns = 0


@stable_diffusion_cpp.sd_log_callback
def log(level, text, data):
    global done_ns
    print(f'[{time.monotonic_ns()} {done_ns}] {text.decode(errors="replace")}', end='', file=sys.stderr, flush=True)
    done_ns = time.monotonic_ns()


@stable_diffusion_cpp.sd_progress_callback
def quiet(step, steps, time, data):
    """Instead of the bar of what is loaded, which is drawn when time has passed."""


parser = argparse.ArgumentParser()
parser.add_argument('model')
parser.add_argument('--steps', type=int, default=3)
parser.add_argument('--pictures', type=int, default=1)
parser.add_argument('--offload', action='store_true')
parser.add_argument('--bar', action='store_true')
options = parser.parse_args()
stable_diffusion_cpp.sd_set_log_callback(log, ctypes.c_void_p(0))
if not options.bar:
    stable_diffusion_cpp.sd_set_progress_callback(quiet, ctypes.c_void_p(0))
generator = stable_diffusion_cpp.StableDiffusion(options.model, n_threads=1, vae_decode_only=True,
                                                 offload_params_to_cpu=options.offload)
told = None if options.bar else lambda step, steps, time: print(f'step {step}/{steps}', flush=True)
for seed in range(options.pictures):
    image, = generator.generate_image(prompt='a cat', width=64, height=64, seed=seed, sample_steps=options.steps,
                                      cfg_scale=4, progress_callback=told)
    image.save(f'{seed}.png')
