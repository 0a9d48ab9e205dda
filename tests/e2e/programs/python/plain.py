# SPDX-License-Identifier: Apache-2.0
"""What a program can notice. plain.py CASE: what it prints and how it ends is the same on both sides."""

import gc
import os
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # -I leaves it out

from launching import launch  # noqa: E402
from studio import pipe  # noqa: E402


def pictures():
    for _ in range(2):
        pipe.Pipe()()
        launch()


def depth():
    try:
        return 1 + depth()
    except RecursionError:
        return 1


def end_with_status():
    pipe.call(sys.exit, 7)


def end_with_error():
    pipe.VAE().fails()


def end_interrupted():
    pipe.call(lambda: (os.kill(os.getpid(), signal.SIGINT), time.sleep(5)))


def end_at_once():
    launch()
    time.sleep(0.1)  # the simulator's truth is written now and then
    pipe.call(os._exit, 3)


def end_with_daemons():
    """They are in and out of stage functions when the interpreter ends."""

    def work():
        while True:
            pipe.call(sum, range(10))
            list(pipe.turns(3))
            try:
                pipe.call(int, 'x')
            except ValueError:
                pass

    launch()
    for _ in range(4):
        threading.Thread(target=work, daemon=True).start()
    time.sleep(0.1)


def recursion():
    print(depth(), sys.getrecursionlimit())
    pipe.call(lambda: print(depth()))
    pictures()
    if sys.version_info < (3, 11):  # calls need the C stack: what fits is the same
        return
    for kilobytes in (64, 256, 1024):
        threading.stack_size(kilobytes * 1024)
        thread = threading.Thread(target=lambda: print(depth()))
        thread.start()
        thread.join()
    sys.setrecursionlimit(9900)
    threading.stack_size(1024 * 1024)
    thread = threading.Thread(target=lambda: print(depth()))
    thread.start()
    thread.join()


def high_limit():
    """The limit is raised inside a stage."""

    def high():
        sys.setrecursionlimit(60000)
        print(depth())

    pictures()
    if sys.version_info >= (3, 11):
        pipe.call(high)
    launch()
    pictures()


def state():
    pictures()
    print(sys.getprofile(), sys.gettrace(), threading.active_count(), len(sys._current_frames()), sys.flags)
    print(sorted(sys.modules))
    print(sorted(name for name in os.environ if not name.startswith(('LD_', 'STAGETAP_', 'SIMGPU_', 'E2E_'))))
    print(signal.getsignal(signal.SIGINT), sys.exc_info(), len(gc.garbage))


def leaks():
    """Calls, exceptions, generators and code that is thrown away leave nothing behind."""

    def turn():
        pipe.call(len, ())
        list(pipe.turns(2))
        try:
            pipe.call(int, 'x')
        except ValueError:
            pass
        names = {'__name__': 'studio.pipe'}
        exec('def call(): pass\ndef other(): pass', names)
        names['call'](), names['other']()

    def blocks():
        gc.collect()
        return sys.getallocatedblocks()

    launch()
    kept = (pipe.call, pipe.call.__code__, pipe.turns.__code__, None, pipe.call.__globals__, turn.__code__)
    for _ in range(2000):
        turn()
    counts, before = [sys.getrefcount(one) for one in kept], blocks()
    for _ in range(5000):
        turn()
    grown = blocks() - before
    print([abs(sys.getrefcount(one) - count) < 10 for one, count in zip(kept, counts)])
    print('blocks', 'same' if grown < 300 else grown)


def other_hook():
    """Another frame-evaluation hook, set after us and taken away again."""
    import ctypes

    hook = ctypes.PyDLL(sys.argv[2])
    pictures()
    hook.eval_hook_take()
    pictures()
    print(hook.eval_hook_give_back() > 0)
    pictures()


if __name__ == '__main__':
    globals()[sys.argv[1]]()
