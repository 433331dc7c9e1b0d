# SPDX-License-Identifier: MIT
"""Writes a project of ours from a scenario in its neutral form. Files are YAML by
being JSON. The original never checks input, and some recordings have input that
does not fit; so inputSchema is written only where that is what is looked at."""
import json
import os
import sys

from . import lua

BEHAVE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'behave.py')
GLOBAL = ('agent', 'task', 'tool')  # whom the instance's hooks are asked about
TRANSPORTS = {'http-chunked': ['http-chunked'], 'http-sse': ['http-sse']}


def write(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as f:
        if isinstance(value, str):
            f.write(value)
        else:
            json.dump(value, f, indent=1)
            f.write('\n')


def renamed(source, *pairs):
    return {ours: source[theirs] for ours, theirs in pairs if theirs in source}


def tool(t, folder):
    b = t.get('behaviour', {})
    out = {'name': t['name'], 'description': t.get('description', ''), 'schema': t.get('schema', {}),
           'command': ['/usr/bin/python3', BEHAVE, json.dumps(b), folder]}
    if 'yield' in b:
        out['stream'] = True
    return out | renamed(t, ('errorHandling', 'error_handling'), ('credentials', 'credentials'))


def with_hooks(spec, source, file, path, scopes=()):
    """Hooks are Lua files beside what they belong to."""
    if 'hooks' in source:
        write(file, lua.hooks(source['hooks'], scopes))
        spec['hooks'] = {'lua': path}
    return spec


def output_format(agent):
    f = agent.get('output', {}).get('format', 'text')
    return 'lines' if f == 'custom_lines' or isinstance(f, dict) else f


def agent(a, folder, checks_input):
    out = {'model': a['model'], 'output': {'format': output_format(a)}}
    if checks_input and 'input_schema' in a:
        out['inputSchema'] = a['input_schema']
    out |= renamed(a, ('outputSchema', 'output_schema'), ('steps', 'steps'), ('errorHandling', 'error_handling'),
                   ('humanTools', 'human_tools'), ('permissions', 'permissions'), ('supervisor', 'supervisor'),
                   ('loop', 'loop'), ('tasks', 'tasks'), ('knowledge', 'knowledge'), ('documents', 'documents'))
    # two tools of one name cannot be two files: such a list stands in the agent's own
    names = [t['name'] for t in a.get('tools', [])]
    if len(set(names)) < len(names):
        out['tools'] = [tool(t, folder) for t in a['tools']]
    return out


def config(s, store):
    c = {'store': {'type': store, 'path': 'bread.db'} if store == 'sqlite' else store,
         'transport': 'stdout' if s['transport'] == 'stdout' else 'stream',
         'providers': {'mock': {'type': 'scripted', 'file': 'models.json', 'record': 'model_calls.jsonl'}},
         'entrypoints': list(s.get('agents', {}))}
    if s['transport'] in TRANSPORTS:
        c['ingress'] = TRANSPORTS[s['transport']]
    if 'server' in s:
        c['server'] = dict(s['server'])
    if 'concurrency' in s:
        c['concurrency'] = s['concurrency']
    if 'crumb_filter' in s:
        c['crumbFilter'] = s['crumb_filter']
    if s.get('blob_store'):
        c['blobStore'] = {'type': 'fs', 'dir': 'blobs', 'url': 'https://blobs.example/', 'keys': 'count'}
    if 'decisions' in s:
        c['decisions'] = {name: {'type': 'scripted', 'record': 'model_calls.jsonl', **d} for name, d in s['decisions'].items()}
    return c | renamed(s, ('pipelines', 'pipelines'))


def evals(name, e):
    return {'agent': e['agentId'], 'cases': e['cases']}


def task(t):
    return renamed(t, ('description', 'description'), ('model', 'model'), ('instructions', 'instructions'),
                   ('schema', 'schema'), ('outputSchema', 'output_schema'), ('errorHandling', 'error_handling'))


def skill(s, where, folder):
    write(f'{where}/SKILL.md', s['skill_md'])
    for name, content in s.get('references', {}).items():
        write(f'{where}/references/{name}', content)
    for t in s.get('scripts', []):
        write(f"{where}/scripts/{t['name']}.yaml", tool(t, folder))


def models(folder, scripts):
    write(f'{folder}/models.json', {'models': scripts})


def make_agent(a, where, folder, checks_input):
    spec = with_hooks(agent(a, folder, checks_input), a, f'{where}/own.lua', 'own.lua')
    write(f'{where}/agent.yaml', spec)
    if a.get('prompt'):
        write(f'{where}/prompt.md', a['prompt'])
    for t in a.get('tools', []) if 'tools' not in spec else []:
        name = t['name']
        write(f'{where}/tools/{name}.yaml', with_hooks(tool(t, folder), t, f'{where}/hooks/{name}.lua', f'hooks/{name}.lua'))
    for id, s in a.get('skills', {}).items():
        skill(s, f'{where}/skills/{id}', folder)
    for name, e in a.get('evals', {}).items():
        write(f"{where}/evals/{name.split('.')[0]}.yaml", evals(name, e))


def make(s, folder, store, checks_input=False):
    write(f'{folder}/bread.yaml', with_hooks(config(s, store), s, f'{folder}/all.lua', 'all.lua', GLOBAL))
    models(folder, s.get('models', {}))
    for id, a in s.get('agents', {}).items():
        make_agent(a, f'{folder}/agents/{id}', folder, checks_input)
    for name, t in s.get('tasks', {}).items():
        file = f'{folder}/tasks/{name}'
        write(f'{file}.yaml', with_hooks(task(t), t, f'{file}.lua', f'{name}.lua'))
    for name, content in s.get('files', {}).items():
        write(f'{folder}/{name}', content)


if __name__ == '__main__':
    make(json.load(open(sys.argv[1])), sys.argv[2], 'sqlite')
