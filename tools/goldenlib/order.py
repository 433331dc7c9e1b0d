# SPDX-License-Identifier: MIT
"""The order of crumbs in a stream where runs go on side by side. Only the order within a
run is anybody's promise, and the points that depend on each other; so what lies inside a
parallel step is put in one order on both sides, and on ours the points are checked."""
import re

UUID = re.compile(r'[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}')
TIMES = re.compile(r'"(?:timestamp|durationMs)":\d+')


def content(records):
    return [TIMES.sub('', UUID.sub('', l)) for r in records for l in r.lines if not l.startswith('id: ')]


def grouped(records):
    """By run: steps first by their ids, then runs of agents by agent and content."""
    groups = {}
    for r in records:
        groups.setdefault(r.run(), []).append(r)

    def key(item):
        run, rs = item
        step = not UUID.fullmatch(run)
        return (not step, run if step else rs[0].agent(), content(rs))
    return [r for _, rs in sorted(groups.items(), key=key) for r in rs]


def step_ends(records, i):
    """Where the parallel step ends that starts at i."""
    for j in range(i + 1, len(records)):
        if records[j].type() == 'pipeline:step:end' and records[j].run() == records[i].run():
            return j
    return len(records)


def delegations_end(records, i):
    """Where the last of the delegations ends that are under way at the same time, from i on; i:
    there is but one."""
    opened, most = set(), 0
    for j in range(i, len(records)):
        r = records[j]
        if r.type() in ('tool:call', 'tool:result', 'tool:error') and r.crumb.get('toolName') == 'core_delegate':
            (opened.add if r.type() == 'tool:call' else opened.discard)(r.crumb['toolCallId'])
            most = max(most, len(opened))
        if not opened:
            return j if most > 1 else i
    return len(records) if most > 1 else i


def region_end(records, i):
    """What follows record i until there goes on side by side."""
    r = records[i]
    if r.type() == 'pipeline:step:start' and r.agent() == 'parallel':
        return step_ends(records, i)
    if r.type() == 'tool:call' and r.crumb.get('toolName') == 'core_delegate':
        return delegations_end(records, i)
    return i


def canonical(records):
    out, i = [], 0
    while i < len(records):
        end = region_end(records, i)
        out.append(records[i])
        i += 1
        if end <= i:
            continue
        inner, i = records[i:end], end
        failures = [r for r in inner if r.failure]
        for r in failures:  # it names who happened to be last
            r.edit(r'"(agentId|runId)":"[^"]*"', r'"\1":"<last>"')
        out += grouped([r for r in inner if not r.failure]) + failures
    return out


def concurrent(scenario):
    def steps(s):
        return s.get('type') == 'parallel' or any(steps(x) for x in s.get('steps', []))
    return any(steps(s) for p in scenario.get('pipelines', {}).values() for s in p)


def encloses(outer, inner):
    return inner.startswith(outer + ':')


def faults(records):
    """What of our own stream breaks a causal point: steps lie in each other, and the run of
    an agent in a step of that agent."""
    out, begun, ended, running = [], {}, set(), {}
    for r in records:
        t, run, agent = r.type(), r.run(), r.agent()
        if t == 'pipeline:step:start':
            out += [f'{run} starts after {o} has ended' for o in ended if encloses(o, run)]
            begun[run] = agent
        elif t == 'pipeline:step:end':
            out += [f'{run} ends before {i} has' for i in begun if i not in ended and encloses(run, i)]
            if running.get(agent, 0) > 0 and list(begun.values()).count(agent) == 1:
                out.append(f'{run} ends before the run of "{agent}" has')
            ended.add(run)
        elif t == 'agent:run:start':
            running[agent] = running.get(agent, 0) + 1
            if begun and agent not in begun.values() and 'map' not in begun.values():
                out.append(f'a run of "{agent}" starts before a step of it')
        elif t in ('agent:run:end', 'agent:error'):
            running[agent] = running.get(agent, 0) - 1
    return out
