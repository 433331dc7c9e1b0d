# SPDX-License-Identifier: MIT
"""Runs a scenario: a project, a server, the steps in order. What comes back has
the form of a recording."""
import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time

from . import project, recording

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
UUID = r'[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}'
JOIN_S = 60
# templates: keys of what was said, and rows of the store
SAID = {'session': 'sessionId', 'loop': 'loopId', 'task': 'taskRunId', 'root': 'rootRunId'}
STORED = {'dbcheckpoint': lambda r: not r['pending'], 'supervisor_checkpoint': lambda r: bool(r['pending'])}


class Trouble(Exception):
    """The scenario could not be run."""


class NoStart(Trouble):
    """The project was refused."""


class Response(threading.Thread):
    """One request and its answer, read as it comes."""

    def __init__(self, port, req, step):
        super().__init__(daemon=True)
        self.req, self.step, self.path = req, step, req.split(b' ', 2)[1].decode()
        self.got = b''
        self.body = b''
        self.end = {'ended_by': 'server', 'curl_exit': 0}
        self.changed = threading.Condition()
        self.sock = socket.create_connection(('127.0.0.1', port))
        self.start()

    def run(self):
        limit = self.step.get('max_time_s')
        deadline = time.time() + (limit or JOIN_S)
        try:
            self.sock.sendall(self.req)
            while not self.complete():
                self.sock.settimeout(max(0.01, deadline - time.time()))
                data = self.sock.recv(65536)
                if not data:
                    self.closed()
                    break
                self.take(data)
                if self.drop():
                    self.end = {'ended_by': 'client', 'curl_exit': None}
                    break
        except (socket.timeout, TimeoutError):
            self.end['curl_exit'] = 28
        except OSError:
            self.end['curl_exit'] = 56
        self.sock.close()
        with self.changed:
            self.done = True
            self.changed.notify_all()

    done = False
    head = None

    def take(self, data):
        self.got += data
        if self.head is None:
            while b'\r\n\r\n' in self.got:
                head, self.got = self.got.split(b'\r\n\r\n', 1)
                if b' 100 ' not in head.split(b'\r\n')[0]:
                    self.head = head
                    break
        with self.changed:
            self.body = self.decoded()
            self.changed.notify_all()

    def header(self, name):
        for line in (self.head or b'').split(b'\r\n')[1:]:
            k, _, v = line.partition(b':')
            if k.strip().lower() == name:
                return v.strip()
        return None

    def chunked(self):
        return self.header(b'transfer-encoding') == b'chunked'

    def decoded(self):
        if self.head is None:
            return b''
        if not self.chunked():
            return self.got
        out, rest = b'', self.got
        while b'\r\n' in rest:
            size, rest = rest.split(b'\r\n', 1)
            n = int(size, 16)
            if n == 0 or len(rest) < n + 2:
                break
            out, rest = out + rest[:n], rest[n + 2:]
        return out

    def complete(self):
        if self.head is None:
            return False
        if self.req.startswith(b'HEAD '):
            return True
        if self.chunked():
            return self.got.endswith(b'0\r\n\r\n') and (self.got == b'0\r\n\r\n' or self.got.endswith(b'\r\n0\r\n\r\n'))
        length = self.header(b'content-length')
        return length is not None and len(self.got) >= int(length)

    def closed(self):
        if self.head is not None and self.chunked() and not self.complete():
            self.end['curl_exit'] = 18

    def drop(self):
        text = self.step.get('disconnect_after')
        return text is not None and text.encode() in self.body

    def wait_for(self, text):
        until = time.time() + JOIN_S
        with self.changed:
            while text.encode() not in self.body:
                if self.done or time.time() > until:
                    raise Trouble(f"{self.step['id']}: \"{text}\" never came; got {self.body[-300:]!r}")
                self.changed.wait(0.5)

    def result(self):
        self.join(JOIN_S)
        body = self.got if self.step.get('raw') and self.chunked() else self.body
        return {'body': recording.text(body), 'headers': (self.head or b'').decode('latin-1'), 'end': self.end,
                'path': self.path}


