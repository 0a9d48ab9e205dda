# SPDX-License-Identifier: Apache-2.0
"""timed.py MODEL STEPS PICTURES [log]: pictures of one loaded model; tells on stderr how long each took: wall, and CPU time of
the thread that makes it – and, if asked for, what the library logs, with times as sd_log.py reads them."""

import sys
import time

from cyllama.sd import SDContext, SDContextParams, set_log_callback

model, steps, pictures = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

done_ns = 0


def log(level, text):
    global done_ns
    if 'log' in sys.argv[4:]:
        print(f'[{time.monotonic_ns()} {done_ns}] {text}', end='', file=sys.stderr, flush=True)
        done_ns = time.monotonic_ns()


set_log_callback(log)
params = SDContextParams()
params.model_path = model
params.n_threads = 1
params.free_params_immediately = False  # else the second picture has no text encoder
context = SDContext(params)
for seed in range(pictures):
    start, start_cpu = time.perf_counter(), time.thread_time()
    image, = context.generate(prompt='a cat', width=64, height=64, seed=seed, sample_steps=steps)
    print(f'seconds {time.perf_counter() - start:.6f} {time.thread_time() - start_cpu:.6f}', file=sys.stderr)
    assert image.is_valid
