# SPDX-License-Identifier: MIT
"""C25: what reaches the server from outside, well-formed or not."""
import os
import random
import socket
import ssl
import subprocess
import threading
import time
from wire import *

MODELS = {'hi': {'when': [{'stream': [{'text': 'hello'}]}]},
          'slow': {'when': [{'stream': [{'text': 'w{{i}} ', 'repeat': 10, 'each': 'word', 'delay_ms': 60}]}]}}
AGENTS = {'hi': 'hi', 'slow': 'slow'}
RUN = '/agents/hi/run'


def serve(**server):
    return serving(MODELS, AGENTS, config={'server': server})


def talk(s, data, seconds=5):
    """All that comes back, until the server closes or falls silent."""
    with s.connect() as c:
        c.settimeout(seconds)
        out = b''
        try:
            c.sendall(data)
            while True:
                part = c.recv(65536)
                if not part:
                    break
                out += part
        except (socket.timeout, ConnectionResetError, BrokenPipeError):
            pass
        return out


def status_of(data):
    return int(data[9:12]) if data[:5] == b'HTTP/' and data[9:12].isdigit() else None


def test_host():
    with serve() as s:
        for host, want in (('localhost', 200), (f'localhost:{s.port}', 200), ('127.0.0.1', 200), ('127.9.9.9:80', 200),
                           ('[::1]', 200), ('[::1]:1', 200), ('LOCALHOST', 200), ('evil.example', 403), ('localhost.evil.example', 403),
                           ('127.evil.example', 403), ('127.0.0.1.evil.example', 403), ('127.0.0.1@evil.example', 403),
                           ('0.0.0.0', 403), ('192.168.0.1', 403), ('127.1', 403), ('127.0.0.256', 403), ('', 403), ('localhost\t', 200),
                           ('[::2]', 403), ('localhost.', 403)):
            status = s.get('/agents', {'Host': host})[0]
            check(f'Host {host!r}', status == want or (want == 403 and status == 400), (status, want))
        code = error_of(s.get('/agents', {'Host': 'evil.example'})[2])
        check('the refusal names the remedy', code[0] == 'HOST_NOT_ALLOWED' and 'server.hosts' in code[1], code)
        equal('no Host at all is no HTTP/1.1', status_of(talk(s, b'GET /agents HTTP/1.1\r\n\r\n')), 400)
        equal('two Hosts are none', status_of(talk(s, b'GET /agents HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n')), 400)
        equal('the target\'s host does not help', status_of(talk(s, b'GET http://evil.example/agents HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')) in (400, 403), True)
        equal('HTTP/1.0 without Host', status_of(talk(s, b'GET /agents HTTP/1.0\r\n\r\n')), 200)
        equal('HTTP/1.0 with a strange one', status_of(talk(s, b'GET /agents HTTP/1.0\r\nHost: evil.example\r\n\r\n')), 403)
    with serve(hosts=['bread.example', 'localhost']) as s:
        equal('a listed host', s.get('/agents', {'Host': 'bread.example:80'})[0], 200)
        equal('one that is not', s.get('/agents', {'Host': '127.0.0.1'})[0], 403)


def test_origin():
    with serve(origins=['https://app.example']) as s:
        own = f'http://localhost:{s.port}'
        for origin, host, want in ((own, f'localhost:{s.port}', 200), ('https://app.example', None, 200),
                                   ('http://app.example', None, 403), ('https://app.example.evil', None, 403), ('null', None, 403),
                                   ('', None, 403), ('http://localhost:1', f'localhost:{s.port}', 403), ('http://evil.example', None, 403),
                                   (own.replace('http', 'https'), f'localhost:{s.port}', 403)):
            h = {'Origin': origin, **({'Host': host} if host else {})}
            for method, path in (('POST', RUN), ('POST', '/runs/x/cancel'), ('DELETE', '/sessions/x'), ('POST', '/sessions/cleanup'), ('PATCH', '/x'), ('PUT', '/agents')):
                status, headers, _ = s.ask(method, path, {'input': 'x'} if method == 'POST' else None, h)
                check(f'{method} {path} from Origin {origin!r}', (status != 403) == (want == 200), status)
                equal('no CORS header', [k for k in headers if k.startswith('access-control')], [])
        status, headers, _ = s.get('/agents', {'Origin': 'http://evil.example'})
        equal('reading is left to the browser, without CORS', (status, 'access-control-allow-origin' in headers), (200, False))
        status, headers, _ = s.ask('OPTIONS', RUN, None, {'Origin': 'http://evil.example', 'Access-Control-Request-Method': 'POST'})
        equal('no preflight is granted', (status, [k for k in headers if k.startswith('access-control')]), (404, []))
        for kind, want in (('text/plain', 415), ('application/x-www-form-urlencoded', 415), ('multipart/form-data', 415), (None, 415),
                           ('application/json', 200), ('application/json; charset=utf-8', 200), ('APPLICATION/JSON', 200), ('application/jsonx', 415),
                           ('text/plain; application/json', 415)):
            for h in ({'Origin': own, 'Host': f'localhost:{s.port}'}, {'Sec-Fetch-Site': 'same-origin'}):
                status = s.post(RUN, b'{"input":"x"}', {**h, 'Content-Type': kind})[0]
                equal(f'a browser\'s body of type {kind}', status, want)


