# SPDX-License-Identifier: MIT
"""The stream of a whole tree: one order, its own numbers, a path with each crumb; whoever comes late,
comes back or falls behind sees the same."""
import random
import threading
import time
from live import slow_read
from wire import *

WORDS = ''.join(f'word{i} 🍞 ' for i in range(12))


def call(id, name, **args):
    return {'tool_call': {'id': id, 'name': name, 'args': args}}


def delegate(id, agent, input):
    return call(id, 'core_delegate', agentId=agent, input=input)


MODELS = {
    'say': {'when': [{'stream': [{'reasoning': 'let me think ', 'each': 'word', 'delay_ms': 10},
                                 {'text': WORDS, 'each': 'word', 'delay_ms': 20}]}]},
    'quick': {'when': [{'stream': [{'text': 'quick {{input}}', 'each': 'word'}]}]},
    'ask': {'when': [{'match': {'role': 'tool'}, 'stream': [{'text': 'heard {{result}}', 'each': 'word'}]},
                     {'stream': [{'text': 'I ask. '}, call('h1', 'human_ask', q='?')]}]},
    'boss': {'when': [{'match': {'role': 'tool'}, 'stream': [{'text': 'they said it', 'each': 'word', 'delay_ms': 20}]},
                      {'stream': [{'text': 'off you go ', 'each': 'word'}, delegate('d1', 'say', 'one'),
                                  delegate('d2', 'say', 'two')]}]},
    'chief': {'when': [{'match': {'role': 'tool'}, 'stream': [{'text': 'so be it', 'each': 'word'}]},
                       {'stream': [delegate('d1', 'ask', 'one'), delegate('d2', 'say', 'two')]}]},
    'flood': {'when': [{'stream': [{'load': {'n': '{{number}}', 'rate': '{{number 2}}'}}]}]},
}


def agent(model, **more):
    return {'model': {'provider': 's', 'model': model}, **more}


AGENTS = {
    'say': 'say', 'quick': 'quick', 'flood': 'flood',
    'ask': agent('ask', humanTools=[{'name': 'ask', 'description': 'asks', 'schema': {'type': 'object'}}]),
    'boss': agent('boss', supervisor={'agents': [{'agentId': 'say', 'visibility': 'passthrough'}]}),
    'shy': agent('boss', supervisor={'agents': [{'agentId': 'say', 'visibility': 'hidden'}]}),
    'chief': agent('chief', supervisor={'agents': [{'agentId': 'ask', 'visibility': 'hidden'},
                                                   {'agentId': 'say', 'visibility': 'mediate'}]}),
}


def step(id):
    return {'type': 'agent', 'agentId': id}


PIPELINES = {
    'line': [step('quick'), {'type': 'parallel', 'steps': [step('say'), step('quick'), step('boss')]}, step('quick')],
    'asking': [{'type': 'parallel', 'steps': [step('ask'), step('quick'), step('ask')]}, step('quick')],
    'floods': [{'type': 'parallel', 'steps': [step('flood')] * 3}],
}
BOTH = ({'Accept': 'application/x-ndjson'}, {'Accept': 'text/event-stream'})


def serve(**config):
    return serving(MODELS, AGENTS, {}, {'pipelines': PIPELINES, **config})


class Frame(dict):
    """A crumb with its number in the tree and its path."""
    seq, path, run = None, None, None


def tree(s, run, after=None, headers=None, query='', n=None, slow=None, **kw):
    """Frames of the tree's stream, to its end or n of them; None when it is refused."""
    h = {**(headers or {}), **({} if after is None else {'Last-Event-ID': str(after)})}
    t = s.stream(f'/runs/{run}/tree/stream{query}', headers=h, **kw)
    if t.status != 200:
        return None
    out, id = [], None
    for line in t.lines():
        if t.sse and line.startswith(b'id: '):
            id = int(line[4:])
        line = line[6:] if line.startswith(b'data: ') else line if not t.sse else b''
        if not line:
            continue
        v = json.loads(line)
        f = Frame(v['payload'] if t.sse else v['crumb'])
        f.seq, f.path = (id, v['path']) if t.sse else (v['seq'], v['path'])
        f.run = f.get('runId') if t.sse else v['runId']
        out.append(f)
        if len(out) == n:
            break
        if slow:
            time.sleep(slow)
    t.close()
    return out


