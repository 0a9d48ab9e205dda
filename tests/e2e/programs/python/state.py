# SPDX-License-Identifier: Apache-2.0
"""What is installed in this interpreter, asked after a launch: the ids of sys.monitoring that are taken, or whether frames
are evaluated by somebody else. And a launch from a package, for the names; and modules with versions.
Arguments: the folder of the package; then ids of sys.monitoring to be taken first."""

import sys
import types

for taken in sys.argv[2:]:
    sys.monitoring.use_tool_id(int(taken), 'taken')

import ctypes  # noqa: E402

from launching import launch  # noqa: E402


def module(name, **members):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__dict__.update(members)


class Forbidden(types.ModuleType):
    """Nobody asks a module for what it has not."""

    def __getattr__(self, name):
        raise SystemExit('asked for ' + name)


def main():
    module('torch', __version__=type('Version', (str,), {})('2.9.1+cu130'))
    module('torch.version', cuda='13.0')
    module('diffusers', _objects={'__version__': '0.36.0'})
    module('transformers', __version__=5)
    sys.modules['accelerate'] = Forbidden('accelerate')
    sys.path.insert(0, sys.argv[1])
    import few.deep
    import _json  # an extension module: a moment to look at the others  # noqa: F401

    few.deep.Model().forward(launch)
    if hasattr(sys, 'monitoring'):
        print([number for number in range(6) if sys.monitoring.get_tool(number) == 'stagetap'])
        return
    api = ctypes.pythonapi
    if hasattr(api, '_PyInterpreterState_GetEvalFrameFunc'):
        api.PyInterpreterState_Main.restype = api._PyInterpreterState_GetEvalFrameFunc.restype = ctypes.c_void_p
        found = api._PyInterpreterState_GetEvalFrameFunc(ctypes.c_void_p(api.PyInterpreterState_Main()))
        print([found != ctypes.cast(api._PyEval_EvalFrameDefault, ctypes.c_void_p).value])
    else:
        print(['unknown'])


main()
