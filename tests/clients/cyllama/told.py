# SPDX-License-Identifier: Apache-2.0
"""told.py MODEL STEPS TIMES: a picture, with the library's log printed as it comes; TIMES gets CLOCK_MONOTONIC before and
after each line was printed, and the line."""

import sys
import time

from cyllama.sd import SDContext, SDContextParams, set_log_callback

model, steps, times = sys.argv[1], int(sys.argv[2]), sys.argv[3]
told = []


def say(level, text):
    before = time.monotonic_ns()
    sys.stdout.write(text)
    sys.stdout.flush()
    told.append((before, time.monotonic_ns(), text.strip()))


set_log_callback(say)
params = SDContextParams()
params.model_path = model
params.n_threads = 1
image, = SDContext(params).generate(prompt='a cat', width=64, height=64, seed=1, sample_steps=steps)
image.save('picture.png')
with open(times, 'w', encoding='utf-8') as file:
    file.writelines(f'{before} {after} {text}\n' for before, after, text in told)
