// Findings while one works on the file: edits move, stale and drop them; every quick fix.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { Locator } from 'playwright-core';
import { requirement } from '../requirement';
import { session } from './lib/session';
import { eventually, within } from './lib/waiting';

const APP = `"""A page that looks things up."""
import hashlib
import os
import sqlite3

import yaml
from flask import Flask, request

app = Flask(__name__)


@app.route("/find")
def find():
    name = request.args["name"]
    rows = sqlite3.connect("shop.db").execute("SELECT * FROM item WHERE name = '" + name + "'")
    return str(rows.fetchall())


@app.route("/ping")
def ping():
    host = request.args["host"]
    return str(os.system("ping -c 1 " + host))


@app.route("/load", methods=["POST"])
def load():
    return str(yaml.load(request.get_data(), Loader=yaml.Loader))


def digest(password):
    return hashlib.md5(password.encode("utf-8")).hexdigest()
`;

const lineOf = (text: string, part: string): number => text.split('\n').findIndex(line => line.includes(part)) + 1;
const at = session('findings', () => ({
  files: { 'pyproject.toml': '[project]\nname = "page"\n', 'page/__init__.py': '', 'page/app.py': APP, 'requirements.txt': 'flask\npyyaml\n' },
  setUp: async ({ bench }) => {
    editor = await bench.openFile('app.py');
    await bench.run('Treewright: Audit this File');
    await bench.toast(/CONFIRMED/).waitFor({ timeout: within(60_000) });
    await bench.closeToasts();
  },
}));
let editor: Locator;

const marked = async (): Promise<number[]> => [...(await at.bench.underlined(editor, 'error')), ...(await at.bench.underlined(editor, 'warning'))].sort((a, b) => a - b);

async function until(lines: readonly number[]): Promise<void> {
  let seen: number[] = [];
  await eventually(async () => JSON.stringify((seen = await marked())) === JSON.stringify(lines), () => `lines ${JSON.stringify(lines)}, seen ${JSON.stringify(seen)}`);
}

test('the findings stand on their lines', requirement('extension:findings:lines'), async () => {
  await until([lineOf(APP, '.execute('), lineOf(APP, 'os.system'), lineOf(APP, 'yaml.load('), lineOf(APP, 'hashlib.md5(')]);
  await at.bench.shot('findings');
});

test('an edit above moves them, undoing it moves them back', requirement('extension:findings:move'), async () => {
  const { bench } = at;
  const first = await marked();
  await bench.goTo(1);
  await bench.page.keyboard.press('Home');
  await bench.page.keyboard.press('Enter');
  await until(first.map(line => line + 1));
  await bench.shot('moved');
  await bench.page.keyboard.press('Control+Z');
  await until(first);
});

test('an edit inside makes one stale, undoing it makes it right again', requirement('extension:findings:stale'), async () => {
  const { bench } = at;
  const first = await marked();
  const line = lineOf(APP, 'hashlib.md5(');
  await bench.goTo(line, 20);
  await bench.page.keyboard.type('x');
  await until(first.filter(each => each !== line));
  await eventually(async () => (await bench.underlined(editor, 'hint')).includes(line) || (await editor.locator('.inline-deprecated, .squiggly-inline-deprecated, .squiggly-unnecessary').count()) > 0, 'the stale finding to be struck');
  await bench.shot('stale');
  await bench.page.keyboard.press('Control+Z');
  await until(first);
});

test('when its code is deleted it goes, and comes back with it', requirement('extension:findings:gone'), async () => {
  const { bench } = at;
  const first = await marked();
  const line = lineOf(APP, 'hashlib.md5(');
  await bench.goTo(line);
  await bench.page.keyboard.press('Control+Shift+K');
  await until(first.filter(each => each !== line));
  await bench.shot('gone');
  await bench.page.keyboard.press('Control+Z');
  await until(first);
});

