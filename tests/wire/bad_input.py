# SPDX-License-Identifier: MIT
"""Every field of every request and file: wrong type, missing, too long, NUL, no UTF-8, deep,
huge. The answer names the field and the remedy, nothing is lost, the server lives."""
import subprocess
import tempfile
import time
from wire import *

MODELS = {'hi': {'when': [{'stream': [{'text': 'hello'}]}]},
          'ask': {'when': [{'match': {'role': 'tool'}, 'stream': [{'text': 'thanks'}]},
                           {'stream': [{'tool_call': {'id': 'h1', 'name': 'human_ask', 'args': {}}}]}]}}
AGENTS = {'hi': 'hi', 'strict': {'model': {'provider': 's', 'model': 'hi'}, 'inputSchema': {
              'type': 'object', 'required': ['name'], 'properties': {'name': {'type': 'string', 'maxLength': 10}, 'n': {'type': 'integer', 'minimum': 0},
                                                                     'list': {'type': 'array', 'items': {'type': 'string'}}}, 'additionalProperties': False}},
          'ask': {'model': {'provider': 's', 'model': 'ask'}, 'humanTools': [{'name': 'ask', 'schema': {'type': 'object'}}]}}
RUN, SUBMIT = '/agents/hi/run', '/agents/hi/runs'

WRONG = {'number': 5, 'true': True, 'list': ['a'], 'object': {'a': 1}, 'list of null': [None]}
STRANGE = {'NUL': 'a\0b', 'too long': 'x' * 129, 'far too long': 'x' * 100_000, 'half a pair': '\ud800', 'blank': 'a b', 'slash': 'a/b', 'quote': "a'--",
           'newline': 'a\nb', 'not ASCII': 'ü'}


def serve(**config):
    return serving(MODELS, AGENTS, config=config)


def refused(name, answer, *words, status=400):
    got, headers, body = answer
    code, message = error_of(body)
    whole = f'{code} {message}'
    check(f'{name}: {status}, names {", ".join(words)}', got == status and message and all(w in whole for w in words), (got, body[:300]))


def failure(s, body, path=RUN, **kw):
    t = s.stream(path, body, **kw)
    crumbs = list(t.crumbs())
    return t, crumbs


def test_session():
    with serve() as s:
        for path in (RUN, SUBMIT):
            for name, v in WRONG.items():
                refused(f'{path} session.id {name}', s.post(path, {'input': 'x', 'session': {'id': v}}), 'session.id', 'string')
                if name != 'object':
                    refused(f'{path} session.tags {name}', s.post(path, {'input': 'x', 'session': {'tags': v}}), 'session.tags', 'object')
                    refused(f'{path} tags {name}', s.post(path, {'input': 'x', 'tags': v}), 'tags', 'object')
                refused(f'{path} session.tags.a {name}', s.post(path, {'input': 'x', 'session': {'tags': {'a': v}}}), 'session.tags.a', 'string')
                refused(f'{path} tags.a {name}', s.post(path, {'input': 'x', 'tags': {'a': v}}), 'tags.a', 'string')
                refused(f'{path} skill {name}', s.post(path, {'input': 'x', 'skill': v}), 'skill', 'string')
                refused(f'{path} ifBusy {name}', s.post(path, {'input': 'x', 'ifBusy': v}), 'ifBusy', 'queue', 'interrupt', 'reject')
            refused(f'{path} ifBusy unknown', s.post(path, {'input': 'x', 'ifBusy': 'wait'}), 'ifBusy', 'queue', 'interrupt', 'reject')
            for name, v in STRANGE.items():
                refused(f'{path} session.id {name}', s.post(path, {'input': 'x', 'session': {'id': v}}), 'session', '128')
            for v in ({}, {'id': None}, {'id': ''}, {'tags': None}, {'tags': {}}, {'id': 'a.B:c-d_9'}, {'x': 1}):
                equal(f'{path} session {v} is taken', s.post(path, {'input': 'x', 'session': v})[0] in (200, 202), True)
        equal('nothing was made of the refused', len(s.json('/sessions')) <= 14, True)
        long = {f'k{i}': 'v' * 1000 for i in range(200)}
        t, crumbs = failure(s, {'input': 'x', 'session': {'id': 'tagged', 'tags': {**long, 'ü🍞': 'é', 'q"\\': "'"}}})
        equal('many and odd tags are kept', s.json('/sessions/tagged')['tags'], {**long, 'ü🍞': 'é', 'q"\\': "'"})
        equal('a tag is found', [x['id'] for x in s.json('/sessions?tag=%C3%BC%F0%9F%8D%9E:%C3%A9')], ['tagged'])


