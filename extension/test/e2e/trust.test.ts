// A folder that is not trusted: reading and offline audits work, nothing of the folder is run or obeyed.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { requirement } from '../requirement';
import { fixture, type Server } from './lib/server';
import { session } from './lib/session';
import { eventually, within } from './lib/waiting';

const ran = (server: Server): string => path.join(server.root, 'ran');

/** A folder that would like to be run: an interpreter of its own, named in its settings. */
function bait(server: Server): void {
  const python = path.join(server.workspace, '.venv', 'bin', 'python');
  fs.mkdirSync(path.dirname(python), { recursive: true });
  fs.writeFileSync(python, `#!/bin/sh\ntouch '${ran(server)}'\nexec '${fixture.python()}' "$@"\n`, { mode: 0o755 });
  fs.mkdirSync(path.join(server.workspace, '.vscode'));
  fs.writeFileSync(path.join(server.workspace, '.vscode', 'settings.json'), JSON.stringify({ 'treewright.python': python, 'treewright.model': 'evil', 'treewright.home': path.join(server.root, 'evil-home') }));
  fs.writeFileSync(path.join(server.workspace, 'conftest.py'), `open(${JSON.stringify(ran(server))}, 'w').close()\n`);
}

const at = session('trust', () => ({ copyOf: fixture.shop(), askTrust: true, cold: true, settings: { 'security.workspace.trust.startupPrompt': 'always' }, prepare: bait }));

test('in an untrusted folder an audit works and nothing of the folder is run', requirement('extension:trust:nothing-run', 'extension:trust:audit'), async () => {
  const { bench, server } = at;
  const refuse = bench.dialog().getByRole('button', { name: /No, I don.t trust|don.t trust/i });
  await refuse.waitFor();
  await bench.shot('trust-dialog');
  await refuse.click();
  await bench.ready();
  await bench.run('Treewright: Audit Workspace');
  await bench.toast(/CONFIRMED \d+/).waitFor({ timeout: within(60_000) });
  assert.ok(!fs.existsSync(ran(server)), 'something of the folder was run');
  assert.ok(!fs.existsSync(path.join(server.root, 'evil-home')), 'the folder chose where runs are kept');
  await bench.closeToasts();
});

test('what would execute code is not offered there', requirement('extension:trust:not-offered'), async () => {
  const { bench } = at;
  await bench.openFile('catalogue.py');
  await eventually(async () => (await bench.underlined(bench.editor('catalogue.py'), 'error')).length > 0, 'findings');
  const [line = 1] = await bench.underlined(bench.editor('catalogue.py'), 'error');
  await bench.goTo(line, 8);
  await bench.quickFixes('Open the finding');
  assert.equal(await bench.page.locator('.action-widget .monaco-list-row.action', { hasText: 'verified fix' }).count(), 0);
  await bench.shot('untrusted');
  await bench.page.keyboard.press('Escape');
});

test('once trusted, the interpreter named by the folder counts', requirement('extension:trust:granted'), async () => {
  const { bench, server } = at;
  await bench.run('Workspaces: Manage Workspace Trust');
  await bench.page.locator('.workspace-trust-editor').getByRole('button', { name: 'Trust', exact: true }).click();
  await eventually(() => fs.existsSync(ran(server)), 'the interpreter of the folder to be used', 60_000);
});
