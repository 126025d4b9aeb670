import assert from 'node:assert/strict';
import { test } from 'node:test';
import { concerns, documentParts, documentPath } from '../../src/addresses';
import { cutAt, selectorOf } from '../../src/completion';
import { LINK_PREFIX, withLinks } from '../../src/links';
import { withServer } from '../../src/mcpFile';
import { requirement } from '../requirement';

test('the path of a virtual document is made and read alike', () => {
  const path = documentPath('abc', 'node', 'A1.B2.md');
  assert.equal(path, '/run/abc/node/A1.B2.md');
  assert.deepEqual(documentParts(path), { run: 'abc', node: 'A1.B2', name: 'A1.B2.md' });
  assert.deepEqual(documentParts('/run/abc/report.md'), { run: 'abc', node: '', name: 'report.md' });
  for (const other of ['/', '/run/abc', '/else/abc/report.md', '/run//x']) assert.equal(documentParts(other), null);
});

test('a document is read again when its node or its run has changed, and not otherwise', requirement('extension:documents:refresh'), () => {
  const change = { run: 'abc', nodes: ['A1'], many: false };
  assert.ok(concerns(change, '/run/abc/node/A1.md'));
  assert.ok(!concerns(change, '/run/abc/node/A2.md'));
  assert.ok(concerns(change, '/run/abc/report.md'));
  assert.ok(!concerns(change, '/run/def/report.md'));
  assert.ok(concerns({ ...change, nodes: [], many: true }, '/run/abc/node/A2.md'));
});

test('links are put around code and words, the later ones of a line first', () => {
  const text = '- parent: A1, framing D\n- position: `app.py:3`';
  const links = [{ line: 0, start: 10, end: 12, target: 'a' }, { line: 1, start: 13, end: 21, target: 'b' }];
  assert.equal(withLinks(text, links), `- parent: [A1](${LINK_PREFIX}0), framing D\n- position: [\`app.py:3\`](${LINK_PREFIX}1)`);
});

test('a link that does not fit the text is left out', () => {
  assert.equal(withLinks('ab', [{ line: 3, start: 0, end: 1, target: 'x' }, { line: 0, start: 1, end: 9, target: 'y' }]), 'ab');
});

test('a completion ends at the first stop sequence', () => {
  assert.equal(cutAt('one STOP two END', ['END', 'STOP']), 'one ');
  assert.equal(cutAt('one', ['END', '']), null);
});

test('a model is named by its vendor and id, by its id, or not at all', () => {
  assert.deepEqual(selectorOf('copilot/gpt-4.1'), { vendor: 'copilot', id: 'gpt-4.1' });
  assert.deepEqual(selectorOf('gpt-4.1'), { id: 'gpt-4.1' });
  assert.deepEqual(selectorOf(''), {});
});

test('a server is added to mcp.json and all else is kept', requirement('extension:mcp:file'), () => {
  const server = { command: '/py', args: ['-m', 'treewright', 'mcp'], env: {} };
  const before = '{"inputs": [1], "servers": {"other": {"type": "http"}, "treewright": {"old": true}}}';
  assert.deepEqual(JSON.parse(withServer(before, 'treewright', server) ?? ''), {
    inputs: [1],
    servers: { other: { type: 'http' }, treewright: { type: 'stdio', command: '/py', args: ['-m', 'treewright', 'mcp'] } },
  });
  assert.ok(withServer('', 'treewright', server));
  for (const unfit of ['// a comment\n{}', '[]', '{"servers": 3}', '"x"']) assert.equal(withServer(unfit, 'treewright', server), null);
});