def is_delta(f):
    return f['type'] in ('text:delta', 'reasoning:delta')


def durable(frames):
    return [(f.seq, f['type'], '/'.join(f.path), f['runId']) for f in frames if not is_delta(f)]


def texts(frames):
    out = {}
    for f in frames:
        if is_delta(f):
            k = ('/'.join(f.path), f['type'])
            out[k] = out.get(k, '') + f['delta']
    return out


def same(name, got, want):
    ok = got is not None and durable(got) == durable(want) and texts(got) == texts(want)
    if not ok and got and durable(got) == durable(want):
        a, b = texts(got), texts(want)
        return check(name, False, [(k, len(a.get(k, '')), len(v)) for k, v in b.items() if a.get(k) != v])
    return check(name, ok, got and (durable(got), durable(want)))


def ended(s, path, body=None):
    """A run that has ended, and its tree."""
    first = next(s.stream(path, body or {'input': 'x'}, timeout=30).crumbs())
    rows = wait_for(lambda: [r for r in s.json('/runs?limit=1000') if 'parentId' not in r][:1])
    run = rows[0]['id'] if first else None
    s.ended(run, 20)
    return run, tree(s, run)


COMPOSED = ('/pipelines/line/run', '/agents/boss/run', '/agents/shy/run')


def test_order_and_paths():
    with serve() as s:
        for path in COMPOSED:
            run, log = ended(s, path)
            equal(f'{path}: numbers without a hole', [f.seq for f in log], list(range(1, len(log) + 1)))
            equal(f'{path}: begins with its root', (log[0]['type'], len(log[0].path), log[0]['runId']), ('agent:run:start', 1, run))
            equal(f'{path}: ends with its root', (log[-1]['type'], len(log[-1].path), log[-1]['runId']), ('agent:run:end', 1, run))
            rows = s.json(f'/runs/{run}')
            equal(f'{path}: the row says where it ends', rows['treeSeq'], len(log))
            for f in log:
                own = [g['seq'] for g in log if g.run == f.run]
                # what a pipeline says of its steps goes by the steps' names
                if f['agentId'] in AGENTS and ':' not in f.run and own != list(range(1, len(own) + 1)):
                    check(f'{path}: each run has its own numbers too', False, own)
                    break
            same(f'{path}: SSE says the same', tree(s, run, headers=BOTH[1]), log)


def test_every_number():
    with serve() as s:
        for path in COMPOSED:
            run, log = ended(s, path)
            head = log[-1].seq
            for h in BOTH:
                bad = [n for n in range(head + 1)
                       if [f.seq for f in tree(s, run, n, h)] != (list(range(n + 1, head + 1)) or [head])]
                equal(f'{path}: from every number the rest', bad, [])
            for after in (head + 1, head + 1000, 2 ** 53, '-1', 'x', '1.5'):
                status, _, body = s.get(f'/runs/{run}/tree/stream?after={after}')
                equal(f'{path}: after={after} is refused', (status, error_of(body)[0]), (400, 'INVALID_CURSOR'))


def test_any_run_of_it():
    with serve() as s:
        run, log = ended(s, '/pipelines/line/run')
        ids = {f.run for f in log if ':' not in f.run}
        check('there are several runs', len(ids) > 5, ids)
        for id in ids:
            same(f'the tree of {id[-4:]} is the root\'s', tree(s, id), log)


def test_alone():
    """A run that is alone is a tree of one: the numbers of its own log."""
    with serve() as s:
        run, log = ended(s, '/agents/say/run')
        equal('its path is its agent', {tuple(f.path) for f in log}, {('say',)})
        equal('its numbers are its own', [(f.seq, f['seq']) for f in log], [(i, i) for i in range(1, len(log) + 1)])
        live = s.stream('/agents/say/run', {'input': 'x'})
        run = live.until('agent:run:start')['runId']
        got = tree(s, run, headers=BOTH[1])
        same('also while it is live', got, tree(s, run))


