# SPDX-License-Identifier: MIT
"""Hooks and tools in Lua, from their neutral form."""


def literal(v):
    if v is None:
        return 'nil'
    if isinstance(v, bool):
        return 'true' if v else 'false'
    if isinstance(v, (int, float)):
        return repr(v)
    if isinstance(v, str):
        return '"' + ''.join(c if c not in '"\\\n\r\0' else f'\\{ord(c):03d}' for c in v) + '"'
    if isinstance(v, list):
        return '{' + ', '.join(literal(x) for x in v) + '}'
    return '{' + ', '.join(f'[{literal(k)}] = {literal(x)}' for k, x in v.items()) + '}'


ANSWERS = {'short_circuit': 'output', 'input': 'input', 'output': 'output', 'recover': 'recover', 'retry': 'retry',
           'fail': 'fail'}
POINTS = {'before_run': 'beforeRun', 'after_run': 'afterRun', 'on_error': 'onError'}


def body(hook):
    if 'throw' in hook:
        return f"error({literal(hook['throw'])}, 0)"
    if 'append' in hook:
        return f"return {{ output = tostring(ctx.output) .. {literal(hook['append'])} }}"
    word, value = next((ANSWERS[k], v) for k, v in hook.items() if k in ANSWERS)
    return f'return {{ {word} = {literal(value)} }}'


def hooks(table, scopes=()):
    """A file of hooks: for what it belongs to, or for each of some scopes."""
    lines = [f'\t{POINTS[point]} = function(ctx) {body(hook)} end,' for point, hook in table.items()]
    functions = '{\n' + '\n'.join(lines) + '\n}\n'
    if not scopes:
        return 'return ' + functions
    return 'local f = ' + functions + 'return { ' + ', '.join(f'{s} = f' for s in scopes) + ' }\n'
