# SPDX-License-Identifier: MIT
"""C10, C12: cancelling at every phase; what a session looks like afterwards."""
import os
import socket
import struct
import threading
import time
from wire import *

PAIR = [{'tool_call': {'id': 'c1', 'name': 'tool_sleep', 'args': {}}}, {'tool_call': {'id': 'c2', 'name': 'tool_family', 'args': {}}}]
MODELS = {
    'wait': {'when': [{'before_ms': 60000, 'stream': [{'text': 'never'}]}]},
    'talk': {'when': [{'stream': [{'text': 'one '}, {'text': 'two '}, {'hang': True}]}]},
    'flow': {'when': [{'stream': [{'load': {'n': 1000000, 'rate': 20000}}]}]},
    'think': {'when': [{'stream': [{'reasoning': 'hm '}, {'hang': True}]}]},
    'write': {'when': [{'stream': [{'tool_input': {'id': 'c1', 'name': 'tool_sleep', 'chunks': ['{"a":', '1'] + [' '] * 500, 'delay_ms': 20}}]}]},
    'tools': {'when': [{'match': {'role': 'tool'}, 'stream': [{'text': 'done'}]}, {'stream': PAIR}]},
    'deaf': {'when': [{'stream': [{'text': 'a '}, {'tool_call': {'id': 'c1', 'name': 'tool_deaf', 'args': {}}}]}]},
    'retry': {'when': [{'throw': 'again', 'retryable': True, 'kind': 'server'}]},
    'ask': {'when': [{'match': {'role': 'tool'}, 'stream': [{'text': 'thanks'}]},
                     {'stream': [{'tool_call': {'id': 'h1', 'name': 'human_ask', 'args': {}}}]}]},
    'quick': {'when': [{'stream': [{'text': 'ok'}]}]},
    'bad': {'when': [{'throw': 'no'}]},
    'boss': {'when': [{'match': {'role': 'tool', 'failed': True}, 'stream': [{'text': 'it was called off'}]},
                      {'stream': [{'tool_call': {'id': 'd1', 'name': 'core_delegate', 'args': {'agentId': 'talk', 'input': 'x'}}}]}]},
}
AGENTS = {**{k: k for k in MODELS},
          'retry': {'model': {'provider': 's', 'model': 'retry'}, 'errorHandling': {'retry': {'attempts': 10, 'backoffMs': 20000}}},
          'ask': {'model': {'provider': 's', 'model': 'ask'}, 'humanTools': [{'name': 'ask', 'schema': {'type': 'object'}}]},
          'boss': {'model': {'provider': 's', 'model': 'boss'}, 'supervisor': {'agents': [{'agentId': 'talk'}]}},
          'short': {'model': {'provider': 's', 'model': 'wait'}, 'maxTime': '700ms'}}
FAMILY = '''
import subprocess
inner = "import os,signal,time\\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\\nopen('%s/kid', 'w').write(str(os.getpid()))\\ntime.sleep(600)" % os.environ['FOLDER']
p = subprocess.Popen(['/usr/bin/python3', '-c', inner])
open(os.environ['FOLDER'] + '/parent', 'w').write(str(os.getpid()))
p.wait()
'''
DEAF = '''
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open(os.environ['FOLDER'] + '/deaf', 'w').write(str(os.getpid()))
for i in range(6000):
 print(json.dumps(i), flush=True); time.sleep(.1)
'''
SLEEP = tool('open(os.environ["FOLDER"] + "/sleep", "w").write(str(os.getpid()))\ntime.sleep(600)')
TOOLS = {'tools': {'sleep': SLEEP, 'family': tool(FAMILY)}, 'write': {'sleep': SLEEP},
         'deaf': {'deaf': tool(DEAF, stream=True)}}


def serve(**config):
    return serving(MODELS, AGENTS, TOOLS, config)


def messages(s, session):
    return json.loads(s.get(f'/sessions/{session}/messages')[2])


def unpaired(messages):
    """Calls without a result behind them, and results without a call before them."""
    calls, wrong = [], []
    for m in messages:
        parts = m['content'] if isinstance(m['content'], list) else json.loads(m['content']) if m['content'][:1] == '[' else []
        for p in parts if isinstance(parts, list) else []:
            if p.get('type') == 'tool-call':
                calls.append(p['toolCallId'])
            elif p.get('type') == 'tool-result':
                wrong += [p['toolCallId']] if p['toolCallId'] not in calls else []
                calls = [c for c in calls if c != p['toolCallId']]
    return calls + wrong


