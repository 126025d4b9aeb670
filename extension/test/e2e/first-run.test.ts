// The first run on a fresh profile, and what is said when there is no Python that will do.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { requirement } from '../requirement';
import { fixture, type Server } from './lib/server';
import { session } from './lib/session';
import { eventually, within } from './lib/waiting';

/** A folder with nothing but a `python3` in it, which has packages of the user's in its way. */
function bin(server: Server): string {
  const folder = path.join(server.root, 'bin');
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, 'python3'), `#!/bin/sh\nexec '${fixture.python()}' "$@"\n`, { mode: 0o755 });
  const hostile = path.join(server.root, 'hostile', 'pygls');
  fs.mkdirSync(hostile, { recursive: true });
  fs.writeFileSync(path.join(hostile, '__init__.py'), 'raise RuntimeError("another pygls")\n');
  return folder;
}

const hostileEnv: Record<string, string> = {};
const at = session('first-run', () => ({
  copyOf: fixture.shop(),
  noPython: true,
  allBuiltins: true,
  cold: true,
  env: hostileEnv,
  prepare: server => {
    const folder = bin(server);
    Object.assign(hostileEnv, { PATH: `${folder}:${process.env.PATH ?? ''}`, PYTHONPATH: path.join(server.root, 'hostile') });
    const home = path.dirname(server.home); // the editor asks the login shell for PATH, as it is in a terminal
    fs.mkdirSync(home, { recursive: true });
    for (const name of ['.profile', '.bash_profile', '.bashrc', '.zprofile']) fs.writeFileSync(path.join(home, name), `export PATH='${folder}':"$PATH"\n`);
  },
}));

test('nothing is activated before one of its views, commands or files is used', requirement('extension:activation:lazy'), async () => {
  const { bench, server } = at;
  await bench.openFile('accounts.py');
  assert.deepEqual(server.sidecars(), []);
  assert.equal(await bench.status().count(), 0);
});

test('python3 on PATH is found, and another pygls on PYTHONPATH changes nothing', requirement('extension:python:path', 'extension:python:isolated'), async () => {
  const { bench, server } = at;
  await bench.ready();
  await bench.page.locator('.sidebar', { hasText: 'No tree has been grown here yet.' }).waitFor();
  assert.equal(server.sidecars().length, 1);
  await bench.shot('first-run');
});

test('a Python that does not start is said, with its last words and what to do', requirement('extension:python:failure'), async () => {
  const { bench, server } = at;
  const broken = path.join(server.root, 'bin', 'broken');
  fs.writeFileSync(broken, '#!/bin/sh\necho "no such library: libsomething" >&2\nexit 3\n', { mode: 0o755 });
  server.writeSettings({ 'treewright.python': broken });
  const toast = bench.toast(/does not start/);
  await toast.waitFor({ timeout: within(30_000) });
  const text = await toast.innerText();
  assert.match(text, /libsomething/);
  assert.match(text, /treewright\.python/);
  await bench.page.locator('.sidebar', { hasText: 'The sidecar does not run.' }).waitFor();
  await bench.shot('no-python');
  server.writeSettings({});
  await eventually(async () => /ready/.test((await bench.status().getAttribute('aria-label')) ?? ''), 'the sidecar to be ready again', 40_000);
});

test('a sidecar that keeps breaking off is not started for ever', requirement('extension:sidecar:crash-loop'), async () => {
  const { bench, server } = at;
  await bench.closeToasts();
  let last = 0;
  for (let round = 0; round < 4; round += 1) {
    const pid = await eventually(() => server.sidecars().find(each => each !== last), 'a sidecar', 30_000);
    await eventually(async () => /ready/.test((await bench.status().getAttribute('aria-label')) ?? ''), 'it to be ready', 30_000);
    last = pid;
    process.kill(pid, 'SIGKILL');
    await eventually(() => !server.sidecars().includes(pid), 'it to be gone');
  }
  await bench.toast(/broke off 4 times/).waitFor();
  await bench.toast(/broke off 4 times/).getByRole('button', { name: 'Restart sidecar' }).click();
  await eventually(async () => /ready/.test((await bench.status().getAttribute('aria-label')) ?? ''), 'it to be ready once more', 30_000);
});
