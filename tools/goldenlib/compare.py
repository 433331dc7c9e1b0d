# SPDX-License-Identifier: MIT
"""Compares what came with what was recorded.

Ids become placeholders by the order in which they appear in a scenario, times
and durations a fixed word; then lines are compared to the letter. Where a
deviation is listed for a place, its expectation takes the place of the recording.
"""
import difflib
import json
import os
import re

import yaml

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
        return yaml.safe_load(f) or {}


class Names:
    """Placeholders for ids, by first appearance."""

    def __init__(self):
        self.known = {}

    def id(self, m):
        return self.known.setdefault(m[0], f'<id {len(self.known) + 1}>')

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


def step_lines(names, step, raw):
    if 'stdout' in step:
        return [f'{part}: {l}' for part in ('exit', 'stdout', 'stderr') for l in lines_of(names.plain(step[part]))]
    body = step['body'] if isinstance(step['body'], str) else json.dumps(step['body'])
    end = step['end']
    body = names.plain(unframed(body) if raw else body)
    return [head(step['headers']), f"ended by {end['ended_by']}, {end['curl_exit']}"] + lines_of(body)


ROW_ORDER = {'crumbs': lambda r: (r['run_id'], r['seq'])}
SKIP_COLUMNS = {'id'}


def table_lines(names, name, rows):
    rows = sorted(rows, key=ROW_ORDER[name]) if name in ROW_ORDER else rows
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


def sides(rec, got):
    """(place, recorded lines, our lines) for each place that is compared."""
    a, b = Names(), Names()
    raw = {s['id'] for s in rec['scenario']['steps'] if s.get('raw')}
    for id in [s['id'] for s in rec['scenario']['steps'] if 'id' in s]:
        if id in rec['steps']:
            yield id, step_lines(a, rec['steps'][id], id in raw), step_lines(b, got['steps'][id], id in raw)
    for name, rows in (rec.get('store') or {}).items():
        ours = (got['store'] or {}).get(name, [])
        yield f'store {name}', table_lines(a, name, rows), table_lines(b, name, ours)
    if 'model_calls' in rec:
        yield 'model_calls', call_lines(a, rec['model_calls']), call_lines(b, got['model_calls'])


def differs(place, want, have):
    diff = [l for l in difflib.unified_diff(want, have, 'expected', 'here', n=0, lineterm='') if not l.startswith(('---', '+++', '@@'))]
    return f'{place} differs:\n' + '\n'.join(l[:600] for l in diff[:40])


def scenario(rec, got, deviations, only_listed=False):
    """only_listed: a variant of the scenario, of which nothing else was recorded."""
    faults, used = [], set()
    by_place = {d['at']: d for d in deviations}
    for place, want, have in sides(rec, got):
        d = by_place.get(place)
        if only_listed and not d:
            continue
        if d:
            used.add(place)
            if want == have:
                faults.append(f'{place} is listed as a deviation ({d["rule"]}) but agrees with the recording')
                continue
            if 'has' in d:
                faults += [f'{place}: nothing says "{x}"' for x in d['has'] if not any(x in l for l in have)]
                continue
            want = expectation(d, want)
        if want != have:
            faults.append(differs(place, want, have))
    faults += [f'a deviation is listed for {p}, which is not there' for p in by_place if p not in used]
    return faults


def expectation(d, recorded):
    """expect: all lines; or edits of the recording: drop, replace, add."""
    if 'expect' in d:
        return d['expect'] if isinstance(d['expect'], list) else d['expect'].splitlines()
    lines = list(recorded)
    for old, new in d.get('replace', {}).items():
        if not any(old in l for l in lines):
            lines.append(f'(the recording has no "{old}" to replace)')
        lines = [l.replace(old, new) for l in lines]
    lines = [l for l in lines if not any(x in l for x in d.get('drop', []))]
    for edit in d.get('insert', []):
        at = next((i for i, l in enumerate(lines) if edit['before'] in l), len(lines)) if 'before' in edit else len(lines)
        lines.insert(at, edit['line'])
    return lines