def test_refused():
    with serve() as s:
        run, _ = ended(s, '/agents/boss/run')
        status, _, body = s.get(f'/runs/{run}/tree/stream?exact=1')
        check('exact is refused with a reason', status == 400 and 'exact' in error_of(body)[1], body)
        for id in ('nope', 'x' * 129, 'a%20b'):
            status, _, body = s.get(f'/runs/{id}/tree/stream')
            equal(f'{id[:9]} is not known', (status, error_of(body)[0]), (404, 'RUN_NOT_FOUND'))


def test_random_moments():
    """Viewers that come at any moment, also inside a window, see all of it once."""
    random.seed(11)
    with serve() as s:
        for path in COMPOSED:
            live = s.stream(path, {'input': 'x'}, timeout=30)
            next(live.crumbs())
            run = wait_for(lambda: [r for r in s.json('/runs?status=running&limit=1000') if 'parentId' not in r])[0]['id']
            views, threads = [], []

            def view(delay, h):
                time.sleep(delay)
                views.append(tree(s, run, headers=h, timeout=30))
            for i in range(24):
                threads.append(threading.Thread(target=view, args=(random.random(), random.choice(BOTH))))
                threads[-1].start()
            list(live.crumbs())
            for t in threads:
                t.join()
            log = tree(s, run)
            bad = [v for v in views if v is None or durable(v) != durable(log) or texts(v) != texts(log)]
            check(f'{path}: twenty-four viewers at random moments', not bad, bad and (durable(bad[0]), durable(log)))


def test_reconnecting():
    """Cut again and again while it is live: numbered crumbs once, no text lost."""
    with serve() as s:
        for path in COMPOSED:
            live = s.stream(path, {'input': 'x'}, timeout=30)
            next(live.crumbs())
            run = wait_for(lambda: [r for r in s.json('/runs?status=running&limit=1000') if 'parentId' not in r])[0]['id']
            got, last, cuts, n = [], 0, 0, 1
            while cuts < 400:
                part = tree(s, run, last, n=n, timeout=30)
                cuts += 1
                got += part
                end = part[-1]
                if end['type'] == 'agent:run:end' and len(end.path) == 1:
                    break
                # with the number of a delta its window comes again: then more must be taken
                n = 1 + cuts % 7 if end.seq > last else 2 * n
                last = end.seq
            log = tree(s, run)
            want = durable(log)
            equal(f'{path}: over {cuts} connections each once', durable(got), want)


def test_humans():
    """It stays open while somebody is asked, and shows what is hidden from the supervisor's caller."""
    with serve() as s:
        for path, count in (('/agents/chief/run', 1), ('/pipelines/asking/run', 2)):
            list(s.stream(path, {'input': 'x'}).crumbs())
            run = s.json('/runs?status=suspended&limit=1000')
            run = next(r for r in run if 'parentId' not in r)['id']
            waiting = s.json(f'/checkpoints?run={run}')
            equal(f'{path}: so many are asked', len(waiting), count)
            views = []
            threads = [threading.Thread(target=lambda h=h: views.append(tree(s, run, headers=h, timeout=30))) for h in BOTH]
            for t in threads:
                t.start()
            for c in waiting:
                list(s.stream(f"/resume/{c['checkpointId']}", {'response': 'yes'}, timeout=20).crumbs())
            equal(f'{path}: it ends', s.ended(run, 20), 'completed')
            for t in threads:
                t.join()
            log = tree(s, run)
            for v in views:
                same(f'{path}: who waited saw the rest', v, log)
            asked = [f for f in log if f['type'] == 'human:required']
            equal(f'{path}: each question is told once, where it was asked', (len(asked), {f['agentId'] for f in asked}), (count, {'ask'}))


def test_after_a_restart():
    folder = project(MODELS, AGENTS, {}, {'pipelines': PIPELINES})
    s = Server(folder)
    run, log = ended(s, '/pipelines/line/run')
    list(s.stream('/pipelines/asking/run', {'input': 'x'}).crumbs())
    open_run = next(r for r in s.json('/runs?status=suspended') if 'parentId' not in r)['id']
    half = s.json(f'/runs/{open_run}')['treeSeq']
    s.stop()
    s = Server(folder)
    same('the same from the log', tree(s, run), log)
    out = []
    t = threading.Thread(target=lambda: out.append(tree(s, open_run, half, timeout=30)))
    t.start()
    for c in s.json(f'/checkpoints?run={open_run}'):
        list(s.stream(f"/resume/{c['checkpointId']}", {'response': 'yes'}, timeout=20).crumbs())
    t.join()
    whole = tree(s, open_run)
    same('and goes on behind its number', out[0], [f for f in whole if f.seq > half])
    s.stop()
    shutil.rmtree(folder, ignore_errors=True)


