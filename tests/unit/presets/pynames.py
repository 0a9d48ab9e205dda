# SPDX-License-Identifier: Apache-2.0
"""The names that stagetap would see of Python sources – module:qualname, as CPython makes them –, read from the
syntax alone: nothing is imported, so nothing that a package needs has to be there."""
import ast
import os
import re


def qualnames(tree, prefix=''):
    """Functions of a module or class body, nested ones as CPython names them: outer.<locals>.inner."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + node.name
            yield from qualnames(node, f'{prefix}{node.name}.<locals>.')
        elif isinstance(node, ast.ClassDef):
            yield from qualnames(node, f'{prefix}{node.name}.')
        elif not isinstance(node, ast.expr):
            yield from qualnames(node, prefix)


def module_of(path, root):
    parts = os.path.relpath(path, root)[:-len('.py')].split(os.sep)
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)


def names_below(root, wants=lambda module: True):
    """module:qualname of the .py files below a folder that stands on sys.path, of modules that `wants` takes;
    → (names, files read)."""
    names, files = [], 0
    for folder, folders, found in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.endswith(('.dist-info', '.data')) and f != '__pycache__')
        for name in sorted(found):
            if not name.endswith('.py'):
                continue
            path = os.path.join(folder, name)
            module = module_of(path, root)
            if not wants(module):
                continue
            with open(path, encoding='utf-8', errors='replace') as file:
                try:
                    tree = ast.parse(file.read(), path)
                except SyntaxError:
                    continue  # templates that are named like sources
            names += [f'{module}:{qualname}' for qualname in qualnames(tree)]
            files += 1
    return names, files


def glob(pattern):
    """The glob of config/glob.c: `*` any run, `?` one character, all else literal."""
    return re.compile(''.join('.*' if c == '*' else '.' if c == '?' else re.escape(c) for c in pattern), re.DOTALL)


def rules(text):
    """(line number, source, pattern, meaning, comment) of a preset's rules: one on a line, as in config/*.map."""
    rule = re.compile(r'(\w+)\s+(?:"((?:[^"\\]|\\.)*)"|(\S+))\s*->\s*([^#]*?)\s*(?:# *(.*))?')
    for number, line in enumerate(text.splitlines(), 1):
        found = rule.fullmatch(line)
        if found:
            source, quoted, word, meaning, comment = found.groups()
            yield number, source, re.sub(r'\\(.)', r'\1', quoted) if quoted is not None else word, meaning, comment or ''


def wants_modules(text):
    """Which modules may hold what the Python rules of a preset name?"""
    globs = [glob(pattern.split(':')[0]) for _, source, pattern, _, _ in rules(text) if source == 'python']
    return lambda module: any(found.fullmatch(module) for found in globs)
