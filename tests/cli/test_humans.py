# SPDX-License-Identifier: MIT
"""Humans at the command line: asked in chat, answered with resume, seen in lists (contract C15, C29)."""
import json
import signal
import unittest
import urllib.request

from program import Project, main, run

MODELS = '''
models:
  asker:
    when:
      - match: { role: tool }
        stream: [{ text: "thanks for {{result}}" }]
      - stream: [{ tool_call: { name: human_ask, args: { q: "which?" } } }]
  say: { when: [{ stream: [{ text: "said {{input}}" }], usage: { input: 3, output: 2 } }] }
  gate:
    when:
      - match: { role: tool }
        stream: [{ text: "it gave {{result}}" }]
      - stream: [{ tool_call: { name: tool_mark, args: {} } }]
  boss:
    when:
      - match: { role: tool }
        stream: [{ text: "they say {{result}}" }]
      - stream: [{ tool_call: { name: core_delegate, args: { agentId: asker, input: a } } }]
  slow: { when: [{ stream: [{ text: "slowly", delay_ms: 1500 }] }] }
'''
ANSWER = '''
      type: object
      required: [colour, sure]
      properties:
        colour: { enum: [red, blue], description: The colour you like }
        sure: { type: boolean }
        howMany: { type: integer, minimum: 1 }
        size: { type: number, default: 2.5 }
'''


def agent(model, more=''):
    return f'model: {{ provider: scripted, model: {model} }}\n{more}'


FILES = {
    'bread.yaml': 'store: sqlite\ntransport: stream\nproviders: { scripted: { file: models.yaml } }\n',
    'pipelines/two.yaml': '- { type: agent, agentId: asker }\n- { type: agent, agentId: say }\n',
    'pipelines/beside.yaml': '- { type: parallel, steps: [{ type: agent, agentId: asker }, { type: agent, agentId: slow }] }\n',
    'pipelines/both.yaml': '- { type: agent, agentId: asker }\n- { type: agent, agentId: gate }\n',
    'pipelines/say.yaml': '- { type: agent, agentId: say }\n- { type: agent, agentId: say }\n',
    'models.yaml': MODELS,
    'agents/say/agent.yaml': agent('say'),
    'agents/asker/agent.yaml': agent('asker', 'humanTools:\n  - name: ask\n    schema: { type: object }\n    answer:' + ANSWER),
    'agents/slow/agent.yaml': agent('slow'),
    'agents/boss/agent.yaml': agent('boss', 'supervisor: { agents: [{ agentId: asker }] }\n'),
    'agents/gate/agent.yaml': agent('gate', 'permissions: { ask: ["tool:mark"] }\n'),
    'agents/gate/tools/mark.yaml': 'command: [echo, "1"]\n',
}
GOOD = '{"colour":"blue","sure":true}'


class Case(unittest.TestCase):
    def setUp(self):
        self.p = Project(FILES)
        self.addCleanup(self.p.remove)

    def waiting(self, *args):
        return self.p.run('checkpoints', 'list', '--json', *args).lines()

    def suspended(self, name):
        self.assertEqual(self.p.run('invoke', name, 'x').status, 3)
        return self.waiting()[-1]['checkpointId']


class Invoke(Case):
    def test_what_it_waits_for_is_said(self):
        for name in ('asker', 'boss', 'two'):
            r = self.p.run('invoke', name, 'x')
            id = self.waiting()[-1]['checkpointId']
            self.assertEqual((r.status, r.out), (3, ''))
            self.assertEqual(r.err, '[bread] Agent "asker" requires human input via tool "human_ask"; '
                                    f'answer with: bread resume {id}\n')

    def test_json_has_it_on_standard_output(self):
        r = self.p.run('invoke', 'two', 'x', '--json')
        v = r.lines()[0]
        self.assertEqual((r.status, r.err, v['status'], len(v['checkpoints'])), (3, '', 'suspended', 1))
        self.assertEqual(v['checkpoints'][0]['rootRunId'], v['runId'])

    def test_a_pipeline_is_named_like_an_agent(self):
        r = self.p.run('invoke', '--pipeline', 'say', 'x', '--json')
        self.assertEqual((r.status, r.lines()), (0, ['said said x']))
        self.assertEqual(self.p.run('invoke', 'say', 'x').out, 'said x\n')
        self.assertEqual(self.p.run('invoke', '--pipeline', 'boss', 'x').status, 1)