def parse_tree(data):
    class Nothing:
        def recv(self, n):
            return b''
    a = Answer(Nothing(), rest=data)
    out = []
    for line in b''.join(a.pieces()).split(b'\n'):
        if line:
            v = json.loads(line)
            f = Frame(v['crumb'])
            f.seq, f.path, f.run = v['seq'], v['path'], v['runId']
            out.append(f)
    return out, a.clean


def test_slow_viewer():
    """One that falls behind reads on from the log of the tree: nothing missing, nothing twice."""
    with serve() as s:
        live = s.stream('/pipelines/floods/run', {'input': '8000 4000'}, timeout=60)
        next(live.crumbs())
        run = wait_for(lambda: [r for r in s.json('/runs?status=running') if 'parentId' not in r])[0]['id']
        data = slow_read(s, run, 2_000_000, path='/tree/stream')
        list(live.crumbs())
        log = tree(s, run, timeout=30)
        got, clean = parse_tree(data)
        check('it came to its end', clean, data[-200:])
        same('and is the log', got, log)
        equal('the floods are whole', sorted(len(v) for v in texts(log).values()), [160000] * 3)


def slow_post(s, path, body, rate):
    """The answer of a POST, read slowly out of a small buffer."""
    c = socket.socket()
    c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    c.connect(('127.0.0.1', s.port))
    c.settimeout(20 * SLOW)
    c.sendall(request('POST', path, body))
    data = b''
    while not data.endswith(b'\r\n0\r\n\r\n'):
        part = c.recv(rate // 20)
        if not part:
            break
        data += part
        time.sleep(len(part) / rate)
    c.close()
    return data


def test_slow_caller():
    """The caller of a composition, too: what it falls behind in it gets from the log."""
    from live import parse
    with serve() as s:
        data = slow_post(s, '/pipelines/floods/run', {'input': '8000 0'}, 2_000_000)
        run = next(r for r in s.json('/runs') if 'parentId' not in r)['id']
        got, clean = parse(data)
        check('the answer came to its end', clean, data[-300:])
        want, have = {}, {}
        for f in tree(s, run, timeout=30):
            if f['type'] == 'text:delta':
                want[f['runId']] = want.get(f['runId'], '') + f['delta']
        for c in got:
            if c['type'] == 'text:delta':
                have[c['runId']] = have.get(c['runId'], '') + c['delta']
        equal('all the text of all three', {k: len(v) for k, v in have.items()}, {k: len(v) for k, v in want.items()})
        equal('each in its order', have, want)
        kinds = [c['type'] for c in got if not c.is_delta]
        equal('steps and runs are told once', (kinds.count('agent:run:start'), kinds.count('agent:run:end'),
                                               kinds.count('pipeline:step:start')), (3, 3, kinds.count('pipeline:step:end')))


def test_previews():
    """A crumb that is too large names where it stands whole, also the step of a pipeline."""
    models = {'big': {'when': [{'stream': [{'text': 'x' * 9000}]}]}}
    with serving(models, {'big': 'big'}, {}, {'pipelines': {'p': [step('big')]}, 'server': {'maxEventBytes': 4096}}) as s:
        list(s.stream('/pipelines/p/run', {'input': 'x'}).crumbs())
        run = next(r for r in s.json('/runs') if 'parentId' not in r)['id']
        for query in ('', '?full=1'):
            cut = [f for f in tree(s, run, query=query) if f.get('truncated')]
            equal(f'so many are cut{query}', bool(cut), not query)
            for f in cut:
                status, _, body = s.get(f['ref'])
                equal(f"{f['type']} is there whole", (status, json.loads(body).get('type')), (200, f['type']))


if __name__ == '__main__':
    main(globals())