def test_body():
    with serve() as s:
        deep = lambda n: b'{"input":' + b'[' * n + b']' * n + b'}'
        for path in (RUN, SUBMIT, '/agents/ask/run'):
            refused(f'{path} nested 100,000 deep', s.post(path, deep(100_000)), 'deep')
            refused(f'{path} nested 600 deep', s.post(path, deep(600)), 'deep')
            for name, raw in (('an input that is no UTF-8', b'{"input":"a\xff"}'), ('half a character', b'{"input":"\xf0\x9f\x8d"}'),
                              ('an overlong character', b'{"input":"\xc0\xaf"}'), ('a surrogate in UTF-8', b'{"input":"\xed\xa0\x80"}')):
                refused(f'{path} {name}', s.post(path, raw), 'UTF-8')
        for name, raw in (('empty', b''), ('blank', b'  '), ('text', b'hello'), ('half', b'{"input"'), ('a BOM', b'\xef\xbb\xbf{"input":"x"}'),
                          ('trailing comma', b'{"input":"x",}'), ('two values', b'{} {}'), ('single quotes', b"{'input':'x'}"), ('NaN', b'{"input":NaN}'),
                          ('a raw NUL', b'{"input":"a\0"}'), ('a raw newline', b'{"input":"a\n"}')):
            t, crumbs = failure(s, raw)
            equal(f'{name}: counts as {{}}, as ever', crumbs[0].get('input'), {})
        equal('null is 500, as ever', s.post(RUN, b'null')[0], 500)
        check('and for a submission, too', s.post(SUBMIT, b'null')[0] in (400, 500, 202))
        for raw in (b'[1]', b'5', b'"x"', b'true'):
            equal(f'{raw}: no keys', failure(s, raw)[1][0].get('input'), {})


def test_input_values():
    with serve() as s:
        deep = '[' * 500 + ']' * 500
        for raw in ('""', '0', 'false', '"\\u0000"', '"\\ud800"', '1e400', '-0', '123456789012345678901234567890', '[]', '{}', deep, '"' + 'x' * 900_000 + '"', '{"":{"":""}}'):
            t, crumbs = failure(s, b'{"input":%s}' % raw.encode())
            ok = crumbs and crumbs[-1]['type'] == 'agent:run:end'
            check(f'input {raw[:30]} runs', ok, (crumbs[-1:], t.failure))
            line = next(l for l in t.raw.split(b'\n') if b'run:start' in l)
            check(f'input {raw[:30]} comes back as it was', b'"input":' + raw.encode() in line, line[:300])
        for path, bad, at in ((b'{"name":5}', 'string', 'name'), (b'{}', 'name', ''), (b'{"name":"x","n":-1}', '0', 'n'), (b'{"name":"x","n":1.5}', 'integer', 'n'),
                              (b'{"name":"' + b'y' * 11 + b'"}', '10', 'name'), (b'{"name":"x","list":["a",5]}', 'string', 'list/1'), (b'{"name":"x","zzz":1}', 'zzz', ''),
                              (b'[]', 'object', ''), (b'null', 'name', '')):
            t, crumbs = failure(s, b'{"input":' + path + b'}', '/agents/strict/run')
            f = t.failure or {}
            check(f'inputSchema: {path[:40]} is INPUT_INVALID with the place', not crumbs and f.get('code') == 'INPUT_INVALID' and 'strict' in f.get('message', '')
                  and bad in f.get('message', '') and at in f.get('message', ''), (crumbs, f))
            status, _, body = s.post('/agents/strict/runs', b'{"input":' + path + b'}')
            equal(f'submitted: {path[:40]}', (status, error_of(body)[0]), (400, 'INPUT_INVALID'))
        equal('and makes no run', [r for r in s.json('/runs') if r['agentId'] == 'strict'], [])


