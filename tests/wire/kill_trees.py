# SPDX-License-Identifier: MIT
"""C1, C11, C16: compositions whose servers are killed at any moment, while their humans are answered.

One pipeline has everything in each other: a parallel step in a parallel step, a branch that a decision
chose, in it a supervisor that delegates to a loop, maps, questions and approvals. One or two processes
have its file; they are killed with SIGKILL at the n-th write to the database (kill_shim.c) or at a
random moment, and started again. Then the output is the one it has without kills, all logs and the
tree's have no hole and one end, no tool ran twice, viewers of the tree have come to its end over all
their connections, and nothing is left open.

The seed is printed; --seed N begins with that one, --all plays more."""
import http.client
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from wire import *

ROUNDS = 40 if '--all' in sys.argv else 6
SEED = int(sys.argv[sys.argv.index('--seed') + 1]) if '--seed' in sys.argv else random.randrange(10 ** 6)
ONLY[:] = [a for a in ONLY if a.startswith('test_')]
R = random.Random()


def call(id, name, **args):
    return {'tool_call': {'id': id, 'name': name, 'args': args}}


def delegate(id, agent):
    return call(id, 'core_delegate', agentId=agent, input='x')


def on(tool, *steps):
    return {'match': {'role': 'tool', 'tool': tool}, 'stream': list(steps)}


def after(text):
    return {'match': {'role': 'tool'}, 'stream': [{'text': text}]}


def agent(model, **more):
    return {'model': {'provider': 's', 'model': model}, **more}


def step(id):
    return {'type': 'agent', 'agentId': id}


ROW = ['ask', 'care', 'say']
MODELS = {
    'say': {'when': [{'stream': [{'text': 'say({{input}})', 'each': 'char', 'delay_ms': 1}]}]},
    'work': {'when': [after('worked'), {'stream': [{'text': 'hm '}, call('w1', 'tool_mark'), call('w2', 'tool_mark')]}]},
    'care': {'when': [after('did'), {'stream': [call('t1', 'tool_mark')]}]},
    'ask': {'when': [after('heard {{result}}'), {'stream': [call('h1', 'human_ask'), call('h2', 'human_ask')]}]},
    'boss': {'when': [after('done'), {'stream': [delegate('d1', 'rounds'), delegate('d2', 'work'), delegate('d3', 'ask'),
                                                 call('h1', 'human_ask')]}]},
    'rounds': {'when': [on('core_finish_loop', {'text': 'looped'}), on('core_iterate_loop', call('l3', 'core_finish_loop')),
                        on('core_start_loop', call('l2', 'core_iterate_loop', feedback='more')),
                        {'stream': [call('l1', 'core_start_loop', pipeline=ROW, input='x')]}]},
}
HUMAN = [{'name': 'ask', 'schema': {'type': 'object'}}]
AGENTS = {
    'say': 'say', 'work': 'work', 'ask': agent('ask', humanTools=HUMAN),
    'care': agent('care', permissions={'ask': ['tool:mark']}),
    'boss': agent('boss', humanTools=HUMAN, supervisor={'agents': [{'agentId': a} for a in ('rounds', 'work', 'ask')]}),
    'rounds': agent('rounds', loop={'pool': ROW, 'maxIterations': 3}),
}
MARK = {'command': ['/bin/sh', '-c', 'cat >/dev/null; echo "$BREAD_RUN_ID $BREAD_TOOL_CALL_ID" >>"$FOLDER/ran"; echo 1'],
        'schema': {'type': 'object'}}
TOOLS = {'work': {'mark': MARK}, 'care': {'mark': MARK}}
CHOICE = {'type': 'choice', 'text': 'which', 'options': ['a', 'b'], 'otherwise': 'b'}
ALL = [step('say'), {'type': 'decision', 'provider': 'd', 'question': CHOICE},
       {'type': 'parallel', 'steps': [
           {'type': 'branch', 'cases': [{'eq': 'a', 'steps': [step('boss'), step('say')]}], 'default': []},
           {'type': 'parallel', 'steps': [step('ask'), step('work'), step('care')]},
           {'type': 'map', 'agentId': 'work', 'concurrency': 2}]},
       {'type': 'map', 'agentId': 'ask', 'concurrency': 3}, step('say')]
CONFIG = {'pipelines': {'all': ALL},
          'decisions': {'d': {'type': 'scripted', 'questions': {'which': {'type': 'choice', 'choice': 'a'}}}}}
