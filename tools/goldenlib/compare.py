# SPDX-License-Identifier: MIT
"""Compares what came with what was recorded.

What holds for all scenarios is done first (general.py), and crumbs of runs that go on
side by side are put in one order (order.py). Then ids become placeholders by the order in
which they appear in a scenario, times and durations a fixed word, and lines are compared
to the letter. Where a deviation is listed for a place, its expectation takes the place of
the recording.
"""
import copy
import difflib
import json
import os
import re

import yaml

from . import general, order, records

UUID = re.compile(r'[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}')
NUMBERS = re.compile(r'("(?:timestamp|createdAt|updatedAt|startedAt|completedAt|durationMs|created_at|updated_at|'
                     r'started_at|completed_at|duration_ms)\\?": ?)\d+')
ISO = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z')
# words of the original's libraries, which are not ours to repeat
WORDING = re.compile(r'(\\*"type\\*":\\*"error-text\\*",\\*"value\\*":\\*")(?:AI_|InvalidToolInput|NoSuchTool).*?(\\*"\})(?=[\]},])')


def load_deviations(path):
    if not os.path.exists(path):
        return {}
    with open(path) as f:
        listed = yaml.safe_load(f) or {}
    for name, entries in listed.items():
        listed[name] = [x for e in entries for x in each(e)]
    return listed


def each(entry):
    """An entry for several places is one for each."""
    if 'places' not in entry:
        return [entry]
    shared = {k: v for k, v in entry.items() if k != 'places'}
    return [{'at': place, **shared, **edits} for place, edits in entry['places'].items()]


class Names:
    """Placeholders for ids, by first appearance."""

    def __init__(self):
        self.known = {}

    def id(self, m):
        return self.known.setdefault(m[0], f'<id {len(self.known) + 1}>')

    def place(self, id):
        """Where an id stands in the order of appearance; behind all, if it has not appeared."""
        name = self.known.get(id)
        return (int(name[4:-1]) if name else len(self.known) + 1, id)

    def plain(self, text):
        text = NUMBERS.sub(r'\g<1>0', text)
        text = ISO.sub('<time>', text)
        text = WORDING.sub(r'\1<words>\2', text)
        return UUID.sub(self.id, text)


def lines_of(value):
    text = value if isinstance(value, str) else json.dumps(value)
    return text.splitlines()


def unframed(text):
    """A body without its chunk frames: where chunks end is nobody's promise."""
    out, rest = '', text.encode('utf-8')
    while b'\r\n' in rest:
        size, rest = rest.split(b'\r\n', 1)
        try:
            n = int(size, 16)
        except ValueError:
            return text
        out, rest = out + rest[:n].decode('utf-8', 'replace'), rest[n + 2:]
    return out


def head(headers):
    """What of an answer's head must agree: the status and the type of the content."""
    rows = [r for r in headers.replace('\r', '').split('\n') if r]
    while len(rows) > 1 and ' 100 ' in rows[0]:
        rows = rows[1:]
    kind = [r for r in rows[1:] if r.lower().startswith('content-type:')]
    return ' '.join(rows[0].split()[1:2]) + ' ' + ''.join(kind).lower() if rows else ''


def step_lines(names, step):
    if 'stdout' in step:
        return [f'{part}: {l}' for part in ('exit', 'stdout', 'stderr') for l in lines_of(names.plain(step[part]))]
    end = step['end']
    body = names.plain(records.joined(step['records']))
    return [head(step['headers']), f"ended by {end['ended_by']}, {end['curl_exit']}"] + lines_of(body)


def table_lines(names, name, rows, columns):
    rows = [{k: v for k, v in r.items() if not columns or k in columns} for r in rows]
    if name == 'session_messages':  # nothing else names their ids
        rows = [{**r, 'id': '<row>'} for r in rows]
    if name == 'crumbs':
        rows.sort(key=lambda r: (names.place(r['run_id']), r['seq']))
    elif name == 'session_messages':
        rows.sort(key=lambda r: names.place(r['session_id']))
    elif name == 'sessions':
        rows.sort(key=lambda r: names.place(r['id']))
    return [names.plain(json.dumps(r, ensure_ascii=False)) for r in rows]


def call_lines(names, calls):
    def tidy(v):
        if isinstance(v, dict):
            out = {k: tidy(x) for k, x in v.items()
                   if not (k in ('$schema', 'additionalProperties') or k in ('minimum', 'maximum') and abs(x) > 1e15)}
            if out.get('type') == 'error-text' and re.match('AI_|InvalidToolInput|NoSuchTool', str(out.get('value'))):
                out['value'] = '<words>'
            if out.get('required') == []:
                del out['required']
            if isinstance(out.get('tools'), list):
                out['tools'] = sorted(out['tools'], key=lambda t: t.get('name', ''))
            return out
        return [tidy(x) for x in v] if isinstance(v, list) else v
    return [names.plain(json.dumps(tidy(c), ensure_ascii=False, sort_keys=True)) for c in calls]