def test_path_ids():
    with serve() as s:
        for id in ('nope', 'x' * 200, 'x' * 5000, '%ff%fe', '%F0%9F%8D', "a'b", 'a%22b', '%3Cscript%3E', 'a%0Ab', 'a%0D%0AX:%201', '%e2%80%a8', '%5C'):
            for h in ({'Accept': 'application/x-ndjson'}, {'Accept': 'text/event-stream'}):
                t = s.stream(f'/agents/{id}/run', {'input': 'x'}, headers=h)
                crumbs = list(t.crumbs())
                check(f'agent {id[:20]}: 200 and a failure in good JSON', t.status == 200 and not crumbs and t.failure and t.failure['code'] == 'AGENT_NOT_FOUND'
                      and b'\nX: 1' not in t.raw, (t.status, t.raw[:300], t.failure))
            equal(f'submit to {id[:20]}', (lambda a: (a[0], error_of(a[2])[0]))(s.post(f'/agents/{id}/runs', {'input': 'x'})), (404, 'AGENT_NOT_FOUND'))
            for method, path, want in (('GET', f'/agents/{id}', 404), ('GET', f'/runs/{id}', 404), ('GET', f'/sessions/{id}', 404), ('GET', f'/sessions/{id}/messages', 404),
                                       ('DELETE', f'/sessions/{id}', 200), ('POST', f'/runs/{id}/cancel', 404), ('GET', f'/runs/{id}/crumbs/1', 404), ('GET', f'/loops/{id}', 404)):
                status, headers, body = s.ask(method, path)
                good = True
                try:
                    json.loads(body)
                except ValueError:
                    good = False
                check(f'{method} {path[:40]}: {want} in good JSON', status == want and good and 'x' not in headers, (status, body[:200]))
            for path in (f'/resume/{id}', f'/pipelines/{id}/run'):
                t = s.stream(path, {'input': 'x'})
                list(t.crumbs())
                check(f'{path[:30]}: not found, in good JSON', (t.status == 200 and t.failure and t.failure['code'].endswith('NOT_FOUND')) or t.status == 404, (t.status, t.raw[:300]))


def test_resume():
    with serve() as s:
        deep = b'{"response":' + b'[' * 600 + b']' * 600 + b'}'
        for name, raw, word in (('too deep', deep, 'deep'), ('no UTF-8', b'{"response":"\xff"}', 'UTF-8')):
            cp = s.run('ask', 'x')[-1]['checkpointId']
            refused(f'/resume {name}', s.post(f'/resume/{cp}', raw), word)
            t = s.stream(f'/resume/{cp}', {'response': 'ok'})
            equal(f'/resume {name}: the checkpoint is not used up', list(t.crumbs())[-1]['type'], 'agent:run:end')
        for raw in ('"\\u0000\\ud800"', '1e400', '{"a":[1,{"b":null}]}', 'null', 'false', '""'):
            cp = s.run('ask', 'x')[-1]['checkpointId']
            t = s.stream(f'/resume/{cp}', b'{"response":%s}' % raw.encode())
            crumbs = list(t.crumbs())
            check(f'/resume response {raw} as it was', b'"response":' + raw.encode() in t.raw and crumbs[-1]['type'] == 'agent:run:end', t.raw[:500])


