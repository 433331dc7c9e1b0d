# SPDX-License-Identifier: MIT
"""The real program: what it prints where, and its exit statuses (contract C29)."""
import json
import os
import pty
import shutil
import signal
import subprocess
import time
import unittest
import urllib.request

from program import BREAD, Project, main, run

MODELS = '''
models:
  hello:
    when:
      - match: { role: tool }
        stream: [{ text: "it is {{result}}" }]
      - match: { contains: add }
        stream: [{ tool_call: { name: tool_add, args: { a: 1, b: 2 } } }]
      - match: { contains: fail }
        throw: no luck
      - match: { contains: hang }
        stream: [{ text: "wait" }, { hang: true }]
      - stream: [{ reasoning: "hm" }, { text: "you said {{input}}", each: word }]
  asker:
    when:
      - match: { role: tool }
        stream: [{ text: "thanks for {{result}}" }]
      - stream: [{ tool_call: { name: human_ask, args: { q: "which?" } } }]
'''
ADD = '''
description: adds
schema: { type: object, properties: { a: { type: number }, b: { type: number } }, required: [a, b] }
command: [python3, -c, "import json, sys; a = json.load(sys.stdin); print(a['a'] + a['b'])"]
'''
FILES = {
    'bread.yaml': 'store: sqlite\ntransport: stream\nproviders: { scripted: { file: models.yaml } }\n',
    'models.yaml': MODELS,
    'agents/hello/agent.yaml': 'model: { provider: scripted, model: hello }\ninputSchema: { type: string }\n',
    'agents/hello/tools/add.yaml': ADD,
    'agents/asker/agent.yaml': 'model: { provider: scripted, model: asker }\ninputSchema: { type: string }\n'
                               'humanTools: [{ name: ask, schema: { type: object } }]\n',
}


class Case(unittest.TestCase):
    files = FILES

    def setUp(self):
        self.p = Project(self.files)
        self.addCleanup(self.p.remove)

    def started(self, *args):
        s = self.p.start(*args)
        self.addCleanup(s.kill)
        return s


