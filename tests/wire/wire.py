# SPDX-License-Identifier: MIT
"""What the wire tests share: a project written from a dict, a real server on it, HTTP
in the raw, streams read frame by frame, and a line a check."""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

BREAD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else None
ONLY = sys.argv[2:]
os.environ.setdefault('TSAN_OPTIONS', 'suppressions=' + os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tsan.supp'))
# Under a sanitizer or valgrind everything takes longer.
SLOW = float(os.environ.get('BREAD_TEST_SLOW', '1'))
counts = {'passed': 0, 'failed': 0}
_lock = threading.Lock()


def check(name, ok, detail=''):
    with _lock:
        counts['passed' if ok else 'failed'] += 1
        tail = '' if ok or detail == '' else f': {str(detail)[:600]}'
        print(f"{'ok' if ok else 'FAILED'}   {name}{tail}", flush=True)
    return ok


def equal(name, got, want):
    return check(name, got == want, f'got {got!r:.300}, want {want!r:.300}')


def wait_for(fn, seconds=5, step=0.02):
    """What fn gives once it is true; else the last it gave."""
    end = time.monotonic() + seconds * SLOW
    while True:
        v = fn()
        if v or time.monotonic() > end:
            return v
        time.sleep(step)


def main(tests):
    """Runs functions named test_*; those named on the command line, or all."""
    for name, fn in list(tests.items()):
        if not name.startswith('test_') or (ONLY and name[5:] not in ONLY):
            continue
        try:
            fn()
        except Exception:
            check(f'{name[5:]} runs to its end', False, traceback.format_exc())
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    sys.exit(1 if counts['failed'] else 0)


def skip(why):
    print(f'skipped: {why}')
    sys.exit(77)


# ---- projects ----

def put(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as f:
        if isinstance(value, bytes):
            f.write(value)
        else:
            f.write((value if isinstance(value, str) else json.dumps(value)).encode())


def tool(code, **more):
    """A tool that is a few lines of Python; its arguments are args."""
    head = 'import json, os, sys, time\nargs = json.load(sys.stdin)\n'
    return {'command': ['/usr/bin/python3', '-c', head + code], 'schema': {'type': 'object'}, **more}


def project(models=None, agents=None, tools=None, config=None, folder=None, files=None):
    """agents: id to agent.yaml (model 'ID' for short); tools: agent to name to tool; files: path to content."""
    folder = folder or tempfile.mkdtemp(prefix='bread-wire-')
    c = {'store': {'type': 'sqlite', 'path': 'bread.db', 'sync': 'normal'}, 'transport': 'stream',
         'ingress': ['http-chunked', 'http-sse'],
         'providers': {'s': {'type': 'scripted', 'models': models or {}}}}
    c.update(config or {})
    put(f'{folder}/bread.yaml', c)
    for path, value in (files or {}).items():
        put(f'{folder}/{path}', value)
    for id, a in (agents or {}).items():
        a = {'model': {'provider': 's', 'model': a}} if isinstance(a, str) else a
        put(f'{folder}/agents/{id}/agent.yaml', a)
        for name, t in (tools or {}).get(id, {}).items():
            put(f'{folder}/agents/{id}/tools/{name}.yaml', t)
    return folder


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, folder, port=None, wait=True, args=(), tls=None, env=None, unix=None):
        self.folder, self.port, self.tls, self.unix = folder, port or free_port(), tls, unix
        self.log_path = f'{folder}/server.log'
        self.log_file = open(self.log_path, 'ab')
        where = [] if unix else ['-p', str(self.port)]
        self.proc = subprocess.Popen([BREAD, 'start', '--cwd', folder, *where, *args],
                                     stdin=subprocess.DEVNULL, stdout=self.log_file,
                                     stderr=self.log_file, env={**os.environ, 'FOLDER': folder, **(env or {})})
        if wait and not wait_for(self.answers, 10):
            raise RuntimeError('the server does not come up: ' + self.log()[-2000:])

    def answers(self):
        if self.proc.poll() is not None:
            return False
        with contextlib.suppress(OSError):
            return self.get('/health/live')[0] == 200
        return False

    def log(self):
        with open(self.log_path, errors='replace') as f:
            return f.read()

    def alive(self):
        return self.proc.poll() is None

    def connect(self, timeout=10):
        if self.unix:
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(timeout * SLOW)
            s.connect(self.unix)
            return s
        s = socket.create_connection(('127.0.0.1', self.port), timeout=timeout * SLOW)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self.tls.wrap_socket(s, server_hostname='localhost') if self.tls else s

    def stop(self, sig=signal.SIGTERM, seconds=30):
        if self.proc.poll() is None:
            self.proc.send_signal(sig)
        return self.wait(seconds)

    def wait(self, seconds=30):
        """Its exit status, once it has gone."""
        try:
            code = self.proc.wait(seconds * SLOW)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            code = self.proc.wait()
            code = 'hangs'
        self.log_file.close()
        return code

    def ask(self, method, path, body=None, headers=None, timeout=10):
        """(status, headers, body) over a connection of its own."""
        with self.connect(timeout) as s:
            s.sendall(request(method, path, body, headers))
            return Answer(s, method == 'HEAD').whole()

    def get(self, path, headers=None, **kw):
        return self.ask('GET', path, None, headers, **kw)

    def post(self, path, body=None, headers=None, **kw):
        return self.ask('POST', path, body, headers, **kw)

    def json(self, path):
        return json.loads(self.get(path)[2])

    def stream(self, path, body=None, headers=None, method=None, timeout=10):
        return Stream(self, method or ('GET' if body is None else 'POST'), path, body, headers, timeout)

    def run(self, agent, input=None, timeout=20, **more):
        """Crumbs of a run, to its end."""
        s = self.stream(f'/agents/{agent}/run', {'input': input, **more}, timeout=timeout)
        return list(s.crumbs())

    def submit(self, agent, input=None, **more):
        status, _, body = self.post(f'/agents/{agent}/runs', {'input': input, **more})
        return json.loads(body)['runId'] if status == 202 else None

    def log_of(self, run, **kw):
        """Crumbs of a run from its first, to its end."""
        return list(self.stream(f'/runs/{run}/stream', **kw).crumbs())

    def status(self, run):
        return json.loads(self.get(f'/runs/{run}')[2]).get('status')

    def ended(self, run, seconds=10):
        return wait_for(lambda: self.status(run) in ('completed', 'failed', 'cancelled')
                        and self.status(run), seconds)


@contextlib.contextmanager
def serving(models=None, agents=None, tools=None, config=None, files=None, **kw):
    """A server for the length of a with; ends checked: it must go in peace."""
    folder = project(models, agents, tools, config, files=files)
    s = Server(folder, **kw)
    try:
        yield s
    finally:
        live = s.alive()
        code = s.stop()
        log = s.log()
        if not live or code not in (0, 143, -15):
            check('the server lives, and goes in peace', False, f'exit {code}; {log[-3000:]}')
        for word in ('ERROR: AddressSanitizer', 'runtime error:', 'WARNING: ThreadSanitizer',
                     'LeakSanitizer', 'definitely lost'):
            if word in log:
                at = log.find(word)
                check('no sanitizer complains', False)
                print(log[max(0, at - 200):at + 6000])
                break
        shutil.rmtree(folder, ignore_errors=True)


# ---- HTTP ----

def to_bytes(v):
    return v if isinstance(v, bytes) else v.encode('utf-8', 'surrogatepass')


def request(method, path, body=None, headers=None, version='1.1'):
    """body: bytes, or anything that becomes JSON. headers may take the defaults' place."""
    h = {'Host': 'localhost', 'Connection': 'close'}
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
        h['Content-Type'] = 'application/json'
    if body is not None:
        h['Content-Length'] = str(len(body))
    h.update(headers or {})
    head = to_bytes(f'{method} ') + to_bytes(path) + to_bytes(f' HTTP/{version}\r\n')
    for k, v in h.items():
        if v is not None:
            head += to_bytes(k) + b': ' + to_bytes(v) + b'\r\n'
    return head + b'\r\n' + (body or b'')


class Answer:
    """One answer on a socket; more may follow."""

    def __init__(self, sock, is_head=False, rest=b''):
        self.sock, self.buf, self.is_head = sock, rest, is_head
        self.status, self.headers = 0, {}
        self.deadline = time.monotonic() + 60 * SLOW  # heartbeats would hold a reader for ever
        head = self.until(b'\r\n\r\n')
        while head.startswith(b'HTTP/1.1 100'):
            head = self.until(b'\r\n\r\n')
        if not head:
            return
        lines = head.decode('latin-1').split('\r\n')
        self.status = int(lines[0].split(' ')[1])
        for line in lines[1:]:
            if line:
                k, v = line.split(':', 1)
                self.headers[k.lower()] = v.strip()

    def more(self):
        if time.monotonic() > self.deadline:
            raise TimeoutError('no end of the answer in a minute')
        try:
            data = self.sock.recv(65536)
        except ConnectionResetError:
            data = b''
        self.buf += data
        return bool(data)

    def until(self, mark):
        while mark not in self.buf:
            if not self.more():
                return b''
        at = self.buf.index(mark) + len(mark)
        out, self.buf = self.buf[:at], self.buf[at:]
        return out

    def exactly(self, n):
        while len(self.buf) < n:
            if not self.more():
                break
        out, self.buf = self.buf[:n], self.buf[n:]
        return out

    def pieces(self):
        """The body as it comes. self.clean tells whether it came to its end."""
        self.clean = False
        if self.is_head or self.status in (204, 304):
            self.clean = True
        elif self.headers.get('transfer-encoding') == 'chunked':
            while True:
                line = self.until(b'\r\n')
                if not line:
                    return
                n = int(line.split(b';')[0], 16)
                data = self.exactly(n + 2)
                if len(data) < n + 2:
                    return
                if n == 0:
                    self.clean = True
                    return
                yield data[:n]
        elif 'content-length' in self.headers:
            n = int(self.headers['content-length'])
            data = self.exactly(n)
            self.clean = len(data) == n
            yield data
        else:
            while True:
                if self.buf:
                    out, self.buf = self.buf, b''
                    yield out
                elif not self.more():
                    self.clean = True
                    return

    def whole(self):
        return self.status, self.headers, b''.join(self.pieces())


class Crumb(dict):
    """A crumb with the id it came under."""
    id = None

    @property
    def is_delta(self):
        return self['type'] in ('text:delta', 'reasoning:delta')


class Stream:
    """A stream of crumbs, NDJSON or SSE. Iterating ends when the server ends it."""

    def __init__(self, server, method, path, body=None, headers=None, timeout=10):
        self.sock = server.connect(timeout)
        self.sock.sendall(request(method, path, body, headers))
        self.answer = Answer(self.sock)
        self.status, self.headers = self.answer.status, self.answer.headers
        self.sse = self.headers.get('content-type') == 'text/event-stream'
        self.raw, self.beats, self.failure, self.reset = b'', 0, None, None

    def lines(self):
        rest = b''
        for piece in self.answer.pieces():
            self.raw += piece
            rest += piece
            *whole, rest = rest.split(b'\n')
            yield from whole

    def frames(self):
        """(id, type or None, crumb or payload) in order."""
        id = None
        for line in self.lines():
            if self.sse:
                if line.startswith(b'id: '):
                    id = line[4:].decode()
                elif line.startswith(b'data: '):
                    v = json.loads(line[6:])
                    yield id, v['type'], v['payload']
                    id = None
                elif line.startswith(b': '):
                    self.beats += 1
            elif line == b'':
                self.beats += 1
            else:
                v = json.loads(line)
                yield v.get('id', str(v['seq'])), v['type'], v.get('crumb', v)

    def crumbs(self):
        for id, type, payload in self.frames():
            if type == 'reset':
                self.reset = payload
            elif (self.sse and type == 'error') or (not self.sse and id == '0'):
                self.failure = payload if self.sse else payload['error']
            else:
                c = Crumb(payload)
                c.id = id
                yield c

    def take(self, n):
        out = []
        for c in self.crumbs():
            out.append(c)
            if len(out) == n:
                break
        return out

    def until(self, type):
        for c in self.crumbs():
            if c['type'] == type:
                return c
        return None

    @property
    def clean(self):
        return getattr(self.answer, 'clean', False)

    def close(self):
        self.sock.close()


def text_of(crumbs, kind='text:delta'):
    return ''.join(c['delta'] for c in crumbs if c['type'] == kind)


def types_of(crumbs):
    """Types in order, a row of equal deltas as one."""
    out = []
    for c in crumbs:
        if not (out and c.is_delta and out[-1] == c['type']):
            out.append(c['type'])
    return out


def error_of(body):
    """(code, message) of an error answer, whichever of the two shapes it has."""
    try:
        e = json.loads(body)['error']
    except (ValueError, KeyError, TypeError):
        return None, body
    return (e.get('code'), e.get('message')) if isinstance(e, dict) else ('', e)


def gone(pid):
    """No such process, or a dead one that nobody has waited for."""
    try:
        with open(f'/proc/{pid}/stat') as f:
            return re.sub(r'^.*\)', '', f.read()).split()[0] in ('Z', 'X')
    except OSError:
        return True
