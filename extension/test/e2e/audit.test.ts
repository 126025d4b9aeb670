// An audit from start to reading its findings.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requirement } from '../requirement';
import { fixture } from './lib/server';
import { session } from './lib/session';
import { eventually, within } from './lib/waiting';

const at = session('audit', () => ({ copyOf: fixture.shop() }));

test('an audit of the workspace shows its progress and fills the tree', requirement('extension:audit:progress', 'extension:trees:grow'), async () => {
  const { bench } = at;
  await bench.page.locator('.sidebar', { hasText: 'No tree has been grown here yet.' }).waitFor();
  await bench.shot('welcome');
  await bench.run('Treewright: Audit Workspace');
  await bench.toast(/auditing/).waitFor();
  await bench.shot('audit-progress');
  const tree = bench.tree('Trees');
  await bench.expand(bench.row(tree, 'code-audit'));
  await bench.row(tree, /^[A-L]\d+ · \d+/).waitFor();
  await bench.toast(/CONFIRMED \d+/).waitFor({ timeout: within(60_000) });
  await bench.shot('audited');
});

test('the squiggle, the problems panel and the gutter agree', requirement('extension:findings:agree'), async () => {
  const { bench } = at;
  const editor = await bench.openFile('accounts.py');
  const lines = await eventually(async () => {
    const found = await bench.underlined(editor, 'error');
    return found.length ? found : null;
  }, 'an underlined line');
  const problems = await bench.problems();
  const texts = (await problems.allInnerTexts()).map(text => text.replace(/\s+/g, ' '));
  for (const line of lines) assert.ok(texts.some(text => text.includes(`[Ln ${String(line)},`)), `line ${String(line)} in ${texts.join('\n')}`);
  await bench.shot('squiggle');
});