def prepared(side, scenario):
    """A copy whose streams are records."""
    out = {'steps': {}, 'store': copy.deepcopy(side.get('store')), 'model_calls': side.get('model_calls')}
    raw = {s['id'] for s in scenario['steps'] if s.get('raw')}
    for id, step in side['steps'].items():
        out['steps'][id] = step = dict(step)
        if 'stdout' not in step:
            body = step['body'] if isinstance(step['body'], str) else json.dumps(step['body'])
            step['records'] = records.split(unframed(body) if id in raw else body)
    return out


def ordered(side, scenario):
    for step in side['steps'].values():
        if 'records' in step:
            step['records'] = order.canonical(step['records'])
    if order.concurrent(scenario):
        side['model_calls'] = sorted(side['model_calls'] or [], key=lambda c: c['model'])


# what the original has; a table that is not in a recording had no rows
TABLES = ['sessions', 'session_messages', 'checkpoints', 'loops', 'loop_iterations', 'kg_nodes', 'kg_edges',
          'documents', 'crumbs', 'task_runs']


def sides(scenario, want, have):
    """(place, recorded lines, our lines) for each place that is compared."""
    a, b = Names(), Names()
    for id in [s['id'] for s in scenario['steps'] if 'id' in s]:
        if id in want['steps']:
            yield id, step_lines(a, want['steps'][id]), step_lines(b, have['steps'][id])
    for name in TABLES if want['store'] is not None else []:
        rows, ours = want['store'].get(name, []), (have['store'] or {}).get(name, [])
        if rows or ours:
            yield f'store {name}', table_lines(a, name, rows, None), table_lines(b, name, ours, rows and set(rows[0]))
    if want['model_calls'] is not None:
        yield 'model_calls', call_lines(a, want['model_calls']), call_lines(b, have['model_calls'])


def differs(place, want, have):
    diff = [l for l in difflib.unified_diff(want, have, 'expected', 'here', n=0, lineterm='') if not l.startswith(('---', '+++', '@@'))]
    return f'{place} differs:\n' + '\n'.join(l[:600] for l in diff[:40])


def scenario(rec, got, deviations, everywhere=(), only_listed=False):
    """only_listed: a variant of the scenario, of which nothing else was recorded."""
    s = rec['scenario']
    want, have = prepared(rec, s), prepared(got, s)
    general.apply(everywhere, s, want, have)
    faults = [f'{id}: {x}' for id, step in have['steps'].items() for x in order.faults(step.get('records', []))]
    ordered(want, s)
    ordered(have, s)
    used, by_place = set(), {d['at']: d for d in deviations}
    for place, want_lines, have_lines in sides(s, want, have):
        d = by_place.get(place)
        if only_listed and not d:
            continue
        if d:
            used.add(place)
            want_lines = expected(d, place, want_lines, have_lines, faults)
        if want_lines is not None and want_lines != have_lines:
            faults.append(differs(place, want_lines, have_lines))
    faults += [f'a deviation is listed for {p}, which is not there' for p in by_place if p not in used]
    return faults


def expected(d, place, want, have, faults):
    """What a deviation wants there; None: that has been looked at."""
    if want == have:
        faults.append(f'{place} is listed as a deviation ({d["rule"]}) but agrees with the recording')
        return None
    if 'has' in d:
        faults += [f'{place}: nothing says "{x}"' for x in d['has'] if not any(x in l for l in have)]
        return None
    return expectation(d, want)


def expectation(d, recorded):
    """expect: all lines; or edits of the recording: replace, drop, insert, in this order."""
    if 'expect' in d:
        return d['expect'] if isinstance(d['expect'], list) else d['expect'].splitlines()
    lines = list(recorded)
    for old, new in d.get('replace', {}).items():
        if not any(old in l for l in lines):
            lines.append(f'(the recording has no "{old}" to replace)')
        lines = [l.replace(old, new) for l in lines]
    lines = [l for l in lines if not any(x in l for x in d.get('drop', []))]
    for edit in d.get('insert', []):
        near = edit.get('before') or edit.get('after')
        at = next((i for i, l in enumerate(lines) if near and near in l), None)
        at = len(lines) if at is None else at + ('after' in edit)
        lines[at:at] = edit['line'].splitlines() or ['']
    return lines
