# SPDX-License-Identifier: Apache-2.0
"""Everything that Python does with functions, each with launches whose names say which stage is expected. Prints how
many requests there were. Arguments: `names` where only the last part of a function's name is known to the other side
(stages from walks, Python 3.8 to 3.10): what that can not tell apart is left out."""

import asyncio
import atexit
import functools
import importlib
import os
import sys
import sysconfig
import threading
import time
import _thread

import studio.pipe
from launching import launch
from studio.pipe import VAE, OtherNet, Other, Pipe, UNet, UNetHeir

NAMES_ONLY = 'names' in sys.argv[1:]
requests = 0


def picture(*arguments, **named):
    global requests
    requests += 1
    pipe = studio.pipe.Pipe()
    try:
        pipe(*arguments, **named)
    except ValueError:
        pass
    launch()


def functions():
    picture()
    picture(fail=True)
    VAE().decode(10)
    UNet()(3)
    UNetHeir()()
    launch()
    VAE.load()
    VAE.fixed()
    VAE().scale
    studio.pipe.encode_image()
    list(map(lambda _: VAE().decode(), range(2)))
    launch()
    if not NAMES_ONLY:
        VAE.Inner().decode()
        OtherNet()()
        Other().decode()
        studio.pipe.nested()
        launch()


def marks():
    studio.pipe.begin_loop()
    launch('loop')
    studio.pipe.begin_loop()  # goes on
    launch('loop')
    studio.pipe.VAE().decode()  # the next stage on that level ends it
    launch()
    studio.pipe.end_loop()
    launch()


def deep():
    try:
        VAE().decode(100000)
    except RecursionError:
        pass
    launch()


def generators():
    pipe = Pipe()
    for _ in pipe.numbers(3):
        launch()
    first = pipe.numbers(3)
    next(first)
    launch()
    first.close()
    launch()
    first = pipe.numbers(3)
    next(first)
    del first
    launch()
    for end in (lambda it: it.close(), lambda it: it.throw(KeyError)):
        first = pipe.guarded()
        next(first)
        launch()
        try:
            end(first)
        except KeyError:
            pass
        launch()
    try:
        pipe.numbers(3).throw(KeyError)
    except KeyError:
        pass
    launch()
    first, second = pipe.numbers(3), pipe.numbers(3)
    for _ in range(3):
        next(first)
        VAE().decode()
        next(second)
        launch()


def coroutines():
    async def between():
        await asyncio.sleep(0.001)
        launch()
        VAE().decode()

    async def iterate():
        async for _ in Pipe().pieces():
            launch()

    async def together():
        await asyncio.gather(Pipe().wait(0.002), between(), Pipe().wait(0.001))
        await iterate()

    async def cancelled():
        task = asyncio.ensure_future(Pipe().wait(10))
        await asyncio.sleep(0.001)
        launch()
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            launch('none')

    asyncio.run(together())
    launch()
    # the second half of wait() is never reached: one launch
    asyncio.run(cancelled())
    launch()


def decorated(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return __compiled_fn_1('decode' if IS_COMPILED_KNOWN else 'none')

    return wrapper


def compiled():
    """What Dynamo makes of a decorated function: code with the decorator's name that calls a graph of that name, of this one
    function alone; what is decorated does not run any more. Its name is found where frames say their function."""
    decode = decorated(VAE.decode)
    for _ in range(3):
        decode(VAE())
        launch()


__compiled_fn_1 = launch
IS_COMPILED_KNOWN = (sys.version_info >= (3, 11) and os.environ.get('STAGETAP_PY') != 'walk' and
                     not sysconfig.get_config_var('Py_GIL_DISABLED'))


def threads():
    def work():
        for turn in range(10):
            picture(1, fail=turn % 2)

    many = [threading.Thread(target=work) for _ in range(4)]
    for thread in many:
        thread.start()
    for thread in many:
        thread.join()
    done = []

    def raw():
        picture(1)
        done.append(1)

    _thread.start_new_thread(raw, ())
    until = time.monotonic() + 10
    while not done and time.monotonic() < until:
        time.sleep(0.001)
    time.sleep(0.01)


def main():
    global requests
    launch()
    functions()
    marks()
    generators()
    coroutines()
    compiled()
    deep()
    threads()
    importlib.reload(studio.pipe)
    picture()
    print(requests, flush=True)
    atexit.register(lambda: studio.pipe.VAE().decode())
    keep.append(AtTheEnd(studio.pipe.VAE()))


keep = []


class AtTheEnd:
    def __init__(self, vae):
        self.vae, self.launch = vae, launch

    def __del__(self):
        self.vae.decode()
        self.launch('none')


if __name__ == '__main__':
    main()
