// Starts the tests inside the extension host of a real editor and reports what came of them.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fixture, freshFolder, Server } from '../e2e/lib/server';
import { launchBrowser } from '../e2e/lib/workbench';
import { requirement } from '../requirement';

test('inside the extension host: commands, diagnostics, quick fixes, tools, the editor\'s model', requirement('extension:model:bridge', 'extension:tools:listed', 'extension:fixes:offered', 'extension:model:errors'), async () => {
  const extension = path.resolve('.');
  // Only with this flag do newer versions obey the two paths in the address.
  const server = new Server(freshFolder(fixture.shop()), { args: ['--enable-smoke-test-driver'] });
  const folder = path.join(server.root, 'extensions', 'treewright-tests.fake-model-0.0.1');
  fs.cpSync(path.join(extension, 'test', 'fixtures', 'fake-model'), folder, { recursive: true });
  await server.start();
  const browser = await launchBrowser();
  const said: string[] = [];
  try {
    const page = await browser.newPage();
    let end: (code: number) => void = () => undefined;
    const ended = new Promise<number>(resolve => (end = resolve));
    await page.exposeFunction('codeAutomationExit', (code: number) => end(code));
    await page.exposeFunction('codeAutomationLog', (type: string, args: unknown[]) => said.push(`${type}: ${args.join(' ')}`));
    page.on('console', message => said.push(message.text()));
    const remote = (file: string): string => `vscode-remote://127.0.0.1:${String(server.port)}${file}`;
    const payload = [['extensionDevelopmentPath', remote(extension)], ['extensionTestsPath', remote(path.join(extension, '.test', 'inside', 'suite.js'))]];
    await page.goto(`${server.url}&payload=${encodeURIComponent(JSON.stringify(payload))}`);
    const late = new Promise<string>(resolve => setTimeout(() => resolve('it did not end in time'), 150_000).unref());
    const code = await Promise.race([ended, late]);
    const told = said.filter(line => /Extension Host|error|Error|assert|^ok/.test(line)).slice(-40).join('\n');
    assert.equal(code, 0, `${told}\n${server.log(/treewright/i)}`);
  } finally {
    await browser.close();
    await server.stop();
  }
});
