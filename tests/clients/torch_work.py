#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the torch clients run: pipelines of diffusers from tiny random weights, a CUDA graph, a profiled round. Nothing is
downloaded, and nothing that is printed or written depends on time, so that two runs can be compared.

torch_work.py sd|pixart|graph|profile [--scheduler ddim|euler] [--cpu-timesteps] [--offload] [--compile] [--tools] [--steps N]
              [--runs N] [--time]
--compile puts denoiser and decoder through Dynamo, with its backend `eager`. --tools makes each picture under another tool that
follows Python functions (cProfile, sys.settrace, torch.profiler with stacks), and prints what they counted.
--time tells on stderr how long each picture took: wall, and CPU time of the thread that makes it.
"""

import argparse
import contextlib
import cProfile
import inspect
import json
import os
import sys
import tempfile
import time

import torch

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789,.-'"


def tokenizer():
    """CLIP's tokenizer with a vocabulary of letters. Returns it and the vocabulary's size."""
    from transformers import CLIPTokenizer
    words = [letter for letter in LETTERS] + [letter + '</w>' for letter in LETTERS]
    words += ['ca', 'cat</w>', '<|startoftext|>', '<|endoftext|>']
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, 'vocab.json'), 'w', encoding='utf-8') as file:
            json.dump({word: n for n, word in enumerate(words)}, file)
        with open(os.path.join(folder, 'merges.txt'), 'w', encoding='utf-8') as file:
            file.write('#version: 0.2\nc a\nca t</w>\n')
        made = CLIPTokenizer.from_pretrained(folder, bos_token='<|startoftext|>', eos_token='<|endoftext|>',
                                             unk_token='<|endoftext|>', pad_token='<|endoftext|>', model_max_length=77)
    return made, len(words)


def clip(vocabulary):
    from transformers import CLIPTextConfig, CLIPTextModel
    return CLIPTextModel(CLIPTextConfig(
        vocab_size=vocabulary, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=77, projection_dim=32, bos_token_id=vocabulary - 2, eos_token_id=vocabulary - 1,
        pad_token_id=vocabulary - 1)).eval()


def autoencoder(latents):
    from diffusers import AutoencoderKL
    return AutoencoderKL(in_channels=3, out_channels=3, latent_channels=latents, layers_per_block=1, block_out_channels=(32, 64),
                         norm_num_groups=8, sample_size=64, down_block_types=('DownEncoderBlock2D',) * 2,
                         up_block_types=('UpDecoderBlock2D',) * 2).eval()


def stable_diffusion(scheduler):
    from diffusers import DDIMScheduler, EulerDiscreteScheduler, StableDiffusionPipeline, UNet2DConditionModel
    betas = {'beta_start': 0.00085, 'beta_end': 0.012, 'beta_schedule': 'scaled_linear'}
    words, vocabulary = tokenizer()
    unet = UNet2DConditionModel(
        sample_size=32, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(32, 64), norm_num_groups=8,
        cross_attention_dim=32, attention_head_dim=8, down_block_types=('DownBlock2D', 'CrossAttnDownBlock2D'),
        up_block_types=('CrossAttnUpBlock2D', 'UpBlock2D')).eval()
    steps = (DDIMScheduler(clip_sample=False, set_alpha_to_one=False, **betas) if scheduler == 'ddim'
             else EulerDiscreteScheduler(**betas))
    return StableDiffusionPipeline(vae=autoencoder(4), text_encoder=clip(vocabulary), tokenizer=words, unet=unet,
                                   scheduler=steps, safety_checker=None, feature_extractor=None,
                                   requires_safety_checker=False)


def pixart():
    """A diffusion transformer; its prompt comes as embeddings, so that no T5 is needed."""
    from diffusers import EulerDiscreteScheduler, PixArtAlphaPipeline, PixArtTransformer2DModel
    transformer = PixArtTransformer2DModel(
        sample_size=32, num_layers=2, patch_size=2, attention_head_dim=16, num_attention_heads=2, in_channels=4,
        out_channels=8, cross_attention_dim=32, caption_channels=16, norm_num_groups=1).eval()
    return PixArtAlphaPipeline(tokenizer=None, text_encoder=None, vae=autoencoder(4), transformer=transformer,
                               scheduler=EulerDiscreteScheduler())


def keep_timesteps_on_cpu(scheduler):
    """No control flow on device data: kernels that compute nothing would decide it."""
    set_timesteps = scheduler.set_timesteps

    def on_cpu(*args, device=None, **kwargs):
        return set_timesteps(*args, device='cpu', **kwargs)

    on_cpu.__signature__ = inspect.signature(set_timesteps)
    scheduler.set_timesteps = on_cpu


def prompt(work):
    if work == 'sd':
        return {'prompt': 'a cat'}
    words, mask = torch.zeros(1, 8, 16, device='cuda'), torch.ones(1, 8, device='cuda')
    return {'prompt_embeds': words, 'prompt_attention_mask': mask, 'negative_prompt': None, 'negative_prompt_embeds': words,
            'negative_prompt_attention_mask': mask, 'use_resolution_binning': False}


# ---- tools beside us ----

FOLLOWED = ('encode_prompt', 'forward', 'step', 'decode', 'postprocess', 'save')  # names of functions


def say_counts(tool, counts):
    print(tool, *(f'{name} {counts.get(name, 0)}' for name in FOLLOWED))


@contextlib.contextmanager
def under_cprofile():
    with cProfile.Profile() as profiler:
        yield
    counts = {}
    for entry in profiler.getstats():
        name = getattr(entry.code, 'co_name', None)
        counts[name] = counts.get(name, 0) + entry.callcount
    say_counts('cProfile', counts)


@contextlib.contextmanager
def under_settrace():
    counts = {}

    def trace(frame, event, argument):
        counts[frame.f_code.co_name] = counts.get(frame.f_code.co_name, 0) + 1

    sys.settrace(trace)
    yield
    sys.settrace(None)
    say_counts('settrace', counts)


@contextlib.contextmanager
def under_profiler():
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], with_stack=True) as profiler:
        yield
        torch.cuda.synchronize()
    counts = {}
    for event in exported(profiler):
        if event.get('cat') == 'python_function':
            name = event['name'].split(': ')[-1]
            counts[name] = counts.get(name, 0) + 1
    say_counts('torch.profiler', counts)


TOOLS = (under_cprofile, under_settrace, under_profiler)


def pictures(options):
    pipeline = stable_diffusion(options.scheduler) if options.work == 'sd' else pixart()
    pipeline.set_progress_bar_config(disable=True)
    if options.cpu_timesteps:
        keep_timesteps_on_cpu(pipeline.scheduler)
    if options.offload:
        pipeline.enable_model_cpu_offload()
    else:
        pipeline.to('cuda')
    if options.compile:
        pipeline.unet = torch.compile(pipeline.unet, backend='eager')
        pipeline.vae.decode = torch.compile(pipeline.vae.decode, backend='eager')
    for run in range(options.runs):
        start, start_cpu = time.perf_counter(), time.thread_time()
        with TOOLS[run % len(TOOLS)]() if options.tools else contextlib.nullcontext():
            image = pipeline(**prompt(options.work), num_inference_steps=options.steps, height=64, width=64,
                             guidance_scale=7.5, generator=torch.Generator('cpu').manual_seed(run)).images[0]
            if options.time:
                print(f'seconds {time.perf_counter() - start:.6f} {time.thread_time() - start_cpu:.6f}', file=sys.stderr)
            print('picture', run, image.size, image.mode)
            image.save(f'picture-{run}.png')
    if options.compile:
        print('compiled', dict(torch._dynamo.utils.counters['stats']), dict(torch._dynamo.utils.counters['graph_break']))


def network():
    return torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 64)).to('cuda').eval()


def graph(options):
    net, given = network(), torch.zeros(8, 64, device='cuda')
    stream = torch.cuda.Stream()
    with torch.no_grad(), torch.cuda.stream(stream):
        for _ in range(3):
            net(given)
    torch.cuda.current_stream().wait_stream(stream)
    made = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(made):
        result = net(given)
    for _ in range(10):
        made.replay()
    torch.cuda.synchronize()
    print('replayed', tuple(result.shape))


def exported(profiler):
    """The events of the trace that torch.profiler exports."""
    with tempfile.NamedTemporaryFile(suffix='.json') as file:
        profiler.export_chrome_trace(file.name)
        with open(file.name, encoding='utf-8') as text:
            return json.load(text)['traceEvents']


def profiled(options):
    """The kernels of the trace that torch.profiler exports, by name."""
    from torch.profiler import ProfilerActivity, profile
    net, given = network(), torch.zeros(8, 64, device='cuda')
    with torch.no_grad():
        net(given)
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
            for _ in range(5):
                net(given)
            torch.cuda.synchronize()
    counts = {}
    for event in exported(profiler):
        if event.get('cat') in ('kernel', 'gpu_memcpy', 'gpu_memset', 'cuda_runtime', 'cuda_driver'):
            key = f'{event["cat"]} {event["name"]}'
            counts[key] = counts.get(key, 0) + 1
    for key in sorted(counts):
        print(counts[key], key)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('work', choices=['sd', 'pixart', 'graph', 'profile'])
    parser.add_argument('--scheduler', default='ddim', choices=['ddim', 'euler'])
    parser.add_argument('--cpu-timesteps', action='store_true')
    parser.add_argument('--offload', action='store_true')
    parser.add_argument('--compile', action='store_true')
    parser.add_argument('--tools', action='store_true')
    parser.add_argument('--steps', type=int, default=4)
    parser.add_argument('--runs', type=int, default=2)
    parser.add_argument('--time', action='store_true')
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.backends.cudnn.enabled = False
    print(torch.__version__, torch.cuda.get_device_name(0))
    {'sd': pictures, 'pixart': pictures, 'graph': graph, 'profile': profiled}[options.work](options)


if __name__ == '__main__':
    main()
