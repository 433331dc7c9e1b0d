# SPDX-License-Identifier: MIT
"""C30: /metrics parses, counters never fall, labels come from short lists; health is true."""
import re
import shutil
import subprocess
import threading
from wire import *

MODELS = {'hi': {'when': [{'stream': [{'text': 'hello'}], 'usage': {'input': 3, 'output': 2}}]}, 'bad': {'when': [{'throw': 'no'}]},
          'slow': {'when': [{'stream': [{'text': 'w{{i}} ', 'repeat': 10, 'each': 'word', 'delay_ms': 40}]}]},
          'tools': {'when': [{'match': {'role': 'tool'}, 'stream': [{'text': 'ok'}]}, {'stream': [{'tool_call': {'id': 'c', 'name': 'tool_t', 'args': {}}}]}]}}
AGENTS = {k: k for k in MODELS}
TOOLS = {'tools': {'t': tool('print(1)')}}
LINE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(?:,|$)')
# A label's values are from lists that do not grow with what users send.
LABELS = {'route', 'method', 'status', 'code', 'le', 'quantile', 'kind', 'outcome', 'result', 'reason', 'framing', 'format', 'loop', 'version', 'provider', 'store', 'op', 'operation', 'type', 'state', 'direction', 'cause', 'wire', 'transport'}


def parse(text):
    """(name to type, series to value)"""
    types, series, helps = {}, {}, {}
    for line in text.splitlines():
        if line.startswith('# TYPE '):
            _, _, name, type = line.split(' ')
            assert name not in types, f'{name} has two types'
            types[name] = type
        elif line.startswith('# HELP '):
            helps[line.split(' ')[2]] = 1
        elif line and not line.startswith('#'):
            m = LINE.match(line)
            assert m, f'no line of a metric: {line}'
            labels = m.group(2) or ''
            pairs = LABEL.findall(labels)
            assert ''.join(f'{k}="{v}",' for k, v in pairs).rstrip(',') == labels.rstrip(','), f'odd labels: {line}'
            key = (m.group(1), tuple(sorted(pairs)))
            assert key not in series, f'twice: {line}'
            series[key] = float(m.group(3))
    return types, series, helps


def base(name, types):
    for tail in ('_bucket', '_sum', '_count'):
        if name.endswith(tail) and name[:-len(tail)] in types:
            return name[:-len(tail)]
    return name


def scrape(s):
    status, h, body = s.get('/metrics')
    assert status == 200, body
    return h, body.decode()


def test_metrics():
    with serving(MODELS, AGENTS, TOOLS) as s:
        h, text = scrape(s)
        check('the content type of Prometheus', h['content-type'].startswith('text/plain; version=0.0.4') or 'openmetrics' in h['content-type'], h['content-type'])
        types, before, helps = parse(text)
        check('each has a type and a help', all(base(n, types) in types and base(n, types) in helps for n, _ in before), [n for n, _ in before if base(n, types) not in types][:5])
        stop = threading.Event()
        fell = []

        def watch():
            last = before
            while not stop.is_set():
                now = parse(scrape(s)[1])[1]
                for k, v in last.items():
                    if types.get(base(k[0], types)) in ('counter', 'histogram') and now.get(k, -1) < v:
                        fell.append((k, v, now.get(k)))
                last = now
        t = threading.Thread(target=watch)
        t.start()
        work = []
        for i in range(6):
            for fn in (lambda: s.run('hi', 'x'), lambda: s.run('bad', 'x'), lambda: s.run('tools', 'x'), lambda: s.run('slow', 'x'), lambda: s.get('/nope/%ff"\n'.replace('"\n', '')),
                       lambda: s.get('/runs/' + 'x' * 50), lambda: s.post('/agents/a"b/run', {'input': 1}), lambda: s.ask('BREW', '/pot'), lambda: s.get('/runs/x/stream?after=zz')):
                work.append(threading.Thread(target=fn))
                work[-1].start()
        for w in work:
            w.join()
        stop.set()
        t.join()
        equal('no counter fell', fell[:3], [])
        _, text = scrape(s)
        types, after, _ = parse(text)
        names = {k for _, labels in after for k, _ in labels}
        check('labels are of the list', names <= LABELS, names - LABELS)
        values = {(k, v) for _, labels in after for k, v in labels}
        check('no value comes from a request', not any(w in v for _, v in values for w in ('nope', 'pot', 'BREW', 'xxx', '"', 'zz')), [v for v in values if 'x' in v[1]][:9])
        check('few series', len(after) < 2000, len(after))
        up = [k for k in after if after[k] > before.get(k, 0) and types.get(base(k[0], types)) == 'counter']
        check('runs, tools and tokens were counted', any('token' in n for n, _ in up) and any('tool' in n for n, _ in up) and any('run' in n for n, _ in up), sorted({n for n, _ in up}))
        for n in sorted({base(n, types) for n, _ in after if types.get(base(n, types)) == 'histogram'}):
            groups = {}
            for (name, labels), v in after.items():
                if name == n + '_bucket':
                    le = dict(labels)['le']
                    groups.setdefault(tuple(x for x in labels if x[0] != 'le'), []).append((float(le.replace('+Inf', 'inf')), v))
            ok = all([v for _, v in sorted(g)] == sorted(v for _, v in g) and sorted(g)[-1] == (float('inf'), after[(n + '_count', l)]) for l, g in groups.items())
            check(f'{n}: buckets rise, the last is the count', ok and groups)
        promtool = shutil.which('promtool')
        if promtool:
            r = subprocess.run([promtool, 'check', 'metrics'], input=text, capture_output=True, text=True)
            check('promtool agrees', r.returncode == 0, r.stdout + r.stderr)
        running = [v for (n, _), v in after.items() if types.get(n) == 'gauge' and 'run' in n and 'active' in n]
        equal('nothing is active any more', sum(running), 0.0)


def test_health():
    with serving(MODELS, AGENTS, TOOLS) as s:
        for path in ('/health/live', '/health/ready'):
            status, h, body = s.get(path)
            check(path, status == 200 and h['content-type'] == 'application/json' and json.loads(body).get('status') == 'ok', (status, body))


main(globals())
