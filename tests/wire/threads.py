# SPDX-License-Identifier: MIT
"""Several loops: runs on one, viewers, cancels and deletes on others."""
import random
import threading
import time
from wire import *

MODELS = {'slow': {'when': [{'stream': [{'text': 'w{{i}} ', 'repeat': 40, 'each': 'word', 'delay_ms': 10}]}]},
          'hang': {'when': [{'stream': [{'text': 'x '}, {'hang': True}]}]},
          'flood': {'when': [{'stream': [{'load': {'n': 8000, 'rate': 8000}}]}]},
          'tools': {'when': [{'match': {'role': 'tool'}, 'stream': [{'text': 'ok'}]}, {'stream': [{'tool_call': {'id': 'c', 'name': 'tool_t', 'args': {}}}, {'tool_call': {'id': 'd', 'name': 'tool_t', 'args': {}}}]}]},
          'ask': {'when': [{'match': {'role': 'tool'}, 'stream': [{'text': 'thanks'}]}, {'stream': [{'tool_call': {'id': 'h1', 'name': 'human_ask', 'args': {}}}]}]}}
AGENTS = {**{k: k for k in MODELS}, 'ask': {'model': {'provider': 's', 'model': 'ask'}, 'humanTools': [{'name': 'ask', 'schema': {'type': 'object'}}]}}
TOOLS = {'tools': {'t': tool('time.sleep(.1)\nprint(1)')}}


def serve():
    return serving(MODELS, AGENTS, TOOLS, {'server': {'threads': 4}})


def each(fns):
    threads = [threading.Thread(target=fn) for fn in fns]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def test_viewers_elsewhere():
    with serve() as s:
        for agent in ('slow', 'flood'):
            live = s.stream(f'/agents/{agent}/run', {'input': 'x'}, timeout=30)
            run = live.take(1)[0]['runId']
            texts = []

            def view(i):
                time.sleep(i * .02)
                q = ('', '?exact=1')[i % 2]
                got = list(s.stream(f'/runs/{run}/stream{q}', timeout=30).crumbs())
                texts.append((text_of(got), [c['type'] for c in got if not c.is_delta], got[-1]['seq']))
            each([lambda i=i: view(i) for i in range(24)])
            whole = text_of(live.crumbs())
            equal(f'{agent}: twenty-four viewers over four loops saw the same', {(len(t), t == whole, tuple(k)) for t, k, _ in texts}, {(len(whole), True, ('agent:run:start', 'agent:run:end'))})


def test_cancel_across():
    with serve() as s:
        bad = []

        def one(i):
            t = s.stream('/agents/hang/run', {'input': 'x'})
            run = t.take(2)[0]['runId']
            t0 = time.monotonic()
            s.post(f'/runs/{run}/cancel')
            end = t.until('agent:error')
            list(t.crumbs())
            if not end or end['error']['code'] != 'RUN_CANCELLED' or time.monotonic() - t0 > 2 * SLOW or s.status(run) != 'cancelled':
                bad.append((i, end, time.monotonic() - t0))
        each([lambda i=i: one(i) for i in range(40)])
        equal('forty runs cancelled from other loops', bad, [])
        run = s.submit('hang', 'x')
        got = []
        each([lambda: got.append(s.post(f'/runs/{run}/cancel')[0])] * 30)
        equal('thirty cancels of one at one moment', set(got) <= {200, 404} and s.ended(run), 'cancelled')


def test_everything_at_once():
    """Runs, viewers, cancels, deletes and answers from all sides; then nothing is left running."""
    random.seed(5)
    with serve() as s:
        trouble = []

        def worker(n):
            r = random.Random(n)
            try:
                for i in range(12):
                    what = r.choice(('run', 'view', 'cancel', 'delete', 'ask', 'drop', 'list'))
                    agent = r.choice(('slow', 'tools', 'flood', 'hang')) if what in ('cancel', 'delete', 'drop') else r.choice(('slow', 'tools'))
                    session = {'id': f's-{n}-{i}'}
                    if what == 'run':
                        if s.run(agent, 'x')[-1]['type'] != 'agent:run:end':
                            trouble.append((n, i, what))
                    elif what == 'ask':
                        cp = s.run('ask', 'x')[-1]['checkpointId']
                        answers = []
                        each([lambda: answers.append([c['type'] for c in s.stream(f'/resume/{cp}', {'response': 1}).crumbs()][-1:])] * 3)
                        if answers.count(['agent:run:end']) != 1:
                            trouble.append((n, i, answers))
                    elif what == 'list':
                        s.json('/runs?limit=50')
                        s.json('/sessions')
                        s.get('/metrics')
                    else:
                        run = s.submit(agent, 'x', session=session)
                        if what == 'view':
                            got = list(s.stream(f'/runs/{run}/stream').crumbs())
                            if got[-1]['type'] != 'agent:run:end':
                                trouble.append((n, i, what, got[-1]))
                        elif what == 'cancel':
                            s.post(f'/runs/{run}/cancel')
                        elif what == 'delete':
                            s.ask('DELETE', f"/sessions/{session['id']}")
                        else:
                            t = s.stream(f'/runs/{run}/stream')
                            t.take(1)
                            t.close()
                            s.post(f'/runs/{run}/cancel')
            except Exception as e:
                trouble.append((n, repr(e)[:300]))
        each([lambda n=n: worker(n) for n in range(16)])
        equal('no trouble', trouble[:3], [])
        left = wait_for(lambda: not s.json('/runs?status=running'), 10)
        check('nothing is left running', left, s.json('/runs?status=running'))


def test_one_session_from_all_loops():
    with serve() as s:
        got = []
        each([lambda: got.append(s.post('/agents/slow/run', {'input': 'x', 'session': {'id': 'one'}}, timeout=20)) for _ in range(24)])
        ran = [a for a in got if a[0] == 200 and b'agent:run:end' in a[2]]
        told = [a for a in got if a[0] == 409 or b'SESSION_BUSY' in a[2]]
        equal('one runs, twenty-three are told', (len(ran), len(told)), (1, 23))


main(globals())