class Usage(unittest.TestCase):
    def refused(self, *args):
        r = run(*args)
        self.assertEqual((r.status, r.out), (2, ''), args)
        return r.err

    def test_unknown_commands_and_options_are_usage_errors(self):
        self.assertIn("unknown command 'frob'", self.refused('frob'))
        self.assertIn("unknown option '--frob'", self.refused('start', '--frob'))
        self.assertIn("unknown option '-hx'", self.refused('start', '-hx'))
        self.assertIn('argument missing', self.refused('start', '--port'))
        self.assertIn('takes no value', self.refused('invoke', 'a', 'b', '--json=yes'))
        self.assertIn('one argument too many', self.refused('start', 'now'))
        self.assertIn('missing argument', self.refused('invoke'))
        self.assertIn('runs list, runs show', self.refused('runs'))
        self.assertIn('for fish, not', self.refused('completion', 'tcsh').replace('bash, zsh and fish', 'fish'))

    def test_no_command_prints_the_help_on_standard_error(self):
        self.assertIn('Usage: bread', self.refused())

    def test_help_and_version_go_to_standard_output(self):
        self.assertEqual(run('--version').out, run('-V').out)
        self.assertRegex(run('--version').out, r'^\d+\.\d+\.\d+\n$')
        self.assertIn('sessions list', run('--help').out)
        self.assertEqual(run('help', 'runs', 'tail').out, run('runs', 'tail', '--help').out)
        self.assertEqual(run('invoke', '--help').status, 0)

    def test_a_folder_that_is_not_there_is_named(self):
        r = run('build', '--cwd', '/does/not/exist')
        self.assertEqual((r.status, r.err), (1, '[bread] --cwd directory does not exist: /does/not/exist\n'))

    def test_a_folder_without_a_project_names_init(self):
        p = Project()
        self.addCleanup(p.remove)
        r = p.run('start')
        self.assertEqual(r.status, 1)
        self.assertIn('bread init', r.err)

    def test_a_full_disk_is_a_failure(self):
        with open('/dev/full', 'w') as full:
            p = subprocess.run([BREAD, '--help'], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(p.returncode, 1)
        self.assertIn(b'could not be written', p.stderr)


class Init(unittest.TestCase):
    def setUp(self):
        self.p = Project()
        self.addCleanup(self.p.remove)

    def test_what_it_makes_runs_at_once(self):
        self.assertEqual(self.p.run('init', '--yes').status, 0)
        self.assertEqual(self.p.run('build').status, 0)
        r = self.p.run('invoke', 'hello', 'hi')
        self.assertEqual((r.status, r.out), (0, 'Hello! You said: hi\n'))

    def test_nothing_is_overwritten(self):
        self.p.write('models.yaml', 'mine')
        r = self.p.run('init', '--yes')
        self.assertEqual(r.status, 1)
        self.assertIn('models.yaml exists', r.err)
        self.assertEqual(os.listdir(self.p.dir), ['models.yaml'])

    def test_a_provider_of_the_catalogue_names_its_key(self):
        r = self.p.run('init', 'sub', '--yes', '--provider', 'anthropic', '--model', 'm', '--name', 'bot')
        self.assertEqual(r.status, 0)
        self.assertIn('ANTHROPIC_API_KEY', r.err)
        self.assertIn('provider: anthropic', open(self.p.path('sub/agents/bot/agent.yaml')).read())

    def test_a_name_that_cannot_be_one_is_refused(self):
        for bad in ('../x', 'a/b', '', '.hidden'):
            self.assertEqual(self.p.run('init', '--yes', '--name', bad).status, 2, bad)
        self.assertEqual(self.p.run('init', '--yes', '--provider', 'nobody').status, 2)
        self.assertEqual(os.listdir(self.p.dir), [])


class Invoke(Case):
    def test_standard_output_carries_the_text_and_nothing_else(self):
        r = self.p.run('invoke', 'hello', 'a b')
        self.assertEqual((r.status, r.out, r.err), (0, 'you said a b\n', ''))

    def test_json_is_the_output_on_one_line(self):
        r = self.p.run('invoke', 'hello', 'a "b"', '--json')
        self.assertEqual((r.status, r.lines()), (0, ['you said a "b"']))

    def test_the_input_may_come_from_standard_input(self):
        self.assertEqual(self.p.run('invoke', 'hello', stdin='  x y \n').out, 'you said x y\n')
        r = self.p.run('invoke', 'hello', stdin=' \n')
        self.assertEqual((r.status, r.out), (2, ''))

    def test_trace_shows_tools_without_colour(self):
        r = self.p.run('invoke', 'hello', 'add', '--trace')
        self.assertEqual((r.status, r.out, r.err), (0, 'it is 3\n', '↳ tool_add({"a":1,"b":2})\n'))

    def test_a_failed_run_is_status_1(self):
        r = self.p.run('invoke', 'hello', 'fail')
        self.assertEqual((r.status, r.out, r.err), (1, '', '[bread] no luck\n'))

    def test_an_unknown_agent_is_status_1(self):
        r = self.p.run('invoke', 'nobody', 'x')
        self.assertEqual((r.status, r.err), (1, '[bread] Agent "nobody" not found. Available: asker, hello\n'))

    def test_pipelines_are_named_beside_agents(self):
        self.p.write('pipelines/two.yaml', '- { type: agent, agentId: hello }\n')
        r = self.p.run('invoke', 'tow', 'x')
        self.assertEqual((r.status, r.err.splitlines()[1]), (1, '[bread] Pipelines: two'))

    def test_a_start_that_is_refused_names_file_and_line(self):
        self.p.write('bread.yaml', FILES['bread.yaml'] + 'ingress: http-see\n')
        r = self.p.run('start', '-p', '0')
        self.assertEqual(r.status, 1)
        self.assertRegex(r.err, r'^\[bread\] bread\.yaml:\d+:10: there is no ingress "http-see"')

    def test_a_run_that_waits_for_a_human_is_status_3(self):
        r = self.p.run('invoke', 'asker', 'x')
        self.assertEqual(r.status, 3)
        self.assertIn('human_ask', r.err)

    def test_a_signal_cancels_the_run_with_status_4(self):
        for sig in (signal.SIGINT, signal.SIGTERM):
            s = self.started('invoke', 'hello', 'hang')
            s.wait_for('wait')
            self.assertEqual(s.end(sig), 4)
        states = [r['status'] for r in self.p.run('runs', 'list', '--json').lines()]
        self.assertEqual(states, ['cancelled', 'cancelled'])

    def test_a_session_goes_on(self):
        for text in ('one', 'two'):
            self.p.run('invoke', 'hello', text, '-s', 'mine')
        said = self.p.run('sessions', 'show', 'mine').out
        self.assertEqual(said.count('user ▸'), 2)
        self.assertIn('assistant ▸ you said two', said)

    def test_a_store_that_cannot_be_opened_is_status_5(self):
        self.p.write('bread.yaml', FILES['bread.yaml'].replace('sqlite', '{ type: sqlite, path: /dev/null/x.db }'))
        self.assertEqual(self.p.run('invoke', 'hello', 'x').status, 5)
        self.assertEqual(self.p.run('runs', 'list').status, 5)

    def test_the_transport_stdout_prints_runs(self):
        self.p.write('bread.yaml', FILES['bread.yaml'].replace('stream', '{ type: stdout, trace: true }'))
        r = self.p.run('invoke', 'hello', 'add', '--json')
        self.assertEqual(r.out, 'agent ▸ it is 3"it is 3"\n')
        self.assertIn('↳ tool_add', r.err)
        self.assertEqual(self.p.run('start').status, 1)


class Chat(Case):
    def test_all_turns_are_one_session(self):
        r = self.p.run('chat', 'hello', stdin='one\n\ntwo\n/exit\nthree\n')
        self.assertEqual((r.status, r.out), (0, 'agent ▸ you said one\nagent ▸ you said two\n'))
        self.assertEqual(len(self.p.run('sessions', 'list', '--json').lines()), 1)

    def test_the_end_of_input_ends_it(self):
        self.assertEqual(self.p.run('chat', 'hello', stdin='').status, 0)

    def test_a_failed_turn_is_told_and_it_goes_on(self):
        r = self.p.run('chat', 'hello', stdin='fail\nok\n')
        self.assertIn('you said ok', r.out)
        self.assertIn('no luck', r.err)

    def test_a_human_is_asked(self):
        r = self.p.run('chat', 'asker', stdin='go\nblue\n')
        self.assertEqual((r.status, r.out), (0, 'agent ▸ thanks for blue\n'))
        self.assertIn('human_ask needs input {"q":"which?"}', r.err)
        self.assertEqual(self.p.run('chat', 'asker', stdin='go\n').status, 3)

    def test_several_agents_need_a_name(self):
        self.assertEqual(self.p.run('chat').status, 2)

    def test_on_a_terminal_lines_are_edited(self):
        try:
            pid, fd = pty.fork()
        except OSError as e:  # a root without /dev/pts
            self.skipTest(str(e))
        if pid == 0:
            os.execve(BREAD, [BREAD, 'chat', 'hello', '--cwd', self.p.dir],
                      dict(os.environ, TERM='xterm', LC_ALL='C.UTF-8'))
        seen = b''
        for wanted, send in ((b'you', b'abX\x7fc\r'), (b'you said abc', b'/exit\r'), (None, b'')):
            while wanted is None or wanted not in seen:
                try:
                    data = os.read(fd, 65536)
                except OSError:
                    data = b''
                if not data:
                    break
                seen += data
            if send:
                os.write(fd, send)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0, seen)
        self.assertIn(b'you said abc', seen)
        self.assertIn(b'\x1b[2mhm', seen)


