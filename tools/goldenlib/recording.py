# SPDX-License-Identifier: MIT
"""Recordings: a folder a scenario as they were made, or one compact file."""
import base64
import json
import os
import re
import sys


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def text(data):
    try:
        return data.decode('utf-8')
    except UnicodeDecodeError:
        return {'base64': base64.b64encode(data).decode()}


def data(value):
    return base64.b64decode(value['base64']) if isinstance(value, dict) else value.encode('utf-8')


def from_folder(folder):
    rec = {'scenario': json.loads(read(os.path.join(folder, 'scenario.json'))), 'steps': {}}
    for name in sorted(os.listdir(folder)):
        m = re.match(r'(\d.*)\.(body|headers|stdout|stderr|exit)$', name)
        if m:
            rec['steps'].setdefault(m[1], {})[m[2]] = text(read(os.path.join(folder, name)))
        m = re.match(r'(\d.*)\.end\.json$', name)
        if m:
            rec['steps'].setdefault(m[1], {})['end'] = json.loads(read(os.path.join(folder, name)))
    store = os.path.join(folder, 'store.json')
    calls = os.path.join(folder, 'model_calls.jsonl')
    if os.path.exists(store):
        rec['store'] = json.loads(read(store))
    if os.path.exists(calls):
        rec['model_calls'] = [json.loads(l) for l in read(calls).decode().splitlines() if l.strip()]
    return rec


def load(path):
    rec = from_folder(path) if os.path.isdir(path) else json.loads(read(path))
    rec['name'] = rec['scenario']['name']
    return rec


def find(folder, names):
    paths = []
    for entry in sorted(os.listdir(folder)):
        path = os.path.join(folder, entry)
        name = entry[:-5] if entry.endswith('.json') else entry
        if names and name not in names:
            continue
        if os.path.isfile(os.path.join(path, 'scenario.json')):
            paths.append(path)
        elif entry.endswith('.json') and entry != 'index.json':
            paths.append(path)
    missing = set(names) - {os.path.basename(p).removesuffix('.json') for p in paths}
    if missing:
        sys.exit(f"no scenario of that name in {folder}: {', '.join(sorted(missing))}")
    return paths


def compact(folder, out, names):
    os.makedirs(out, exist_ok=True)
    for path in find(folder, names):
        rec = from_folder(path)
        name = rec['scenario']['name']
        with open(os.path.join(out, name + '.json'), 'w') as f:
            json.dump(rec, f, ensure_ascii=False, separators=(',', ':'))
            f.write('\n')