def cancel_at(s, agent, ready, name):
    """Starts, waits until ready(stream), cancels; checks the end of it."""
    stream = s.stream(f'/agents/{agent}/run', {'input': 'x'}, timeout=15)
    run = stream.take(1)[0]['runId']
    viewer = s.stream(f'/runs/{run}/stream')
    ready(stream)
    t0 = time.monotonic()
    status, _, body = s.post(f'/runs/{run}/cancel')
    equal(f'{name}: taken', (status, body), (200, b'{"ok":true}'))
    s.ended(run)
    took = time.monotonic() - t0  # (what was said before may take us longer to read)
    check(f'{name}: over within 2 s', took < 2 * SLOW, took)
    end = stream.until('agent:error')
    equal(f'{name}: RUN_CANCELLED', end and end['error']['code'], 'RUN_CANCELLED')
    list(stream.crumbs())
    equal(f'{name}: told as the failure, too', stream.failure and stream.failure['code'], 'RUN_CANCELLED')
    seen = list(viewer.crumbs())
    equal(f'{name}: a viewer sees the end', seen[-1]['type'], 'agent:error')
    equal(f'{name}: its row', wait_for(lambda: s.status(run) == 'cancelled'), True)
    for _ in range(2):
        status, _, body = s.post(f'/runs/{run}/cancel')
        v = json.loads(body)
        equal(f'{name}: again changes nothing and says what it ended as', (status, v.get('status')), (404, 'cancelled'))
    log = s.log_of(run)
    equal(f'{name}: the log ends with it', log[-1]['type'], 'agent:error')
    history = messages(s, log[0]['sessionId'])
    equal(f'{name}: every call has its result', unpaired(history), [])
    return log, history


def test_phases():
    with serve() as s:
        pause = lambda ms: lambda _: time.sleep(ms / 1000)
        cancel_at(s, 'wait', pause(0), 'at once')
        cancel_at(s, 'wait', pause(300), 'while the model is silent')
        log, history = cancel_at(s, 'talk', lambda t: t.take(2), 'in the middle of a text')
        equal('partial text is kept, marked', (text_of(log), 'one two ' in json.dumps(history), 'interrupted' in json.dumps(history)),
              ('one two ', True, True))
        cancel_at(s, 'flow', lambda t: t.take(3000), 'in a flood')
        cancel_at(s, 'think', lambda t: t.take(1), 'while it thinks')
        cancel_at(s, 'write', lambda t: t.until('tool:input:delta'), 'while arguments stream')
        cancel_at(s, 'retry', pause(300), 'between two attempts')


def pid_of(s, name):
    path = f'{s.folder}/{name}'
    text = wait_for(lambda: os.path.exists(path) and open(path).read(), 10)
    return int(text) if text else None


def test_tools():
    with serve() as s:
        pids = []

        def ready(t):
            t.until('tool:call')
            pids.extend(pid_of(s, n) for n in ('sleep', 'parent', 'kid'))
        cancel_at(s, 'tools', ready, 'during tools')
        for pid, who in zip(pids, ('the tool', 'the other tool', 'its child, deaf to SIGTERM,')):
            check(f'{who} is gone', wait_for(lambda: gone(pid), 3), pid)
        pids.clear()

        def partials(t):
            t.until('tool:result:partial')
            pids.append(pid_of(s, 'deaf'))
        log, _ = cancel_at(s, 'deaf', partials, 'during a streaming tool that ignores SIGTERM')
        check('it is killed', wait_for(lambda: gone(pids[0]), 3))
        equal('no result came late', [c for c in log if c['type'] == 'tool:result'], [])


def test_suspended_and_ended():
    with serve() as s:
        first = s.run('ask', 'x')
        run, checkpoint = first[0]['runId'], first[-1]['checkpointId']
        viewer = s.stream(f'/runs/{run}/stream')
        status, _, body = s.post(f'/runs/{run}/cancel')
        equal('a suspended run is cancelled', (status, body), (200, b'{"ok":true}'))
        equal('its row', wait_for(lambda: s.status(run) == 'cancelled'), True)
        got = list(viewer.crumbs())
        equal('its viewer sees the end', (got[-1]['type'], got[-1].get('error', {}).get('code')), ('agent:error', 'RUN_CANCELLED'))
        t = s.stream(f'/resume/{checkpoint}', {'response': 1})
        list(t.crumbs())
        check('its checkpoint is released', t.status == 404 or t.failure['code'] in ('CHECKPOINT_NOT_FOUND', 'CHECKPOINT_CLAIMED'),
              (t.status, t.failure))
        equal('pairs in its session', unpaired(messages(s, first[0]['sessionId'])), [])
        run = s.run('quick', 'x')[0]['runId']
        status, _, body = s.post(f'/runs/{run}/cancel')
        equal('a completed one says so', (status, json.loads(body).get('status')), (404, 'completed'))
        equal('and stays', s.status(run), 'completed')
        run = s.run('bad', 'x')[0]['runId']
        equal('a failed one, too', json.loads(s.post(f'/runs/{run}/cancel')[2]).get('status'), 'failed')
        for id in ('nope', '%ff', 'x' * 500, 'a%20b'):
            status, _, body = s.post(f'/runs/{id}/cancel')
            equal(f'unknown {id[:20]}', (status, error_of(body)[1]), (404, 'Run not found or not cancelable'))


