# SPDX-License-Identifier: MIT
"""C20: SIGTERM with runs at work, a second one, and what a restart goes on with."""
import signal
import time
from wire import *

MODELS = {
    'slow': {'when': [{'stream': [{'text': 'w{{i}} ', 'repeat': 40, 'each': 'word', 'delay_ms': 50}]}]},
    'tools': {'when': [{'match': {'role': 'tool', 'min_count': 8}, 'stream': [{'text': 'done'}]},
                       {'stream': [{'text': 'step '}, {'tool_call': {'id': 'c{{count}}', 'name': 'tool_nap', 'args': {}}}]}]},
    'deaf': {'when': [{'match': {'role': 'tool'}, 'stream': [{'text': 'done'}]}, {'stream': [{'tool_call': {'id': 'c1', 'name': 'tool_deaf', 'args': {}}}]}]},
    'ask': {'when': [{'match': {'role': 'tool'}, 'stream': [{'text': 'thanks'}]}, {'stream': [{'tool_call': {'id': 'h1', 'name': 'human_ask', 'args': {}}}]}]},
}
AGENTS = {**{k: k for k in MODELS}, 'ask': {'model': {'provider': 's', 'model': 'ask'}, 'humanTools': [{'name': 'ask', 'schema': {'type': 'object'}}]}}
TOOLS = {'tools': {'nap': tool('time.sleep(.4)\nprint(json.dumps("napped"))')},
         'deaf': {'deaf': tool('import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nopen(os.environ["FOLDER"] + "/deaf", "w").write(str(os.getpid()))\ntime.sleep(300)')}}


def test_term_and_go_on():
    folder = project(MODELS, AGENTS, TOOLS)
    s = Server(folder)
    live = {a: s.stream(f'/agents/{a}/run', {'input': 'x'}) for a in ('slow', 'tools', 'ask')}
    runs = {a: t.take(2)[0]['runId'] for a, t in live.items()}
    viewer = s.stream(f"/runs/{runs['slow']}/stream")
    seen = viewer.take(3)
    t0 = time.monotonic()
    s.proc.send_signal(signal.SIGTERM)
    time.sleep(.05)
    try:
        status, h, body = s.post('/agents/slow/run', {'input': 'x'}, timeout=3)
        check('new runs are refused with 503 and Retry-After', status == 503 and 'retry-after' in h, (status, body))
    except OSError:
        check('new runs are refused: nobody listens', True)
    code = s.wait()
    took = time.monotonic() - t0
    check('it goes within 25 s', code in (0, 143) and took < 25 * SLOW, (code, took, s.log()[-500:]))
    rest = list(viewer.crumbs())
    check('a viewer is cut before the end, so that it comes back', not any(c['type'].startswith('agent:run:end') for c in rest) or viewer.clean)
    s = Server(folder, port=s.port)
    try:
        for a in ('slow', 'tools'):
            equal(f'{a} goes on after a restart', s.ended(runs[a], 25), 'completed')
            log = s.log_of(runs[a])
            equal(f'{a}: numbers without a hole', [c['seq'] for c in log], list(range(1, len(log) + 1)))
            results = [c['toolCallId'] for c in log if c['type'] == 'tool:result']
            equal(f'{a}: no tool finished twice', len(set(results)), len(results))
        last = (seen + rest)[-1].id
        back = s.stream(f"/runs/{runs['slow']}/stream", headers={'Last-Event-ID': last})
        got = list(back.crumbs())
        check('the viewer comes back and has the rest', got and got[-1]['type'] == 'agent:run:end', got[-1:])
        equal('who waits for a human still waits', s.status(runs['ask']), 'suspended')
        cp = s.stream(f"/runs/{runs['ask']}/stream").until('human:required')['checkpointId']
        equal('and can be answered', list(s.stream(f'/resume/{cp}', {'response': 1}).crumbs())[-1]['type'], 'agent:run:end')
    finally:
        check('ends in peace', s.stop() in (0, 143), s.log()[-1000:])


def test_idle():
    for sig in (signal.SIGTERM, signal.SIGINT):
        s = Server(project(MODELS, AGENTS, TOOLS))
        s.run('ask', 'x')
        t0 = time.monotonic()
        code = s.stop(sig)
        check(f'{sig.name}: an idle server goes at once', code in (0, 128 + sig) and time.monotonic() - t0 < 3 * SLOW, (code, time.monotonic() - t0))


def test_second_signal():
    s = Server(project(MODELS, AGENTS, TOOLS))
    t = s.stream('/agents/deaf/run', {'input': 'x'})
    run = t.until('tool:call')['runId']
    pid = int(wait_for(lambda: os.path.exists(f'{s.folder}/deaf') and open(f'{s.folder}/deaf').read(), 10))
    s.proc.send_signal(signal.SIGTERM)
    time.sleep(.3)
    alive = s.alive()
    t0 = time.monotonic()
    s.proc.send_signal(signal.SIGTERM)
    code = s.stop()
    check('the second signal ends it at once', code != 'hangs' and (not alive or time.monotonic() - t0 < 2 * SLOW), (code, time.monotonic() - t0))
    check('its tools do not stay behind', wait_for(lambda: gone(pid), 5), pid)
    s = Server(s.folder)
    try:
        equal('the run is taken up', s.ended(run, 20), 'completed')
    finally:
        s.stop()


def test_again_and_again():
    """Ten restarts in the middle of a run: it ends, and nothing is there twice."""
    folder = project(MODELS, AGENTS, TOOLS)
    s = Server(folder)
    run = s.submit('tools', 'x')
    for _ in range(6):
        time.sleep(.35)
        code = s.stop()
        check('drained', code in (0, 143), (code, s.log()[-300:]))
        s = Server(folder)
    try:
        equal('it ends', s.ended(run, 30), 'completed')
        log = s.log_of(run)
        equal('numbers without a hole', [c['seq'] for c in log], list(range(1, len(log) + 1)))
        for kind in ('tool:result', 'tool:call'):
            ids = [c['toolCallId'] for c in log if c['type'] == kind]
            equal(f'no {kind} twice', len(set(ids)), len(ids))
    finally:
        s.stop()


main(globals())
