# SPDX-License-Identifier: MIT
"""C15: forty answers to one checkpoint at one moment: one wins, 39 are told 409 CHECKPOINT_CLAIMED,
and the tool that was to be approved has run once. Some rounds; with --all two hundred."""
import os
import sys
import threading
from wire import *

ROUNDS = 200 if '--all' in sys.argv else 12
AT_ONCE = 40
ONLY[:] = [a for a in ONLY if a != '--all']

MODELS = {'careful': {'when': [{'match': {'role': 'tool'}, 'stream': [{'text': 'did it'}]},
                               {'stream': [{'tool_call': {'id': 'c1', 'name': 'tool_count', 'args': {}}}]}]}}
AGENTS = {'careful': {'model': {'provider': 's', 'model': 'careful'}, 'permissions': {'ask': ['tool:count']}}}
# a line a run, in one write
TOOLS = {'careful': {'count': {'command': ['/bin/sh', '-c', 'echo ran >> "$FOLDER/ran"; echo 1'],
                               'schema': {'type': 'object'}}}}


def runs_of_tool(s):
    path = f'{s.folder}/ran'
    if not os.path.exists(path):
        return 0
    with open(path) as f:
        n = len(f.readlines())
    os.remove(path)
    return n


def answer_all(servers, checkpoint):
    """What each of them was told: 'won', or the status and code of the refusal."""
    told, lock = [], threading.Lock()
    gate = threading.Barrier(AT_ONCE)

    def answer(i):
        s = servers[i % len(servers)]
        with s.connect(30) as sock:
            gate.wait()
            sock.sendall(request('POST', f'/resume/{checkpoint}', {'response': {'approved': True}}))
            status, _, body = Answer(sock).whole()
        won = status == 200 and b'"type":"human:resumed"' in body and b'"type":"agent:run:end"' in body
        with lock:
            told.append('won' if won else (status, error_of(body)[0] if status != 200 else body[:300]))

    threads = [threading.Thread(target=answer, args=(i,)) for i in range(AT_ONCE)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return told


def play(servers, rounds, name):
    wrong = []
    for i in range(rounds):
        first = servers[i % len(servers)].run('careful', 'x')
        told = answer_all(servers, first[-1]['checkpointId'])
        lost = [t for t in told if t != 'won']
        ran = runs_of_tool(servers[0])
        if len(lost) != AT_ONCE - 1 or set(lost) != {(409, 'CHECKPOINT_CLAIMED')} or ran != 1:
            wrong.append((i, len(lost), set(map(str, lost)), ran))
        log = servers[0].log_of(first[0]['runId'])
        if types_of(log).count('human:resumed') != 1 or log[-1]['type'] != 'agent:run:end':
            wrong.append((i, types_of(log)))
    equal(f'{name}: {rounds} rounds of {AT_ONCE} answers, one of which counts', wrong, [])


def test_one_server():
    with serving(MODELS, AGENTS, TOOLS, {'server': {'threads': 4}}) as s:
        play([s], ROUNDS, 'one server')


def test_two_servers():
    """Two processes on one file of SQLite."""
    with serving(MODELS, AGENTS, TOOLS) as s:
        other = Server(s.folder)
        try:
            play([s, other], max(ROUNDS // 4, 3), 'two servers')
        finally:
            check('the other one goes in peace', other.stop() in (0, 143, -15))


main(globals())