def test_malformed():
    with serve() as s:
        g = b'GET /agents HTTP/1.1\r\nHost: localhost\r\n'
        p = b'POST /agents/hi/run HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n'
        cases = {
            'garbage': (b'\x00\x01\x02\x03\r\n\r\n', (400,)), 'no version': (b'GET /agents\r\n\r\n', (400, 505)),
            'HTTP/9.9': (b'GET /agents HTTP/9.9\r\nHost: localhost\r\n\r\n', (400, 505)), 'HTTP/2.0': (b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', (400, 505)),
            'a tab in the line': (b'GET\t/agents\tHTTP/1.1\r\nHost: localhost\r\n\r\n', (400,)),
            'NUL in a header': (g + b'X: a\0b\r\n\r\n', (400,)), 'CR in a header': (g + b'X: a\rb\r\n\r\n', (400,)),
            'folded header': (g + b'X: a\r\n b\r\n\r\n', (400,)), 'blank before the colon': (g + b'X : a\r\n\r\n', (400,)),
            'no colon': (g + b'Xa\r\n\r\n', (400,)), 'empty name': (g + b': a\r\n\r\n', (400,)), 'a line of blank': (g + b' \r\n\r\n', (400,)),
            'length and chunked': (p + b'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', (400,)),
            'two lengths': (p + b'Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd', (400,)), 'length a list': (p + b'Content-Length: 3, 4\r\n\r\nabcd', (400,)),
            'length -1': (p + b'Content-Length: -1\r\n\r\n', (400,)), 'length +1': (p + b'Content-Length: +1\r\n\r\na', (400,)),
            'length 1e3': (p + b'Content-Length: 1e3\r\n\r\n', (400,)), 'length of 30 digits': (p + b'Content-Length: ' + b'9' * 30 + b'\r\n\r\n', (400, 413)),
            'length 2^64': (p + b'Content-Length: 18446744073709551616\r\n\r\n', (400, 413)), 'gzip': (p + b'Transfer-Encoding: gzip\r\n\r\n', (400, 501)),
            'gzip, chunked': (p + b'Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n', (400, 501)), 'chunked twice': (p + b'Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n', (400, 501)),
            'xchunked': (p + b'Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n', (400, 501)), 'chunk size x': (p + b'Transfer-Encoding: chunked\r\n\r\nx\r\n', (400,)),
            'chunk size -1': (p + b'Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n', (400,)), 'chunk size huge': (p + b'Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n', (400, 413)),
            'chunk without end': (p + b'Transfer-Encoding: chunked\r\n\r\n2\r\nabX\r\n0\r\n\r\n', (400,)), 'chunk extension long': (p + b'Transfer-Encoding: chunked\r\n\r\n1;' + b'x' * 100000 + b'\r\na\r\n0\r\n\r\n', (400, 413, 431)),
            'long line': (b'GET /' + b'a' * 100000 + b' HTTP/1.1\r\nHost: localhost\r\n\r\n', (414, 431)), 'many headers': (g + b''.join(b'X%d: y\r\n' % i for i in range(5000)) + b'\r\n', (431,)),
            'long header': (g + b'X: ' + b'y' * 200000 + b'\r\n\r\n', (431,)), 'expect other': (p + b'Expect: the-worst\r\nContent-Length: 2\r\n\r\n{}', (200, 417)),
            'path without slash': (b'GET agents HTTP/1.1\r\nHost: localhost\r\n\r\n', (400, 404)), 'star': (b'OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', (400, 404, 200)),
            'CONNECT': (b'CONNECT evil:80 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', (400, 404, 403)), 'percent': (b'GET /agents/%zz HTTP/1.1\r\nHost: localhost\r\n\r\n', (400,)),
            'percent NUL': (b'GET /agents/%00 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', (400, 404)), 'method lower': (b'get /agents HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', (400, 404)),
            'long method': (b'G' * 5000 + b' / HTTP/1.1\r\nHost: localhost\r\n\r\n', (400, 404, 414, 431, 501)),
        }
        for name, (data, want) in cases.items():
            out = talk(s, data, 2)
            check(f'{name}: {"/".join(map(str, want))}', status_of(out) in want, out[:200])
            if status_of(out) and status_of(out) >= 400 and b'application/json' in out:
                code, message = error_of(out.split(b'\r\n\r\n', 1)[1])
                check(f'{name}: says why', bool(message), out[:300])
        equal('the server lives', s.get('/agents')[0], 200)
        equal('bare LF is no line end, or is taken as one, but splits nothing',
              status_of(talk(s, b'GET /agents HTTP/1.1\nHost: localhost\nConnection: close\n\n', 2)) in (None, 200, 400), True)


def test_smuggling():
    """What stands behind a refused request is never read as another."""
    with serve() as s:
        tail = b'GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n'
        p = b'POST /agents/hi/run HTTP/1.1\r\nHost: localhost\r\n'
        for name, data in (('both lengths', p + b'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n' + tail),
                           ('bad chunk', p + b'Transfer-Encoding: chunked\r\n\r\nzz\r\n' + tail), ('too large', p + b'Content-Length: 99999999\r\n\r\n' + tail)):
            out = talk(s, data, 1)
            equal(f'{name}: one answer', out.count(b'HTTP/1.1 '), 1)


def test_body_limits():
    with serve() as s:
        limit = 1 << 20
        pad = lambda n: b'{"input":"' + b'a' * (n - 12) + b'"}'
        equal('exactly the limit', s.post(RUN, pad(limit), timeout=20)[0], 200)
        for name, body, head in (('declared', pad(limit + 1), {}), ('with Expect', b'', {'Content-Length': str(limit + 1), 'Expect': '100-continue'})):
            status, _, answer = s.post(RUN, body, head, timeout=20)
            equal(f'over it, {name}', (status, error_of(answer)[0]), (413, 'BODY_TOO_LARGE'))
        chunk = lambda b: b'%x\r\n' % len(b) + b + b'\r\n'
        head = b'POST /agents/hi/run HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n'
        out = talk(s, head + b''.join(chunk(b'x' * 65536) for _ in range(17)) + b'0\r\n\r\n')
        equal('over it, in chunks', status_of(out), 413)
        body = pad(100_000)
        out = talk(s, head + b''.join(chunk(body[i:i + 1]) for i in range(0, 2000)) + chunk(body[2000:]) + b'0\r\nTrailer: x\r\n\r\n')
        equal('a body in tiny chunks', status_of(out), 200)
        out = talk(s, b'POST /agents/hi/run HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 13\r\n\r\n{"input":"x"}')
        check('Expect with the body at once', b' 200 ' in out, out[:100])


def test_slowloris():
    """Peers that dribble do not keep others out, and are let go."""
    with serve() as s:
        slow = [s.connect() for _ in range(200)]
        for c in slow:
            c.sendall(b'GET /agents HTTP/1.1\r\nHost: lo')
        t0 = time.monotonic()
        equal('others are served meanwhile', s.get('/agents')[0], 200)
        check('at once', time.monotonic() - t0 < 1 * SLOW)
        for _ in range(11):
            for c in slow[:20]:
                try:
                    c.sendall(b'c')
                except OSError:
                    pass
            time.sleep(1)
        closed = 0
        for c in slow:
            c.settimeout(3)
            try:
                data = c.recv(1000)
                closed += data == b'' or b' 408 ' in data
            except ConnectionResetError:
                closed += 1
            except socket.timeout:
                pass
            c.close()
        equal('each was let go after ten seconds', closed, 200)


def test_too_many_connections():
    with serve(maxConnections=50) as s:
        idle = [s.connect() for _ in range(200)]
        ok = sum(s.get('/agents')[0] == 200 for _ in range(20))
        equal('idle ones give way', ok, 20)
        for c in idle:
            c.close()
        streams = [s.stream('/agents/slow/run', {'input': 'x'}) for _ in range(40)]
        equal('forty streams beside them', [t.status for t in streams].count(200), 40)
        equal('each to its end', sum(list(t.crumbs())[-1]['type'] == 'agent:run:end' for t in streams), 40)


def test_pipelining():
    with serve() as s:
        one = request('POST', '/agents/slow/run', {'input': 'x'}, {'Connection': 'keep-alive'})
        get = request('GET', '/agents/hi', headers={'Connection': 'keep-alive'})
        last = request('GET', '/agents')
        with s.connect() as c:
            c.sendall(get + one + get + one + last)
            rest, got = b'', []
            for _ in range(5):
                a = Answer(c, rest=rest)
                body = a.whole()[2]
                got.append((a.status, a.headers['content-type'], body))
                rest = a.buf
            equal('five answers in order', [(g[0], g[1]) for g in got],
                  [(200, 'application/json'), (200, 'application/x-ndjson')] * 2 + [(200, 'application/json')])
            for g in (got[1], got[3]):
                equal('a stream in the middle is whole', g[2].strip().split(b'\n')[-1].count(b'agent:run:end'), 1)
        with s.connect() as c:
            c.sendall(get * 300 + last)
            n, rest = 0, b''
            while True:
                a = Answer(c, rest=rest)
                if not a.status:
                    break
                a.whole()
                rest = a.buf
                n += 1
            equal('three hundred pipelined', n, 301)
        byte = s.connect()
        for i in range(len(last)):
            byte.sendall(last[i:i + 1])
        equal('byte by byte', Answer(byte).status, 200)
        byte.close()


def test_head_and_versions():
    with serve() as s:
        for path in ('/agents', '/agents/hi', '/health/live', '/metrics', '/runs', '/sessions'):
            with s.connect() as c:
                c.sendall(request('HEAD', path) )
                out = b''
                while part := c.recv(65536):
                    out += part
            head, _, body = out.partition(b'\r\n\r\n')
            equal(f'HEAD {path}', (status_of(out), body), (200, b''))
        run = s.run('hi', 'x')[0]['runId']
        with s.connect() as c:
            c.sendall(request('HEAD', f'/runs/{run}/stream', headers={'Connection': 'keep-alive'}) + request('GET', '/agents'))
            a = Answer(c, is_head=True)
            b = Answer(c, rest=a.buf)
            equal('HEAD of a stream, and the next request', (a.status, b.status), (200, 200))
        equal('HEAD of a POST route', s.ask('HEAD', RUN)[0], 404)
        with s.connect() as c:
            c.sendall(request('POST', RUN, {'input': 'x'}, version='1.0'))
            a = Answer(c)
            status, headers, body = a.whole()
            check('HTTP/1.0: a stream until the end of the connection', status == 200 and 'transfer-encoding' not in headers
                  and b'agent:run:end' in body, (headers, body[-200:]))
        with s.connect() as c:
            c.sendall(request('GET', '/agents', headers={'Connection': 'keep-alive'}, version='1.0') * 2)
            a = Answer(c)
            a.whole()
            b = Answer(c, rest=a.buf)
            equal('HTTP/1.0 keep-alive', (a.status, b.status), (200, 200))
        for method, path in (('GET', RUN), ('PUT', '/agents'), ('POST', '/agents'), ('DELETE', '/runs/x'), ('GET', '/agents/'), ('GET', '//agents'),
                             ('GET', '/agents/hi/'), ('GET', '/nope'), ('GET', '/'), ('TRACE', '/agents'), ('GET', '/agents/../agents'), ('GET', '/agents/%2e%2e/agents')):
            status, headers, body = s.ask(method, path)
            equal(f'{method} {path}', (status, body), (404, b'404 Not Found'))
        equal('a path percent-encoded', s.get('/%61gents/h%69')[0], 200)


def test_keep_alive_and_half_close():
    with serve(idleTimeout=1) as s:
        with s.connect() as c:
            c.sendall(request('GET', '/agents', headers={'Connection': 'keep-alive'}))
            a = Answer(c)
            a.whole()
            t0 = time.monotonic()
            equal('an idle connection is closed', c.recv(10), b'')
            check('after idleTimeout', .5 < time.monotonic() - t0 < 4 * SLOW, time.monotonic() - t0)
        t = s.stream('/agents/slow/run', {'input': 'x'})
        run = t.take(1)[0]['runId']
        t.sock.shutdown(socket.SHUT_WR)
        time.sleep(.2)
        t.close()
        equal('a half-closed peer does not cancel', s.ended(run), 'completed')


def pem(folder):
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', f'{folder}/key.pem', '-out', f'{folder}/cert.pem',
                    '-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'], check=True, capture_output=True)