def test_queries_and_headers():
    with serve() as s:
        run = s.run('hi', 'x')[0]['runId']
        for q, word in (('status=nope', 'status'), ('status=RUNNING', 'status'), ('limit=0', 'limit'), ('limit=-1', 'limit'), ('limit=x', 'limit'),
                        ('limit=1.5', 'limit'), ('limit=' + '9' * 40, 'limit'), ('status=%ff', 'status'), ('before=' + 'x' * 200, 'before'), ('before=a%20b', 'before')):
            refused(f'/runs?{q[:30]}', s.get('/runs?' + q), word)
        for q in ('agent=nope', 'agent=%ff', 'agent=' + 'x' * 5000, 'session=%00'[:9], "session=a'b", 'tag=', 'tag=:', 'tag=a', 'tag=a:', 'tag=:b', 'tag=%ff:%ff', 'tag=a:b:c',
                  'tag=' + 'x' * 5000, 'unknown=1', 'limit=1', 'limit=1000000', 'status=', '&&&', '=', '%zz=1', 'agent=a&agent=b', 'tag=%5B%22a%22%5D:x', 'tag=%22:%22', 'tag=%25:_'):
            for path in ('/runs', '/sessions'):
                status, _, body = s.get(f'{path}?{q}')
                check(f'{path}?{q[:30]}: a list, or a reason', (status == 200 and isinstance(json.loads(body), list)) or (status == 400 and error_of(body)[1]), (status, body[:200]))
        for accept in ('', '*/*', 'text/html', 'application/json', 'text/event-stream;q=0', ',,,', ';;;q=', 'x' * 5000, 'text/event-stream;q=abc', b'\xff', 'text/event-stream; q=1.' + '0' * 3000,
                       'application/x-ndjson;q=0.5, text/event-stream;q=0.9'):
            status, h, _ = s.post(RUN, {'input': 'x'}, {'Accept': accept})
            want = 'text/event-stream' if accept in ('text/event-stream; q=1.' + '0' * 3000, 'application/x-ndjson;q=0.5, text/event-stream;q=0.9') else 'application/x-ndjson'
            equal(f'Accept {accept[:40]!r}', (status, h.get('content-type')), (200, want))
        for kind in ('text/plain', '', 'application/json; charset=latin-1', 'x' * 5000, b'\xff\xfe'):
            equal(f'Content-Type {kind[:30]!r} does not matter outside of browsers', s.post(RUN, b'{"input":"x"}', {'Content-Type': kind})[0], 200)
        for trace in ('', 'x', '00-' + '0' * 32 + '-' + '0' * 16 + '-01', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', 'ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
                      '00-4BF92F3577B34DA6A3CE929D0E0E4736-00F067AA0BA902B7-01', 'x' * 5000, b'\xff' * 55, '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' * 2):
            equal(f'traceparent {trace[:60]!r} hurts nobody', s.post(RUN, {'input': 'x'}, {'traceparent': trace})[0], 200)
        for v in ('1', '0', 'true', 'false', '', 'x' * 1000, '%ff'):
            for k in ('exact', 'full'):
                equal(f'?{k}={v[:9]}', s.get(f'/runs/{run}/stream?{k}={v}')[0], 200)


def test_cleanup():
    with serve() as s:
        s.run('hi', 'x', session={'id': 'keep', 'tags': {'a': 'b'}})
        for name, v in (('string', '7'), ('list', [1]), ('object', {}), ('true', True)):
            refused(f'olderThanDays {name}', s.post('/sessions/cleanup', {'olderThanDays': v}), 'olderThanDays', 'number')
        for name, v in (('list', [1]), ('string', 'a:b'), ('number', 1)):
            refused(f'tags {name}', s.post('/sessions/cleanup', {'olderThanDays': 1e-9, 'tags': v}), 'tags', 'object')
            refused(f'tags.a {name}', s.post('/sessions/cleanup', {'olderThanDays': 1e-9, 'tags': {'a': v if name != 'string' else None}}), 'tags.a', 'string')
        for raw in (b'', b'x', b'{}', b'{"olderThanDays":null}', b'{"olderThanDays":0}', b'{"olderThanDays":-5}', b'{"olderThanDays":-1e400}', b'null', b'[]',
                    b'{"olderThanDays":1e400}', b'{"olderThanDays":1e300}', b'{"olderThanDays":99999999999999999999999}', b'{"tags":{"a":"b"}}'):
            status, _, body = s.post('/sessions/cleanup', raw)
            check(f'{raw[:40]} deletes nothing', (status == 200 and json.loads(body) == {'deleted': 0}) or status == 400, (status, body))
        refused('too deep', s.post('/sessions/cleanup', b'{"olderThanDays":1,"tags":' + b'{"a":' * 600 + b'1' + b'}' * 601), 'deep')
        equal('the session is there', s.get('/sessions/keep')[0], 200)
        time.sleep(.05)
        equal('until it is meant', json.loads(s.post('/sessions/cleanup', {'olderThanDays': 1e-9, 'tags': {'a': 'b'}})[2]), {'deleted': 1})
        equal('then it is gone', s.get('/sessions/keep')[0], 404)


# ---- files ----

def start(folder):
    """(exit status, what it said): a server that must not come up; 0 when it does."""
    s = Server(folder, wait=False)
    up = wait_for(lambda: s.proc.poll() is not None or s.answers(), 10)
    if s.proc.poll() is None:
        code = 0 if up else 'hangs'
        s.stop()
    else:
        code = s.proc.wait()
    return code, s.log()


BASE = {'store': 'memory', 'transport': 'stream', 'ingress': ['http-chunked'], 'providers': {'s': {'type': 'scripted', 'models': MODELS}}}
AGENT = {'model': {'provider': 's', 'model': 'hi'}}
TOOL = {'description': 'd', 'schema': {'type': 'object'}, 'command': ['/bin/true']}


