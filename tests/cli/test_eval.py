# SPDX-License-Identifier: MIT
"""bread eval: scorers that take time, results for programs, exit statuses."""
import os
import signal
import time
import unittest
import xml.etree.ElementTree as xml

from program import Project, main

FILES = {
    'bread.yaml': 'store: sqlite\ntransport: stream\nproviders: { scripted: { file: models.yaml } }\n',
    'models.yaml': '''
models:
  echo:
    when:
      - match: { contains: fail }
        throw: "no <luck> & \\e[31m"
      - match: { contains: hang }
        stream: [{ hang: true }]
      - match: { contains: ask }
        stream: [{ tool_call: { name: human_ask, args: {} } }]
      - stream: [{ text: "you said {{input}}" }]
  judge:
    when:
      - match: { contains: "Criteria:\\nis polite" }
        stream: [{ text: "Pass" }]
      - stream: [{ text: "FAIL" }]
''',
    'agents/echo/agent.yaml': 'model: { provider: scripted, model: echo }\ninputSchema: { type: string }\n'
                              'humanTools: [{ name: ask, schema: { type: object } }]\n',
    'agents/echo/evals/short.py': '''
import json, sys
given = json.load(sys.stdin)
print(json.dumps({'score': 1 if len(given['output']) < 12 else 0.5}))
''',
}
JUDGED = '''
type: prompt-injection
cases:
  - name: polite
    input: a
    scorers:
      - { type: llmJudge, criteria: is polite, model: scripted/judge }
      - { type: custom, name: short, command: [python3, short.py] }
  - name: long
    input: abcdefg
    scorers:
      - { type: llmJudge, criteria: is rude, model: scripted/judge }
      - { type: custom, command: { run: [python3, short.py] } }
'''
MIXED = '''
cases:
  - { name: good, input: a, scorers: [{ type: contains, expected: said }] }
  - { name: "b<a>d", input: a, scorers: [{ type: exact, expected: "" }] }
  - { name: broken, input: fail, scorers: [{ type: regex, pattern: . }] }
'''


class Eval(unittest.TestCase):
    def setUp(self):
        self.p = Project(FILES)
        self.addCleanup(self.p.remove)

    def evals(self, text):
        self.p.write('agents/echo/evals/e.yaml', text)

    def test_models_and_programs_judge(self):
        self.evals(JUDGED)
        r = self.p.run('eval')
        self.assertEqual((r.status, r.err), (1, ''))
        self.assertEqual(r.out, '\n[bread eval] Running: echo (prompt-injection)\n'
                                '  ✓ polite (score: 1.00) — llmJudge: PASS, short: PASS\n'
                                '  ✗ long (score: 0.25) — llmJudge: FAIL, custom: FAIL\n'
                                '  1/2 passed\n\n[bread eval] Total: 1 passed, 1 failed\n')

    def test_a_judge_that_is_not_there_is_said(self):
        self.evals('cases: [{ name: c, input: a, scorers: [{ type: llmJudge, criteria: x }] }]\n')
        self.assertIn('Error: the model provider "openai" is not registered', self.p.run('eval').out)
        r = self.p.run('eval', env={'BREAD_EVAL_MODEL': 'scripted/judge'})
        self.assertIn('llmJudge: FAIL', r.out)

    def test_json_is_a_line_for_each_file(self):
        self.evals(MIXED)
        self.p.write('agents/echo/evals/f.yaml', 'cases: []\n')
        r = self.p.run('eval', '--json')
        self.assertEqual(r.status, 1)
        first, second = r.lines()
        self.assertEqual((first['agentId'], first['type'], first['total'], first['passed'], first['failed']),
                         ('echo', 'functional', 3, 1, 2))
        self.assertEqual([(c['name'], c['passed'], c['score']) for c in first['results']],
                         [('good', True, 1), ('b<a>d', False, 0), ('broken', False, 0)])
        self.assertEqual((second['file'], second['results']), ('agents/echo/evals/f.yaml', []))

    def test_junit_is_xml(self):
        self.evals(MIXED)
        r = self.p.run('eval', '--junit', 'out.xml')
        self.assertEqual(r.status, 1)
        self.assertIn('1/3 passed', r.out)
        suites = xml.parse(self.p.path('out.xml')).getroot()
        self.assertEqual((suites.tag, suites.get('tests'), suites.get('failures'), suites.get('errors')),
                         ('testsuites', '3', '1', '1'))
        cases = suites.findall('testsuite/testcase')
        self.assertEqual([c.get('name') for c in cases], ['good', 'b<a>d', 'broken'])
        self.assertEqual([[e.tag for e in c] for c in cases], [[], ['failure'], ['error']])
        self.assertEqual(cases[2][0].get('message'), 'Error: no <luck> & \ufffd[31m')

    def test_without_evals_junit_is_there_too(self):
        r = self.p.run('eval', '--json', '--junit', 'out.xml')
        self.assertEqual((r.status, r.out), (0, ''))
        self.assertEqual(xml.parse(self.p.path('out.xml')).getroot().get('tests'), '0')

    def test_a_file_that_cannot_be_written_is_a_failure(self):
        self.evals('cases: [{ name: c, input: a }]\n')
        r = self.p.run('eval', '--junit', 'no/such/folder.xml')
        self.assertEqual(r.status, 1)
        self.assertIn('no/such/folder.xml could not be written', r.err)

    def test_who_waits_for_a_human_has_failed_and_leaves_nothing(self):
        self.evals('cases: [{ name: c, input: ask, scorers: [] }]\n')
        r = self.p.run('eval')
        self.assertEqual(r.status, 1)
        self.assertIn('✗ c (score: 0.00) — Error: the run waits for a human', r.out)
        self.assertEqual([l['status'] for l in self.p.run('runs', 'list', '--json').lines()], ['cancelled'])

    def test_a_signal_cancels_and_is_reported(self):
        self.p.write('bread.yaml', FILES['bread.yaml'].replace('models.yaml', 'models.yaml, record: asked.jsonl'))
        self.evals('cases: [{ name: h, input: hang }, { name: n, input: a }]\n')
        s = self.p.start('eval', '--junit', self.p.path('out.xml'))
        self.addCleanup(s.kill)
        asked = self.p.path('asked.jsonl')
        while not (os.path.exists(asked) and os.path.getsize(asked)):
            self.assertIsNone(s.proc.poll())
            time.sleep(0.01)
        self.assertEqual(s.end(signal.SIGINT), 4)
        self.assertIn('Total: 0 passed, 2 failed', s.said())
        self.assertTrue(os.path.exists(self.p.path('out.xml')))

    def test_a_bad_scorer_is_named_with_its_place(self):
        self.evals('cases:\n- name: c\n  scorers: [{ type: custom }]\n')
        r = self.p.run('eval')
        self.assertEqual(r.status, 1)
        self.assertIn('agents/echo/evals/e.yaml:3:13: cases.0.scorers.0 cannot judge', r.err)
        self.assertEqual(self.p.run('config', 'check').status, 1)


if __name__ == '__main__':
    main()
