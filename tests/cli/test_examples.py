# SPDX-License-Identifier: MIT
"""The examples do what their READMEs say."""
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

from program import Project, Started, environment, main, run

EXAMPLES = os.environ['EXAMPLES']


class Embed(unittest.TestCase):
    def check(self, program, **env):
        p = subprocess.run([program], capture_output=True, text=True, timeout=30, env=dict(environment(), **env))
        self.assertEqual((p.returncode, p.stderr), (0, ''))
        crumbs = [json.loads(l) for l in p.stdout.splitlines()]
        self.assertEqual(crumbs[-1]['output'], 'It is 21.5.')
        self.assertIn({'at': 'here'}, [c.get('args') for c in crumbs])

    def test_it_runs_its_agent_and_prints_the_crumbs(self):
        self.check(os.environ['EMBED'])

    def test_it_is_at_most_sixty_lines(self):
        self.assertLessEqual(len(open(f'{EXAMPLES}/embed/main.c').readlines()), 60)

    @unittest.skipUnless(all(map(shutil.which, ('pkg-config', 'make', 'meson'))), 'needs pkg-config, make and meson')
    def test_its_makefile_builds_it(self):
        build, sanitize = os.environ['BUILD'], os.environ['SANITIZE']
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        shutil.copytree(f'{EXAMPLES}/embed', f'{folder}/embed')
        subprocess.run(['meson', 'install', '-C', build, '--no-rebuild', '--quiet', '--destdir', folder], check=True,
                       capture_output=True)
        lib = os.path.dirname(glob.glob(f'{folder}/**/pkgconfig/bread.pc', recursive=True)[0])
        env = dict(environment(), PKG_CONFIG_PATH=lib, PKG_CONFIG_SYSROOT_DIR=folder, CFLAGS='-O1' if sanitize == 'none' else f'-O1 -fsanitize={sanitize}')
        p = subprocess.run(['make', '-C', f'{folder}/embed'], capture_output=True, text=True, env=env)
        self.assertEqual(p.returncode, 0, p.stderr)
        self.check(f'{folder}/embed/embed', LD_LIBRARY_PATH=os.path.dirname(lib))


class Compose(unittest.TestCase):
    def crumbs(self, *words, said=''):
        p = subprocess.run([os.environ['COMPOSE'], *words], input=said, capture_output=True, text=True, timeout=30,
                           env=environment())
        self.assertEqual(p.returncode, 0, p.stderr)
        lines = [re.fullmatch(r'(\d+) (\[.*?\]) (\{.*\})', l) for l in p.stdout.splitlines()]
        return [(int(m[1]), json.loads(m[2]), json.loads(m[3])) for m in lines]

    def test_the_tree_is_shown_with_its_numbers_and_paths(self):
        crumbs = self.crumbs('yes')
        durable = [n for n, _, c in crumbs if not c['type'].endswith(':delta')]
        self.assertEqual((durable, durable[0]), (sorted(set(durable)), 1))
        self.assertIn(['garden', '1.map.0', 'buyer'], [path for _, path, _ in crumbs])
        self.assertEqual((crumbs[-1][1], crumbs[-1][2]['output']), (['garden'], ['Bought.']))

    def test_the_human_may_say_no(self):
        self.assertEqual(self.crumbs(said='no\n')[-1][2]['output'], ['Not bought.'])


class Hello(unittest.TestCase):
    def test_it_answers(self):
        p = Project()
        self.addCleanup(p.remove)
        shutil.copytree(f'{EXAMPLES}/hello', p.path('hello'))
        self.assertEqual(run('build', '--cwd', p.path('hello')).status, 0)
        r = run('invoke', 'hello', 'What day is it?', '--cwd', p.path('hello'))
        self.assertEqual((r.status, r.err), (0, ''))
        self.assertIn('It is ', r.out)


class Client:
    """One connection; answers and notifications in the order in which they come."""

    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(path)
        self.lines = self.sock.makefile('r')
        self.id = 0

    def send(self, text):
        self.sock.sendall(text.encode())

    def call(self, method, **params):
        self.id += 1
        self.send(json.dumps({'jsonrpc': '2.0', 'id': self.id, 'method': method, 'params': params}) + '\n')
        while 'id' not in (answer := self.next()):
            pass
        assert answer['id'] == self.id, answer
        return answer

    def next(self):
        return json.loads(self.lines.readline())

    def until_end(self):
        got = []
        while (n := self.next())['method'] != 'end':
            got.append(n['params']['crumb'])
        return got, n['params']