class Store(Case):
    def test_runs_are_listed_shown_and_tailed(self):
        self.p.run('invoke', 'hello', 'x')
        run_id = self.p.run('runs', 'list', '--json').lines()[0]['id']
        self.assertIn('completed', self.p.run('runs', 'list').out)
        shown = json.loads(self.p.run('runs', 'show', run_id).out)
        self.assertEqual((shown['output'], shown['input']), ('you said x', 'x'))
        self.assertEqual(self.p.run('runs', 'tail', run_id).out, 'you said x\n')
        crumbs = self.p.run('runs', 'tail', run_id, '--json').lines()
        self.assertEqual((crumbs[0]['type'], crumbs[-1]['type']), ('agent:run:start', 'agent:run:end'))
        rest = self.p.run('runs', 'tail', run_id, '--json', '--after', '1').lines()
        self.assertEqual(rest, crumbs[1:])

    def test_the_status_of_a_tail_is_the_runs(self):
        self.p.run('invoke', 'hello', 'fail')
        run_id = self.p.run('runs', 'list', '--json', '--status', 'failed').lines()[0]['id']
        self.assertEqual(self.p.run('runs', 'tail', run_id).status, 1)
        self.assertEqual(self.p.run('runs', 'tail', 'nobody').status, 1)
        self.assertEqual(self.p.run('runs', 'show', 'nobody').status, 1)
        self.assertEqual(self.p.run('runs', 'cancel', 'nobody').status, 1)
        self.assertEqual(self.p.run('runs', 'list', '--status', 'odd').status, 2)

    def test_a_run_of_another_process_is_followed_and_cancelled(self):
        other = self.started('invoke', 'hello', 'hang')
        other.wait_for('wait')
        run_id = self.p.run('runs', 'list', '--json', '--status', 'running').lines()[0]['id']
        tail = self.started('runs', 'tail', run_id)
        tail.wait_for('wait')
        self.assertEqual(self.p.run('runs', 'cancel', run_id).status, 0)
        self.assertEqual(tail.end(), 4)
        self.assertEqual(other.end(), 4)
        r = self.p.run('runs', 'cancel', run_id)
        self.assertEqual(r.status, 0)
        self.assertIn('cancelled', r.out)

    def test_a_run_that_waits_for_a_human_is_cancelled(self):
        self.p.run('invoke', 'asker', 'x')
        run_id = self.p.run('runs', 'list', '--json', '--status', 'suspended').lines()[0]['id']
        self.assertEqual(self.p.run('runs', 'cancel', run_id).status, 0)
        self.assertEqual(self.p.run('runs', 'list', '--json').lines()[0]['status'], 'cancelled')
        self.assertEqual(self.p.run('runs', 'tail', run_id).status, 4)

    def test_a_command_leaves_runs_of_the_dead_to_servers(self):
        dead = self.started('invoke', 'hello', 'hang')
        dead.wait_for('wait')
        dead.end(signal.SIGKILL)
        self.p.run('invoke', 'hello', 'x')
        states = [r['status'] for r in self.p.run('runs', 'list', '--json').lines()]
        self.assertEqual(states, ['completed', 'running'])

    def test_sessions_are_listed_and_cleaned_up(self):
        self.assertEqual(self.p.run('sessions', 'list').out, '[bread] No sessions found\n')
        self.p.run('invoke', 'hello', 'x', '-s', 'mine')
        self.assertRegex(self.p.run('sessions', 'list').out, r'\nSessions \(1\):\n\n  mine  updated=\d{4}-.*Z\n')
        self.assertEqual(self.p.run('sessions', 'cleanup').out, '[bread] Deleted 0 session(s)\n')
        self.assertEqual(self.p.run('sessions', 'cleanup', '--older-than', '1').out, '[bread] Deleted 0 session(s)\n')
        time.sleep(0.002)
        self.assertEqual(self.p.run('sessions', 'cleanup', '--older-than', '0').out, '[bread] Deleted 1 session(s)\n')
        self.assertEqual(self.p.run('sessions', 'show', 'mine').status, 1)

    def test_a_bad_tag_deletes_nothing(self):
        self.p.run('invoke', 'hello', 'x')
        for args in (('list',), ('cleanup', '--older-than', '0')):
            self.assertEqual(self.p.run('sessions', *args, '--tag', 'nope').status, 2)
        self.assertEqual(len(self.p.run('sessions', 'list', '--json').lines()), 1)


