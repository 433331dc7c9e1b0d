# SPDX-License-Identifier: MIT
"""C23: any JSON passes through input, crumb, store, replay, tools and session unchanged."""
import random
from wire import *

MODELS = {'call': {'when': [{'match': {'role': 'tool'}, 'stream': [{'text': 'done'}]},
                            {'stream': [{'tool_call': {'id': 'c1', 'name': 'tool_same', 'raw_args': '{{input}}'}}]}]},
          'hi': {'when': [{'stream': [{'text': 'ok'}]}]},
          'say': {'when': [{'stream': [{'text': '{{input}}', 'each': 'char'}]}]},
          'out': {'when': [{'generate_text': '{{input}}'}]}}
AGENTS = {'call': 'call', 'hi': 'hi', 'say': 'say', 'out': {'model': {'provider': 's', 'model': 'out'}, 'output': {'format': 'json'}, 'outputSchema': {}}}
TOOLS = {'call': {'same': {'description': 'its arguments', 'schema': {'type': 'object'}, 'command': ['/bin/cat']}}}

VALUES = ['1e400', '-1e400', '1E+2', '1e-400', '-0', '-0.0', '0.1000', '1.0', '123456789012345678901234567890', '9007199254740993', '0.30000000000000004', '-1',
          r'"\u0000"', r'"\ud800"', r'"\udc00\ud800"', r'"a\u0000b\u0000"', r'"\u2028\u2029"', '"\u2028"', r'"\/\b\f\n\r\t\"\\"', '"\x7f"', '"🍞é\ufeff\uffff"', '""', '[]', '{}', 'true', 'false',
          '[null,[null,[]],{}]', '{"":null}', r'{"\u0000":1,"\ud800":2}', '{"__proto__":1,"constructor":2,"toString":3}', '{"2":1,"1":2,"b":3,"a":4}', '{"a":1,"a":2}', '{"a":{"b":1},"a":{"c":2},"a":3}',
          '[' * 400 + ']' * 400, '{"a":' * 300 + '1' + '}' * 300, '"' + 'x' * 200_000 + '"', '[' + ','.join(['1'] * 50_000) + ']', '"data: x\\n\\nevent: y"', r'"id: 5\r\n\r\n"', '"</script><!--"', "\"' or 1=1--\""]


def raw_input(line):
    """What stands behind "input": in a crumb's line, up to the number of the crumb."""
    at = line.index(b'"input":') + 8
    return line[at:line.rindex(b',"seq":')].decode()


def test_input():
    for store in ('sqlite', 'memory'):
        with serving(MODELS, AGENTS, TOOLS, {'store': store if store == 'memory' else {'type': 'sqlite', 'path': 'x.db', 'sync': 'normal'}}) as s:
            for v in VALUES:
                body = b'{"input":' + v.encode() + b'}'
                for h in ({'Accept': 'application/x-ndjson'}, {'Accept': 'text/event-stream'}):
                    t = s.stream('/agents/hi/run', body, headers=h)
                    crumbs = list(t.crumbs())
                    run, session = crumbs[0]['runId'], crumbs[0]['sessionId']
                    line = next(l for l in t.raw.split(b'\n') if b'run:start' in l)
                    live = raw_input(line[:-1])
                    u = s.stream(f'/runs/{run}/stream', headers=h)
                    list(u.crumbs())
                    replay = raw_input(next(l for l in u.raw.split(b'\n') if b'run:start' in l)[:-1])
                    one = raw_input(s.get(f'/runs/{run}/crumbs/1')[2])
                    if not (live == replay == one == v):
                        check(f'{store}: {v[:40]} is the same live, in the replay and alone', False, (v[:100], live[:100], replay[:100], one[:100]))
                row = s.get(f'/runs/{run}')[2].decode()
                check(f'{store}: {v[:40]} passes unchanged', '"input":' + v in row, row[:300])
                content = json.loads(s.get(f'/sessions/{session}/messages')[2])[0]['content']
                is_text = v[0] == '"'
                want = json.loads(v) if is_text else v
                check(f'{store}: {v[:40]} stands in the session', content == want or content == json.dumps(want) or json.loads(content) == want, (content[:100], v[:100]))


def test_arguments_and_results():
    with serving(MODELS, AGENTS, TOOLS) as s:
        for v in VALUES:
            args = '{"v":' + v + '}'
            if len(args) > 100_000:
                continue
            t = s.stream('/agents/call/run', b'{"input":' + json.dumps(args).encode() + b'}')
            crumbs = list(t.crumbs())
            raw = t.raw.decode()
            check(f'{v[:40]}: arguments of a call', '"args":' + args in raw, (types_of(crumbs), raw[-600:]))
            check(f'{v[:40]}: the result of a tool', '"result":' + args in raw, raw[-600:])
            u = s.stream(f"/runs/{crumbs[0]['runId']}/stream")
            list(u.crumbs())
            check(f'{v[:40]}: and in the replay', '"args":' + args in u.raw.decode() and '"result":' + args in u.raw.decode())
            messages = s.get(f"/sessions/{crumbs[0]['sessionId']}/messages")[2].decode()
            check(f'{v[:40]}: and in the session', args in messages, messages[:400])


def test_output():
    with serving(MODELS, AGENTS, TOOLS) as s:
        for v in VALUES:
            if len(v) > 100_000:
                continue
            t = s.stream('/agents/out/run', b'{"input":' + json.dumps(v).encode() + b'}')
            crumbs = list(t.crumbs())
            check(f'{v[:40]}: a structured output', b'"output":' + v.encode() + b',"durationMs"' in t.raw, (t.failure, t.raw[-300:]))


def test_texts():
    with serving(MODELS, AGENTS, TOOLS) as s:
        random.seed(1)
        for i in range(40):
            v = ''.join(random.choice(['a', ' ', '\n', '\r\n', '\0', '\x1f', '"', '\\', 'é', '🍞', '\u2028', '\ufeff', '\x7f', 'data: ', '\n\n', ':', '\uffff', '👩‍👩‍👧']) for _ in range(random.randint(1, 60)))
            for h in ({'Accept': 'application/x-ndjson'}, {'Accept': 'text/event-stream'}):
                crumbs = list(s.stream('/agents/say/run', {'input': v}, headers=h).crumbs())
                log = s.log_of(crumbs[0]['runId'], headers=h)
                if not (text_of(crumbs) == text_of(log) == v == crumbs[-1]['output']):
                    check('a text of odd characters', False, (v, text_of(crumbs), text_of(log)))
        check('forty odd texts live, replayed and as the output', True)


def test_continued_session():
    """Odd values in the history do not break the next run of the session."""
    with serving(MODELS, AGENTS, TOOLS) as s:
        for i, v in enumerate(VALUES):
            body = b'{"session":{"id":"s%d"},"input":' % i + v.encode() + b'}'
            for n in range(2):
                t = s.stream('/agents/hi/run', body)
                ok = list(t.crumbs())[-1]['type'] == 'agent:run:end'
            check(f'{v[:40]}: the session goes on', ok, t.failure)
            args = '{"v":' + v + '}'
            if len(args) < 100_000:
                t = s.stream('/agents/call/run', {'session': {'id': f's{i}'}, 'input': args})
                list(t.crumbs())
                t = s.stream('/agents/call/run', {'session': {'id': f's{i}'}, 'input': args})
                check(f'{v[:40]}: with calls in it', list(t.crumbs())[-1]['type'] == 'agent:run:end', t.failure)


main(globals())