def test_many_at_once():
    """Twenty cancels of one run from as many connections, while it floods."""
    with serve() as s:
        stream = s.stream('/agents/flow/run', {'input': 'x'}, timeout=20)
        run = stream.take(500)[0]['runId']
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(s.post(f'/runs/{run}/cancel')[0])) for _ in range(20)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        check('each was answered', len(answers) == 20 and set(answers) <= {200, 404} and 200 in answers, answers)
        list(stream.crumbs())
        log = s.log_of(run)
        equal('one end in the log', [c['type'] for c in log].count('agent:error'), 1)


def test_submit_and_cancel_at_once():
    """Every moment of a run's youth: cancel as soon as the id is known."""
    with serve() as s:
        bad = []
        for i in range(40):
            run = s.submit(('wait', 'tools', 'ask', 'quick')[i % 4], 'x')
            s.post(f'/runs/{run}/cancel')
            status = s.ended(run, 5)
            if not status:
                bad.append((i, run, s.status(run)))
                continue
            log = s.log_of(run)
            if status not in ('cancelled', 'completed') or log[-1]['type'] not in ('agent:error', 'agent:run:end'):
                bad.append((i, run, status, log[-1:]))
        equal('each has ended', bad, [])
        time.sleep(.5)
        equal('none is left running', [r['id'] for r in s.json('/runs?status=running')], [])


def test_cancel_as_it_suspends():
    """A cancel that meets a run on its way to its human is not forgotten."""
    with serve() as s:
        left = []

        def one(n):
            for i in range(25):
                t = s.stream('/agents/ask/run', {'input': 'x'})
                run = t.take(1)[0]['runId']
                time.sleep(((n * 25 + i) % 12) / 4000)
                status = s.post(f'/runs/{run}/cancel')[0]
                if status != 200 or s.ended(run, 3) != 'cancelled':
                    left.append((n, i, run, status, s.status(run)))
                t.close()
        threads = [threading.Thread(target=one, args=(n,)) for n in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        equal('a hundred and fifty cancelled around their suspension', left, [])


def test_below_from_elsewhere():
    """One run of a tree, asked for at a server that has not got it: the others go on."""
    with serve() as s:
        other = Server(s.folder)
        for killed in (False, True):
            s.stream('/agents/boss/run', {'input': 'x'}).take(1)
            below = wait_for(lambda: s.json('/runs?status=running&agent=talk'))[0]
            wait_for(lambda: s.json(f"/runs/{below['id']}")['seq'])
            equal('the wish is taken', other.post(f"/runs/{below['id']}/cancel")[0], 200)
            if killed:  # perhaps before it has heard
                s.proc.kill()
            equal('it ends', other.ended(below['id'], 2 if not killed else 10), 'cancelled')
            equal('the one above goes on', other.ended(below['rootId']), 'completed')
            equal('and was told', other.json(f"/runs/{below['rootId']}")['output'], 'it was called off')
            log = other.log_of(below['id'])
            equal('the end is the last of it', (log[-1]['type'], log[-1]['error']['code']), ('agent:error', 'RUN_CANCELLED'))
            if killed:
                s.proc.wait()
                s.__init__(s.folder, s.port)
        check('the other one goes in peace', other.stop() in (0, 143))


def test_longest_time():
    with serve() as s:
        t0 = time.monotonic()
        got = s.run('short', 'x')
        equal('a run has a longest time', got[-1].get('error', {}).get('code'), 'RUN_TIMEOUT')
        check('and keeps it', time.monotonic() - t0 < 3 * SLOW)
    with serve(limits={'runTime': '600ms'}) as s:
        equal('also that of the server', s.run('talk', 'x')[-1].get('error', {}).get('code'), 'RUN_TIMEOUT')
    with serve(limits={'firstByte': '400ms'}) as s:
        got = s.run('wait', 'x')
        check('a model that does not begin', got[-1]['type'] == 'agent:error', got[-1])
    with serve(limits={'silence': '400ms'}) as s:
        got = s.run('talk', 'x')
        check('a model that stops', got[-1]['type'] == 'agent:error' and text_of(got) == 'one two ', got[-1])


def test_dropped_connection():
    """Whoever goes away does not take the run along."""
    with serve() as s:
        for way in ('close', 'reset'):
            t = s.stream('/agents/tools/run', {'input': 'x'})
            run = t.take(1)[0]['runId']
            if way == 'reset':
                t.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            t.close()
            time.sleep(.3)
            equal(f'{way}: it goes on', s.status(run), 'running')
            s.post(f'/runs/{run}/cancel')
            equal(f'{way}: until it is cancelled', s.ended(run), 'cancelled')


main(globals())