PROJECT = {
    'bread.yaml': 'store: memory\ntransport: stream\nproviders: { scripted: { file: models.yaml } }\n',
    'models.yaml': 'models:\n  m:\n    when:\n      - match: { contains: hang }\n        stream: [{ hang: true }]\n'
                   '      - stream: [{ text: "{{input}}", each: word }]\n',
    'agents/echo/agent.yaml': 'model: { provider: scripted, model: m }\ninputSchema: { type: string }\n',
}


class Ingress(unittest.TestCase):
    def setUp(self):
        self.p = Project(PROJECT)
        self.addCleanup(self.p.remove)
        self.server = Started([os.environ['RPC'], self.p.dir, self.p.path('s')])
        self.addCleanup(self.server.kill)
        self.server.wait_for('listening')
        self.c = Client(self.p.path('s'))

    def run_id(self, text):
        return self.c.call('run', agent='echo', input=text)['result']['runId']

    def test_agents_are_listed(self):
        self.assertEqual(self.c.call('agents')['result'], ['echo'])

    def test_a_run_is_followed_by_two_peers(self):
        run_id = self.run_id('a b c')
        other = Client(self.p.path('s'))
        for c in (self.c, other):
            self.assertEqual(c.call('subscribe', runId=run_id)['result'], {})
        for c in (self.c, other):
            crumbs, end = c.until_end()
            self.assertEqual((crumbs[0]['type'], crumbs[-1]['output']), ('agent:run:start', 'a b c'))
            self.assertTrue(end['ok'])
            self.assertEqual(''.join(x['delta'] for x in crumbs if x['type'] == 'text:delta'), 'a b c')

    def test_a_late_peer_gets_the_rest(self):
        run_id = self.run_id('x')
        self.c.call('subscribe', runId=run_id)
        crumbs, _ = self.c.until_end()
        self.c.call('subscribe', runId=run_id, after=crumbs[-2]['seq'])
        self.assertEqual(self.c.until_end()[0][-1], crumbs[-1])

    def test_a_run_is_cancelled(self):
        run_id = self.run_id('hang')
        self.assertEqual(self.c.call('cancel', runId=run_id)['result'], {'status': 'cancelling'})
        self.c.call('subscribe', runId=run_id)
        self.assertEqual(self.c.until_end()[0][-1]['error']['code'], 'RUN_CANCELLED')
        self.assertEqual(self.c.call('cancel', runId=run_id)['result'], {'status': 'ended'})

    def test_what_is_wrong_is_answered(self):
        self.assertEqual(self.c.call('frob')['error']['code'], -32601)
        self.assertEqual(self.c.call('run', agent='nobody')['error']['code'], -32000)
        self.assertEqual(self.c.call('run', agent='echo', input=5)['error']['code'], -32000)
        self.assertEqual(self.c.call('cancel', runId='nobody')['error']['code'], -32001)
        self.assertEqual(self.c.call('cancel', runId='a"b')['error']['code'], -32602)
        self.c.call('subscribe', runId='nobody')
        self.assertFalse(self.c.until_end()[1]['ok'])
        self.c.send('{not json}\n')
        self.assertEqual(self.c.next()['error']['code'], -32700)
        self.c.send('{"id":7}\n')
        self.assertEqual(self.c.next(), {'jsonrpc': '2.0', 'id': 7,
                                         'error': {'code': -32600, 'message': 'method must be a string'}})

    def test_a_peer_that_goes_away_harms_nobody(self):
        for _ in range(3):  # more than there are places in all, fewer at once
            for _ in range(30):
                gone = Client(self.p.path('s'))
                gone.send('{"id":1,"method":"run","params":{"agent":"echo","input":"x"}}\n{"half":')
                gone.sock.close()
                gone.lines.close()
            self.assertEqual(Client(self.p.path('s')).call('agents')['result'], ['echo'])

    def test_a_line_without_end_is_cut_off(self):
        with self.assertRaises(OSError):
            for _ in range(64):
                self.c.send('x' * 65536)

    def test_it_ends_when_told(self):
        self.run_id('hang')
        self.assertEqual(self.server.end(signal.SIGTERM), 0)
        self.assertEqual(self.server.said(1), '')


if __name__ == '__main__':
    main()
