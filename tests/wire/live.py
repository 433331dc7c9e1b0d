# SPDX-License-Identifier: MIT
"""C1, C2, C4, C7, C8, C9: viewers of runs that are going on."""
import random
import threading
import time
from wire import *

N = 60
WORDS = ''.join(f'w{i} ' for i in range(1, N + 1))
MODELS = {
    'busy': {'when': [
        {'match': {'role': 'tool'}, 'stream': [{'text': 'w{{i}} ', 'repeat': N, 'each': 'word', 'delay_ms': 8}]},
        {'stream': [{'reasoning': 'r{{i}} ', 'repeat': 40, 'each': 'word', 'delay_ms': 8},
                    {'text': 'p{{i}} ', 'repeat': 40, 'each': 'word', 'delay_ms': 8},
                    {'tool_call': {'id': 'c1', 'name': 'tool_part', 'args': {}}},
                    {'tool_call': {'id': 'c2', 'name': 'tool_part', 'args': {}}}]}]},
    'mute': {'when': [{'before_ms': 2500, 'stream': [{'text': 'at last'}]}]},
    'flood': {'when': [{'stream': [{'load': {'n': '{{number}}', 'rate': '{{number 2}}'}}]}]},
    'big': {'when': [{'match': {'role': 'tool'}, 'stream': [{'text': 'that was big'}]},
                     {'stream': [{'tool_call': {'id': 'b1', 'name': 'tool_big', 'args': {}}}]}]},
}
AGENTS = {k: k for k in MODELS}
TOOLS = {'busy': {'part': tool('for i in range(5):\n print(json.dumps({"at": i}), flush=True)\n time.sleep(.03)', stream=True)},
         'big': {'big': tool('print(json.dumps({"text": "🍞é\\"\\\\" * 40000, "n": 1}))')}}


def serve(**server):
    return serving(MODELS, AGENTS, TOOLS, {'server': {**server}})


def durable(crumbs):
    return [(c['seq'], c['type']) for c in crumbs if not c.is_delta]


def test_random_moments():
    random.seed(7)
    with serve() as s:
        for round in range(3):
            live = s.stream('/agents/busy/run', {'input': 'x'})
            run = live.until('agent:run:start')['runId']
            views, threads = [], []

            def view(delay, query, headers):
                time.sleep(delay)
                t = s.stream(f'/runs/{run}/stream{query}', headers=headers, timeout=20)
                views.append((delay, query, list(t.crumbs()), t.clean))
            for i in range(40):
                h = {'Accept': random.choice(('application/x-ndjson', 'text/event-stream'))}
                threads.append(threading.Thread(target=view, args=(random.random() * 1.7, random.choice(('', '?exact=1')), h)))
                threads[-1].start()
            rest = list(live.crumbs())
            for t in threads:
                t.join()
            log = s.log_of(run)
            equal('numbers without a hole in the log', [c['seq'] for c in log], list(range(1, log[-1]['seq'] + 1)))
            equal('the starter saw the text', text_of(rest), text_of(log))
            want = [d for d in durable(log)]
            bad = 0
            for delay, query, got, clean in views:
                ok = durable(got) == want and clean
                ok = ok and all(text_of(got, k) == text_of(log, k) for k in ('text:delta', 'reasoning:delta'))
                bad += not ok
                if not ok and bad == 1:
                    check(f'attached after {delay:.3f} s{query}', False,
                          (clean, durable(got), want, text_of(got), text_of(got, 'reasoning:delta')))
            equal('forty viewers at random moments saw all, once', bad, 0)
            equal('and so does the second half of the run begin', durable(rest)[-1][1], 'agent:run:end')


def test_groups_close():
    with serve() as s:
        log = s.log_of(s.run('busy', 'x')[0]['runId'])
        equal('nothing behind the terminal crumb', [c['type'] for c in log].index('agent:run:end'), len(log) - 1)
        calls = {c['toolCallId'] for c in log if c['type'] == 'tool:call'}
        results = {c['toolCallId'] for c in log if c['type'] == 'tool:result'}
        equal('each call has its result', calls, results)