class Server:
    def __init__(self, bread, folder, env):
        self.log = open(os.path.join(folder, 'server.log'), 'wb')
        self.proc = subprocess.Popen([bread, 'start', '--cwd', folder, '-p', '0'], stdout=self.log,
                                     stderr=self.log, stdin=subprocess.DEVNULL, env=env)
        self.folder = folder
        until = time.time() + 20
        while not (listens := re.search(r'^\[bread\] Listening on http://.*:(\d+)\n', self.tail(), re.M)):
            if self.proc.poll() is not None or time.time() > until:
                self.proc.kill()
                raise NoStart('the server did not start:\n' + self.tail())
            time.sleep(0.02)
        self.port = int(listens[1])

    def tail(self):
        with open(os.path.join(self.folder, 'server.log')) as f:
            return f.read()[-2000:]

    def stop(self, signal_name='SIGTERM'):
        if self.proc.poll() is None:
            (self.proc.kill if signal_name == 'SIGKILL' else self.proc.terminate)()
        try:
            code = self.proc.wait(30)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            raise Trouble('the server did not stop within 30 s of SIGTERM:\n' + self.tail())
        self.log.close()
        return code


def converse(args, lines, env):
    """Runs a command that is spoken to: each line is sent when what it waits for has been said."""
    p = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    said = {p.stdout: b'', p.stderr: b''}
    changed = threading.Condition()

    def read(f):
        while data := os.read(f.fileno(), 65536):
            with changed:
                said[f] += data
                changed.notify_all()

    readers = [threading.Thread(target=read, args=(f,), daemon=True) for f in said]
    for r in readers:
        r.start()
    for line in lines:
        wanted = line['wait_for'].encode()
        with changed:
            if not changed.wait_for(lambda: any(wanted in s for s in said.values()), JOIN_S):
                p.kill()
                raise Trouble(f"\"{line['wait_for']}\" never came; got {list(said.values())}")
        p.stdin.write(line['send'].encode())
        p.stdin.flush()
    p.stdin.close()
    code = p.wait(JOIN_S)
    for r in readers:
        r.join(JOIN_S)
    return code, said[p.stdout], said[p.stderr]