def test_tls():
    folder = project(MODELS, AGENTS, config={'server': {'tls': {'cert': 'cert.pem', 'key': 'key.pem'}}})
    pem(folder)
    c = json.load(open(f'{folder}/bread.yaml'))
    c['server']['tls'] = {'cert': f'{folder}/cert.pem', 'key': f'{folder}/key.pem'}
    put(f'{folder}/bread.yaml', c)
    ctx = ssl.create_default_context(cafile=f'{folder}/cert.pem')
    s = Server(folder, tls=ctx)
    try:
        equal('HTTPS', s.get('/agents')[0], 200)
        equal('a stream', s.run('slow', 'x')[-1]['type'], 'agent:run:end')
        equal('a body of 900 kB', s.post(RUN, {'input': 'a' * 900_000})[0], 200)
        own = {'Origin': f'https://localhost:{s.port}', 'Host': f'localhost:{s.port}'}
        equal('our own origin is https', s.post(RUN, {'input': 'x'}, own)[0], 200)
        equal('and http is another', s.post(RUN, {'input': 'x'}, {**own, 'Origin': f'http://localhost:{s.port}'})[0], 403)
        plain = socket.create_connection(('127.0.0.1', s.port), timeout=5)
        plain.sendall(request('GET', '/agents'))
        try:
            out = plain.recv(1000)
        except ConnectionResetError:
            out = b''
        check('plain HTTP on it gets no page', b'200' not in out, out)
        plain.close()
        for junk in (b'\x16\x03\x01', b'\x16\x03\x01\xff\xff' + b'\0' * 1000, os.urandom(500)):
            with socket.create_connection(('127.0.0.1', s.port), timeout=5) as raw:
                raw.sendall(junk)
        views = [s.stream('/agents/slow/run', {'input': 'x'}) for _ in range(10)]
        for v in views[:5]:
            v.sock.close()
        equal('others go on when some go', [list(v.crumbs())[-1]['type'] for v in views[5:]], ['agent:run:end'] * 5)
    finally:
        code = s.stop()
        check('ends in peace', code in (0, 143), (code, s.log()[-1000:]))
    for tls, what in (({'cert': f'{folder}/cert.pem'}, 'key'), ({'cert': '/nope.pem', 'key': f'{folder}/key.pem'}, '/nope.pem'),
                      ({'cert': f'{folder}/key.pem', 'key': f'{folder}/cert.pem'}, 'cert')):
        c['server']['tls'] = tls
        put(f'{folder}/bread.yaml', c)
        t = Server(folder, wait=False)
        code = t.proc.wait(10 * SLOW)
        said = t.log()
        check(f'tls {list(tls)} wrong: refused with a word on {what}', code in (1, 2) and what in said, (code, said[-300:]))
        open(f'{folder}/server.log', 'w').close()