def file_refused(name, file, content, *words):
    folder = tempfile.mkdtemp(prefix='bread-wire-')
    files = {'bread.yaml': BASE, 'agents/hi/agent.yaml': AGENT, 'agents/hi/tools/t.yaml': TOOL, file: content}
    for path, v in files.items():
        if v is not None:
            put(f'{folder}/{path}', v)
    code, said = start(folder)
    last = file.split('/')[-1]
    # an agent that cannot be loaded is told and left out; the others are served
    # (with /tools/: the agent without its tool, until it is mended)
    out = code in (1, 2, 5) or (code == 0 and file != 'bread.yaml' and ('0 agent(s) loaded' in said or '/tools/' in file))
    named = last in said or file == 'bread.yaml' or f'tool "{last[:-5]}"' in said
    check(f'{file}: {name}: refused, naming {", ".join((last,) + words)}', out and named and all(w in said for w in words)
          and 'Sanitizer' not in said, (code, said[-500:]))
    shutil.rmtree(folder, ignore_errors=True)


def with_key(base, path, value):
    v = json.loads(json.dumps(base))
    at = v
    *groups, last = path.split('.')
    for g in groups:
        at = at.setdefault(g, {})
    at[last] = value
    return v


BY_TYPE = {'str': (5, ['a'], {'a': 1}, True, None), 'int': ('x', 1.5, [1], {'a': 1}, True, 10 ** 30, -5), 'time': ('5 parsecs', [1], {'a': 1}, True, -5, '1e9', 10 ** 30),
           'size': ('5 parsecs', [1], {'a': 1}, True, -5, 10 ** 30), 'bool': (5, 'maybe', [1], {'a': 1}), 'list': (5, {'a': 1}, True), 'group': (5, 'x', [1], True)}
KEYS = {
    'bread.yaml': {'server.host': 'str', 'server.port': 'int', 'server.threads': 'int', 'server.maxBodyBytes': 'size', 'server.maxConnections': 'int', 'server.maxEventBytes': 'size',
                   'server.heartbeat': 'time', 'server.stall': 'time', 'server.idleTimeout': 'int', 'server.hosts': 'list', 'server.origins': 'list', 'server.tls': 'group', 'server.tls.cert': 'str',
                   'server.tls.key': 'str', 'concurrency': 'group', 'concurrency.max': 'int', 'limits': 'group', 'limits.runTime': 'time', 'limits.toolTime': 'time', 'limits.firstByte': 'time',
                   'limits.silence': 'time', 'crumbFilter': 'group', 'log.level': 'str', 'log.json': 'bool', 'server': 'group', 'log': 'group'},
    'agents/hi/agent.yaml': {'model': 'group', 'model.provider': 'str', 'model.model': 'str', 'description': 'str', 'output': 'group', 'output.format': 'str', 'steps': 'group', 'steps.max': 'int',
                             'maxTime': 'time', 'prompt': 'str', 'tools': 'list', 'humanTools': 'list', 'errorHandling': 'group', 'errorHandling.retry': 'group',
                             'errorHandling.retry.attempts': 'int', 'errorHandling.retry.backoffMs': 'int'},
    'agents/hi/tools/t.yaml': {'description': 'str', 'stream': 'bool', 'idempotent': 'bool', 'timeout': 'time', 'errorHandling': 'group'},
}
DEFAULTS = {'bread.yaml': BASE, 'agents/hi/agent.yaml': AGENT, 'agents/hi/tools/t.yaml': TOOL}


def test_keys_of_files():
    for file, keys in KEYS.items():
        for key, kind in keys.items():
            for v in BY_TYPE[kind]:
                if (key == 'model' and isinstance(v, str)) or (key.endswith('idleTimeout') and v == 1.5):
                    continue
                if v is None or (kind == 'group' and key in ('output', 'model') and v == 'x'):
                    continue
                file_refused(f'{key} = {str(v)[:20]}', file, with_key(DEFAULTS[file], key, v), key)


