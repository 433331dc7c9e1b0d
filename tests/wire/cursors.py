# SPDX-License-Identifier: MIT
"""C3, C5: every cursor has one outcome, and none of them is a silent open stream."""
import time
from urllib.parse import quote
from wire import *

MODELS = {
    'mixed': {'calls': [], 'when': [
        {'match': {'role': 'tool'}, 'stream': [{'text': 'After the tool: ünïcode 🍞 done.', 'each': 'word'}]},
        {'stream': [{'reasoning': 'think it through', 'each': 'word'}, {'text': 'Let me look. ', 'each': 'word'},
                    {'tool_call': {'id': 'c1', 'name': 'tool_look', 'args': {'a': 1}}}]}]},
    'woven': {'when': [{'stream': [
        {'reasoning': 'r1 🧠 '}, {'text': 'a🍞b '}, {'reasoning': 'r2 '}, {'text': '🍞🍞 '},
        {'reasoning': 'r3 é'}, {'text': 'c ', 'delay_ms': 400}, {'text': 'end 🍞'}]}]},
    'slow': {'when': [{'stream': [{'text': 'w{{i}} ', 'repeat': 30, 'each': 'word', 'delay_ms': 100}]}]},
    'ask': {'when': [{'match': {'role': 'tool'}, 'stream': [{'text': 'thanks'}]},
                     {'stream': [{'tool_call': {'id': 'h1', 'name': 'human_ask', 'args': {'q': '?'}}}]}]},
}
AGENTS = {'mixed': 'mixed', 'woven': 'woven', 'slow': 'slow',
          'ask': {'model': {'provider': 's', 'model': 'ask'}, 'humanTools': [
              {'name': 'ask', 'description': 'asks', 'schema': {'type': 'object'}}]}}
TOOLS = {'mixed': {'look': tool('print(json.dumps({"seen": args}))')}}
BOTH = ({'Accept': 'application/x-ndjson'}, {'Accept': 'text/event-stream'})

BAD = ['-1', '-0', '1.5', '1e0', '0x1', ' ', 'abc', '1 ', '+1', '99999999999999999999', '1.', '.1', '1..2',
       '1.2.3.4', 'NaN', 'null', '٣', '1,2', '0' * 400 + '1x', '18446744073709551616', '"1"', '1;', '%31']


def name_of(h):
    return 'sse' if 'event' in h['Accept'] else 'ndjson'


def serve():
    return serving(MODELS, AGENTS, TOOLS)


def test_ended():
    with serve() as s:
        first = s.run('mixed', 'go')
        run, head = first[0]['runId'], first[-1]['seq']
        log = s.log_of(run)
        equal('the log is numbered without a hole', [c['seq'] for c in log], list(range(1, head + 1)))
        equal('replayed text is live text', text_of(log), text_of(first))
        equal('so is the reasoning', text_of(log, 'reasoning:delta'), text_of(first, 'reasoning:delta'))
        for h in BOTH:
            for after in range(head + 1):
                t = s.stream(f'/runs/{run}/stream?after={after}', headers=h)
                got = [c['seq'] for c in t.crumbs()]
                want = list(range(after + 1, head + 1)) or [head]
                if got != want or not t.clean:
                    check(f'after {after} of {head}, {name_of(h)}', False, (got, want))
            check(f'every number of an ended run gives the rest, {name_of(h)}', True)
            for after in (head + 1, head + 1000, 2 ** 53):
                status, _, body = s.get(f'/runs/{run}/stream?after={after}', h)
                equal(f'{after} is above the head, {name_of(h)}', (status, error_of(body)[0]), (400, 'INVALID_CURSOR'))


def test_bad():
    with serve() as s:
        run = s.run('mixed', 'go')[0]['runId']
        for raw in BAD:
            for exact in ('', '&exact=1') if raw != '1.5' else ('',):
                status, headers, body = s.get(f'/runs/{run}/stream?after={quote(raw)}{exact}')
                equal(f'after={raw[:30]!r}{exact} is refused', (status, headers.get('content-type'), error_of(body)[0]),
                      (400, 'application/json', 'INVALID_CURSOR'))
            if raw.strip() != raw or '%' in raw or ord(max(raw)) > 126:
                continue
            status, _, body = s.get(f'/runs/{run}/stream?after=1', {'Last-Event-ID': raw})
            equal(f'Last-Event-ID {raw[:30]!r} is refused, whatever the query', (status, error_of(body)[0]),
                  (400, 'INVALID_CURSOR'))
        status, _, body = s.get(f'/runs/{run}/stream?after=1.2')
        equal('an offset is for ?exact=1 alone', status, 400)
        for raw in (b'\xff\xfe', b'1\x7f', b'\xc3\xa9'):
            status, _, body = s.get(f'/runs/{run}/stream', {'Last-Event-ID': raw})
            check(f'Last-Event-ID {raw!r} is refused in good JSON', status == 400 and error_of(body)[0], (status, body))
        for raw in ('%00', '%ff%fe', '1%00', '1%0d%0aX:%20y'):
            status, headers, body = s.get(f'/runs/{run}/stream?after={raw}')
            check(f'after={raw} is refused in good JSON', status == 400 and error_of(body)[0] == 'INVALID_CURSOR'
                  and 'x' not in headers, (status, body))


