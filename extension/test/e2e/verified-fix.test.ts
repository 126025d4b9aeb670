// Searching for a verified fix, end to end: a failing test goes in, a passing patch comes out, shown as a difference, applied on consent.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { requirement } from '../requirement';
import { fixture } from './lib/server';
import { session } from './lib/session';
import { eventually, within } from './lib/waiting';

const WRONG = 'def largest(values):\n    """Return the largest of some values."""\n    best = values[0]\n    for value in values:\n        if value < best:\n            best = value\n    return best\n';
const TESTS = 'from page.figures import largest\n\n\ndef test_the_largest_is_found():\n    assert largest([1, 3, 2]) == 3\n\n\ndef test_one_value():\n    assert largest([5]) == 5\n\n\ndef test_negative_values():\n    assert largest([-4, -2, -9]) == -2\n';

const at = session('verified-fix', () => ({
  files: { 'pyproject.toml': '[project]\nname = "page"\nversion = "0"\n', 'page/__init__.py': '', 'page/figures.py': WRONG, 'tests/test_figures.py': TESTS },
}));

test('nothing is executed before the user agrees', requirement('extension:search:consent'), async () => {
  const { bench, server } = at;
  await bench.openFile('figures.py');
  await bench.goTo(5, 8);
  await bench.run('Treewright: Search Code Branches for this Function');
  await bench.dialog().getByText(/running code/).waitFor();
  await bench.shot('search-consent');
  await bench.dialog().getByRole('button', { name: 'Cancel' }).click();
  assert.ok(!fs.existsSync(path.join(server.home, 'runs')) || fs.readdirSync(path.join(server.home, 'runs')).length === 0);
});

test('a patch that passes every test is shown as a difference and applied when the user says so', requirement('extension:search:verified'), async () => {
  const { bench, server } = at;
  await bench.run('Treewright: Search Code Branches for this Function');
  await bench.dialog().getByRole('button', { name: 'Search' }).click();
  const offer = bench.page.locator('.notifications-toasts .notification-toast', { has: bench.page.getByRole('button', { name: 'Apply' }) });
  await offer.waitFor({ timeout: within(120_000) });
  await bench.page.locator('.monaco-diff-editor .editor.modified').waitFor();
  await bench.shot('verified-fix');
  const file = path.join(server.workspace, 'page', 'figures.py');
  assert.equal(fs.readFileSync(file, 'utf8'), WRONG, 'nothing is written before the user agrees');
  await offer.getByRole('button', { name: 'Apply' }).click();
  const editor = bench.editor('figures.py').last();
  await eventually(async () => !(await bench.text(editor)).includes('value < best'), 'the text to change');
  await bench.page.locator('.monaco-diff-editor').waitFor({ state: 'detached' }); // else it is the proposal that is saved
  await bench.page.locator('.tab.active', { hasText: 'figures.py' }).waitFor();
  await bench.page.keyboard.press('Control+S');
  await eventually(() => fs.readFileSync(file, 'utf8') !== WRONG, 'the file to be saved');
  const script = 'import sys; sys.path.insert(0, "."); sys.path.insert(0, "tests"); import test_figures as t; [getattr(t, n)() for n in dir(t) if n.startswith("test_")]';
  execFileSync(fixture.python(), ['-c', script], { cwd: server.workspace });
});

test('the search is listed with the runs and opens as a document', requirement('extension:trees:searches'), async () => {
  const { bench } = at;
  await bench.closeToasts();
  await bench.row(bench.tree('Trees'), 'verified').click();
  const document = bench.editor('/report.md');
  await document.waitFor();
  await eventually(async () => (await bench.text(document)).includes('largest'), 'the report');
  await bench.expand(bench.row(bench.tree('Trees'), 'verified'));
  await bench.expand(bench.row(bench.tree('Trees'), /^start/));
  await bench.row(bench.tree('Trees'), /chosen, 3 of 3 checks/).waitFor();
  await bench.shot('search-report');
});
