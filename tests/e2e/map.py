#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The stage map from outside: what each sentence of its grammar does to a trace, what `map check` and `map names` say, and
20 maps with a mistake, as `map check`, `stagetap run` and the bare preload take them."""

import json
import os
import time

import lib

# ---- what rules do ------------------------------------------------------------------------------------

# what holds, map, ranges of the program, {row: (calls, launches)} of the requests together ("" = without a stage)
MEANINGS = [
    ('a stage, and what no rule names', 'nvtx r -> request; nvtx a -> encode', '+r +a k k - +b k - -',
     {'encode': (1, 2), '': 1}),
    ('the innermost match labels, the full path is kept',
     'nvtx r -> request; nvtx a -> output; nvtx b -> output/d2h; nvtx c -> decode', '+r +a k +b k +c k - k - - -',
     {'output': (1, 3), 'output/d2h': (1, 2), 'decode': (1, 1)}),
    ('nested entries of one stage collapse', 'nvtx r -> request; nvtx a* -> encode', '+r +a +ab k +abc k - - k - +a k - -',
     {'encode': (2, 4)}),
    ('a step counts outermost entries', 'nvtx r -> request; nvtx s -> sample; nvtx n -> step',
     '+r +s +n k +n k - - +n k - - -', {'sample': (1, 3), 'sample/step': (2, 3)}),
    ('a step of a named stage', 'nvtx r -> request; nvtx s -> sample; nvtx n -> sample step', '+r +s +n k - +n k - k - -',
     {'sample': (1, 3), 'sample/step': (2, 2)}),
    ('begin opens until another begins', 'nvtx r -> request; nvtx u -> begin sample; nvtx d -> begin decode',
     '+r +u k - k +u k - +d k - k -', {'sample': (1, 3), 'decode': (1, 2)}),
    ('end closes what begin opened', 'nvtx r -> request; nvtx u -> begin sample; nvtx e -> end sample',
     '+r +u - k +e - k -', {'sample': (1, 1), '': 1}),
    ('the request closes what begin opened', 'nvtx r -> request; nvtx u -> begin sample', '+r +u - k - +r k -',
     {'sample': (1, 1), '': 1}),
    ('begin and end of requests', 'nvtx b -> begin request; nvtx e -> end request; nvtx a -> encode',
     '+b - +a k - +b - +a k - +e - +a k -', {'encode': (2, 2)}),
    ('load is kept apart', 'nvtx l -> load; nvtx r -> request; nvtx a -> encode', '+l k - +r +a k - -', {'encode': (1, 1)}),
    ('off hides what is below', 'nvtx r -> request; nvtx a -> encode; nvtx o -> off', '+r +a k +o +a k - - - -',
     {'encode': (1, 2)}),
    ('$1 makes names', 'nvtx r -> request; nvtx block_*_of_* -> $2/$1', '+r +block_7_of_unet k - +block_8_of_unet k - -',
     {'unet/7': (1, 1), 'unet/8': (1, 1)}),
    ('what $1 makes that cannot be a name is other', 'nvtx r -> request; nvtx x* -> $1',
     '+r +xunattributed k - +x k - +x/a k - +xa//b k - +xstep k - k +xa/b k - -', {'other': (5, 5), '': 1, 'a/b': (1, 1)}),
    ('of a kernel, too', 'nvtx r -> request; nvtx a -> encode; kernel dot_20us* -> $1', '+r +a k - -',
     {'other': (0, 1), 'encode': (1, 0)}),
    ('of several rules the first one counts', 'nvtx r -> request; nvtx ab -> one; nvtx a* -> two', '+r +ab k - +ac k - -',
     {'one': (1, 1), 'two': (1, 1)}),
    ('quotes, comments, ; and lines', '# nvtx q -> wrong\nnvtx r -> request;nvtx "a \\"b\\" ; -> c"->"my stage"  # done\n',
     ['+r', '+a "b" ; -> c', 'k', '-', '-'], {'my stage': (1, 1)}),
    ('? is one character', 'nvtx r -> request; nvtx a?c -> x', '+r +aäc k - +ac k - +abbc k - -', {'x': (1, 1), '': 2}),
    ('kernels are moved, host figures stay', 'nvtx r -> request; nvtx a -> encode; kernel dot_* -> decode', '+r +a k - -',
     {'encode': (1, 0), 'decode': (0, 1)}),
]


def meanings(checks):
    for what, mapping, ranges, want in MEANINGS:
        with lib.workdir() as folder:
            words = ranges.split() if isinstance(ranges, str) else ranges
            traced = lib.Traced(folder, [lib.program('nvtx_script')] + words, mapping=mapping)
            checks.equal((0, ''), (traced.process.returncode, traced.process.stderr), f'{what}: runs')
            document = lib.report(checks, '--request', 'all', traced.trace, what=what)
            if not document:
                continue
            found = {}
            for row in (row for request in document['requests'] for row in request['stages']):
                calls, launches = found.get(row['name'], (0, 0))
                found[row['name']] = calls + row['calls'], launches + row['launches']
            found[''] = found.pop('unattributed', (0, 0))[1]
            checks.equal(want, {name: found.get(name) for name in want}, what)


def many_names(checks):
    with lib.workdir() as folder:
        ranges = ['+r'] + [word for n in range(70) for word in (f'+layer_{n}', '-')] + ['-']
        traced = lib.Traced(folder, [lib.program('nvtx_script')] + ranges,
                            mapping='nvtx r -> request; nvtx layer_* -> l$1')
        document = lib.report(checks, '--request', 'all', traced.trace, what='70 names from $1')
        rows = lib.rows(document['requests'][0]) if document else {}
        checks.equal((64, 6), (sum(name.startswith('l') for name in rows), rows.get('other', {}).get('calls')),
                     '70 names from $1: 64 are told apart, the rest is other')


def joined(checks):
    """Presets, paths and rules joined with +; library and analyzer read the same."""
    with lib.workdir() as folder:
        with open(os.path.join(folder, 'own.map'), 'w', encoding='utf-8') as file:
            file.write('nvtx picture -> request\n')
        value = './own.map+auto+nvtx a+b -> extra; nvtx "x/y+z" -> slash'
        traced = lib.Traced(folder, [lib.program('nvtx_script'), '+picture', '+a+b', 'k', '-', '+encode', '-', '+x/y+z',
                                     '-', '-'], mapping=value)
        document = lib.report(checks, '--request', 'all', traced.trace, what='joined')
        rows = lib.rows(document['requests'][0]) if document and document['requests'] else {}
        checks.equal({'extra', 'encode', 'slash'}, {name for name, row in rows.items() if row['calls']},
                     'a file, a preset and rules joined')
        checked = json.loads(lib.stagetap('map', 'check', '--json', value, cwd=folder).stdout)
        recorded = [json.loads(line)['line'] for line in
                    lib.stagetap('dump', '--json', '--table', 'rule', traced.trace).stdout.splitlines()]
        checks.equal(recorded[:len(recorded) // 2], [rule['text'] for rule in checked['rules']],
                     'the analyzer reads the same rules as the library')


# ---- mistakes -----------------------------------------------------------------------------------------

# what is wrong, map, line, column
MISTAKES = [
    ('source', 'nvtx r -> request\n  symbl a -> b', 2, 3),
    ('quoted source', '"nvtx" a -> b', 1, 1),
    ('nothing before ->', 'nvtx a -> b; -> c', 1, 14),
    ('no pattern', 'nvtx  -> encode', 1, 7),
    ('empty pattern', 'nvtx "" -> encode', 1, 6),
    ('no arrow', 'nvtx r -> request\nnvtx abc', 2, 9),
    ('arrow in a comment', 'nvtx r -> request\nnvtx abc # -> x', 2, 10),
    ('blank in a pattern', 'nvtx abc def -> x', 1, 10),
    ('open quote', 'nvtx "abc -> x', 1, 6),
    ('no blank after a quote', 'nvtx "abc"d -> x', 1, 11),
    ('nothing after ->', 'nvtx abc ->', 1, 12),
    ('two words', 'nvtx abc -> a b', 1, 15),
    ('three words', 'nvtx abc -> a step x', 1, 20),
    ('second arrow', 'nvtx abc -> a -> b', 1, 15),
    ('begin without a name', 'nvtx abc -> begin', 1, 13),
    ('step-end without a name', 'nvtx abc -> step-end', 1, 13),
    ('reserved name', 'nvtx abc -> begin step', 1, 19),
    ('the row of steps', 'nvtx abc -> sample/step', 1, 13),
    ('slash at the end', 'nvtx abc -> a/', 1, 13),
    ('no such capture', 'nvtx a*c -> x$2', 1, 13),
    ('python without a module', 'python abc -> x', 1, 8),
    ('kernel as a request', 'kernel abc -> request', 1, 1),
    ('name too long', 'nvtx a -> ' + 'x' * 65, 1, 11),
    ('control character', 'nvtx a -> x\nnvtx \x01 -> x', 2, 6),
]


def mistakes(checks):
    checks.ok(len(MISTAKES) >= 20, 'at least 20 kinds')
    with lib.workdir() as folder:
        marker = os.path.join(folder, 'started')
        for what, mapping, line, column in MISTAKES:
            place = f'line {line}, column {column}'
            result = lib.stagetap('map', 'check', mapping)
            checks.ok(result.returncode == 1 and place in result.stderr, f'{what}: map check: exit 1, {place}',
                      (result.returncode, result.stderr))
            document = json.loads(lib.stagetap('map', 'check', '--json', mapping).stdout)
            lib.validate(checks, document, what, 'map.schema.json')
            checks.ok((line, column) in [(each['line'], each['column']) for each in document['mistakes']],
                      f'{what}: in the JSON document', document['mistakes'])
            result = lib.stagetap('run', '-m', mapping, '--', 'touch', marker)
            checks.ok(result.returncode == 125 and place in result.stderr and not os.path.exists(marker),
                      f'{what}: run: exit 125 before the program starts', (result.returncode, result.stderr))
            trace = os.path.join(folder, 'bare.stap')
            result = lib.run([lib.program('nvtx_script'), '+r', 'k', '-'],
                             lib.environment(STAGETAP_MAP=mapping, STAGETAP_OUT=trace), folder)
            lines = result.stderr.splitlines()
            checks.ok(result.returncode == 0 and len(lines) == 1 and place in lines[0],
                      f'{what}: preload: one line, and the program runs', (result.returncode, result.stderr))
            text = lib.stagetap('report', trace).stdout
            checks.ok(place in text, f'{what}: the report says so', text[-600:])
            os.unlink(trace)


# what is wrong, value of STAGETAP_MAP, exit status of map check, in each message (library, launcher, checker)
def bad_files(folder):
    def write(name, content):
        with open(os.path.join(folder, name), 'wb') as file:
            file.write(content)
        return './' + name

    os.mkfifo(os.path.join(folder, 'fifo.map'))
    os.mkdir(os.path.join(folder, 'folder.map'))
    os.symlink('loop.map', os.path.join(folder, 'loop.map'))
    rule = b'nvtx r -> request\n'
    return [
        ('a FIFO that nobody writes', './fifo.map', 3, 'is no regular file'),
        ('a device', '/dev/null', 3, 'is no regular file'),
        ('a device without end', '/dev/zero', 3, 'is no regular file'),
        ('a folder', './folder.map', 3, 'is a folder'),
        ('a link to itself', './loop.map', 3, 'Too many levels'),
        ('no such file', 'demo+./none.map', 3, './none.map: No such file'),
        ('a byte too large', write('large.map', rule + b'#' * (262145 - len(rule))), 3, 'larger than 256 KiB'),
        ('a name that is too long', './' + 'x/' * 2100 + 'y.map', 3, 'File name too long'),
        ('only a comment', write('comment.map', b'# nothing\n'), 1, 'has no rules'),
        ('10000 rules', write('many.map', b''.join(b'nvtx a%d -> x\n' % n for n in range(10000))), 1,
         'line 513, column 1'),
        ('a binary', write('binary.map', b'\x7fELF\2\1\1\0'), 1, 'line 1, column 1'),
        ('UTF-16', write('utf16.map', rule.decode().encode('utf-16')), 1, 'line 1, column 4'),
        ('NUL in a name', write('nul.map', rule + b'nvtx a -> b\0c\n'), 1, 'line 2, column 12'),
        ('a mistake behind a byte order mark', write('mark.map', b'\xef\xbb\xbfnvtx a => b\n'), 1, 'line 1, column 8'),
        ('a file whose name has two lines', write('two\nlines.map', b'symbl a -> b'), 1, 'line 1, column 1'),
        ('a part too many', 'demo+', 2, 'an empty name'),
        ('no such preset', 'demo+nosuch', 2, 'nosuch'),
        ('a rule without an arrow', 'nvtx a - > encode', 1, 'line 1, column 8'),
        ('several mistakes', '+nosuch+./none.map+nvtx a', 3, 'an empty name'),
        ('a rule that only begins', 'demo+nvtx a', 1, 'line 1, column 7'),
    ]


def files(checks):
    with lib.workdir() as folder:
        for what, value, code, text in bad_files(folder):
            result = lib.stagetap('map', 'check', value, cwd=folder)
            checks.ok(result.returncode == code and text in result.stderr, f'{what}: map check: exit {code}',
                      (result.returncode, result.stderr))
            document = lib.stagetap('map', 'check', '--json', value, cwd=folder)
            lib.validate(checks, json.loads(document.stdout), what, 'map.schema.json')
            result = lib.stagetap('run', '-m', value, '--', 'touch', 'started', cwd=folder)
            checks.ok(result.returncode == 125 and text in result.stderr and 'started' not in os.listdir(folder),
                      f'{what}: run: exit 125 before the program starts', (result.returncode, result.stderr))
            result = lib.run([lib.program('nvtx_script'), '+r', 'k', '-'],
                             lib.environment(STAGETAP_MAP=value, STAGETAP_OUT='bare.stap'), folder)
            lines = result.stderr.splitlines()
            checks.ok(result.returncode == 0 and len(lines) == 1 and text in lines[0],
                      f'{what}: preload: one line, and the program runs', (result.returncode, result.stderr))
        for name, content in [('mark', b'\xef\xbb\xbfnvtx r -> request\r\nnvtx a -> encode\r\n'),
                              ('exact', b'nvtx r -> request;nvtx a -> encode\n'.ljust(262144, b'#'))]:
            with open(os.path.join(folder, name + '.map'), 'wb') as file:
                file.write(content)
            traced = lib.Traced(folder, [lib.program('nvtx_script')] + '+r +a k - -'.split(), mapping=f'./{name}.map')
            checks.equal((0, ''), (traced.process.returncode, traced.process.stderr), f'{name}: nothing is said')
            document = lib.report(checks, '--request', 'all', traced.trace, what=name)
            rows = lib.rows(document['requests'][0]) if document and document['requests'] else {}
            checks.equal(1, rows.get('encode', {}).get('launches'), f'{name}: a good map')
            checks.equal(0, lib.stagetap('map', 'check', f'./{name}.map', cwd=folder).returncode, f'{name}: map check')


# ---- map check and map names --------------------------------------------------------------------------

RUN = ['+r', '+Encode_Prompt', 'k', '-', '+denoise step', 'k', '-', '+denoise step', 'k', '-', '-']


def check_json(checks, *arguments, code, cwd):
    result = lib.stagetap('map', 'check', '--json', *arguments, cwd=cwd)
    checks.equal(code, result.returncode, f'map check {" ".join(arguments)[:60]}: exit {code}')
    document = json.loads(result.stdout)
    lib.validate(checks, document, 'map check --json', 'map.schema.json')
    return document


def tools(checks):
    with lib.workdir() as folder:
        traced = lib.Traced(folder, [lib.program('nvtx_script')] + RUN, mapping='nvtx r -> request', name='run')
        checks.equal(0, traced.process.returncode, 'runs')
        names(checks, folder, traced.trace)
        matches(checks, folder)
        two_commands(checks, folder)
        readme(checks, folder)
        warnings(checks, folder)
        sentences(checks)


def names(checks, folder, trace):
    for word in ([], [trace], [folder]):  # the newest run here, a file, a folder
        result = lib.stagetap('map', 'names', *word, cwd=folder)
        lines = [' '.join(line.split()) for line in result.stdout.splitlines()]
        checks.ok(result.returncode == 0 and '2 nvtx "denoise step" -> …' in lines and '1 nvtx r -> request' in lines,
                  f'map names {len(word)}: names with counts, ready to paste', result.stdout)
    document = json.loads(lib.stagetap('map', 'names', '--json', cwd=folder).stdout)
    lib.validate(checks, document, 'map names --json', 'names.schema.json')
    kernel = next(name for name in document['names'] if name['source'] == 'kernel')
    checks.equal(('dot_20us', 3, None), tuple(kernel[key] for key in ('name', 'count', 'meaning')),
                 'map names: a kernel, and how often')
    checks.ok(abs(kernel['device_ns'] - 60000) <= 6, 'map names: how long, but for the conversion of six instants',
              kernel['device_ns'])
    order = [name['count'] for name in document['names'] if name['source'] == 'nvtx']
    checks.equal([2, 1, 1], order, 'map names: the most frequent first')
    checks.equal({'python', 'symbol', 'log'}, {none['source'] for none in document['none']},
                 'map names: sources without names say what to do')
    text = lib.stagetap('map', 'names', '--top', '1', '--source', 'nvtx', cwd=folder).stdout
    checks.ok('1 of 3 shown (--top)' in text and 'kernel' not in text, 'map names: --top, --source', text)
    table = lib.stagetap('map', 'names', '--format', 'csv', cwd=folder).stdout.splitlines()
    checks.equal('source,name,count,device ns,rule', table[0], 'map names: CSV')
    checks.equal(3, lib.stagetap('map', 'names', os.path.join(folder, 'absent.stap')).returncode, 'map names: no file: 3')
    checks.equal(2, lib.stagetap('map', 'names', '--source', 'rust').returncode, 'map names: no such source: 2')


def matches(checks, folder):
    document = check_json(checks, 'nvtx r -> request', 'run.stap', code=0, cwd=folder)
    checks.equal([(1, 'recorded')], [(rule['matched'], rule['counted']) for rule in document['rules']],
                 'the map of the run: what was recorded')
    mapping = ('nvtx r -> request; nvtx encode_prompt -> encode; nvtx denoise_step -> step; nvtx den* -> sample; '
               'kernel dot* -> up; kernel DOT_2* -> no; symbol f -> x; nvtx step -> step')
    document = check_json(checks, mapping, 'run.stap', code=1, cwd=folder)
    found = [(rule['matched'], [near['name'] for near in rule['near']]) for rule in document['rules']]
    checks.equal(
        [(1, []), (0, ['Encode_Prompt']), (0, ['denoise step']), (2, []), (3, []), (0, ['dot_20us']), (None, []),
         (0, ['denoise step'])],
        found, 'another map: matched against the names that were seen, near misses')
    text = lib.stagetap('map', 'check', mapping, 'run.stap', cwd=folder).stdout
    for part in ('never matched; did you mean Encode_Prompt (seen 1 time)?', 'matches names that were seen 2 times',
                 'matched 3 kernels that ran', 'STAGETAP_COLLECT=stacks', 'of 8 rules 3 matched, 4 never did, of 1 it is'):
        checks.ok(part in text, f'in words: {part}', text)
    for name, code in (('absent.stap', 3), ('99999999', 3)):
        result = lib.stagetap('map', 'check', 'auto', name, cwd=folder)
        checks.equal(code, result.returncode, f'map check auto {name}: exit {code}')
    checks.equal(2, lib.stagetap('map', 'check').returncode, 'map check without a map: exit 2')
    checks.equal(2, lib.stagetap('map', 'check', 'a', 'b', 'c').returncode, 'map check with too much: exit 2')


def two_commands(checks, folder):
    """From nothing to a map: the lines that `map names` gives are a map, once the … are filled in."""
    lines = [name['rule'].replace('…', 'sample') for name in
             json.loads(lib.stagetap('map', 'names', '--json', cwd=folder).stdout)['names']]
    path = os.path.join(folder, 'my.map')
    with open(path, 'w', encoding='utf-8') as file:
        file.write('\n'.join(lines) + '\n')
    document = check_json(checks, path, 'run.stap', code=0, cwd=folder)
    checks.equal([2, 1, 1, 3], [rule['matched'] for rule in document['rules']], 'each pasted rule matches its name')


def readme(checks, folder):
    """What README.md shows of the demo: its names with their counts, its map, and what the checker says of that."""
    with open(os.path.join(lib.SOURCE, 'README.md'), encoding='utf-8') as file:
        page = file.read().split('## Writing a map')[1].split('\n## ')[0]
    traced = lib.generate(folder, images=3, steps=20, name='readme', mapping='nvtx request -> request')
    shown = lib.stagetap('map', 'names', '--source', 'nvtx', traced.trace).stdout.splitlines()[1:]
    for line in shown:
        checks.ok(f'    {line}\n' in page, f'README.md has what is printed: {line}', page)
    rules = [line.strip() for line in page.splitlines() if line.startswith('    nvtx ') and '->' in line]
    with open(os.path.join(folder, 'my.map'), 'w', encoding='utf-8') as file:
        file.write('\n'.join(rules))
    result = lib.stagetap('map', 'check', 'my.map', traced.trace, cwd=folder)
    last = result.stdout.splitlines()[-4:-1] + [result.stdout.splitlines()[-1].replace(traced.trace, 'first.stap')]
    checks.equal(1, result.returncode, 'README.md: map check: exit 1')
    for line in last:
        checks.ok(f'    {line}\n' in page, f'README.md has what is printed: {line}', page)


def warnings(checks, folder):
    mapping = ('nvtx a* -> encode; nvtx ab -> decode; nvtx a* -> output; nvtx e -> end foo; nvtx s -> bar step; '
               'nvtx er -> end request')
    document = check_json(checks, mapping, code=0, cwd=folder)
    checks.equal([('shadowed', 1), ('duplicate', 2), ('never_opened', 3), ('step_without_stage', 4), ('never_opened', 5),
                  ('no_request', None)],
                 [(warning['kind'], warning['rule']) for warning in document['warnings']], 'warnings')
    result = lib.stagetap('map', 'check', 'nvtx r -> request; nvtx s -> step')
    checks.ok(result.returncode == 0 and 'warning: a step of the stage around it' in result.stderr,
              'a step without any stage', result.stderr)
    for preset in ('auto', 'demo', 'diffusers', 'comfyui', 'webui', 'invokeai'):
        result = lib.stagetap('map', 'check', preset)
        checks.ok(result.returncode == 0 and 'warning' not in result.stderr, f'preset {preset}: right, no warning',
                  result.stderr)


def sentences(checks):
    text = lib.stagetap('map', 'check', 'python diffusers.p:*P.__call__ -> request; kernel up* -> decode').stdout
    for part in ('When a Python function that matches diffusers.p:*P.__call__ runs, that is one request',
                 'labels device work only: host figures stay with the range'):
        checks.ok(part in text, f'in words: {part}', text)
    table = lib.stagetap('map', 'check', '--format', 'md', 'nvtx a -> begin b').stdout.splitlines()
    checks.ok(len(table) == 3 and table[0].startswith('| origin | line |'), 'map check: Markdown', table)


def running(checks):
    """A process that still runs is asked by its id; when it was killed, its file."""
    with lib.workdir() as folder:
        trace = os.path.join(folder, 'live.stap')
        env = lib.environment(STAGETAP_OUT=trace, STAGETAP_MAP='nvtx r -> request', STAGETAP_FLUSH='50ms')
        process = lib.start([lib.program('nvtx_script'), '+r', '+some stage', 'k', '-', '-', 'wait'], env, cwd=folder)
        names, until = set(), time.monotonic() + 20
        while 'some stage' not in names and time.monotonic() < until:
            time.sleep(0.1)
            result = lib.stagetap('map', 'names', '--json', process.pid, cwd=folder)
            names = {name['name'] for name in json.loads(result.stdout)['names']} if result.returncode == 0 else set()
        checks.ok({'r', 'some stage'} <= names, 'map names of a running process', names)
        process.kill()
        process.wait()
        text = lib.stagetap('map', 'names', trace).stdout
        checks.ok('nvtx "some stage" -> …' in text, 'map names of a killed process', text)


def main():
    checks = lib.Checks()
    running(checks)
    meanings(checks)
    many_names(checks)
    joined(checks)
    mistakes(checks)
    files(checks)
    tools(checks)
    checks.finish()


if __name__ == '__main__':
    main()