def test_which_cursor():
    with serve() as s:
        crumbs = s.run('mixed', 'go')
        run, head = crumbs[0]['runId'], crumbs[-1]['seq']

        def seqs(path, headers=None):
            return [c['seq'] for c in s.stream(f'/runs/{run}/stream{path}', headers=headers).crumbs()]
        equal('the header wins over the query', seqs('?after=1', {'Last-Event-ID': '3'}), list(range(4, head + 1)))
        equal('and over a bad query', seqs('?after=zzz', {'Last-Event-ID': '3'}), list(range(4, head + 1)))
        equal('an empty header is none', seqs('?after=2', {'Last-Event-ID': ''}), list(range(3, head + 1)))
        equal('a header of blanks is none', seqs('?after=2', {'Last-Event-ID': '   '}), list(range(3, head + 1)))
        equal('an empty query is none', seqs('?after='), list(range(1, head + 1)))
        equal('no cursor is all', seqs(''), list(range(1, head + 1)))
        equal('the name of the header has no case', seqs('', {'lAST-eVENT-iD': '3'}), list(range(4, head + 1)))


def test_unknown():
    with serve() as s:
        for id in ('nope', '01a22d1f-8fb5-700e-bbe3-29d9aac6623b', 'x' * 128, 'x' * 129, 'x' * 5000, 'a%20b',
                   '..%2f..', "a'%20or%201=1--", '%ff', '%f0%9f%8d%9e', 'a%0d%0ab', '-', '~'):
            for h in BOTH:
                for q in ('', '?after=5', '?exact=1'):
                    t0 = time.monotonic()
                    status, headers, body = s.get(f'/runs/{id}/stream{q}', h)
                    ok = status == 404 and error_of(body)[0] == 'RUN_NOT_FOUND' and time.monotonic() - t0 < 3 * SLOW
                    if not check(f'unknown run {id[:30]}{q} is 404 at once, {name_of(h)}', ok, (status, body)):
                        return


def test_live():
    with serve() as s:
        live = s.stream('/agents/slow/run', {'input': 'x'})
        run = live.until('agent:run:start')['runId']
        for after, want in ((1, 200), (0, 200), (1000, 400), (2 ** 50, 400)):
            t0 = time.monotonic()
            t = s.stream(f'/runs/{run}/stream?after={after}')
            equal(f'after={after} on a live run', t.status, want)
            check('answered at once', time.monotonic() - t0 < 2.5 * SLOW, time.monotonic() - t0)
            t.close()
        equal('the run went on', text_of(live.crumbs()), ''.join(f'w{i} ' for i in range(1, 31)))


def test_suspended():
    with serve() as s:
        first = s.run('ask', 'x')
        run, head = first[0]['runId'], first[-1]['seq']
        equal('it waits for a human', first[-1]['type'], 'human:required')
        t = s.stream(f'/runs/{run}/stream?after={head}')
        equal('a suspended run is followed from its head', t.status, 200)
        u = s.stream(f'/runs/{run}/stream')
        u.take(head)
        resumed = list(s.stream(f"/resume/{first[-1]['checkpointId']}", {'response': {'a': 1}}).crumbs())
        equal('who waited sees the rest', [c['seq'] for c in t.crumbs() if not c.is_delta],
              [c['seq'] for c in resumed if not c.is_delta])
        equal('so does who read it all', types_of(u.crumbs()), types_of(resumed))
        status, _, body = s.get(f'/runs/{run}/stream?after={resumed[-1]["seq"] + 1}')
        equal('above the head', status, 400)


