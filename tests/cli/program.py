# SPDX-License-Identifier: MIT
"""Running the program in tests: projects in folders of their own, servers that are
waited for, and a report in the form that tools/results counts."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

BREAD = os.environ.get('BREAD', 'bread')
WAIT_S = 30


def environment():
    env = dict(os.environ, PYTHONUNBUFFERED='1')
    for name in ('NO_COLOR', 'COLUMNS'):
        env.pop(name, None)
    return env


class Project:
    """A folder with files; removed at the end."""

    def __init__(self, files=None):
        self.dir = tempfile.mkdtemp(prefix='bread-test-')
        for path, text in (files or {}).items():
            self.write(path, text)

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, text):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + '.new~', 'w') as f:
            f.write(text if isinstance(text, str) else json.dumps(text))
        os.rename(path + '.new~', path)

    def run(self, *args, stdin='', env=None):
        return run(*args, '--cwd', self.dir, stdin=stdin, env=env)

    def start(self, *args, env=None):
        return Started([BREAD, *args, '--cwd', self.dir], env)

    def remove(self):
        shutil.rmtree(self.dir, ignore_errors=True)


class Done:
    def __init__(self, p):
        self.status, self.out, self.err = p.returncode, p.stdout, p.stderr

    def lines(self):
        return [json.loads(l) for l in self.out.splitlines()]


def run(*args, stdin='', env=None):
    return Done(subprocess.run([BREAD, *args], input=stdin, capture_output=True, text=True, timeout=WAIT_S,
                               env=dict(environment(), **(env or {}))))


class Started:
    """A program that goes on: what it says is read from files."""

    def __init__(self, args, env=None):
        self.files = [tempfile.TemporaryFile(), tempfile.TemporaryFile()]
        self.proc = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=self.files[0], stderr=self.files[1],
                                     env=dict(environment(), **(env or {})))

    def said(self, which=0):
        return os.pread(self.files[which].fileno(), 1 << 24, 0).decode()

    def wait_for(self, text, which=0, count=1):
        until = time.monotonic() + WAIT_S
        while self.said(which).count(text) < count:
            if self.proc.poll() is not None or time.monotonic() > until:
                raise AssertionError(f'"{text}" was not said; but: {self.said(0)!r} {self.said(1)!r}')
            time.sleep(0.01)

    def url(self):
        self.wait_for('agent(s) loaded')
        return re.search(r'http://\S+', self.said())[0]

    def end(self, signal=None):
        if signal is not None and self.proc.poll() is None:
            self.proc.send_signal(signal)
        try:
            return self.proc.wait(WAIT_S)
        finally:
            self.kill()

    def kill(self):
        if self.proc.poll() is None:
            self.proc.kill()
            self.proc.wait()


class Report(unittest.TestResult):
    def startTest(self, test):
        super().startTest(test)
        print(f'[ RUN      ] {test._testMethodName}', flush=True)

    def addSuccess(self, test):
        print(f'[       OK ] {test._testMethodName}', flush=True)

    def addFailure(self, test, err):
        print(f'{self._exc_info_to_string(err, test)}[  FAILED  ] {test._testMethodName}', flush=True)
        self.failures.append((test, ''))

    addError = addFailure


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules['__main__'])
    sys.exit(0 if suite.run(Report()).wasSuccessful() else 1)
