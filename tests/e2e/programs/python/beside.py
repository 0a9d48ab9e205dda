# SPDX-License-Identifier: Apache-2.0
"""Pictures while and after other tools watch this process's functions: what they see and what is launched is printed or
launched the same with and without the other side. Also: how deep Python code can call itself."""

import cProfile
import os
import pstats
import sys
import threading

from launching import launch
from studio.pipe import VAE, Pipe

seen = []


def noted(frame, event, argument):
    if event == 'call' and frame.f_code.co_filename.endswith('pipe.py'):
        seen.append(frame.f_code.co_name)
    return noted if event != 'c_call' else None


def picture():
    Pipe()()
    launch()


def with_profile():
    sys.setprofile(noted)
    picture()
    sys.setprofile(None)


def with_trace():
    sys.settrace(noted)
    picture()
    sys.settrace(None)


def with_thread_profile():
    threading.setprofile(noted)
    thread = threading.Thread(target=picture)
    thread.start()
    thread.join()
    threading.setprofile(None)


def with_cprofile():
    profile = cProfile.Profile()
    profile.enable()
    picture()
    profile.disable()
    for (path, _, name), figures in sorted(pstats.Stats(profile).stats.items()):
        if os.path.basename(path) == 'pipe.py':
            seen.append((name, figures[0]))


def switched_inside():
    """Switched on inside a stage, off in the next one."""

    class Vae(VAE):
        def __init__(self, switch):
            self.switch = switch

        def decode(self, depth=0):
            self.switch()
            super().decode()

    Vae(lambda: sys.setprofile(noted)).decode()
    Vae(lambda: sys.setprofile(None)).decode()
    launch()


def with_monitoring():
    monitoring = getattr(sys, 'monitoring', None)
    if not monitoring:
        return
    events = monitoring.events
    monitoring.use_tool_id(1, 'other')
    for event in (events.PY_START, events.PY_RETURN, events.PY_UNWIND):
        monitoring.register_callback(
            1, event, lambda code, *_: seen.append(code.co_name) if code.co_filename.endswith('pipe.py') else None
        )
    monitoring.set_events(1, events.PY_START | events.PY_UNWIND)
    monitoring.set_local_events(1, VAE.decode.__code__, events.PY_RETURN)
    picture()
    monitoring.restart_events()
    picture()
    monitoring.set_local_events(1, VAE.decode.__code__, 0)
    monitoring.set_events(1, 0)
    monitoring.free_tool_id(1)


def depth():
    try:
        return 1 + depth()
    except RecursionError:
        return 1


launch()
for work in (with_profile, with_trace, with_thread_profile, with_cprofile, switched_inside, with_monitoring):
    work()
    print(work.__name__, seen)
    del seen[:]
    picture()
print(depth())