class Serve(Case):
    def ask(self, url, text='x'):
        body = json.dumps({'input': text}).encode()
        req = urllib.request.Request(url + '/agents/hello/run', body, {'Content-Type': 'application/json'})
        return urllib.request.urlopen(req, timeout=20).read().decode()

    def test_start_says_two_lines_and_ends_with_status_0(self):
        for sig in (signal.SIGINT, signal.SIGTERM):
            s = self.started('start', '-p', '0')
            self.assertIn('you said x', self.ask(s.url()))
            self.assertEqual(s.end(sig), 0)
            self.assertRegex(s.said(), r'^\[bread\] Listening on http://localhost:\d+\n'
                                       r'\[bread\] 2 agent\(s\) loaded: asker, hello\n$')

    def test_the_environment_wins_over_the_file_and_options_over_both(self):
        self.p.write('bread.yaml', FILES['bread.yaml'] + 'server: { port: 1, idleTimeout: 5 }\n')
        env = {'BREAD_SERVER_PORT': 'many'}
        r = self.p.run('start', env=env)
        self.assertEqual(r.status, 1)
        self.assertIn('BREAD_SERVER_PORT is "many"; a whole number', r.err)
        s = self.p.start('start', '-p', '0', env={'BREAD_SERVER_PORT': '1', 'BREAD_STORE': '"memory"',
                                                  'BREAD_SERVER_HOST': '127.0.0.1', 'BREAD_ENTRYPOINTS': '["hello"]'})
        self.addCleanup(s.kill)
        self.assertIn('http://127.0.0.1:', s.url())
        self.assertIn('you said x', self.ask(s.url()))
        self.assertIn('1 agent(s) loaded: hello\n', s.said())
        self.assertEqual(s.end(signal.SIGTERM), 0)
        self.assertFalse(os.path.exists(self.p.path('bread.db')))

    def test_a_socket_is_named_and_is_no_url(self):
        s = self.started('dev', '-H', 'unix:here.sock')
        s.wait_for('agent(s) loaded')
        self.assertEqual(s.said().split('\n')[0], '[bread] Listening on unix:here.sock')
        self.assertNotIn('http://', s.said())
        self.assertEqual(s.said(1), '')
        self.assertEqual(s.end(signal.SIGTERM), 0)

    def test_bad_ports_are_usage_errors(self):
        for bad in ('x', '-1', '65536', ''):
            self.assertEqual(self.p.run('start', '-p', bad).status, 2, bad)

    def test_a_taken_port_is_status_1(self):
        s = self.started('start', '-p', '0')
        r = self.p.run('start', '-p', s.url().rsplit(':', 1)[1])
        self.assertEqual(r.status, 1)
        self.assertIn('is taken', r.err)

    def test_a_broken_agent_is_told_and_the_rest_served(self):
        self.p.write('agents/bad/agent.yaml', 'modle: x\n')
        s = self.started('start', '-p', '0')
        s.url()
        self.assertIn('agents/bad/agent.yaml:1:1', s.said(1))
        self.assertIn('2 agent(s) loaded', s.said())

    def test_dev_takes_up_changes_and_keeps_what_is_broken(self):
        s = self.started('dev', '-p', '0')
        url = s.url()
        s.wait_for('Try: curl -N ' + url)
        self.p.write('models.yaml', MODELS)
        s.wait_for('Changed: models.yaml')
        s.wait_for('models.yaml is read at start', 1)
        s.wait_for('[bread] 2 agent(s) loaded\n')
        self.p.write('agents/hello/agent.yaml', 'bogus: 1\n')
        s.wait_for('agents/hello/agent.yaml:1:1', 1)
        self.assertIn('you said x', self.ask(url))
        self.p.write('agents/hello/agent.yaml', FILES['agents/hello/agent.yaml'])
        s.wait_for('[bread] 2 agent(s) loaded\n', count=2)
        self.p.write('agents/third/agent.yaml', FILES['agents/hello/agent.yaml'])
        s.wait_for('3 agent(s) loaded')
        shutil.rmtree(self.p.path('agents/third'))
        s.wait_for('[bread] 2 agent(s) loaded\n', count=3)
        self.p.write('bread.yaml', FILES['bread.yaml'].replace('sqlite', 'memory'))
        s.wait_for('store has changed; restart', 1)
        self.p.write('bread.yaml', 'store: [')
        s.wait_for('What was there stays', 1)
        self.assertIn('you said x', self.ask(url))
        self.assertEqual(s.end(signal.SIGTERM), 0)


