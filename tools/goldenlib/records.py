# SPDX-License-Identifier: MIT
"""A body of a stream as a list of records: a line of NDJSON or an event of SSE, each
with its text as it came and, where it is one, its crumb."""
import json
import re

SEQ = re.compile(r'("seq":)(\d+)')
FRAME_SEQ = re.compile(r'^(\{"v":1,"type":"crumb","runId":"(?:[^"\\]|\\.)*","seq":)(\d+)')
LAST_SEQ = re.compile(r'("seq":)(\d+)(\}+)$')
ROOT = re.compile(r'"rootRunId":"[^"]*",')


class Record:
    def __init__(self, lines):
        self.lines = lines
        self.crumb = self.failure = None
        for line in lines:
            value = parsed(line.removeprefix('data: '))
            if value is None:
                continue
            self.crumb = value.get('crumb') or value.get('payload')
            self.failure = value.get('type') == 'error' or value.get('seq') == 0
            if not isinstance(self.crumb, dict) or 'type' not in self.crumb:
                self.crumb = None

    def type(self):
        return self.crumb['type'] if self.crumb and not self.failure else ''

    def run(self):
        return self.crumb.get('runId', '') if self.crumb else ''

    def agent(self):
        return self.crumb.get('agentId', '') if self.crumb else ''

    def renumber(self, number):
        """Puts number(seq) in the place of each number that the frame carries."""
        def frame(m):
            return m[1] + str(number(int(m[2])))

        def last(m):
            return m[1] + str(number(int(m[2]))) + m[3]
        self.lines = [re.sub(r'^(id: )(\d+)$', frame, LAST_SEQ.sub(last, FRAME_SEQ.sub(frame, l))) for l in self.lines]

    def edit(self, pattern, new, count=0):
        self.lines = [re.sub(pattern, new, l, count) for l in self.lines]


def parsed(text):
    if not text.startswith('{'):
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def split(body):
    """The records of a body; a text that is no stream is one record a line."""
    lines = body.split('\n')
    end = [''] if lines[-1] == '' else []
    lines = lines[:len(lines) - len(end)]
    if not any(l.startswith(('data: ', 'id: ')) for l in lines):
        return [Record([l]) for l in lines]
    out, event = [], []
    for line in lines:
        event.append(line)
        if line == '':
            out.append(Record(event))
            event = []
    return out + ([Record(event)] if event else [])


def joined(records):
    lines = [l for r in records for l in r.lines]
    return '\n'.join(lines) + '\n' if lines else ''