class Scenario:
    def __init__(self, bread, rec, store, checks_input):
        self.checks_input = checks_input
        self.bread, self.rec, self.s = bread, rec, rec['scenario']
        self.folder = tempfile.mkdtemp(prefix='golden-')
        self.store = store or self.s['store']
        self.responses, self.out = {}, {}
        self.env = dict(os.environ, **self.s.get('env', {}))
        for k in ('COLUMNS', 'NO_COLOR', 'FORCE_COLOR'):
            self.env.pop(k, None)

    def fill(self, text):
        def value(m):
            step, _, what = m[1].partition('.')
            if what in STORED:
                return self.stored(STORED[what])
            body = self.responses[step].body.decode()
            if what == 'run':
                return next(r for r in re.findall(r'"runId":"([^"]*)"', body) if re.fullmatch(UUID, r))
            if what.startswith('run:'):
                return re.search(r'"agentId":"%s","runId":"(%s)"' % (re.escape(what[4:]), UUID), body)[1]
            if what.startswith('checkpoint'):
                found = [m for m in re.findall(r'"type":"human:required".*?"checkpointId":"([^"]*)"', body)]
                return list(dict.fromkeys(found))[int(what[11:-1] or 0) if '[' in what else 0]
            if what in SAID:
                return re.search(r'"%s":"([^"]*)"' % SAID[what], body)[1]
            raise Trouble(f'template {m[0]} is not known')
        try:
            return re.sub(r'\{\{(.*?)\}\}', value, text)
        except (KeyError, StopIteration, TypeError, IndexError) as e:
            raise Trouble(f'{text} could not be filled in: {e!r}')

    def stored(self, which):
        """The id of a checkpoint in the store, which may be about to be written."""
        until = time.time() + 10
        while time.time() < until:
            rows = (self.tables() or {}).get('checkpoints', [])
            found = [r['id'] for r in rows if which(r)]
            if found:
                return found[0]
            time.sleep(0.05)
        raise Trouble('no such checkpoint in the store')

    def request(self, step):
        body, headers = b'', {'Host': f'127.0.0.1:{self.server.port}', 'Connection': 'close'}
        if 'body' in step:
            body = self.fill(json.dumps(step['body'], separators=(',', ':'), ensure_ascii=False)).encode()
        elif 'raw_body' in step:
            body = step['raw_body'].encode()
        elif 'body_repeat' in step:
            r = step['body_repeat']
            body = (r['prefix'] + r['unit'] * r['count'] + r['suffix']).encode()
        if body:
            headers['Content-Type'] = 'application/json'
        headers.update({k: self.fill(v) for k, v in step.get('headers', {}).items()})
        if headers.get('Transfer-Encoding') == 'chunked':
            body = b'%x\r\n%s\r\n0\r\n\r\n' % (len(body), body)
        elif step['method'] in ('POST', 'PUT') or body:
            headers['Content-Length'] = str(len(body))
        head = f"{step['method']} {self.fill(step['path'])} HTTP/1.1\r\n"
        head += ''.join(f'{k}: {v}\r\n' for k, v in headers.items()) + '\r\n'
        return head.encode() + body

    def cli(self, step):
        args = [self.bread] + step['cli']
        if not step.get('no_cwd'):
            args += ['--cwd', self.folder]
        stdin = step.get('stdin', '')
        if isinstance(stdin, list):
            code, out, err = converse(args, stdin, self.env)
        else:
            p = subprocess.run(args, input=stdin.encode(), capture_output=True, env=self.env, timeout=60)
            code, out, err = p.returncode, p.stdout, p.stderr
        self.out[step['id']] = {'stdout': recording.text(out), 'stderr': recording.text(err), 'exit': f'{code}\n'}

    def step(self, step):
        if 'wait_for' in step:
            w = step['wait_for']
            self.responses[w['step']].wait_for(w['contains'])
            time.sleep(w.get('then_ms', 0) / 1000)
        elif 'wait_ms' in step:
            time.sleep(step['wait_ms'] / 1000)
        elif 'join' in step:
            self.responses[step['join']].join(JOIN_S)
        elif 'restart_server' in step:
            self.server.stop(step.get('signal', 'SIGTERM'))
            if 'models_after_restart' in self.s:
                project.models(self.folder, self.s['models_after_restart'])
            self.server = Server(self.bread, self.folder, self.env)
        elif 'cli' in step:
            self.cli(step)
        else:
            r = self.responses[step['id']] = Response(self.server.port, self.request(step), step)
            if not step.get('background'):
                r.join(JOIN_S)

    def tables(self):
        path = os.path.join(self.folder, 'bread.db')
        if not os.path.exists(path):
            return None
        db = sqlite3.connect(path)
        db.row_factory, db.text_factory = sqlite3.Row, lambda b: b.decode('utf-8', 'replace')
        tables = db.execute("SELECT name, sql FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite_%'")
        order = {t[0]: '' if 'WITHOUT ROWID' in t[1] else 'ORDER BY rowid' for t in tables.fetchall()}
        return {n: [dict(r) for r in db.execute(f'SELECT * FROM "{n}" {by}')] for n, by in order.items()}

    def calls(self):
        path = os.path.join(self.folder, 'model_calls.jsonl')
        if not os.path.exists(path):
            return []
        return [json.loads(l) for l in open(path) if l.strip()]

    def run(self):
        project.make(self.s, self.folder, self.store, self.checks_input)
        self.server = None
        try:
            if not self.s.get('no_server'):
                self.server = Server(self.bread, self.folder, self.env)
            for step in self.s['steps']:
                self.step(step)
            for id, r in self.responses.items():
                self.out[id] = r.result()
            if self.server:
                code = self.server.stop()
                if code != 0:
                    raise Trouble(f'the server ended with status {code}:\n' + self.server.tail())
            out = {'steps': self.out, 'store': self.tables(), 'model_calls': self.calls(),
                   'log': self.server.tail() if self.server else ''}
            return json.loads(json.dumps(out).replace(self.folder, '/project'))
        finally:
            if self.server and self.server.proc.poll() is None:
                self.server.proc.kill()
            if not os.environ.get('GOLDEN_KEEP'):
                shutil.rmtree(self.folder, ignore_errors=True)


def run(bread, rec, store=None, checks_input=False):
    # what drives the command line alone says what it takes: `bread build` asks for it
    return Scenario(bread, rec, store, checks_input or rec['scenario'].get('no_server', False)).run()
