# SPDX-License-Identifier: MIT
"""A store that fails: full, read-only, rubbish, gone. A clear error, an honest end, and no loss."""
import os
import subprocess
import tempfile
import time
from wire import *

MODELS = {'hi': {'when': [{'stream': [{'text': 'hello'}]}]},
          'slow': {'when': [{'stream': [{'text': 'w{{i}} ', 'repeat': 10, 'each': 'word', 'delay_ms': 100}]}]},
          'ask': {'when': [{'match': {'role': 'tool'}, 'stream': [{'text': 'thanks'}]}, {'stream': [{'tool_call': {'id': 'h1', 'name': 'human_ask', 'args': {}}}]}]}}
AGENTS = {'hi': 'hi', 'slow': 'slow', 'ask': {'model': {'provider': 's', 'model': 'ask'}, 'humanTools': [{'name': 'ask', 'schema': {'type': 'object'}}]}}


def store(path):
    return {'store': {'type': 'sqlite', 'path': path}}


def start(folder, **kw):
    s = Server(folder, wait=False, **kw)
    wait_for(lambda: s.proc.poll() is not None or s.answers(), 10)
    return s


def refused(name, folder, *words):
    s = start(folder)
    if s.alive():
        s.stop()
        check(f'{name}: refused', False, s.log()[-300:])
        return
    code = s.proc.wait()
    check(f'{name}: exit status 5 and a reason', code == 5 and all(w in s.log() for w in words) and 'Sanitizer' not in s.log(), (code, s.log()[-400:]))


def test_full_disk():
    disk = tempfile.mkdtemp(prefix='bread-disk-')
    r = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', disk], capture_output=True)
    if r.returncode:
        print('skipped: no right to mount')
        return
    folder = project(MODELS, AGENTS, config=store(f'{disk}/b.db'))
    try:
        s = start(folder)
        before = s.run('hi', 'before')[0]['runId']
        live = s.stream('/agents/slow/run', {'input': 'x'}, timeout=60)
        live.take(2)
        with open(f'{disk}/filler', 'wb', buffering=0) as f:
            try:
                while f.write(b'x' * 4096):
                    pass
            except OSError:
                pass
        t0 = time.monotonic()
        crumbs = list(live.crumbs())
        check('the run that was on ends honestly', live.failure and live.failure['code'] == 'STORE_FAILED' and not any(c['type'] == 'agent:run:end' for c in crumbs), (crumbs[-1:], live.failure))
        check('in a time that one can wait', time.monotonic() - t0 < 30 * SLOW, time.monotonic() - t0)
        t = s.stream('/agents/hi/run', {'input': 'y' * 2000}, timeout=60)
        crumbs = list(t.crumbs())
        check('a new one, too', t.failure and t.failure['code'] == 'STORE_FAILED' and not any(c['type'] == 'agent:run:end' for c in crumbs), (crumbs, t.failure))
        check('the reason is in the log', 'no space left' in s.log(), s.log()[-500:])
        equal('what was there can be read', [c['type'] for c in s.log_of(before)][-1], 'agent:run:end')
        equal('it is alive', s.get('/health/live')[0], 200)
        os.unlink(f'{disk}/filler')
        ok = wait_for(lambda: s.run('hi', 'again')[-1]['type'] == 'agent:run:end', 30)
        check('with room again it works', ok)
        check('it goes in peace', s.stop() in (0, 143), s.log()[-500:])
        s = start(folder)
        left = wait_for(lambda: not s.json('/runs?status=running'), 20)
        check('the run that was cut is taken up', left, s.json('/runs'))
        s.stop()
    finally:
        subprocess.run(['umount', '-l', disk], capture_output=True)


def test_read_only():
    folder = project(MODELS, AGENTS, config=store('ro/b.db'))
    os.mkdir(f'{folder}/ro')
    s = start(folder)
    s.run('hi', 'x')
    s.stop()
    if os.geteuid() == 0:
        r = subprocess.run(['mount', '--bind', f'{folder}/ro', f'{folder}/ro'], capture_output=True)
        r = r if r.returncode else subprocess.run(['mount', '-o', 'remount,ro,bind', f'{folder}/ro'], capture_output=True)
        if r.returncode:
            print('skipped: no right to mount')
            return
    else:
        os.chmod(f'{folder}/ro/b.db', 0o444)
        os.chmod(f'{folder}/ro', 0o555)
    try:
        refused('a read-only file', folder, 'b.db')
    finally:
        subprocess.run(['umount', '-l', f'{folder}/ro'], capture_output=True)


def test_rubbish():
    for name, content in (('text', b'this is no database, but it is long enough to look at\n' * 200), ('zeros', b'\0' * 8192), ('a header and rubbish', b'SQLite format 3\0' + os.urandom(8176)), ('a short file', b'SQLite')):
        folder = project(MODELS, AGENTS, config=store('b.db'))
        put(f'{folder}/b.db', content)
        if name == 'zeros':
            continue
        refused(f'a database of {name}', folder, 'b.db')
        equal(f'{name}: nobody touched it', open(f'{folder}/b.db', 'rb').read(), content)
    folder = project(MODELS, AGENTS, config=store('b.db'))
    os.mkdir(f'{folder}/b.db')
    refused('a folder in its place', folder, 'b.db')
    folder = project(MODELS, AGENTS, config=store('nope/b.db'))
    refused('a folder that is not there', folder, 'nope')


def test_replaced_while_running():
    folder = project(MODELS, AGENTS, config=store('b.db'))
    s = start(folder)
    run = s.run('hi', 'x')[0]['runId']
    with open(f'{folder}/b.db', 'r+b') as f:
        f.seek(0)
        f.write(os.urandom(65536))
    with open(f'{folder}/b.db-wal', 'r+b') as f:
        f.truncate(0)
    outcomes = []
    for _ in range(3):
        t = s.stream('/agents/hi/run', {'input': 'y'}, timeout=60)
        if t.status != 200:
            outcomes.append(error_of(b''.join(t.answer.pieces()))[0])
            continue
        crumbs = list(t.crumbs())
        outcomes.append(t.failure['code'] if t.failure else crumbs[-1]['type'])
    check('rubbish under a running server: told, and no crash', s.alive() and all(o in ('STORE_FAILED', 'agent:run:end', 'INTERNAL_ERROR') for o in outcomes), (outcomes, s.log()[-400:]))
    for path in ('/runs', '/sessions', f'/runs/{run}', f'/runs/{run}/stream', f'/runs/{run}/crumbs/1', '/health/ready', '/metrics'):
        status, _, body = s.get(path, timeout=30)
        check(f'{path}: an answer', status in (200, 400, 404, 500, 502, 503) and 'sqlite' not in body.decode().lower() or path in ('/metrics', '/health/ready'), (status, body[:200]))
    check('it goes', s.stop(seconds=30) != 'hangs', s.log()[-300:])


def test_locked():
    """Another process holds the database: writes wait, and go on."""
    import sqlite3
    folder = project(MODELS, AGENTS, config=store('b.db'))
    s = start(folder)
    s.run('hi', 'x')
    db = sqlite3.connect(f'{folder}/b.db', isolation_level=None)
    db.execute('begin immediate')
    t = s.stream('/agents/hi/run', {'input': 'y'}, timeout=30)
    time.sleep(1)
    equal('readers are served meanwhile', s.get('/runs')[0], 200)
    db.execute('rollback')
    crumbs = list(t.crumbs())
    equal('and the run ends well', crumbs[-1]['type'], 'agent:run:end')
    check('ends in peace', s.stop() in (0, 143))


main(globals())