def test_first_byte_and_heartbeats():
    with serve(heartbeat='300ms') as s:
        for h, hello in (({'Accept': 'application/x-ndjson'}, b'{'), ({'Accept': 'text/event-stream'}, b'id: ')):
            kind = 'sse' if hello != b'{' else 'ndjson'
            t0 = time.monotonic()
            t = s.stream('/agents/mute/run', {'input': 'x'}, headers=h)
            first = t.take(1)[0]
            check(f'{kind}: head and first crumb at once', time.monotonic() - t0 < 1 * SLOW, time.monotonic() - t0)
            for k, v in (('cache-control', 'no-cache, no-transform'), ('x-accel-buffering', 'no')):
                equal(f'{kind}: {k}', t.headers.get(k), v)
            equal(f'{kind}: not compressed', t.headers.get('content-encoding'), None)
            equal(f'{kind}: no length', 'content-length' in t.headers, False)
            p = s.stream(f"/runs/{first['runId']}/stream", headers={**h, 'Accept-Encoding': 'gzip, br'})
            list(t.crumbs())
            check(f'{kind}: beats while the model is silent', 4 <= t.beats <= 12, t.beats)
            got = list(p.crumbs())
            check(f'{kind}: a viewer gets beats too', p.beats >= 4, p.beats)
            equal(f'{kind}: a viewer sees all', types_of(got), ['agent:run:start', 'text:delta', 'agent:run:end'])
            if kind == 'sse':
                check('a passive stream says when to come back', p.raw.startswith(b'retry: '), p.raw[:40])


def test_heartbeats_of_http_1_0():
    with serve(heartbeat='300ms') as s:
        c = s.connect()
        c.sendall(request('POST', '/agents/mute/run', {'input': 'x'}, version='1.0'))
        a = Answer(c)
        body = a.whole()[2]
        equal('no chunks for HTTP/1.0', 'transfer-encoding' in a.headers, False)
        lines = body.split(b'\n')
        check('beats and crumbs, unframed', lines.count(b'') >= 4 and b'agent:run:end' in lines[-2], body[:200])


