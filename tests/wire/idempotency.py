# SPDX-License-Identifier: MIT
"""C13: a request with an Idempotency-Key counts once, over restarts and between processes."""
import threading
from wire import *

MODELS = {'count': {'when': [{'stream': [{'text': 'n{{count}} ', 'each': 'word', 'delay_ms': 20}]}]},
          'ask': {'when': [{'match': {'role': 'tool'}, 'stream': [{'text': 'thanks'}]},
                           {'stream': [{'tool_call': {'id': 'h1', 'name': 'human_ask', 'args': {}}}]}]}}
AGENTS = {'count': 'count', 'ask': {'model': {'provider': 's', 'model': 'ask'}, 'humanTools': [{'name': 'ask'}]}}
CONFIG = {'pipelines': {'p': [{'type': 'agent', 'agentId': 'count'}]}}


def keyed(key):
    return {'Idempotency-Key': key}


def serve():
    return serving(MODELS, AGENTS, {}, CONFIG)


def once(s, path, body, key):
    t = s.stream(path, body, keyed(key))
    return t.status, list(t.crumbs())


def whole(crumbs):
    """What a stream says, however its deltas are cut."""
    return types_of(crumbs), text_of(crumbs), [c['runId'] for c in crumbs if not c.is_delta]


def test_runs():
    with serve() as s:
        for path in ('/agents/count/run', '/pipelines/p/run'):
            body = {'input': 'x'}
            status, first = once(s, path, body, 'k1')
            equal(f'{path}: a stream', (status, first[-1]['type'] in ('agent:run:end', 'pipeline:step:end')), (200, True))
            _, again = once(s, path, body, 'k1')
            equal(f'{path}: again, it is the same from the start', whole(again), whole(first))
            status, _, got = s.post(path, {'input': 'y'}, keyed('k1'))
            equal(f'{path}: something else is refused', (status, error_of(got)[0]), (409, 'IDEMPOTENCY_CONFLICT'))
            _, other = once(s, path, body, 'k2')
            check(f'{path}: another key is another run', whole(other)[2] != whole(first)[2])


def test_submit():
    with serve() as s:
        body = {'input': 'x', 'session': {'id': 'one'}}
        first = s.post('/agents/count/runs', body, keyed('k'))
        again = s.post('/agents/count/runs', body, keyed('k'))
        equal('the same id', (again[0], again[1]['location'], again[2]), (202, first[1]['location'], first[2]))
        run = json.loads(first[2])['runId']
        status, got = once(s, '/agents/count/run', body, 'k')
        equal('its stream is had with the same key', (status, got[0]['runId'], got[-1]['type']), (200, run, 'agent:run:end'))
        equal('there is one run', len(s.json('/runs')), 1)


def test_keys():
    with serve() as s:
        for key, what in (('', 'empty'), ('a b', 'a blank'), ('k' * 256, 'too long'), ('caf\xe9'.encode('latin-1'), 'not ASCII')):
            for path in ('/agents/count/run', '/agents/count/runs', '/pipelines/p/run', '/resume/x'):
                status, _, got = s.post(path, {'input': 'x'}, keyed(key))
                equal(f'{path}, a key that is {what}', (status, error_of(got)[0]), (400, 'IDEMPOTENCY_KEY_INVALID'))
        equal('nothing was started', s.json('/runs'), [])
        equal('the longest', s.post('/agents/count/runs', {'input': 'x'}, keyed('k' * 255))[0], 202)


def test_at_once():
    """Twenty at one moment, half of them to another process on the same store."""
    with serve() as s:
        other = Server(s.folder)
        try:
            for session in ({}, {'session': {'id': 'conv'}}):
                got, gate, key = [], threading.Barrier(20), 'at-once' + str(len(session))

                def send(i):
                    server = (s, other)[i % 2]
                    gate.wait()
                    status, _, body = server.post('/agents/count/runs', {'input': 'x', **session}, keyed(key), timeout=30)
                    got.append((status, body))
                threads = [threading.Thread(target=send, args=(i,)) for i in range(20)]
                for t in threads:
                    t.start()
                for t in threads:
                    t.join()
                check(f'one run for all {session}', len(set(got)) == 1 and got[0][0] == 202, set(got))
                check('it ends', s.ended(json.loads(got[0][1])['runId']))
            equal('two in all', len(s.json('/runs')), 2)
        finally:
            other.stop()


def test_restart():
    with serve() as s:
        run = json.loads(s.post('/agents/count/runs', {'input': 'x'}, keyed('k'))[2])['runId']
        s.ended(run)
        s.stop(signal.SIGKILL)
        later = Server(s.folder)
        try:
            status, _, got = later.post('/agents/count/runs', {'input': 'x'}, keyed('k'))
            equal('after a restart it is the same', (status, json.loads(got)['runId']), (202, run))
        finally:
            s.proc, s.log_file = later.proc, later.log_file


def test_resume():
    with serve() as s:
        first = s.run('ask', 'x')
        path = f"/resume/{first[-1]['checkpointId']}"
        _, answered = once(s, path, {'response': 1}, 'k')
        equal('goes on', types_of(answered), ['human:resumed', 'text:delta', 'agent:run:end'])
        _, again = once(s, path, {'response': 1}, 'k')
        equal('again: the stream from the answer on', whole(again), whole(answered))
        status, _, got = s.post(path, {'response': 2}, keyed('k'))
        equal('another answer', (status, error_of(got)[0]), (409, 'IDEMPOTENCY_CONFLICT'))
        status, _, got = s.post(path, {'response': 1})
        equal('without the key it was answered before', (status, error_of(got)[0]), (409, 'CHECKPOINT_CLAIMED'))


main(globals())