class Resume(Case):
    def test_the_tree_is_followed_to_its_end(self):
        for name, out in (('asker', f'thanks for {GOOD}\n'), ('boss', f'they say thanks for {GOOD}\n'),
                          ('two', f'said thanks for {GOOD}\n')):
            r = self.p.run('resume', self.suspended(name), GOOD)
            self.assertEqual((r.status, r.out, r.err), (0, out, ''))

    def test_the_answer_may_come_from_standard_input(self):
        r = self.p.run('resume', self.suspended('asker'), '-', '--json', stdin=GOOD + '\n')
        self.assertEqual((r.status, r.lines()), (0, [f'thanks for {GOOD}']))

    def test_without_an_answer_a_form_is_filled(self):
        r = self.p.run('resume', self.suspended('asker'), stdin='green\nblue\nmaybe\ny\n0\n3\n\n')
        self.assertEqual((r.status, r.out), (0, 'thanks for {"colour":"blue","sure":true,"howMany":3,"size":2.5}\n'))
        for said in ('The colour you like', 'colour (red, blue)', 'sure (y/n)', 'howMany (integer; optional)',
                     'size (number; default 2.5)', '"red" or "blue" was expected', 'at least 1 was expected'):
            self.assertIn(said, r.err)

    def test_the_end_of_input_answers_nothing(self):
        id = self.suspended('asker')
        self.assertEqual(self.p.run('resume', id, stdin='blue\n').status, 3)
        self.assertEqual(len(self.waiting()), 1)

    def test_what_does_not_fit_is_refused_and_waits_on(self):
        id = self.suspended('asker')
        r = self.p.run('resume', id, '{"colour":"green"}')
        self.assertEqual((r.status, r.out), (1, ''))
        self.assertIn('/colour', r.err)
        self.assertEqual(self.p.run('resume', id, GOOD).status, 0)
        r = self.p.run('resume', id, GOOD)
        self.assertEqual((r.status, r.err), (1, f'[bread] Checkpoint {id} was answered already\n'))
        self.assertEqual(self.p.run('resume', 'nobody', '1').status, 1)

    def test_an_approval_is_y_or_n(self):
        self.assertEqual(self.p.run('resume', self.suspended('gate'), 'y').out, 'it gave 1\n')
        self.assertIn('denied', self.p.run('resume', self.suspended('gate'), 'n').out)
        self.assertIn('too risky', self.p.run('resume', self.suspended('gate'), 'no too risky').out)

    def test_a_word_that_is_neither_is_no_answer_to_an_approval(self):
        id = self.suspended('gate')
        for word in ('maybe', 'true', '"y"'):
            r = self.p.run('resume', id, word)
            self.assertEqual((r.status, r.out), (2, ''))
            self.assertIn('y or n', r.err)
        self.assertEqual(self.p.run('resume', id, '{"approved":true}').out, 'it gave 1\n')

    def test_the_next_question_is_status_3(self):
        self.p.write('pipelines/two.yaml', '- { type: agent, agentId: asker }\n- { type: agent, agentId: gate }\n')
        r = self.p.run('resume', self.suspended('two'), GOOD)
        self.assertEqual((r.status, r.out), (3, ''))
        self.assertIn('requires human approval via tool "tool_mark"', r.err)

    def test_a_server_has_the_tree_and_goes_on_with_it(self):
        s = self.p.start('start', '-p', '0')
        self.addCleanup(s.kill)
        url = s.url() + '/pipelines/beside/run'
        req = urllib.request.Request(url, b'{"input":"x"}', {'Content-Type': 'application/json'})
        with urllib.request.urlopen(req) as answer:
            while b'human:required' not in answer.readline():
                pass
            r = self.p.run('resume', self.waiting()[0]['checkpointId'], GOOD)
            self.assertIn(b'slowly', answer.read())
        self.assertEqual((r.status, json.loads(r.out)), (0, [f'thanks for {GOOD}', 'slowly']))
        self.assertEqual(s.end(signal.SIGTERM), 0)

    def test_days_later_from_another_server(self):
        s = self.p.start('start', '-p', '0')
        self.addCleanup(s.kill)
        req = urllib.request.Request(s.url() + '/agents/boss/run', b'{"input":"x"}', {'Content-Type': 'application/json'})
        urllib.request.urlopen(req).read()
        s.end(signal.SIGTERM)
        id = self.waiting()[0]['checkpointId']
        s = self.p.start('start', '-p', '0')
        self.addCleanup(s.kill)
        s.url()
        self.assertEqual(self.p.run('resume', id, GOOD).out, f'they say thanks for {GOOD}\n')
        s.end(signal.SIGTERM)


class Server(Case):
    def setUp(self):
        super().setUp()
        self.s = self.p.start('start', '-p', '0')
        self.addCleanup(self.s.kill)
        self.url = self.s.url()

    def suspended(self, path):
        req = urllib.request.Request(self.url + path, b'{"input":"x"}', {'Content-Type': 'application/json'})
        urllib.request.urlopen(req).read()
        return self.waiting()[-1]['checkpointId']

    def resume(self, *args, stdin=''):
        return run('resume', *args, '--server', self.url + '/', stdin=stdin)

    def test_it_is_asked_instead_of_the_store(self):
        for path, out in (('/agents/asker/run', f'thanks for {GOOD}\n'), ('/agents/boss/run', f'they say thanks for {GOOD}\n'),
                          ('/pipelines/two/run', f'said thanks for {GOOD}\n')):
            r = self.resume(self.suspended(path), GOOD)
            self.assertEqual((r.status, r.out, r.err), (0, out, ''))
        r = self.resume(self.suspended('/agents/asker/run'), '--json', stdin='red\nn\n\n\n')
        self.assertEqual((r.status, r.lines()), (0, ['thanks for {"colour":"red","sure":false,"size":2.5}']))

    def test_the_next_question_is_status_3(self):
        id = self.suspended('/pipelines/both/run')
        r = self.resume(id, GOOD)
        self.assertEqual((r.status, r.out), (3, ''))
        self.assertIn('answer with: bread resume ' + self.waiting()[0]['checkpointId'], r.err)
        r = self.resume(self.waiting()[0]['checkpointId'], 'y', '--json')
        self.assertEqual(r.status, 0)

    def test_refusals_and_a_server_that_is_not_there(self):
        id = self.suspended('/agents/asker/run')
        r = self.resume(id, '{"colour":"green"}')
        self.assertEqual((r.status, r.out), (1, ''))
        self.assertIn('/colour', r.err)
        self.assertEqual(self.resume('nobody', '1').status, 1)
        self.assertEqual(self.resume('no/body', '1').status, 1)
        self.s.end(signal.SIGTERM)
        self.assertEqual(self.resume(id, GOOD).status, 5)
        self.assertEqual(run('resume', id, '1', '--server', 'ftp://x').status, 2)


