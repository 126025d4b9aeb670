// Takes the pictures of docs/pictures: the sample project is audited, a finding read and fixed, the map opened.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { fixture } from '../e2e/lib/server';
import { session } from '../e2e/lib/session';
import { eventually, within } from '../e2e/lib/waiting';
import { animated } from './apng';

const at = session('pictures', () => ({
  copyOf: fixture.shop(),
  settings: { 'treewright.openRendered': true, 'workbench.colorTheme': 'Default Light Modern' },
  allBuiltins: true,
  browser: { viewport: { width: 1200, height: 720 } },
}));
const folder = path.join(fixture.root(), 'docs', 'pictures');
const frames: Buffer[] = [];
const stays: number[] = [];

/** Takes a frame of the recording, and a picture of its own when it has a name. */
async function picture(milliseconds: number, name = ''): Promise<void> {
  const bytes = await at.bench.page.screenshot({ animations: 'disabled' });
  frames.push(bytes);
  stays.push(milliseconds);
  if (name) fs.writeFileSync(path.join(folder, `${name}.png`), bytes);
}

test('an audit fills the tree', async () => {
  fs.mkdirSync(folder, { recursive: true });
  const { bench } = at;
  await bench.page.locator('.sidebar', { hasText: 'No tree has been grown here yet.' }).waitFor();
  await picture(1500);
  await bench.run('Treewright: Audit Workspace');
  await bench.toast(/auditing/).waitFor();
  await picture(900);
  const tree = bench.tree('Trees');
  await bench.expand(bench.row(tree, 'code-audit'));
  await bench.row(tree, /^D1 · \d+/).waitFor({ timeout: within(60_000) });
  await bench.toast(/CONFIRMED \d+/).waitFor({ timeout: within(60_000) });
  await picture(1800, 'tree');
  await bench.closeToasts();
});

test('a finding is read where it stands', async () => {
  const { bench } = at;
  const editor = await bench.openFile('catalogue.py');
  const lines = await eventually(async () => {
    const found = await bench.underlined(editor, 'error');
    return found.length ? found : null;
  }, 'an underlined line');
  await bench.goTo(lines[0] ?? 1, 12);
  await picture(1800);
  await bench.quickFix(/^Open the finding/);
  await bench.webview().locator('body', { hasText: 'root_cause' }).waitFor({ timeout: within(20_000) });
  await picture(2600, 'finding');
});

test('its fix is applied', async () => {
  const { bench } = at;
  const editor = await bench.openFile('catalogue.py');
  const [line = 1] = await eventually(async () => {
    const found = await bench.underlined(editor, 'error');
    return found.length ? found : null;
  }, 'an underlined line');
  const before = await bench.text(editor);
  await bench.goTo(line, 12);
  await bench.page.keyboard.press('Control+.');
  await bench.page.locator('.action-widget', { hasText: 'Fix:' }).waitFor();
  await picture(2200, 'fixes');
  await bench.page.keyboard.press('Enter');
  await eventually(async () => (await bench.text(editor)) !== before, 'the text to change');
  await picture(2200);
});

test('the map shows the whole tree', async () => {
  const { bench } = at;
  await bench.row(bench.tree('Trees'), 'code-audit').click();
  await bench.run('Treewright: Open Radial Map');
  const canvas = bench.webview().locator('#map');
  await canvas.waitFor({ timeout: within(30_000) });
  await eventually(async () => Number(await canvas.getAttribute('data-frames')) > 0, 'the first drawing');
  await bench.expand(bench.row(bench.tree('Trees'), 'code-audit'));
  await bench.closeToasts();
  await bench.page.mouse.move(700, 650);
  await bench.page.locator('.monaco-hover:visible').waitFor({ state: 'detached' });
  await picture(3000, 'map');
});

after(() => {
  assert.ok(frames.length >= 8);
  fs.writeFileSync(path.join(folder, 'tour.png'), animated(frames, stays));
});