def test_unix_socket():
    folder = project(MODELS, AGENTS)
    path = f'{folder}/s.sock'
    c = json.load(open(f'{folder}/bread.yaml'))
    c['server'] = {'host': f'unix:{path}'}
    put(f'{folder}/bread.yaml', c)
    s = Server(folder, unix=path)
    try:
        equal('over a socket file', s.get('/agents', {'Host': 'anything'})[0], 200)
        equal('a run', s.run('hi', 'x')[-1]['type'], 'agent:run:end')
        mode = os.stat(path).st_mode & 0o777
        check('it is not open to all', mode & 0o002 == 0, oct(mode))
    finally:
        s.stop()
    equal('it is removed', os.path.exists(path), False)
    open(path, 'w').write('not a socket')
    t = Server(folder, unix=path, wait=False)
    code = t.proc.wait(10 * SLOW)
    check('a file in its place is not removed', code in (1, 2) and open(path).read() == 'not a socket', (code, t.log()[-300:]))


def test_port_taken():
    with serve() as s:
        t = Server(project(MODELS, AGENTS), port=s.port, wait=False)
        code = t.proc.wait(10 * SLOW)
        said = t.log()
        check('a taken port is a clear error', code != 0 and str(s.port) in said, (code, said[-500:]))


def test_random_bytes():
    with serve() as s:
        base = [request('POST', RUN, {'input': 'x'}), request('GET', '/runs/x/stream?after=1'), request('DELETE', '/sessions/a')]

        def worker(n):
            r = random.Random(n)
            for _ in range(150):
                b = bytearray(r.choice(base))
                for _ in range(r.randint(1, 6)):
                    i = r.randrange(len(b))
                    op = r.random()
                    if op < .5:
                        b[i] = r.randrange(256)
                    elif op < .75:
                        del b[i]
                    else:
                        b[i:i] = bytes(r.choice((b'\r\n', b'\0', b'%', b':', b' ', b'\xff', b'0' * 20)))
                with s.connect() as c:
                    c.settimeout(.3)
                    try:
                        c.sendall(bytes(b))
                        c.shutdown(socket.SHUT_WR)
                        while c.recv(65536):
                            pass
                    except OSError:
                        pass
        threads = [threading.Thread(target=worker, args=(n,)) for n in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        equal('the server lives through 1,200 broken requests', s.get('/agents')[0], 200)


main(globals())
