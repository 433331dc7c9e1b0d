# SPDX-License-Identifier: MIT
"""C12: one run a session, pairs in its history whatever happened, deleting cancels first."""
import contextlib
import signal
import sqlite3
import threading
from wire import *

MODELS = {
    'slow': {'when': [{'stream': [{'text': 'w{{i}} ', 'repeat': 20, 'each': 'word', 'delay_ms': 40}]}]},
    'hang': {'when': [{'stream': [{'text': 'some '}, {'hang': True}]}]},
    'tools': {'when': [{'match': {'role': 'tool'}, 'stream': [{'text': 'done {{result}}'}]},
                       {'stream': [{'text': 'calling '}, {'tool_call': {'id': 'c-{{count}}a', 'name': 'tool_nap', 'args': {'s': '{{json number 1}}'}}},
                                   {'tool_call': {'id': 'c-{{count}}b', 'name': 'tool_nap', 'args': {'s': 0}}}]}]},
    'bad': {'when': [{'stream': [{'text': 'half '}, {'error': 'broken'}]}]},
    'count': {'when': [{'stream': [{'text': '{{count}}'}]}]},
    'ask': {'when': [{'match': {'role': 'tool'}, 'stream': [{'text': 'thanks'}]}, {'stream': [{'tool_call': {'id': 'h1', 'name': 'human_ask', 'args': {}}}]}]},
}
AGENTS = {**{k: k for k in MODELS}, 'ask': {'model': {'provider': 's', 'model': 'ask'}, 'humanTools': [{'name': 'ask', 'schema': {'type': 'object'}}]}}
TOOLS = {'tools': {'nap': tool('time.sleep(args.get("s", 0))\nprint(json.dumps("napped"))')}}


def serve(**config):
    return serving(MODELS, AGENTS, TOOLS, config)


def messages(s, session):
    return json.loads(s.get(f'/sessions/{session}/messages')[2])


def unpaired(messages):
    open_calls, wrong = [], []
    for m in messages:
        parts = m['content'] if isinstance(m['content'], list) else json.loads(m['content']) if m['content'][:1] == '[' else []
        if m['role'] != 'tool' and open_calls:
            wrong += open_calls  # somebody spoke before the answers
        for p in parts:
            if p.get('type') == 'tool-call':
                open_calls.append(p['toolCallId'])
            elif p.get('type') == 'tool-result':
                if p['toolCallId'] in open_calls:
                    open_calls.remove(p['toolCallId'])
                else:
                    wrong.append(p['toolCallId'])
    return open_calls + wrong


def test_busy():
    with serve() as s:
        t = s.stream('/agents/slow/run', {'input': 'x', 'session': {'id': 'one'}})
        run = t.take(1)[0]['runId']
        for path in ('/agents/slow/run', '/agents/count/run', '/agents/count/runs'):
            status, _, body = s.post(path, {'input': 'y', 'session': {'id': 'one'}})
            code, message = error_of(body)
            check(f'{path}: 409, names the run', status == 409 and code == 'SESSION_BUSY' and run in message, (status, body))
            status, _, body = s.post(path, {'input': 'y', 'session': {'id': 'one'}, 'ifBusy': 'reject'})
            equal(f'{path}: the same when it says reject', status, 409)
        equal('another session is free', s.run('count', 'x', session={'id': 'two'})[-1]['type'], 'agent:run:end')
        list(t.crumbs())
        equal('afterwards it is free', s.run('count', 'x', session={'id': 'one'})[-1]['output'], '3')
        first = s.run('ask', 'x', session={'id': 'wait'})
        status, _, body = s.post('/agents/count/runs', {'input': 'y', 'session': {'id': 'wait'}})
        check('a suspended run is active, too', status == 409 and error_of(body)[0] == 'SESSION_BUSY' and first[0]['runId'] in body.decode(), (status, body))
        status, _, body = s.post('/agents/count/run', {'input': 'y', 'session': {'id': 'wait'}})
        check('also for a stream; the checkpoint is named', status == 409 and error_of(body)[0] == 'SESSION_BUSY' and first[-1]['checkpointId'] in body.decode(), (status, body))