SAID = 'say(["heard A","heard A","heard A"])'
RUNS, MARKS = 23, 9  # so many runs, and calls of tools in them


def preloaded():
    """What is to be loaded before the server: the shim, behind the sanitizer's own library."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'kill_shim.c')
    shim = os.path.join(tempfile.mkdtemp(prefix='kill-'), 'shim.so')
    subprocess.run(['cc', '-shared', '-fPIC', '-O2', '-o', shim, source, '-ldl'], check=True)
    libs = subprocess.run(['ldd', BREAD], capture_output=True, text=True).stdout
    return ' '.join(re.findall(r'=> (\S*lib[at]san\S*)', libs) + [shim])


class Viewer(threading.Thread):
    """Of the tree: comes back after each cut, with the last number it has."""

    def __init__(self, port, run, sse):
        super().__init__(daemon=True)
        self.port, self.run_id, self.sse = port, run, sse
        self.seen, self.last, self.ended, self.fault = {}, 0, False, None
        self.start()

    def run(self):
        until = time.monotonic() + 120 * SLOW
        while not self.ended and not self.fault and time.monotonic() < until:
            try:
                self.connection()
            except (OSError, http.client.HTTPException):
                time.sleep(.05)

    def connection(self):
        c = http.client.HTTPConnection('127.0.0.1', self.port, timeout=60 * SLOW)
        c.request('GET', f'/runs/{self.run_id}/tree/stream?after={self.last}',
                  headers={'Accept': 'text/event-stream' if self.sse else 'application/x-ndjson'})
        r = c.getresponse()
        if r.status != 200:
            self.fault = (r.status, r.read(), self.last)
            return
        id = None
        while line := r.readline():
            if line.startswith(b'id: '):
                id = int(line[4:])
            line = line[6:] if line.startswith(b'data: ') else line if not self.sse else b''
            if line.strip() and line.endswith(b'\n'):
                self.frame(json.loads(line), id)
        c.close()

    def frame(self, v, id):
        crumb = v.get('payload', v.get('crumb'))
        if 'path' not in v or crumb['type'].endswith(':delta'):
            return
        seq = id if self.sse else v['seq']
        if self.seen.setdefault(seq, crumb) != crumb:
            self.fault = ('it changed', seq, self.seen[seq], crumb)
        self.last = max(self.last, seq)
        self.ended = crumb['type'] in ('agent:run:end', 'agent:error') and len(v['path']) == 1


class Play:
    def __init__(self, preload, seed):
        R.seed(seed)
        self.preload, self.by_write = preload, R.random() < .5
        self.folder = project(MODELS, AGENTS, TOOLS, CONFIG)
        self.kills, self.kills_max = 0, R.randint(2, 14)
        self.servers = [self.boot(free_port()) for _ in range(R.randint(1, 2))]

    def boot(self, port):
        more = {}
        if self.by_write and self.kills < self.kills_max:
            at = R.choice([R.randint(1, 30), R.randint(10, 100), R.randint(60, 600)])
            more = {'LD_PRELOAD': self.preload, 'KILL_FILE': 'bread.db', 'KILL_AT': str(at),
                    'KILL_HOW': R.choice(['before', 'half', 'after'])}
        return Server(self.folder, port, wait=False, env=more)

    def kill(self):
        s = R.choice(self.servers)
        s.proc.kill()
        s.proc.wait()

    def revive(self):
        for i, s in enumerate(self.servers):
            if s.proc.poll() is not None:
                if s.proc.returncode != -signal.SIGKILL:
                    check('nobody dies but by our hand', False, s.log()[-3000:])
                self.kills += 1
                self.servers[i] = self.boot(s.port)

    def query(self, sql, *args):
        for left in range(50, -1, -1):
            db = None
            try:
                db = sqlite3.connect(f'file:{self.folder}/bread.db?mode=ro', uri=True, timeout=10)
                return db.execute(sql, args).fetchall()
            except sqlite3.Error:
                if not left:
                    raise
                time.sleep(.05)
            finally:
                if db:
                    db.close()

    def begin(self):
        """The root's id. Asked with a key, until somebody has lived long enough to write it down."""
        def ask():
            self.revive()
            with contextlib.suppress(OSError, ValueError, IndexError):
                with self.servers[0].connect(5) as s:
                    s.sendall(request('POST', '/pipelines/all/run', {'input': [1, 2, 3]}, {'Idempotency-Key': 'once'}))
                    s.recv(100)
            with contextlib.suppress(sqlite3.Error, IndexError):
                return self.query('select id from bread_runs where parent_id is null')[0][0]
        return wait_for(ask, 30)

    def answer(self, row, server):
        key = {'Idempotency-Key': row['checkpointId']} if R.random() < .5 else {}
        value = {'approved': True} if row['kind'] == 'approval' else 'A'
        with contextlib.suppress(OSError):
            with server.connect(5) as s:
                s.sendall(request('POST', f"/resume/{row['checkpointId']}", {'response': value}, key))
                s.recv(R.choice([1, 2000]))

    def answer_some(self):
        """The root's status, if somebody said it."""
        s = R.choice(self.servers)
        try:
            status = s.json(f'/runs/{self.root}').get('status')
            rows = s.json(f'/checkpoints?run={self.root}')
        except (OSError, ValueError):
            time.sleep(.02)
            return None
        R.shuffle(rows)
        threads = [threading.Thread(target=self.answer, args=(row, R.choice(self.servers))) for row in rows[:R.randint(1, 4)]]
        for t in threads:
            t.start()
        if threads and not self.by_write and self.kills < self.kills_max and R.random() < .8:
            time.sleep(R.random() ** 2 * .25)
            self.kill()
        for t in threads:
            t.join()
        time.sleep(R.random() * .1)
        return status

    def to_the_end(self):
        until = time.monotonic() + 60 * SLOW
        status = None
        while status not in ('completed', 'failed', 'cancelled') and time.monotonic() < until:
            self.revive()
            status = self.answer_some()
        return status

    def faults(self):
        """What is wrong with what was left."""
        if self.query('select output from bread_runs where id = ?', self.root)[0][0] != json.dumps(SAID):
            yield 'the output is another'
        rows = self.query('select id, status, agent_id from bread_runs')
        if len(rows) != RUNS or any(r[1] != 3 for r in rows):
            yield f'{len(rows)} runs: {[r for r in rows if r[1] != 3]}'
        for id, _, name in rows:
            log = self.query('select seq, type from crumbs where run_id = ? order by seq', id)
            ends = [seq for seq, type in log if type in ('agent:run:end', 'agent:error')]
            if [seq for seq, _ in log] != list(range(1, len(log) + 1)) or ends != [len(log)]:
                yield f'the log of {name}: {log}'
        numbers = [r[0] for r in self.query('select tree_seq from bread_tree where root_id = ? order by 1', self.root)]
        if numbers != list(range(1, len(numbers) + 1)):
            yield f'numbers of the tree: {numbers}'
        if self.query('select id from checkpoints') or self.query("select id from loops where status not in ('completed', 'finished')"):
            yield 'checkpoints or loops are open'
        yield from self.faults_of_tools()

    def faults_of_tools(self):
        with open(f'{self.folder}/ran') as f:
            ran = f.read().split('\n')[:-1]
        told = [json.loads(r[0]) for r in self.query("select crumb from crumbs where type in ('tool:result', 'tool:error')")]
        ids = [(c['runId'], c['toolCallId']) for c in told]
        cut = sum('TOOL_INTERRUPTED' in json.dumps(c) for c in told)
        if len(set(ran)) != len(ran) or len(set(ids)) != len(ids):
            yield f'a tool ran twice, or was told twice: {sorted(ran)}'
        if len(ran) + cut < MARKS:
            yield f'{len(ran)} tools ran, and {cut} were interrupted'

    def stop(self):
        for s in self.servers:
            s.stop()
            if 'Sanitizer' in s.log() or 'runtime error' in s.log():
                yield s.log()[-4000:]


def test_kills():
    print(f'seed {SEED}')
    preload, kills, wrong = preloaded(), 0, []
    for seed in range(SEED, SEED + ROUNDS):
        play = Play(preload, seed)
        play.root = play.begin()
        viewers = [Viewer(play.servers[0].port, play.root, sse) for sse in (False, True)]
        status = play.to_the_end()
        play.kills_max = 0
        play.revive()
        for v in viewers:
            v.join(60 * SLOW)
        faults = [] if status == 'completed' else [f'it is {status}']
        faults += [f'a viewer: {v.fault or v.last}' for v in viewers if v.fault or not v.ended]
        faults += [*play.faults(), *play.stop()]
        if faults:
            wrong.append((seed, faults, play.folder))
        else:
            shutil.rmtree(play.folder, ignore_errors=True)
        kills += play.kills
    check(f'{ROUNDS} compositions, over {kills} kills', not wrong, wrong)


main(globals())
