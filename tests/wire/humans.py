# SPDX-License-Identifier: MIT
"""C15: answers that are refused, and what they are told; and tasks, called by themselves."""
import threading
from wire import *

MODELS = {
    'ask': {'when': [{'match': {'role': 'tool'}, 'stream': [{'text': 'heard {{result}}'}]},
                     {'stream': [{'tool_call': {'id': 'h1', 'name': 'human_ask', 'args': {'q': '?'}}}]}]},
    'names': {'when': [{'match': {'contains': 'Ada'}, 'generate': {'people': ['Ada']}, 'usage': {'input': 3, 'output': 2}},
                       {'match': {'contains': 'nonsense'}, 'generate': {'wrong': 1}},
                       {'match': {'contains': 'down'}, 'throw': 'no service', 'kind': 'server', 'status': 503},
                       {'match': {'contains': 'slow'}, 'before_ms': 60000, 'generate': {'people': []}}]},
}
ANSWER = {'type': 'object', 'properties': {'colour': {'type': 'string'}}, 'required': ['colour']}
AGENTS = {
    'ask': {'model': {'provider': 's', 'model': 'ask'},
            'humanTools': [{'name': 'ask', 'description': 'asks', 'schema': {'type': 'object'}, 'answer': ANSWER}]},
}
PEOPLE = {'type': 'object', 'properties': {'people': {'type': 'array'}}, 'required': ['people']}
TASK = {'model': {'provider': 's', 'model': 'names'}, 'instructions': 'List the people.', 'outputSchema': PEOPLE,
        'schema': {'type': 'object', 'properties': {'text': {'type': 'string'}}, 'required': ['text']}}


def serve(config=None):
    retry = {**TASK, 'errorHandling': {'retry': {'attempts': 2, 'backoffMs': 10}}}
    return serving(MODELS, AGENTS, {}, config, {'tasks/names.yaml': TASK, 'tasks/again.yaml': retry})


def suspended(s, agent):
    return s.run(agent, 'x')[-1]['checkpointId']


def test_refusals():
    with serve() as s:
        id = suspended(s, 'ask')
        for h in ({'Accept': 'application/x-ndjson'}, {'Accept': 'text/event-stream'}):
            status, headers, body = s.post('/resume/nobody', {'response': 1}, h)
            equal('an unknown checkpoint is 404', (status, error_of(body)[0], headers['content-type']),
                  (404, 'CHECKPOINT_NOT_FOUND', 'application/json'))
            for wrong in ({'response': {'color': 1}}, {'response': 'blue'}, {}):
                status, _, body = s.post(f'/resume/{id}', wrong, h)
                equal('a wrong answer is 400', (status, error_of(body)[0]), (400, 'ANSWER_INVALID'))
            equal('and the checkpoint waits', s.get(f'/checkpoints/{id}')[0], 200)
        got = list(s.stream(f'/resume/{id}', {'response': {'colour': 'blue'}}).crumbs())
        equal('a good one is taken', got[-1]['type'], 'agent:run:end')
        status, _, body = s.post(f'/resume/{id}', {'response': {'colour': 'red'}})
        equal('the next one is too late', (status, error_of(body)[0]), (409, 'CHECKPOINT_CLAIMED'))


def ask_task(s, name, body):
    status, headers, answer = s.post(f'/tasks/{name}/run', body, timeout=20)
    return status, json.loads(answer)


def test_task():
    with serve() as s:
        status, a = ask_task(s, 'names', {'input': {'text': 'Ada came'}})
        equal('its output and usage', (status, a['output'], a['usage']),
              (200, {'people': ['Ada']}, {'inputTokens': 3, 'outputTokens': 2, 'totalTokens': 5}))
        row = s.json(f"/tasks/{a['taskRunId']}")
        equal('its record', (row['agentId'], row['status'], row['taskId'], row['input'], row['output'], row['sessionId'] == row['runId']),
              ('standalone', 'completed', 'names', {'text': 'Ada came'}, {'people': ['Ada']}, True))
        status, a = ask_task(s, 'names', {'input': {'text': 'nonsense'}})
        equal('an answer that does not fit', (status, a['error']['code']), (502, 'TASK_ERROR'))
        row = s.json('/tasks')[0]
        equal('is on record, too', (row['status'], row['error']), ('failed', a['error']['message']))
        for wrong in ({'input': {'text': 1}}, {'input': 'x'}, {}, {'input': None}):
            status, a = ask_task(s, 'names', wrong)
            equal(f'{wrong} is no input', (status, a['error']['code']), (400, 'INPUT_INVALID'))
        status, a = ask_task(s, 'nobody', {'input': {}})
        check('an unknown task is 404, and names those there are',
              (status, a['error']['code']) == (404, 'TASK_NOT_FOUND') and 'names' in a['error']['message'], a)
        equal('refusals leave no record', len(s.json('/tasks')), 2)
        status, a = ask_task(s, 'again', {'input': {'text': 'down'}})
        check('a model that fails is 502', status == 502, a)
        equal('and every attempt is on record', [r['status'] for r in s.json('/tasks?task=again')], ['failed'] * 2)


def test_task_takes_a_place():
    folder = project(MODELS, AGENTS, {}, {'concurrency': {'max': 1}}, files={'tasks/names.yaml': TASK})
    s = Server(folder)
    t = threading.Thread(target=lambda: s.post('/tasks/names/run', {'input': {'text': 'slow'}}))
    t.start()
    wait_for(lambda: s.json('/tasks?status=running'))
    status, a = ask_task(s, 'names', {'input': {'text': 'Ada'}})
    equal('a second one finds no room', (status, a['error']['code']), (429, 'CONCURRENCY_LIMIT'))
    s.proc.send_signal(signal.SIGTERM)
    t.join()
    equal('the server goes in peace', s.wait(), 0)
    s = Server(folder)
    equal('going down ends the call, on record', [r['status'] for r in s.json('/tasks')], ['failed'])
    s.stop()
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == '__main__':
    main(globals())
