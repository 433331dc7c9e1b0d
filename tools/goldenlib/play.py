# SPDX-License-Identifier: MIT
"""Plays a scenario in all the ways that its deviations ask for, and says what is wrong."""
import copy

from . import compare, recording, runner

WHOLE = ('start', 'scenario')  # places that are none of an answer


def name_of(item):
    if isinstance(item, dict):
        return next((item[k] for k in ('id', 'agentId', 'name') if k in item), None)
    return item


def reach(scenario, path):
    """Where "agents/boss/supervisor/agents/ghost" stands, and its last word: keys, and entries
    of lists by name."""
    *way, last = path.split('/')
    at = scenario
    for word in way:
        at = at[word] if isinstance(at, dict) else next(x for x in at if name_of(x) == word)
    return at, last


def remove(scenario, path):
    at, last = reach(scenario, path)
    if isinstance(at, dict):
        del at[last]
    else:
        at[:] = [x for x in at if name_of(x) != last]


def refused(bread, rec, store, d):
    """These words must be said when the project is read; and the scenario without what was wrong."""
    try:
        said = runner.run(bread, dict(rec, scenario=dict(rec['scenario'], steps=[])), store)['log']
    except runner.NoStart as e:
        said = str(e)
    faults = [f'start: nothing says "{x}": {said}' for x in d['has'] if x not in said]
    rest = dict(rec, scenario=copy.deepcopy(rec['scenario']))
    for path in d.get('without', []):
        remove(rest['scenario'], path)
    return faults, rest


def changed(rec, listed):
    """The scenario with what deviations change in it, so that it shows here what it is about."""
    changes = {path: v for d in listed for path, v in d.get('change', {}).items()}
    if changes:
        rec = dict(rec, scenario=copy.deepcopy(rec['scenario']))
    for path, v in changes.items():
        at, last = reach(rec['scenario'], path)
        at[last] = v
    return rec


def play(bread, path, store, listed, everywhere):
    rec = recording.load(path)
    for d in [d for d in listed if 'as' in d]:  # what that one recorded holds here
        rec = dict(recording.load(path.replace(rec['name'], d['as'])), scenario=rec['scenario'])
    faults = []
    for d in [d for d in listed if d['at'] == 'start']:
        found, rec = refused(bread, rec, store, d)
        faults += found
    if not rec['scenario']['steps']:
        return faults
    plain = [d for d in listed if d['at'] not in WHOLE and not d.get('checks_input')]
    checked = [d for d in listed if d.get('checks_input')]
    rec = changed(rec, listed)
    faults += compare.scenario(rec, runner.run(bread, rec, store), plain, everywhere)
    if checked:  # the same once more with inputSchema, which the original ignores
        got = runner.run(bread, rec, store, checks_input=True)
        faults += compare.scenario(rec, got, checked, everywhere, only_listed=True)
    return faults