class Check(Case):
    def test_every_fault_has_its_place(self):
        self.p.write('bread.yaml', 'sotre: sqlite\ntransport: stream\nserver:\n  port: many\n  hots: x\n'
                                   'providers: { scripted: { file: models.yaml }, odd: { type: none } }\n')
        self.p.write('agents/hello/agent.yaml', 'model: { provider: gone, model: m, extra: 1 }\n'
                                                'inputSchema: { type: 5 }\nsteps: { max: 0 }\n')
        self.p.write('agents/hello/tools/add.yaml', 'command: [./nothing-here]\n')
        self.p.write('agents/hello/tools/Bad.yaml', 'command: [python3]\n')
        self.p.write('agents/hello/evals/e.yaml', 'cases: [{ name: a, scorers: [{ type: regex, pattern: "(" }] }]\n')
        r = self.p.run('config', 'check')
        self.assertEqual((r.status, r.out), (1, ''))
        for wanted in ('bread.yaml:1:1: sotre is not known; did you mean store?', 'bread.yaml:4:9: server.port',
                       'bread.yaml:5:3: server.hots', 'unknown type "none"', 'store is missing',
                       'agents/hello/agent.yaml:1:20: model.provider', 'agents/hello/agent.yaml:1:36: model.extra',
                       'agents/hello/agent.yaml:2:14: inputSchema', 'agents/hello/agent.yaml:3:15: steps.max',
                       'add.yaml:1:11: command', 'tool name "Bad"', 'evals/e.yaml:1:'):
            self.assertIn(wanted, r.err)
        self.assertEqual(self.p.run('build').status, 1)

    def test_a_good_project_says_so(self):
        r = self.p.run('config', 'check')
        self.assertEqual((r.status, r.err), (0, ''))
        r = self.p.run('build')
        self.assertEqual(r.out, '[bread] Building...\n[bread] ✓ asker (scripted/asker)\n'
                                '[bread] ✓ hello (scripted/hello)\n[bread] Build succeeded — 2 agent(s)\n')

    def test_build_wants_schemas(self):
        self.p.write('agents/hello/agent.yaml', 'model: { provider: scripted, model: hello }\noutput: { format: json }\n')
        r = self.p.run('build')
        self.assertEqual(r.status, 1)
        self.assertIn('Agent "hello" missing inputSchema\n', r.err)
        self.assertIn('Agent "hello" missing outputSchema\n', r.err)
        self.assertIn('Build failed with 2 error(s)\n', r.err)

    def test_the_reference_names_keys_of_all_files(self):
        text = run('config', 'reference').out
        for key in ('`store`', '`server.port`', '`model.provider`', '`command`', '`BREAD_SERVER_PORT`'):
            self.assertIn(key, text)

    def test_providers_show_which_key_is_set(self):
        r = run('provider', 'list', '--json', env={'OPENAI_API_KEY': 'x', 'ANTHROPIC_API_KEY': ''})
        state = {l['name']: l['keySet'] for l in r.lines()}
        self.assertEqual((state['openai'], state['anthropic']), (True, False))
        self.assertNotIn('"x"', r.out)