def slow_read(s, run, rate, query='', seconds=60, path='/stream'):
    """Reads rate bytes a second, out of a small receive buffer."""
    import socket
    c = socket.socket()
    c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    c.connect(('127.0.0.1', s.port))
    c.settimeout(20 * SLOW)
    c.sendall(request('GET', f'/runs/{run}{path}{query}'))
    data, end = b'', time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            part = c.recv(max(256, rate // 20))
        except ConnectionResetError:
            break
        if not part:
            break
        data += part
        if rate:
            time.sleep(len(part) / rate)
        if b'\r\n0\r\n\r\n' in data[-16:] or data.endswith(b'0\r\n\r\n'):
            break
    c.close()
    return data


def parse(data):
    class Fake:
        def recv(self, n):
            return b''
    a = Answer(Fake(), rest=data)
    out, rest = [], b''
    for p in a.pieces():
        rest += p
        *whole, rest = rest.split(b'\n')
        for line in whole:
            if line:
                v = json.loads(line)
                c = Crumb(v['crumb'])
                c.id = v.get('id')
                out.append(c)
    return out, a.clean


def rss(s):
    with open(f'/proc/{s.proc.pid}/status') as f:
        return int(next(l for l in f if l.startswith('VmRSS')).split()[1])


def test_slow_viewer():
    """One that cannot keep up reads on from the log: nothing missing, nothing twice, and the run does not wait."""
    with serve() as s:
        t0 = time.monotonic()
        live = s.stream('/agents/flood/run', {'input': '20000 8000'}, timeout=30)
        run = live.until('agent:run:start')['runId']
        out = {}

        def view(query):
            out[query] = slow_read(s, run, 1_500_000, query)
        threads = [threading.Thread(target=view, args=(q,)) for q in ('', '?exact=1', '?full=1')]
        for t in threads:
            t.start()
        whole = list(live.crumbs())
        took = time.monotonic() - t0
        check('the run was not slowed', took < 8 * SLOW, took)
        for t in threads:
            t.join()
        log = s.log_of(run)
        equal('the starter has it all', text_of(whole), text_of(log))
        for q, data in out.items():
            got, clean = parse(data)
            check(f'slow viewer{q}: the stream came to its end', clean, data[-200:])
            text = text_of(got)
            equal(f'slow viewer{q}: text', (len(text), text == text_of(log)), (len(text_of(log)), True))
            equal(f'slow viewer{q}: ends once', [c['type'] for c in got if not c.is_delta],
                  ['agent:run:start', 'agent:run:end'])


def test_stalled_viewer():
    """One that takes nothing is closed after server.stall; memory stays bounded meanwhile."""
    import socket
    with serve(stall='5s') as s:
        live = s.stream('/agents/flood/run', {'input': '60000 12000'}, timeout=30)
        run = live.until('agent:run:start')['runId']
        before = rss(s)
        stuck = []
        for _ in range(20):
            c = socket.socket()
            c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            c.connect(('127.0.0.1', s.port))
            c.sendall(request('GET', f'/runs/{run}/stream'))
            stuck.append(c)
        text = text_of(live.crumbs())
        equal('the run went its way', len(text), 60000 * 20)
        time.sleep(6.5 * SLOW)
        grown = rss(s) - before
        if SLOW == 1:
            check('twenty stalled viewers hold little memory', grown < 60_000, f'{grown} kB')
        cut = 0
        for c in stuck:
            c.settimeout(10 * SLOW)
            data = b''
            try:
                while True:
                    part = c.recv(1 << 20)
                    if not part:
                        break
                    data += part
            except ConnectionResetError:
                data += b''
            except socket.timeout:
                data = b'agent:run:end'
            cut += b'agent:run:end' not in data
        equal('each was closed before it had all', cut, 20)
        got = s.log_of(run)
        equal('and can come back for it', len(text_of(got)), 60000 * 20)


def test_previews():
    with serve(maxEventBytes=4096) as s:
        for h in ({'Accept': 'application/x-ndjson'}, {'Accept': 'text/event-stream'}):
            t = s.stream('/agents/big/run', {'input': 'x'}, headers=h)
            crumbs = list(t.crumbs())
            run = crumbs[0]['runId']
            longest = max(len(l) for l in t.raw.split(b'\n'))
            check('no line is longer than the limit and a frame', longest <= 4096 + 256, longest)
            big = next(c for c in crumbs if c['type'] == 'tool:result')
            check('truncated, with a ref', big.get('truncated') is True and 'ref' in big, str(big)[:300])
            ref = big.get('ref', '')
            status, _, body = s.get(ref if ref.startswith('/') else f"/runs/{run}/crumbs/{big['seq']}")
            equal('the ref resolves', status, 200)
            whole = json.loads(body)
            equal('to the whole', whole['result'], {'text': '🍞é"\\' * 40000, 'n': 1})
            equal('with its number', (whole['seq'], whole['type']), (big['seq'], 'tool:result'))
            for path in (f'/runs/{run}/stream', f'/runs/{run}/stream?exact=1'):
                got = list(s.stream(path, headers=h).crumbs())
                equal('a replay has the preview, too', next(c for c in got if c['type'] == 'tool:result'), big)
            for q in ('?full=1', '?full=1&exact=1', '?full=true'):
                got = list(s.stream(f'/runs/{run}/stream{q}', headers=h).crumbs())
                equal(f'{q}: whole', next(c for c in got if c['type'] == 'tool:result').get('result'), whole['result'])
            got = list(s.stream('/agents/big/run?full=1', {'input': 'x'}, headers=h).crumbs())
            equal('POST with ?full=1: whole', next(c for c in got if c['type'] == 'tool:result').get('result'), whole['result'])
        for seq in ('0', '99999', '-1', 'x', '1.0', '%00', '9' * 30, '1e1', ''):
            status, _, body = s.get(f'/runs/{run}/crumbs/{seq}')
            check(f'crumb {seq[:9]!r} is 404 or 400', status in (404, 400) and error_of(body)[1], (status, body))


def test_fifty_runs_at_once():
    with serve() as s:
        threads, bad = [], []

        def one(i):
            got = s.run('busy', f'x{i}')
            if text_of(got)[-len(WORDS):] != WORDS or got[-1]['type'] != 'agent:run:end':
                bad.append((i, got[-1], text_of(got)))
        for i in range(50):
            threads.append(threading.Thread(target=one, args=(i,)))
            threads[-1].start()
        for t in threads:
            t.join()
        equal('fifty runs at once, each whole', bad, [])


if __name__ == '__main__':
    main(globals())
