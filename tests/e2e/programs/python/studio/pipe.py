# SPDX-License-Identifier: Apache-2.0
"""A picture generator without pictures. Each launch names the stage that it belongs to."""

import asyncio
import functools

from launching import launch


def told(function):
    """A decorator that says what it wraps."""

    @functools.wraps(function)
    def wrapper(*arguments, **named):
        return function(*arguments, **named)

    return wrapper


def untold(function):
    """One that does not."""

    def wrapper(*arguments, **named):
        return function(*arguments, **named)

    return wrapper


class Module:
    def __call__(self, *arguments):
        return self.forward(*arguments)


class UNet(Module):
    def forward(self, depth=0):
        launch('sample')
        if depth:
            self.forward(depth - 1)
        launch('sample')


class UNetHeir(UNet):
    pass


class OtherNet(UNet):
    """Overrides; the name of its class matches no rule."""

    def forward(self, depth=0):
        launch('none')
        super().forward(depth)
        launch('none')


class VAE:
    def decode(self, depth=0):
        if depth:
            return self.decode(depth - 1)
        launch('decode')

    def fails(self):
        launch('output')
        raise ValueError('as asked')

    @classmethod
    def load(cls):
        launch('load')

    @staticmethod
    def fixed():
        launch('static')

    @property
    def scale(self):
        launch('property')
        return 1

    class Inner:
        def decode(self):
            launch('output')


class Other:
    def decode(self):
        launch('none')


@told
def encode_prompt():
    launch('encode')


@untold
def encode_image():
    launch('encode')


def call(function, *arguments):
    """A stage that does what it is told."""
    function(*arguments)


def turns(count):
    yield from range(count)


def nested():
    def decode():
        launch('none')

    decode()


def begin_loop():
    launch('loop')


def end_loop():
    launch('none')


class Pipe:
    def __init__(self):
        self.unet, self.vae = UNet(), VAE()

    def __call__(self, steps=2, fail=False):
        launch('none')
        encode_prompt()
        for _ in range(steps):
            self.unet()
        if fail:
            self.vae.fails()
        self.vae.decode()
        launch('none')

    def numbers(self, count):
        for number in range(count):
            launch('generator')
            yield number

    def guarded(self):
        try:
            yield 1
        finally:
            launch('generator')

    async def wait(self, seconds):
        launch('coroutine')
        await asyncio.sleep(seconds)
        launch('coroutine')

    async def pieces(self):
        for number in range(2):
            launch('coroutine')
            yield number
            await asyncio.sleep(0)
