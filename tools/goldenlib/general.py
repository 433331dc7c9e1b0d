# SPDX-License-Identifier: MIT
"""The decided differences that hold for all scenarios. deviations.yaml lists them under
"all", each with its rule and why; what each one does stands here. A rule takes the
scenario, what was recorded and what came, and edits both so that the rest can be compared."""
import json
import re

from . import records

STEP_RUN = re.compile(r'^/runs/([^/{}]+?):\d[^/]*/(stream|cancel)$')


def streams(side):
    return [s for s in side['steps'].values() if isinstance(s.get('records'), list)]


def pipeline_crumbs(scenario, want, have):
    for r in [r for side in (want, have) for s in streams(side) for r in s['records']]:
        if r.type().startswith('pipeline:'):
            r.edit(records.ROOT, '', 1)
            r.renumber(lambda n: 0)


def pipeline_rows(scenario, want, have):
    store = have['store'] or {}
    runs = {r['id'] for r in store.get('bread_runs', []) if r.get('kind') in (1, 'pipeline')}
    store['crumbs'] = [r for r in store.get('crumbs', []) if r['run_id'] not in runs]


def surfaced(scenario, want, have):
    store = have['store'] or {}
    others = {}
    for row in store.get('crumbs', []):
        if json.loads(row['crumb']).get('runId') != row['run_id']:
            others.setdefault(row['run_id'], []).append(row['seq'])
    if not others:
        return

    def number(run):
        return lambda n: n - sum(o <= n for o in others.get(run, []))
    kept = [r for r in store['crumbs'] if r['seq'] not in others.get(r['run_id'], [])]
    for row in kept:
        row['seq'] = number(row['run_id'])(row['seq'])
        row['crumb'] = records.LAST_SEQ.sub(lambda m: f"{m[1]}{row['seq']}{m[3]}", row['crumb'])
    store['crumbs'] = kept
    for s in streams(have):
        of = re.match(r'^/runs/([^/]+)/stream', s.get('path', ''))
        if of:
            s['records'] = [r for r in s['records'] if not r.type().startswith('human:') or r.run() == of[1]]
        for r in s['records']:
            if not r.failure and not r.type().startswith('pipeline:'):
                r.renumber(number(r.run()))


def step_ids(scenario, want, have):
    for step in scenario['steps']:
        m = STEP_RUN.match(step.get('path', ''))
        if not m or m[1] not in scenario.get('pipelines', {}):
            continue
        run = step['path'].split('/')[2]
        error = {'code': 'RUN_NOT_FOUND', 'message': f'Run not found: "{run}"'} if m[2] == 'stream' \
            else 'Run not found or not cancelable'
        text = json.dumps({'error': error}, separators=(',', ':'))
        want['steps'][step['id']] = {
            'headers': 'HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\n', 'body': text,
            'records': records.split(text), 'end': {'ended_by': 'server', 'curl_exit': 0}}


RULES = {'pipeline-crumbs': pipeline_crumbs, 'pipeline-rows': pipeline_rows, 'surfaced': surfaced,
         'step-ids': step_ids}


def apply(listed, scenario, want, have):
    for entry in listed:
        RULES[entry['what']](scenario, want, have)