test('the proposed fix is applied as an edit', requirement('extension:fixes:apply'), async () => {
  const { bench } = at;
  const first = await marked();
  const line = lineOf(APP, 'yaml.load(');
  await bench.goTo(line, 18);
  await bench.quickFix(/^Fix:/, 'quick-fixes');
  await eventually(async () => !(await bench.text(editor)).includes('Loader=yaml.Loader)'), 'the text to change');
  await until(first.filter(each => each !== line));
  await bench.shot('fixed');
  await bench.page.keyboard.press('Control+Z');
  await until(first);
});

test('the finding opens as a document; its citation opens the file at the line', requirement('extension:documents:citation', 'extension:fixes:open'), async () => {
  const { bench } = at;
  const line = lineOf(APP, 'os.system');
  await bench.goTo(line, 12);
  await bench.quickFix(/Open the finding/);
  const document = bench.editor('treewright:/run/');
  await document.waitFor();
  const cited = document.locator('.view-line .detected-link', { hasText: new RegExp(`app\\.py:${String(line)}`) }).first();
  await cited.waitFor();
  await bench.shot('node-document');
  await cited.click({ modifiers: ['Control'] });
  await editor.waitFor();
  await bench.cursorAt(line);
});

test('rendered, the document has links that open the cited line', requirement('extension:documents:rendered'), async () => {
  const { bench } = at;
  const line = lineOf(APP, 'os.system');
  await bench.goTo(line, 12);
  await bench.quickFix(/Open the finding/);
  await bench.editor('treewright:/run/').waitFor();
  await bench.run('Treewright: Show Rendered');
  const link = bench.webview().locator('main a', { hasText: `app.py:${String(line)}` }).first();
  await link.waitFor();
  await bench.shot('reader');
  await link.click();
  await bench.cursorAt(line);
  await bench.run('View: Close All Editor Groups');
  editor = await bench.openFile('app.py');
});

test('the issue text is copied', requirement('extension:fixes:issue'), async () => {
  const { bench } = at;
  await bench.goTo(lineOf(APP, 'os.system'), 12);
  await bench.quickFix(/Copy as issue text/);
  await bench.toast(/clipboard/).waitFor();
  const text = await bench.page.evaluate(() => navigator.clipboard.readText());
  assert.match(text, /^# .*os\.system/);
  assert.match(text, /Found by Treewright, run \w+, node [A-L]\d+/);
  await bench.closeToasts();
});

test('a risk is accepted with a reason, and the decision can be undone', requirement('extension:fixes:accept'), async () => {
  const { bench } = at;
  const first = await marked();
  const line = lineOf(APP, 'os.system');
  await bench.goTo(line, 12);
  await bench.quickFix(/Accept the risk/);
  await bench.quickInput().getByText('Why is this risk accepted?').waitFor();
  await bench.fill('only reachable from the office');
  await until(first.filter(each => each !== line));
  await bench.toast(/do not report|Recorded/).waitFor();
  await bench.shot('accepted');
  await bench.toast(/do not report|Recorded/).getByRole('button', { name: 'Undo' }).click();
  await until(first);
  await bench.closeToasts();
});

test('a false alarm is dismissed for this and later audits', requirement('extension:fixes:dismiss'), async () => {
  const { bench, server } = at;
  const first = await marked();
  const line = lineOf(APP, 'hashlib.md5(');
  await bench.goTo(line, 12);
  await bench.quickFix(/False alarm/);
  await bench.fill('a checksum, no password');
  const rest = first.filter(each => each !== line);
  await until(rest);
  await bench.closeToasts();
  await bench.run('Treewright: Audit this File');
  await bench.toast(/CONFIRMED/).waitFor({ timeout: within(60_000) });
  await until(rest);
  await bench.shot('dismissed');
  const kept = fs.readdirSync(path.join(server.home, 'decisions'));
  assert.equal(kept.filter(name => name.endsWith('.jsonl')).length, 1);
  await bench.closeToasts();
});

test('a finding is explored deeper in a new run', requirement('extension:fixes:deeper'), async () => {
  const { bench } = at;
  await bench.goTo(lineOf(APP, '.execute('), 12);
  const runs = bench.rows(bench.tree('Trees'));
  const before = await runs.count();
  await bench.quickFix(/Explore deeper/);
  await eventually(async () => (await runs.count()) > before, 'another run');
  await bench.shot('deeper');
});