def test_event_source():
    """As a browser does: cut anywhere, come back with the last id; durable crumbs once, text never lost."""
    with serve() as s:
        crumbs = s.run('mixed', 'go')
        run = crumbs[0]['runId']
        for n in range(1, 12):
            got, last = [], ''
            for _ in range(50):
                t = s.stream(f'/runs/{run}/stream', headers={'Accept': 'text/event-stream', 'Last-Event-ID': last})
                part = t.take(n)
                t.close()
                got += part
                last = part[-1].id
                if part[-1]['type'] == 'agent:run:end':
                    break
            equal(f'reconnecting after every {n}: each once', [c['seq'] for c in got], list(range(1, len(got) + 1)))


def exact_rest(s, run, at):
    t = s.stream(f'/runs/{run}/stream?exact=1', headers={'Last-Event-ID': at, 'Accept': 'application/x-ndjson'})
    if t.status != 200:
        return None
    return list(t.crumbs())


def whole_text(v):
    return v.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace') == v


def test_exact_every_id():
    """Cut behind every crumb of an exact stream: what comes then is what was left, to the character."""
    with serve() as s:
        for agent in ('mixed', 'woven'):
            live = list(s.stream(f'/agents/{agent}/run?exact=1', {'input': 'x'}).crumbs())
            run = live[0]['runId']
            total = {k: text_of(live, k) for k in ('text:delta', 'reasoning:delta')}
            durable = [c['seq'] for c in live if not c.is_delta]
            for i, c in enumerate(live):
                rest = exact_rest(s, run, c.id)
                if rest is None:
                    check(f'{agent}: {c.id} is an id of ours', False)
                    continue
                had = live[:i + 1]
                ok = all(text_of(had, k) + text_of(rest, k) == v for k, v in total.items())
                left = [d for d in durable if d > c['seq'] or (c.is_delta and d >= c['seq'] and d not in [x['seq'] for x in had if not x.is_delta])]
                seen = [x['seq'] for x in rest if not x.is_delta]
                if i == len(live) - 1:
                    left = [durable[-1]]
                check(f'{agent}: resumed behind {c.id}: exactly the rest', ok and seen == left,
                      (total, [dict(x) for x in rest], left, seen))


def test_exact_every_offset():
    """Any offset a client can name, also in the middle of a pair: no half character comes, nothing is missing."""
    with serve() as s:
        crumbs = list(s.stream('/agents/woven/run?exact=1', {'input': 'x'}).crumbs())
        run = crumbs[0]['runId']
        text, thought = text_of(crumbs), text_of(crumbs, 'reasoning:delta')
        units = lambda v: len(v.encode('utf-16-le')) // 2
        base = crumbs[0]['seq']
        wide = text.encode('utf-16-le')
        bad = 0
        for t in range(units(text) + 3):
            for r in range(0, units(thought) + 3, 2):
                rest = exact_rest(s, run, f'{base}.{t}.{r}')
                if rest is None:
                    # an offset that is beyond what there is may be refused
                    bad += t <= units(text) and r <= units(thought)
                    continue
                got = text_of(rest)
                if not whole_text(got) or not whole_text(text_of(rest, 'reasoning:delta')):
                    bad += 1
                    check(f'{base}.{t}.{r} gives whole characters', False, got)
                want = wide[2 * t:].decode('utf-16-le', 'replace')
                if t <= units(text) and got.lstrip('🍞') != want.lstrip('\ufffd').lstrip('🍞'):
                    bad += 1
                    check(f'{base}.{t}.{r} gives the rest', False, (got, want))
        equal('every offset inside a window gives the rest', bad, 0)


def test_exact_while_live():
    """Cut and resumed again and again while the run goes on: exactly once."""
    with serve() as s:
        live = s.stream('/agents/slow/run', {'input': 'x'})
        run = live.until('agent:run:start')['runId']
        got, last, cuts = [], '0', 0
        while True:
            t = s.stream(f'/runs/{run}/stream?exact=1', headers={'Last-Event-ID': last})
            if t.status != 200:
                check('a cursor of ours is taken', False, (last, t.status))
                break
            part = t.take(1 + cuts % 3)
            t.close()
            got += part
            cuts += 1
            if not part or part[-1]['type'] in ('agent:run:end', 'agent:error') or cuts > 200:
                break
            last = part[-1].id
        equal(f'text over {cuts} connections is the text', text_of(got), ''.join(f'w{i} ' for i in range(1, 31)))
        equal('and ends once', [c['type'] for c in got if not c.is_delta], ['agent:run:start', 'agent:run:end'])


main(globals())
