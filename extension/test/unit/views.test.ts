// What the views allow: nothing is loaded or run but our own script and style sheet, and text of nodes is text.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { isPage } from '../../src/links';
import { requirement } from '../requirement';

const source = path.join(process.cwd(), 'src');
const sources = fs.readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.ts'));
const texts = new Map(sources.map(name => [name.replaceAll('\\', '/'), fs.readFileSync(path.join(source, name), 'utf8')]));

test('every page of a view has a policy that allows our own script alone', requirement('extension:views:policy'), () => {
  const views = [...texts].filter(([, text]) => text.includes('createWebviewPanel('));
  assert.deepEqual(views.map(([name]) => name).sort(), ['map.ts', 'reader.ts']);
  for (const [name, text] of views) {
    const policy = /const policy = `([^`]+)`/.exec(text)?.[1] ?? '';
    assert.match(policy, /^default-src 'none';/, name);
    assert.match(policy, /script-src 'nonce-\$\{nonce\}';/, name);
    assert.match(policy, /base-uri 'none'; form-action 'none'$/, name);
    assert.doesNotMatch(policy, /unsafe|https?:|\*/, name);
    assert.match(text, /randomBytes\(18\)/, name);
    assert.match(text, /Content-Security-Policy" content="\$\{policy\}"/, name);
  }
});

test('text of nodes is markup nowhere but in the reader, whose policy lets nothing of it act', requirement('extension:views:text'), () => {
  const markup = [...texts].filter(([, text]) => /innerHTML|outerHTML|insertAdjacentHTML|document\.write/.test(text));
  assert.deepEqual(markup.map(([name]) => name), ['webview/reader.ts']);
  for (const [name, text] of texts) assert.doesNotMatch(text, /isTrusted\s*[:=]\s*(?:true|\{)|supportHtml\s*[:=]\s*true|enableCommandUris/, name);
});

test('a link in a document leads to a page, or nowhere outside the editor', requirement('extension:views:links'), () => {
  for (const scheme of ['https', 'http']) assert.ok(isPage(scheme));
  for (const scheme of ['command', 'javascript', 'vscode', 'vscode-insiders', 'data', 'mailto', 'ssh', '']) assert.ok(!isPage(scheme));
});
