# SPDX-License-Identifier: MIT
"""Plays a scenario in all the ways that its deviations ask for, and says what is wrong."""
import copy

from . import compare, runner


def name_of(item):
    if isinstance(item, dict):
        return next((item[k] for k in ('id', 'agentId', 'name') if k in item), None)
    return item


def remove(scenario, path):
    """Takes "agents/boss/supervisor/agents/ghost" out: keys, and entries of lists by name."""
    *way, last = path.split('/')
    at = scenario
    for word in way:
        at = at[word] if isinstance(at, dict) else next(x for x in at if name_of(x) == word)
    if isinstance(at, dict):
        del at[last]
    else:
        at[:] = [x for x in at if name_of(x) != last]


def refused(bread, rec, store, d):
    """The project must not be taken, with these words; and the scenario without what was wrong."""
    try:
        runner.run(bread, dict(rec, scenario=dict(rec['scenario'], steps=[])), store)
        return [f'start: the project is taken, though it must be refused ({d["rule"]})'], rec
    except runner.NoStart as e:
        faults = [f'start: nothing says "{x}": {e}' for x in d['has'] if x not in str(e)]
    rest = dict(rec, scenario=copy.deepcopy(rec['scenario']))
    for path in d['without']:
        remove(rest['scenario'], path)
    return faults, rest


def asked(rec, listed):
    """The scenario with the requests that deviations change."""
    paths = {d['at']: d['path'] for d in listed if 'path' in d}
    steps = [dict(s, path=paths[s['id']]) if s.get('id') in paths else s for s in rec['scenario']['steps']]
    return dict(rec, scenario=dict(rec['scenario'], steps=steps))


def play(bread, rec, store, listed, everywhere):
    faults = []
    for d in [d for d in listed if d['at'] == 'start']:
        found, rec = refused(bread, rec, store, d)
        faults += found
    if not rec['scenario']['steps']:
        return faults
    plain = [d for d in listed if d['at'] != 'start' and not d.get('checks_input')]
    checked = [d for d in listed if d.get('checks_input')]
    rec = asked(rec, plain)
    faults += compare.scenario(rec, runner.run(bread, rec, store), plain, everywhere)
    if checked:  # the same once more with inputSchema, which the original ignores
        got = runner.run(bread, rec, store, checks_input=True)
        faults += compare.scenario(rec, got, checked, everywhere, only_listed=True)
    return faults