def test_strange_strings_in_files():
    for file, key in (('bread.yaml', 'server.host'), ('agents/hi/agent.yaml', 'model.provider'), ('agents/hi/agent.yaml', 'description'), ('agents/hi/tools/t.yaml', 'description'),
                      ('agents/hi/agent.yaml', 'prompt'), ('agents/hi/agent.yaml', 'output.format')):
        file_refused(f'{key} with NUL', file, json.dumps(with_key(DEFAULTS[file], key, 'a\0b')), key)
        file_refused(f'{key} with half a pair', file, json.dumps(with_key(DEFAULTS[file], key, 'a\ud800')), key.split('.')[-1])
    for file, base in DEFAULTS.items():
        good = json.dumps(base)
        file_refused('an unknown key', file, with_key(base, 'zzzz', 1), 'zzzz')
        file_refused('no UTF-8', file, good.encode().replace(b'"', b'"\xff', 1), 'UTF-8')
        file_refused('cut in half', file, good[:len(good) // 2])
        file_refused('a list', file, [1])
        file_refused('a word', file, 'hello')
        file_refused('empty', file, '')
        file_refused('a tab for indentation', file, 'a:\n\tb: 1\n')
        file_refused('nested 100,000 deep', file, '{"x-a":' + '[' * 100_000 + ']' * 100_000 + '}')
        file_refused('a key twice', file, good[:-1] + ',"x-a":1,"x-a":2}', 'x-a')
        file_refused('aliases that explode', file, 'x-a: &a [x,x,x,x,x,x,x,x,x]\n' + ''.join(f'x-{chr(98 + i)}: &{chr(98 + i)} [{",".join("*" + chr(97 + i) for _ in range(9))}]\n' for i in range(9)))
        file_refused('two documents', file, good + '\n---\n' + good)
        file_refused('NUL', file, good.encode() + b'\n# \0\n')
        file_refused('a binary', file, bytes(range(256)) * 50)
    file_refused('no model', 'agents/hi/agent.yaml', {'description': 'x'}, 'model')
    file_refused('no model.model', 'agents/hi/agent.yaml', {'model': {'provider': 's'}}, 'model')
    file_refused('no command nor http', 'agents/hi/tools/t.yaml', {'description': 'x'}, 'command', 'http')
    file_refused('both', 'agents/hi/tools/t.yaml', {**TOOL, 'http': 'http://localhost/'}, 'command', 'http')
    for v in (5, [], [5], {}, {'run': 5}, {'run': []}, {'run': ['a'], 'env': 5}, {'run': ['a'], 'env': {'A': 5}}, {'run': ['a'], 'cwd': 5}, {'run': ['a'], 'zzz': 5}, ['a\0b'], {'run': ['a'], 'env': {'A=B': 'c'}}):
        file_refused(f'command {v}', 'agents/hi/tools/t.yaml', {**TOOL, 'command': v}, 'command')
    for v in (5, [], {}, 'ftp://x', '', 'http://', {'url': 5}, {'url': 'http://localhost/', 'method': 5}, {'url': 'http://localhost/', 'headers': 5}, {'url': 'http://localhost/', 'headers': {'A': 5}},
              {'url': 'http://localhost/', 'zzz': 1}, {'url': 'http://localhost/', 'headers': {'A': 'b\r\nc'}}):
        t = {k: x for k, x in TOOL.items() if k != 'command'}
        file_refused(f'http {v}', 'agents/hi/tools/t.yaml', {**t, 'http': v}, 'http')
    for v in (5, 'x', [], {'type': 'nope'}, {'type': 5}, {'$ref': 'http://evil.example/x'}, {'$ref': '#/nope'}, {'pattern': '('}, {'properties': 5}, {'maxLength': -1}):
        file_refused(f'schema {v}', 'agents/hi/tools/t.yaml', {**TOOL, 'schema': v}, 'schema')
        file_refused(f'inputSchema {v}', 'agents/hi/agent.yaml', {**AGENT, 'inputSchema': v}, 'inputSchema')
        file_refused(f'outputSchema {v}', 'agents/hi/agent.yaml', {**AGENT, 'outputSchema': v}, 'outputSchema')
    file_refused('json without outputSchema', 'agents/hi/agent.yaml', {**AGENT, 'output': {'format': 'json'}}, 'outputSchema')
    for v in (5, [5], [{}], [{'name': 5}], [{'name': 'Upper'}], [{'name': 'x' * 200}], [{'name': 'a', 'command': 'x', 'schema': 5}]):
        file_refused(f'humanTools {str(v)[:40]}', 'agents/hi/agent.yaml', {**AGENT, 'humanTools': v}, 'humanTools')
        file_refused(f'tools {str(v)[:40]}', 'agents/hi/agent.yaml', {**AGENT, 'tools': v}, 'tool')


def test_parts_of_bread_yaml():
    b = 'bread.yaml'
    for key, values in {'store': (5, [], {}, 'nope', {'type': 'nope'}, {'type': 'sqlite', 'path': 5}, {'type': 'sqlite', 'path': '/nope/x/y.db'}, {'type': 'sqlite', 'sync': 'nope'}, {'type': 'sqlite', 'zzz': 1}, {'path': 'x'}),
                        'transport': (5, [], {}, 'nope', {'type': 'nope'}), 'ingress': (5, {}, ['nope'], [5], [{}], [{'type': 'nope'}], 'nope'),
                        'providers': (5, [], 'x', {'s': 5}, {'s': {}}, {'s': {'type': 'nope'}}, {'s': []}, {'s': {'type': 'scripted', 'zzz': 1}}, {'s': {'type': 'anthropic', 'baseUrl': 5}}, {'s': {'type': 'openai', 'apiKey': 5}},
                                      {'s': {'type': 'openai', 'baseUrl': 'nope'}}, {'s': {'type': 'openai', 'headers': 5}}, {'s': {'type': 'ollama', 'firstByteMs': 'x'}}),
                        'crumbFilter': ({'drop': 5}, {'drop': ['nope']}, {'drop': [5]}, {'zzz': 1}), 'pipelines': (5, [], {'p': 5}), 'blobStore': (5, 'nope', {'type': 'nope'}, {'type': 'fs', 'dir': 5}, {'type': 'fs', 'zzz': 1}),
                        'entrypoints': (5, 'x', [5], ['../hi']), 'log': ({'level': 'nope'},)}.items():
        for v in values:
            file_refused(f'{key} = {v}', b, {**BASE, key: v}, {'blobStore': 'blob', 'providers': 'provider'}.get(key, 'agent' if key == 'entrypoints' and v in ([5], ['../hi']) else key))
    file_refused('no store', b, {k: v for k, v in BASE.items() if k != 'store'}, 'store')
    file_refused('no transport', b, {k: v for k, v in BASE.items() if k != 'transport'}, 'transport')
    for v in ({'models': 5}, {'models': []}, {'models': {'hi': 5}}, {'models': {'hi': {'calls': 5}}}, {'models': {'hi': {'when': [{'stream': 5}]}}}, {'models': {'hi': {'when': [{'stream': [{'txt': 'x'}]}]}}},
              {'models': {'hi': {'when': [{'match': {'regex': '('}, 'stream': []}]}}}, {'zzz': 1}, 5, 'x'):
        folder = {'store': 'memory', 'transport': 'stream', 'providers': {'s': {'type': 'scripted', 'file': 'models.yaml'}}}
        with tempfile.TemporaryDirectory(prefix='bread-wire-') as d:
            put(f'{d}/bread.yaml', folder)
            put(f'{d}/agents/hi/agent.yaml', AGENT)
            put(f'{d}/models.yaml', v)
            code, said = start(d)
            check(f'models.yaml: {str(v)[:60]}: refused, naming the file', code in (1, 2) and 'models.yaml' in said, (code, said[-400:]))


def test_places_of_faults():
    """File, line, column and the nearest known key."""
    folder = project(MODELS, AGENTS)
    put(f'{folder}/bread.yaml', 'store: memory\ntransport: stream\nproviders: {}\nserver:\n  prot: 5\n')
    code, said = start(folder)
    check('a slip of the pen: file, line and the nearest key', 'bread.yaml:5' in said and 'prot' in said and 'port' in said, said[-400:])
    long = f'{folder}/' + '/'.join(['d' * 60] * 4)
    os.makedirs(long)
    put(f'{long}/bread.yaml', 'store: memory\ntransport: stream\nproviders: {}\nserver: {port: x}\n')
    code, said = start(long)
    check('also in a folder with a long name', 'bread.yaml' in said and 'port' in said, said[-600:])
    r = subprocess.run([BREAD, 'config', 'check', '--cwd', folder], capture_output=True, text=True)
    check('config check says the same', r.returncode == 1 and 'bread.yaml:5' in r.stdout + r.stderr, (r.returncode, r.stdout, r.stderr))


main(globals())
