// Other ways to use it: in Chinese, with high contrast, with the keyboard alone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requirement } from '../requirement';
import { fixture } from './lib/server';
import { session } from './lib/session';
import { eventually, within } from './lib/waiting';
import { Workbench } from './lib/workbench';

const at = session('ways', () => ({ copyOf: fixture.shop(), settings: { 'workbench.colorTheme': 'Default High Contrast' } }));

test('with the keyboard alone: audit, go to a finding in the tree, open it, follow it to the code', requirement('extension:keyboard:only'), async () => {
  const { page } = at.bench;
  const { bench } = at;
  await page.keyboard.press('F1');
  await page.keyboard.type('Treewright: Audit Workspace');
  await bench.quickInput().locator('.monaco-list-row.focused', { hasText: 'Audit Workspace' }).waitFor();
  await page.keyboard.press('Enter');
  await bench.toast(/CONFIRMED \d+/).waitFor({ timeout: within(60_000) });
  await bench.closeToasts();
  await page.keyboard.press('F1');
  await page.keyboard.type('Treewright: Focus on Trees View');
  await bench.quickInput().locator('.monaco-list-row.focused', { hasText: 'Focus on Trees View' }).waitFor();
  await page.keyboard.press('Enter');
  const tree = bench.tree('Trees');
  await tree.and(page.locator(':focus-within, :focus')).waitFor();
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowRight');
  await bench.row(tree, /^A1/).waitFor();
  await page.keyboard.press('ArrowRight');
  await eventually(() => tree.locator('.monaco-list-row.focused', { hasText: 'A1' }).count(), 'the first node to have the focus');
  await page.keyboard.press('Enter');
  const document = bench.editor('treewright:/run/');
  await document.waitFor();
  await bench.shot('high-contrast');
  const label = (await tree.locator('.monaco-list-row.focused').getAttribute('aria-label')) ?? '';
  assert.match(label, /A1.*(score|MARGINAL|CONFIRMED)/);
});

test('with high contrast the map draws outlines and keeps to the theme', requirement('extension:contrast:map'), async () => {
  const { bench } = at;
  await bench.run('Treewright: Open Radial Map');
  const body = bench.webview().locator('body');
  await bench.webview().locator('#map[data-frames]').waitFor();
  assert.match((await body.getAttribute('class')) ?? '', /vscode-high-contrast/);
  const background = await body.evaluate(element => getComputedStyle(element).backgroundColor);
  assert.equal(background, 'rgb(0, 0, 0)');
  await bench.shot('high-contrast-map');
});

test('in Simplified Chinese the views, the commands and the welcome speak Chinese', requirement('extension:language:chinese'), async () => {
  const bench = await Workbench.open(at.browser, at.server.url, { locale: 'zh-CN', language: 'zh-cn' });
  try {
    await bench.ready(/ready|就绪/);
    await bench.tree('树').first().waitFor();
    await bench.row(bench.tree('树'), /已收敛/).waitFor();
    await bench.page.keyboard.press('F1');
    await bench.quickInput().locator('input.input').fill('>Treewright: 审计');
    await bench.quickInput().locator('.monaco-list-row', { hasText: '审计工作区' }).first().waitFor();
    await bench.shot('chinese');
    await bench.page.keyboard.press('Escape');
    const editor = await bench.openFile('catalogue.py');
    await eventually(async () => (await bench.underlined(editor, 'error')).length > 0, 'findings');
    const [line = 1] = await bench.underlined(editor, 'error');
    await bench.goTo(line, 8);
    await bench.quickFixes('打开发现');
    await bench.shot('chinese-quick-fixes');
  } catch (error) {
    await bench.shot('failed-ways-chinese');
    throw error;
  } finally {
    await bench.close();
  }
});