def test_one_of_many():
    """Twenty start in one session at one moment: one runs, the rest are told."""
    with serve() as s:
        for session in ({'id': 'new'}, {'id': 'new'}):
            got, lock = [], threading.Lock()

            def start():
                a = s.post('/agents/slow/run', {'input': 'x', 'session': session})
                with lock:
                    got.append(a[0])
            threads = [threading.Thread(target=start) for _ in range(20)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            equal('one wins', (got.count(200), got.count(409)), (1, 19))
        equal('its history is that of two runs', [m['role'] for m in messages(s, 'new')], ['user', 'assistant'] * 2)


def test_pairs():
    with serve() as s:
        for agent, input in (('tools', 0), ('bad', 'x'), ('tools', 0), ('count', 'x')):
            s.run(agent, str(input), session={'id': 'p'})
            equal(f'{agent}: every call has its result', unpaired(messages(s, 'p')), [])
        t = s.stream('/agents/tools/run', {'input': '30', 'session': {'id': 'p'}})
        c = t.until('tool:call')
        t.until('tool:result')
        s.post(f"/runs/{c['runId']}/cancel")
        list(t.crumbs())
        equal('cancelled between two results', unpaired(messages(s, 'p')), [])
        text = json.dumps(messages(s, 'p'))
        check('the finished result is kept', 'napped' in text and 'RUN_CANCELLED' in text)
        equal('and the session goes on', s.run('count', 'x', session={'id': 'p'})[-1]['type'], 'agent:run:end')


def test_after_a_crash():
    folder = project(MODELS, AGENTS, TOOLS)
    s = Server(folder)
    runs = {}
    for agent, input in (('tools', '30'), ('hang', 'x'), ('slow', 'x'), ('ask', 'x')):
        t = s.stream(f'/agents/{agent}/run', {'input': input, 'session': {'id': agent}})
        runs[agent] = t.take(2)[0]['runId']
    wait_for(lambda: False, .3)
    s.proc.kill()
    s.proc.wait()
    s = Server(folder)
    try:
        for agent in ('tools', 'slow'):
            equal(f'{agent}: taken up and ended', s.ended(runs[agent], 20), 'completed')
            equal(f'{agent}: every call has its result', unpaired(messages(s, agent)), [])
            log = s.log_of(runs[agent])
            equal(f'{agent}: numbers without a hole', [c['seq'] for c in log], list(range(1, len(log) + 1)))
        check('the tool that was running is told as interrupted', 'TOOL_INTERRUPTED' in s.get(f"/runs/{runs['tools']}/stream")[2].decode())
        equal('the one that hangs is running again', s.status(runs['hang']), 'running')
        s.post(f"/runs/{runs['hang']}/cancel")
        equal('and can be cancelled', s.ended(runs['hang']), 'cancelled')
        equal('who waits still waits', s.status(runs['ask']), 'suspended')
        for agent in runs:
            if agent != 'ask':
                equal(f'{agent}: the session goes on', s.run('count', 'x', session={'id': agent})[-1]['type'], 'agent:run:end')
    finally:
        check('ends in peace', s.stop() in (0, 143), s.log()[-1000:])


def test_queued():
    with serve() as s:
        first = s.submit('hang', 'x', session={'id': 'q'})
        second = s.submit('count', 'x', session={'id': 'q'}, ifBusy='queue')
        equal('a run that waits is accepted at once', second and s.status(second), 'queued')
        t = s.stream(f'/runs/{second}/stream')
        equal('it can be watched meanwhile', t.status, 200)
        third = s.submit('count', 'x', session={'id': 'q'}, ifBusy='queue')
        equal('one that waits can be cancelled', s.post(f'/runs/{third}/cancel')[0], 200)
        equal('and is', s.ended(third), 'cancelled')
        s.post(f'/runs/{first}/cancel')
        equal('it begins when the other has ended', types_of(t.crumbs())[-1], 'agent:run:end')
        equal('and completes', s.ended(second), 'completed')


def test_delete():
    with serve() as s:
        for agent, after in (('hang', 2), ('tools', 3), ('slow', 4)):
            t = s.stream(f'/agents/{agent}/run', {'input': '30', 'session': {'id': f'd-{agent}'}})
            run = t.take(after)[0]['runId']
            status, _, body = s.ask('DELETE', f'/sessions/d-{agent}')
            equal(f'{agent}: deleted while it runs', (status, body), (200, b'{"ok":true}'))
            list(t.crumbs())
            equal(f'{agent}: its stream was told', t.failure and t.failure['code'], 'RUN_CANCELLED')
            for path in (f'/sessions/d-{agent}', f'/sessions/d-{agent}/messages', f'/runs/{run}', f'/runs/{run}/stream', f'/runs/{run}/crumbs/1'):
                equal(f'{agent}: {path[:12]}… is gone', s.get(path)[0], 404)
        cp = s.run('ask', 'x', session={'id': 'd-ask'})[-1]['checkpointId']
        s.ask('DELETE', '/sessions/d-ask')
        t = s.stream(f'/resume/{cp}', {'response': 1})
        list(t.crumbs())
        equal('a checkpoint goes with its session', t.status, 404)
        equal('no run is left', s.json('/runs'), [])
        equal('twice is fine', s.ask('DELETE', '/sessions/d-ask')[0], 200)
        equal('the id can be used again', s.run('count', 'x', session={'id': 'd-hang'})[-1]['output'], '1')


SUPERVISOR = {'boss': {'model': {'provider': 's', 'model': 'boss'}, 'supervisor': {'agents': [{'agentId': 'hang'}, {'agentId': 'ask'}]}}}
BOSS = {'boss': {'when': [{'match': {'role': 'tool', 'failed': True}, 'stream': [{'text': 'it failed'}]},
                          {'match': {'role': 'tool'}, 'stream': [{'text': 'done'}]},
                          {'stream': [{'tool_call': {'id': 'd1', 'name': 'core_delegate', 'args': {'agentId': '{{input}}', 'input': 'x'}}}]}]}}


def with_child(s, agent, n):
    """A supervisor's stream and the first crumb of the run that it waits for."""
    t = s.stream('/agents/boss/run', {'input': agent, 'session': {'id': f't{n}'}})
    for c in t.crumbs():
        if c['type'] == 'agent:run:start' and c['agentId'] == agent:
            return t, c


def test_delete_trees():
    """A session goes with the whole tree of its runs, at work or waiting; a run below ends for itself."""
    with serving({**MODELS, **BOSS}, {**AGENTS, **SUPERVISOR}, TOOLS) as s:
        for n, agent in enumerate(('hang', 'ask')):
            t, child = with_child(s, agent, n)
            if agent == 'ask':
                rest = list(t.crumbs())
                question = [c for c in rest if c['type'] == 'human:required'][0]
                status, _, body = s.post('/agents/count/run', {'input': 'x', 'session': {'id': f't{n}'}})
                check('the refusal names the question below', status == 409 and question['checkpointId'] in body.decode(), body)
            equal(f'{agent}: the root\'s session is deleted', s.ask('DELETE', f'/sessions/t{n}')[0], 200)
            list(t.crumbs())
            for path in (f"/sessions/{child['sessionId']}", f"/runs/{child['runId']}", f'/sessions/t{n}'):
                equal(f'{agent}: {path[:12]}… went with it', s.get(path)[0], 404)
        equal('no run is left', (s.json('/runs'), s.json('/checkpoints')), ([], []))
        for n, agent in enumerate(('hang', 'ask')):
            t, child = with_child(s, agent, n)
            if agent == 'ask':
                list(t.crumbs())
            equal(f'{agent}: the session below is deleted', s.ask('DELETE', f"/sessions/{child['sessionId']}")[0], 200)
            equal(f'{agent}: its run is gone', s.get(f"/runs/{child['runId']}")[0], 404)
            root = [r for r in s.json('/runs') if r['agentId'] == 'boss' and r['sessionId'] == f't{n}'][0]['id']
            equal(f'{agent}: the root goes on, and is told', (s.ended(root), s.json(f'/runs/{root}').get('output')), ('completed', 'it failed'))
            equal(f'{agent}: pairs in its session', unpaired(messages(s, f't{n}')), [])


def test_delete_below_pipeline():
    """Runs of a pipeline that waits: one of them deleted, all of it cancelled."""
    pipelines = {'p': [{'type': 'parallel', 'steps': [{'type': 'agent', 'agentId': 'ask'}, {'type': 'agent', 'agentId': 'ask'}]}]}
    with serve(pipelines=pipelines) as s:
        for what in ('delete', 'cancel'):
            got = list(s.stream('/pipelines/p/run', {'input': 'x'}).crumbs())
            root = got[0]['rootRunId']
            child = [c for c in got if c['type'] == 'agent:run:start'][0]
            if what == 'delete':
                equal('the session of one is deleted', s.ask('DELETE', f"/sessions/{child['sessionId']}")[0], 200)
            else:
                equal('the whole is cancelled', s.post(f'/runs/{root}/cancel')[0], 200)
            equal(f'{what}: it ends', s.ended(root), 'failed' if what == 'delete' else 'cancelled')
            equal(f'{what}: nothing waits', s.json('/checkpoints'), [])
            equal(f'{what}: nothing is open', [r['status'] for r in s.json('/runs') if r['status'] in ('running', 'suspended')], [])


def test_delete_while_starting():
    """Deleted at any moment of a run's youth: nothing of it comes back."""
    with serve() as s:
        for i in range(30):
            run = s.submit('slow', 'x', session={'id': f'r{i}'})
            equal_status = s.ask('DELETE', f'/sessions/r{i}')[0]
            if equal_status != 200:
                check('deleted', False, equal_status)
        wait_for(lambda: False, 1.2)
        equal('nothing is left of thirty', (s.json('/sessions'), s.json('/runs')), ([], []))


def test_concurrency():
    with serve(concurrency={'max': 3}) as s:
        live = [s.stream('/agents/slow/run', {'input': 'x'}) for _ in range(3)]
        for t in live:
            t.take(1)
        t = s.stream('/agents/count/run', {'input': 'x'})
        list(t.crumbs())
        equal('the fourth is refused', t.failure['code'], 'CONCURRENCY_LIMIT')
        status, h, _ = s.post('/agents/count/runs', {'input': 'x'})
        equal('submitted: 429 and when to come back', (status, 'retry-after' in h), (429, True))
        for t in live:
            list(t.crumbs())
        equal('then there is room', s.run('count', 'x')[-1]['type'], 'agent:run:end')


def seed(folder, session, said):
    """Writes messages as the original does; said: (role, content)."""
    with contextlib.closing(sqlite3.connect(f'{folder}/bread.db')) as db:
        db.execute('INSERT INTO sessions (id, created_at, updated_at, tags) VALUES (?, 1, 1, "{}")', (session,))
        for i, (role, content) in enumerate(said):
            db.execute('INSERT INTO session_messages (id, session_id, role, content, timestamp) VALUES (?, ?, ?, ?, ?)',
                       (f'{session}-{i}', session, role, json.dumps(content), 1000 + i // 2))
        db.commit()


def call(id):
    return {'type': 'tool-call', 'toolCallId': id, 'toolName': 'tool_t', 'input': {}}


def result(id):
    return {'type': 'tool-result', 'toolCallId': id, 'toolName': 'tool_t', 'output': {'type': 'text', 'value': 'ok'}}


def asked(folder):
    """The roles and calls of the last prompt that a model was given."""
    with open(f'{folder}/calls.jsonl') as f:
        prompt = json.loads(f.readlines()[-1])['prompt']
    return [(m['role'], [p['toolCallId'] for p in m['content'] if isinstance(p, dict) and 'toolCallId' in p]) for m in prompt]


def test_repair():
    """A session that others left with calls that have no result."""
    provider = {'s': {'type': 'scripted', 'models': MODELS, 'record': 'calls.jsonl'}}
    with serve(providers=provider) as s:
        seed(s.folder, 'open', [('user', 'x'), ('assistant', [call('a'), call('b')]), ('tool', [result('b')]), ('user', 'y'),
                                ('assistant', [call('c')])])
        equal('a run goes on from it', s.run('count', 'z', session={'id': 'open'})[-1]['type'], 'agent:run:end')
        equal('what the model was given', asked(s.folder), [
            ('user', []), ('assistant', ['a', 'b']), ('tool', ['b', 'a']), ('user', []),
            ('assistant', ['c']), ('tool', ['c']), ('user', [])])
        got = messages(s, 'open')
        equal('what the session has', ([m['role'] for m in got], unpaired(got)),
              (['user', 'assistant', 'tool', 'tool', 'user', 'assistant', 'tool', 'user', 'assistant'], []))
        s.run('count', 'z', session={'id': 'open'})
        equal('it is repaired once', len(messages(s, 'open')), len(got) + 2)
        seed(s.folder, 'late', [('user', 'x'), ('assistant', [call('a')]), ('user', 'y'), ('assistant', 'hm'), ('tool', [result('a')])])
        s.run('count', 'z', session={'id': 'late'})
        equal('a late result comes behind its call', asked(s.folder), [
            ('user', []), ('assistant', ['a']), ('tool', ['a']), ('user', []), ('assistant', []), ('user', [])])
        equal('and stays where it is', [m['role'] for m in messages(s, 'late')], ['user', 'assistant', 'user', 'assistant', 'tool', 'user', 'assistant'])
        seed(s.folder, 'ask', [('user', 'x'), ('assistant', [call('a')])])
        cp = s.run('ask', 'z', session={'id': 'ask'})[-1]['checkpointId']
        got = list(s.stream(f'/resume/{cp}', {'response': 1}).crumbs())
        equal('a run that waits goes on from it', got[-1]['type'], 'agent:run:end')
        equal('with the same history', asked(s.folder), [('user', []), ('assistant', ['a']), ('tool', ['a']), ('user', []), ('assistant', ['h1']), ('tool', ['h1'])])


def test_answered_while_others_work():
    """A run below is put aside and goes on before its tree leaves memory."""
    models = {**MODELS, 'nap': {'when': [{'before_ms': 800, 'stream': [{'text': 'late'}]}]}}
    pipelines = {'p': [{'type': 'parallel', 'steps': [{'type': 'agent', 'agentId': 'ask'}, {'type': 'agent', 'agentId': 'nap'}]}]}
    with serving(models, {**AGENTS, 'nap': 'nap'}, TOOLS, {'pipelines': pipelines, 'providers': {
            's': {'type': 'scripted', 'models': models, 'record': 'calls.jsonl'}}}) as s:
        t = s.stream('/pipelines/p/run', {'input': 'x'})
        question = t.until('human:required')
        got = list(s.stream(f"/resume/{question['checkpointId']}", {'response': 1}).crumbs())
        equal('it ends with the others', got[-1].get('output'), ['thanks', 'late'])
        equal('the model was given all that was said', asked(s.folder), [('user', []), ('assistant', ['h1']), ('tool', ['h1'])])
        equal('and the session has it', unpaired(messages(s, question['sessionId'])), [])


def answer(s, checkpoint):
    with contextlib.suppress(ConnectionError):
        return s.stream(f'/resume/{checkpoint}', {'response': 1})


def again(s, wait=True):
    later = Server(s.folder, wait=wait)
    s.proc, s.log_file, s.port = later.proc, later.log_file, later.port


def test_answered_while_taken_up():
    """The server is killed while one slot works and one waits; the answer comes when it is just up again
    and the slot ends at once."""
    pipelines = {'p': [{'type': 'parallel', 'steps': [{'type': 'agent', 'agentId': 'ask'}, {'type': 'agent', 'agentId': 'nap'}]}]}
    agents = {**AGENTS, 'nap': 'nap'}

    def models(ms):
        return {**MODELS, 'nap': {'when': [{'before_ms': ms, 'stream': [{'text': 'late'}]}]}}
    with serving(models(10000), agents, TOOLS, {'pipelines': pipelines}) as s:
        for i in range(8):
            question = s.stream('/pipelines/p/run', {'input': 'x'}).until('human:required')
            s.stop(signal.SIGKILL)
            project(models(i * 4), agents, TOOLS, {'pipelines': pipelines}, s.folder)
            again(s, wait=False)
            got = list(wait_for(lambda: answer(s, question['checkpointId']), step=0.001).crumbs())
            equal('its stream goes on to the end', got and got[-1].get('output'), ['thanks', 'late'])
            s.stop()
            project(models(10000), agents, TOOLS, {'pipelines': pipelines}, s.folder)
            again(s)


main(globals())
