# SPDX-License-Identifier: MIT
"""Writes a project of ours from a scenario in its neutral form. Files are YAML by
being JSON. The original never checks input, and some recordings have input that
does not fit; so inputSchema is written only where that is what is looked at."""
import json
import os
import sys

BEHAVE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'behave.py')
TRANSPORTS = {'http-chunked': ['http-chunked'], 'http-sse': ['http-sse']}


def write(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as f:
        if isinstance(value, str):
            f.write(value)
        else:
            json.dump(value, f, indent=1)
            f.write('\n')


def tool(t, folder):
    b = t.get('behaviour', {})
    out = {'name': t['name'], 'description': t.get('description', ''), 'schema': t.get('schema', {}),
           'command': ['/usr/bin/python3', BEHAVE, json.dumps(b), folder]}
    if 'yield' in b:
        out['stream'] = True
    if 'error_handling' in t:
        out['errorHandling'] = t['error_handling']
    return out


def output_format(agent):
    f = agent.get('output', {}).get('format', 'text')
    return 'lines' if f == 'custom_lines' or isinstance(f, dict) else f


def agent(a, folder, checks_input):
    out = {'model': a['model'], 'output': {'format': output_format(a)}}
    if checks_input and 'input_schema' in a:
        out['inputSchema'] = a['input_schema']
    for ours, theirs in (('outputSchema', 'output_schema'), ('steps', 'steps'),
                         ('errorHandling', 'error_handling')):
        if theirs in a:
            out[ours] = a[theirs]
    # two tools of one name cannot be two files: such a list stands in the agent's own
    names = [t['name'] for t in a.get('tools', [])]
    if len(set(names)) < len(names):
        out['tools'] = [tool(t, folder) for t in a['tools']]
    if a.get('human_tools'):
        out['humanTools'] = a['human_tools']
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
    if 'pipelines' in s:
        c['pipelines'] = s['pipelines']
    return c


def evals(name, e):
    return {'agent': e['agentId'], 'cases': e['cases']}


def make(s, folder, store, checks_input=False):
    write(f'{folder}/bread.yaml', config(s, store))
    write(f'{folder}/models.json', {'models': s.get('models', {})})
    for id, a in s.get('agents', {}).items():
        where = f'{folder}/agents/{id}'
        spec = agent(a, folder, checks_input)
        write(f'{where}/agent.yaml', spec)
        if a.get('prompt'):
            write(f'{where}/prompt.md', a['prompt'])
        for t in a.get('tools', []) if 'tools' not in spec else []:
            write(f"{where}/tools/{t['name']}.yaml", tool(t, folder))
        for name, e in a.get('evals', {}).items():
            write(f"{where}/evals/{name.split('.')[0]}.yaml", evals(name, e))
    for name, content in s.get('files', {}).items():
        write(f'{folder}/{name}', content)


if __name__ == '__main__':
    make(json.load(open(sys.argv[1])), sys.argv[2], 'sqlite')
