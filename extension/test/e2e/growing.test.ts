// Runs that grow: watched, cancelled, gone on with after the sidecar was killed.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { requirement } from '../requirement';
import { growRun } from './lib/runs';
import { fixture, type Server } from './lib/server';
import { session } from './lib/session';
import { eventually, within } from './lib/waiting';

/** A workspace that takes an audit some seconds. */
function large(server: Server): void {
  for (let copy = 0; copy < 6; copy += 1) fs.cpSync(path.join(fixture.shop(), 'shop'), path.join(server.workspace, `part${String(copy)}`), { recursive: true });
}

const at = session('growing', () => ({ files: { 'pyproject.toml': '' }, prepare: large }));

test('an audit is cancelled from its progress and keeps what it has', requirement('extension:audit:cancel'), async () => {
  const { bench } = at;
  await bench.run('Treewright: Audit Workspace');
  const toast = bench.toast(/auditing/);
  await toast.waitFor();
  await toast.getByRole('button', { name: 'Cancel' }).click();
  await toast.waitFor({ state: 'detached', timeout: within(30_000) });
  await bench.row(bench.tree('Trees'), 'stopped').waitFor({ timeout: within(30_000) });
  await bench.shot('cancelled');
  await bench.closeToasts();
});

test('a sidecar that is killed is started again, and the run is gone on with', requirement('extension:sidecar:restart', 'extension:runs:resume'), async () => {
  const { bench, server } = at;
  const run = bench.row(bench.tree('Trees'), 'code-audit');
  await run.hover();
  await run.locator('.action-label.codicon-debug-continue').click();
  await bench.row(bench.tree('Trees'), 'growing').waitFor();
  const [pid] = server.sidecars();
  assert.ok(pid);
  process.kill(pid, 'SIGKILL');
  await eventually(() => server.sidecars().some(each => each !== pid), 'another sidecar');
  await bench.row(bench.tree('Trees'), 'stopped').waitFor({ timeout: within(30_000) });
  await bench.closeToasts();
  await run.click();
  await bench.run('Treewright: Resume');
  await bench.row(bench.tree('Trees'), 'converged').waitFor({ timeout: within(90_000) });
  await bench.shot('resumed');
  await bench.closeToasts();
});

test('a tree that another process grows fills while one looks at it', requirement('extension:trees:live', 'extension:documents:live'), async () => {
  const { bench, server } = at;
  const grower = growRun(server, 'c'.repeat(12), 100_000, 400);
  const tree = bench.tree('Trees');
  const run = bench.row(tree, 'brainstorm');
  await run.waitFor({ timeout: within(30_000) });
  await bench.expand(run);
  const nodes = bench.rows(tree).filter({ hasText: /branch \d/ });
  await eventually(() => nodes.count(), 'the first node', 30_000);
  await run.click();
  await bench.run('Treewright: Open Report');
  const report = bench.editor(`treewright:/run/${'c'.repeat(12)}/report.md`);
  await report.waitFor();
  const early = await bench.text(report);
  const parent = nodes.and(bench.page.locator('[aria-expanded]')).first();
  await bench.expand(run); // the click has folded it
  await parent.waitFor({ timeout: within(40_000) });
  await bench.expand(parent);
  await bench.row(tree, /^[A-L]\d\.[A-L]\d/).waitFor();
  await eventually(async () => (await bench.text(report)) !== early, 'the report to follow', 30_000);
  await bench.shot('live');
  await grower.finish();
  await bench.row(tree, /brainstorm · stopped/).waitFor({ timeout: within(20_000) });
});

test('the Run view says why a run has not converged', requirement('extension:run:why'), async () => {
  const { bench } = at;
  await bench.row(bench.tree('Trees'), 'brainstorm').click();
  const view = bench.tree('Run');
  await bench.row(view, /of 6 conditions met/).waitFor();
  await bench.shot('run-view');
  await bench.row(view, 'No blocked node').click();
  await view.press('End');
  await bench.row(view, /of 12 fired/).waitFor();
  await bench.row(view, 'Spend').waitFor();
});

test('nodes are filtered by text and sorted by score', requirement('extension:trees:filter', 'extension:trees:sort'), async () => {
  const { bench } = at;
  const tree = bench.tree('Trees');
  await tree.press('Home');
  await bench.expand(bench.row(tree, 'brainstorm'));
  const nodes = bench.rows(tree).filter({ hasText: /branch \d/ });
  await eventually(async () => (await nodes.count()) > 3, 'the nodes');
  const [, word = ''] = /: (\w{7})/.exec(await nodes.nth(2).innerText()) ?? [];
  await bench.run('Treewright: Filter Nodes');
  await bench.fill(word);
  await bench.quickInput().getByText('Verdicts and framings').first().waitFor();
  await bench.page.keyboard.press('Enter');
  // The node itself, and perhaps its parent on the way to it.
  await eventually(async () => [1, 2].includes(await nodes.count()) && (await nodes.last().innerText()).includes(word), 'the one node');
  await bench.shot('filtered');
  await bench.run('Treewright: Clear the Filter');
  await eventually(async () => (await nodes.count()) > 3, 'all nodes');
  await bench.run('Treewright: Sort Nodes');
  await bench.pick('By score');
  await eventually(async () => {
    const siblings = (await nodes.allInnerTexts()).filter(text => /^\s*[A-L]\d+\b(?!\.)/.test(text));
    const scores = siblings.map(text => Number(/· (\d+)/.exec(text)?.[1] ?? 0));
    return scores.length > 3 && scores.every((each, index) => index === 0 || each <= (scores[index - 1] ?? 0));
  }, 'scores to fall');
});
