# SPDX-License-Identifier: MIT
"""A tool as the scenarios describe one: behave.py BEHAVIOUR FOLDER, arguments on stdin."""
import json
import os
import signal
import sys
import time

b = json.loads(sys.argv[1])
folder = sys.argv[2]


def fail(error):
    print(json.dumps({'error': error}), flush=True)
    sys.exit(1)


def aborted(*_):
    fail({'message': 'tool saw abort'})


signal.signal(signal.SIGTERM, aborted if b.get('wait_abort') else signal.SIG_IGN)
args = json.load(sys.stdin)


def wait():
    ms = b.get('delay_ms', 0) or args.get(b.get('delay_arg', ''), 0)
    if ms:
        time.sleep(ms / 1000)


def failed_before():
    """Counts calls in a file: fail_times is about calls, and each is a process."""
    path = os.path.join(folder, '.fails')
    n = int(open(path).read()) if os.path.exists(path) else 0
    open(path, 'w').write(str(n + 1))
    return n


if b.get('wait_abort'):
    time.sleep(60)
for value in b.get('yield', []):
    wait()
    print(json.dumps(value, separators=(',', ':')), flush=True)
if 'yield' not in b:
    wait()
if 'fail_times' in b and failed_before() < b['fail_times']:
    fail({'message': 'not yet'})
if 'throw' in b:
    fail({'message': b['throw']})
if 'throw_bread' in b:
    fail({k: b['throw_bread'][k] for k in ('code', 'message', 'context') if k in b['throw_bread']})
if 'yield' in b or b.get('return_nothing'):
    sys.exit(0)
if 'credential' in b:
    name = b['credential']
    if name not in os.environ.get('BREAD_CREDENTIALS', '').split(','):
        fail({'code': 'CREDENTIAL_NOT_DECLARED',
              'message': f"credential \"{name}\" was not declared in this tool's `credentials` array",
              'context': {'name': name, 'allowed': []}})
    result = {'value': os.environ.get(name)}
elif 'sum' in b:
    result = sum(args[k] for k in b['sum'])
elif 'return' in b:
    result = b['return']
else:
    result = args
print(json.dumps(result, separators=(',', ':'), ensure_ascii=False), flush=True)