EVAL = '''
cases:
  - name: same
    input: hi
    scorers: [{ type: exact, expected: you said hi }, { type: contains, expected: nothing }]
  - name: fits
    input: hi
    scorers: [{ type: regex, pattern: "^you" }]
  - name: fails
    input: fail
    scorers: [{ type: regex, pattern: "." }]
'''


class Eval(Case):
    def test_cases_are_scored_and_counted(self):
        self.p.write('agents/hello/evals/e.yaml', EVAL)
        r = self.p.run('eval')
        self.assertEqual(r.status, 1)
        self.assertEqual(r.out, '\n[bread eval] Running: hello (functional)\n'
                                '  ✗ same (score: 0.50) — exact: PASS, contains: FAIL\n'
                                '  ✓ fits (score: 1.00) — regex: PASS\n'
                                '  ✗ fails (score: 0.00) — Error: no luck\n'
                                '  1/3 passed\n\n[bread eval] Total: 1 passed, 2 failed\n')

    def test_a_path_picks(self):
        self.p.write('agents/hello/evals/e.yaml', EVAL)
        self.p.write('agents/asker/evals/f.yaml', 'agent: hello\ncases: [{ name: any, input: x }]\n')
        self.assertIn('Total: 1 passed, 0 failed', self.p.run('eval', 'agents/asker').out)
        self.assertEqual(self.p.run('eval', 'agents/asker/evals/f.yaml').status, 0)
        self.assertEqual(self.p.run('eval', 'nowhere').status, 2)

    def test_none_is_no_failure(self):
        self.assertEqual(self.p.run('eval').out, '[bread] No eval files found\n')


class Completion(unittest.TestCase):
    @unittest.skipUnless(shutil.which('bash'), 'needs bash')
    def test_bash_completes_commands_and_options(self):
        def complete(line):
            words = line.split(' ')
            script = run('completion', 'bash').out + (
                f'COMP_WORDS=({" ".join(words)} ""); COMP_CWORD={len(words)}; _bread; echo "${{COMPREPLY[@]}}"')
            return subprocess.run(['bash', '-c', script], capture_output=True, text=True, cwd='/').stdout.split()
        self.assertIn('invoke', complete('bread'))
        self.assertIn('sessions', complete('bread'))
        self.assertEqual(complete('bread runs'), ['list', 'show', 'tail', 'cancel'])
        self.assertIn('--after', complete('bread runs tail'))
        self.assertIn('--cwd', complete('bread build'))

    def test_the_other_shells_have_every_command(self):
        for shell in ('zsh', 'fish'):
            text = run('completion', shell).out
            for word in ('invoke', 'cancel', 'older-than'):
                self.assertIn(word, text)
            if shutil.which(shell):
                self.assertEqual(subprocess.run([shell, '-n'], input=text, text=True).returncode, 0)


if __name__ == '__main__':
    main()