class Chat(Case):
    def test_humans_of_agents_below_are_asked(self):
        r = self.p.run('chat', 'boss', stdin='go\nblue\ny\n\n\n/exit\n')
        want = '{"colour":"blue","sure":true,"size":2.5}'
        self.assertEqual((r.status, r.out), (0, f'agent ▸ thanks for {want}\nagent ▸ they say thanks for {want}\n'))
        self.assertIn('↳ asker: human_ask needs input {"q":"which?"}', r.err)

    def test_a_json_object_is_the_whole_answer(self):
        r = self.p.run('chat', 'asker', stdin=f'go\n{GOOD}\n/exit\n')
        self.assertEqual((r.status, r.out), (0, f'agent ▸ thanks for {GOOD}\n'))

    def test_approvals_take_a_reason(self):
        r = self.p.run('chat', 'gate', stdin='go\nmaybe\nn too risky\n/exit\n')
        self.assertIn('too risky', r.out)
        self.assertIn('y or n', r.err)

    def test_what_a_session_left_open_is_asked_first(self):
        for name, out in (('gate', 'agent ▸ it gave 1\nagent ▸ it gave 1\n'),
                          ('boss', f'agent ▸ thanks for {GOOD}\nagent ▸ they say thanks for {GOOD}\n')):
            self.assertEqual(self.p.run('invoke', name, 'x', '-s', name).status, 3)
            self.assertEqual(self.p.run('chat', name, '-s', name).status, 3)
            self.assertEqual(len(self.waiting()), 1)
            said = 'y\nagain\ny\n/exit\n' if name == 'gate' else f'{GOOD}\n/exit\n'
            r = self.p.run('chat', name, '-s', name, stdin=said)
            self.assertEqual((r.status, r.out), (0, out))
            self.assertEqual(self.waiting(), [])


class Lists(Case):
    def test_checkpoints_are_listed_and_shown(self):
        for name in ('asker', 'gate', 'two'):
            self.p.run('invoke', name, 'x')
        rows = self.waiting()
        self.assertEqual([r['agentId'] for r in rows], ['asker', 'gate', 'asker'])
        self.assertEqual(len(self.waiting('--agent', 'gate')), 1)
        self.assertEqual(len(self.waiting('--session', rows[1]['sessionId'])), 1)
        for run in ('rootRunId', 'runId'):
            self.assertEqual(self.waiting('--run', rows[2][run]), [rows[2]])
        shown = self.p.run('checkpoints', 'show', rows[0]['checkpointId'])
        self.assertEqual((shown.status, json.loads(shown.out)), (0, rows[0]))
        self.assertEqual(self.p.run('checkpoints', 'show', 'nobody').status, 1)
        lines = self.p.run('checkpoints', 'list').out.splitlines()
        self.assertEqual([l.split()[2:] for l in lines], [['asker', 'human_ask', 'input'],
                                                          ['gate', 'tool_mark', 'approval'], ['asker', 'human_ask', 'input']])

    def test_a_tree_is_drawn(self):
        self.p.run('resume', self.suspended('two'), GOOD)
        roots = self.p.run('runs', 'list', '--json').lines()
        self.assertEqual([r['agentId'] for r in roots], ['two'])
        self.assertEqual(len(self.p.run('runs', 'list', '--json', '--all').lines()), 3)
        lines = self.p.run('runs', 'show', roots[0]['id'], '--tree').out.splitlines()
        self.assertEqual([l.split('  ')[0] for l in lines], ['two (pipeline)', '├─ asker', '└─ say'])
        self.assertRegex(lines[2], r'└─ say  completed  0\.\d\ds  3 in, 2 out  \S+$')
        below = self.p.run('runs', 'show', lines[1].split()[-1], '--tree').out.splitlines()
        self.assertEqual([l.split('  ')[0] for l in below], ['asker'])
        self.assertEqual(len(self.p.run('runs', 'show', roots[0]['id'], '--tree', '--json').lines()), 3)


if __name__ == '__main__':
    main()
