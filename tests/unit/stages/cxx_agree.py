#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cxx_agree.py CXX_NAMES LIBRARY…: our names of C++ functions against those of c++filt, for every function symbol of real
libraries. c++filt writes more (parameters, template arguments, qualifiers, clones), which is taken away first."""

import glob
import os
import re
import shlex
import shutil
import subprocess
import sys

OPERATORS = ['->*', '->', '<<=', '>>=', '<=>', '<<', '>>', '<=', '>=', '()', '[]', '<', '>', ' new[]', ' delete[]', '""']
NO_FUNCTIONS = ('_ZTV', '_ZTT', '_ZTI', '_ZTS', '_ZTH', '_ZTW', '_ZTC', '_ZGV', '_ZGR', '_ZGA')
LEAST = 4000
CACHE = os.environ.get('STAGETAP_CLIENTS_CACHE', os.path.expanduser('~/.cache/stagetap/clients'))
CLIENT_LIBRARIES = ('cyllama-*/**/*ggml-base*', 'torch-cu13-*/**/libtorch_cpu.so', 'torch-cu13-*/**/libc10.so')


def plain(text):
    """Without everything in brackets, but for operators and anonymous namespaces."""
    out, depth, at = '', 0, 0
    while at < len(text):
        if text.startswith('operator', at) and not (at and (text[at - 1].isalnum() or text[at - 1] == '_')):
            found = next((name for name in OPERATORS if text.startswith(name, at + 8)), '')
            out += '' if depth else 'operator' + found
            at += 8 + len(found)
        elif text.startswith('(anonymous namespace)', at):
            out += '' if depth else '(anonymous_namespace)'
            at += 21
        else:
            depth += text[at] in '<(['
            out += '' if depth else text[at]
            depth -= text[at] in '>)]'
            at += 1
    return out


def wanted(text):
    text = plain(re.sub(r'^(transaction clone for |(non-virtual|virtual|covariant return) thunk to )', '', text))
    text = re.sub(r'\boperator (?!new|delete|co_await|"")[^:]+(::[^ ]*)*$', 'operator cast', text)
    text = re.sub(r'\s+(const|volatile)\b|\s*&{1,2}(?=::)', '', text.replace('unnamed type', 'unnamed_type'))
    return text.replace(' ::', '::').strip()


def is_told_otherwise(symbol):
    """Inherited constructors are called by the class that has them, not by the one that they come from; c++filt calls
    destructors of lambdas by what stood last in front."""
    return re.search(r'CI[12]', symbol) or re.search(r'U[lt].*D[0-5]Ev$', symbol)


def output(command, text=None):
    return subprocess.run(command, input=text, stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout


def functions(library):
    rows = [line.split() for line in output(['nm', '-D', '--defined-only', library]).splitlines()]
    names = {row[2].split('@')[0] for row in rows if len(row) == 3 and row[1] in 'TtWi'}
    return sorted(name for name in names if name.startswith('_Z') and not name.startswith(NO_FUNCTIONS))


def main():
    if not shutil.which('c++filt') or not shutil.which('nm'):
        print('no c++filt or nm here')
        sys.exit(77)
    program = shlex.split(os.environ.get('MESON_EXE_WRAPPER', '')) + [sys.argv[1]]
    libraries = [path for path in sys.argv[2:] if os.path.isfile(path)]
    for pattern in CLIENT_LIBRARIES:
        libraries += sorted(glob.glob(os.path.join(CACHE, pattern), recursive=True))[:1]
    total = differing = 0
    for library in libraries:
        symbols = functions(library)
        text = '\n'.join(symbols) + '\n'
        ours, theirs = output(program, text).splitlines(), output(['c++filt', '-p'], text).splitlines()
        known = [row for row in zip(symbols, ours, theirs) if row[0] != row[2] and not is_told_otherwise(row[0])]
        wrong = [
            (symbol, our, wanted(their))
            for symbol, our, their in known
            if re.sub(r'(anonymous|unnamed) (namespace|type)', r'\1_\2', our) != wanted(their)
        ]
        print(f'{os.path.basename(library)}: {len(known)} names, {len(wrong)} differ')
        for symbol, our, their in wrong[:5]:
            print(f'  {symbol[:200]}\n    ours    {our[:200]}\n    c++filt {their[:200]}')
        total += len(known)
        differing += len(wrong)
    if total < LEAST:
        print(f'only {total} names: not enough to tell')
        sys.exit(77 if not differing else 1)
    sys.exit(1 if differing else 0)


main()
