import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRecentEnough, isWithin, readProbe, sidecarEnvironment, usualCommands } from '../../src/interpreter';
import { requirement } from '../requirement';

const said = (more: Record<string, unknown> = {}): string => JSON.stringify({ version: [3, 12, 1], executable: '/usr/bin/python3', sidecar: '', why: 'not installed', venv: true, ...more });

test('what a probe says is read, whatever an interpreter prints before it', () => {
  const found = readProbe(['python3'], `a banner\n${said()}\n`);
  assert.deepEqual(found, { command: ['python3'], executable: '/usr/bin/python3', version: [3, 12, 1], sidecar: '', why: 'not installed', venv: true });
});

for (const output of ['', 'Python 3.12.1', '[]', '{}', said({ version: ['3', 12, 1] }), said({ version: [3] })]) {
  test(`"${output.slice(0, 40)}" is no answer of a probe`, () => assert.equal(readProbe(['python3'], output), null));
}

test('Python 3.11 is recent enough, 3.10 and 2.7 are not', requirement('extension:python:version'), () => {
  assert.ok(isRecentEnough({ version: [3, 11, 0] }));
  assert.ok(isRecentEnough({ version: [4, 0, 0] }));
  assert.ok(!isRecentEnough({ version: [3, 10, 99] }));
  assert.ok(!isRecentEnough({ version: [2, 7, 18] }));
});

test('nothing that steers a Python reaches the sidecar', requirement('extension:python:isolated'), () => {
  const given = { PATH: '/bin', PYTHONPATH: '/x', PYTHONHOME: '/y', pythonstartup: '/z', __PYVENV_LAUNCHER__: '/w' };
  assert.deepEqual(sidecarEnvironment(given, ''), { PATH: '/bin' });
  assert.deepEqual(sidecarEnvironment(given, '/home/me/tw'), { PATH: '/bin', TREEWRIGHT_HOME: '/home/me/tw' });
});

test('a file is within a folder only when it lies in it', () => {
  assert.ok(isWithin('/code/app/.venv/bin/python', ['/code/app']));
  assert.ok(isWithin('/code/app', ['/code/app']));
  assert.ok(!isWithin('/code/application/python', ['/code/app']));
  assert.ok(!isWithin('/usr/bin/python', ['/code/app']));
  assert.ok(isWithin('/code/app/..python/bin', ['/code/app']));
});

test('on Windows the launcher is asked first', () => {
  assert.deepEqual(usualCommands('win32')[0], ['py', '-3']);
  assert.deepEqual(usualCommands('linux')[0], ['python3']);
});
