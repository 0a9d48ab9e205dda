#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checker of the presets: are its names those of CPython, and does it fail when it must?"""
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pynames

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = '''
import functools
def decorated(function):
    @functools.wraps(function)
    def inner(*a, key=lambda: 1):
        return function(*a)
    return inner
class Pipeline:
    class Part:
        @property
        def size(self): return [i for i in range(3)]
    @decorated
    @classmethod
    async def __call__(self):
        def step(): pass
        class Local:
            def run(self): pass
    if True:
        def chosen(self): pass
try:
    def with_extra(): pass
except ImportError:
    def without(): pass
'''


def of_cpython(code):
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            if not const.co_name.startswith('<') and const.co_flags & 0x2:  # functions, not class bodies
                yield const.co_qualname
            yield from of_cpython(const)


class Names(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        return path

    def check(self, *rules):
        path = self.write('some.map', ''.join(rule + '\n' for rule in rules))
        command = [sys.executable, os.path.join(HERE, 'check_presets.py'), '--map', path, self.folder.name]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, done.stdout

    @unittest.skipIf(sys.version_info < (3, 11), 'code objects have no qualified name')
    def test_names_are_those_of_cpython(self):
        import argparse
        import json.decoder
        sources = [SOURCE] + [pathlib.Path(module.__file__).read_text() for module in (argparse, json.decoder)]
        for source in sources:
            self.write('package/loops/sd.py', source)
            names, files = pynames.names_below(self.folder.name)
            expected = {'package.loops.sd:' + name for name in of_cpython(compile(source, 'sd.py', 'exec'))}
            self.assertEqual(files, 1)
            self.assertEqual(set(names), expected)
        self.assertIn('package.loops.sd:JSONDecoder.raw_decode', names)

    def test_a_package_is_its_init(self):
        self.write('package/__init__.py', 'def f(): pass')
        self.write('package/a/__init__.py', 'class C:\n def g(self): pass')
        self.write('package/broken.py', 'def {{ name }}(): pass')
        self.assertEqual(pynames.names_below(self.folder.name), (['package:f', 'package.a:C.g'], 2))

    def test_a_wrong_pattern_fails(self):
        self.write('package/loops.py', 'class SDPipeline:\n def __call__(self): pass')
        code, said = self.check('python package.*:*Pipeline*.__call__ -> request',
                                'log "no python" -> encode', '# a comment', 'python other:f -> encode')
        self.assertEqual(code, 0, said)
        self.assertIn('1 patterns found', said)
        self.assertIn('not checked, as the package is not here: some.map:4: python other:f', said)
        code, said = self.check('python package.loops:SDPipeline.__call__ -> request', 'python package.*:*.cal -> step')
        self.assertEqual(code, 1)
        self.assertIn('FAIL some.map:2: python package.*:*.cal matches nothing', said)

    def test_rules_as_written(self):
        text = 'python a:b -> x # from 0.35\nlog "a \\"b\\" c" -> begin y\n# python a:c -> z\n'
        self.assertEqual(list(pynames.rules(text)),
                         [(1, 'python', 'a:b', 'x', 'from 0.35'), (2, 'log', 'a "b" c', 'begin y', '')])


if __name__ == '__main__':
    unittest.main()
