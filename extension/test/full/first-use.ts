// The first use of a packed extension: no Python is named, none has Treewright, and the extension sets itself up.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fixture } from '../e2e/lib/server';
import { session } from '../e2e/lib/session';
import { eventually, within } from '../e2e/lib/waiting';
import { requirement } from '../requirement';

/** Packs the extension as it is shipped. */
export function packed(...options: string[]): string {
  const out = execFileSync(fixture.python(), [path.join(fixture.root(), 'tools', 'package_extension.py'), ...options], { encoding: 'utf8' });
  return out.trim();
}

/** The interpreter that the test's environment was made from: it has no Treewright. */
function bare(): string {
  return execFileSync(fixture.python(), ['-c', 'import sys; print(sys._base_executable)'], { encoding: 'utf8' }).trim();
}

export function firstUse(name: string, proves: ReturnType<typeof requirement>, vsix: () => string, env: Record<string, string> = {}): void {
  const at = session(name, () => ({ copyOf: fixture.shop(), noPython: true, allBuiltins: true, cold: true, vsix: vsix(), env: { PATH: `${path.dirname(bare())}:${process.env.PATH ?? ''}`, ...env } }));

  test('with consent and progress an environment is made, and the sidecar runs in it', proves, async () => {
    const { bench, server } = at;
    await bench.openSideBar();
    const asked = bench.toast(/environment of its own/);
    await asked.waitFor({ timeout: within(60_000) });
    assert.equal(server.sidecars().length, 0, 'nothing is started before the user agrees');
    await bench.shot(`${name}-consent`);
    await asked.getByRole('button', { name: 'Set up' }).click();
    await bench.toast(/Setting up Treewright/).waitFor();
    await bench.shot(`${name}-setting-up`);
    await eventually(async () => /ready/.test((await bench.status().getAttribute('aria-label')) ?? ''), 'the sidecar to be ready', 400_000);
    assert.equal(server.sidecars().length, 1);
  });

  test('an audit works there, and a second start asks nothing', proves, async () => {
    const { bench, server } = at;
    await bench.run('Treewright: Audit Workspace');
    await bench.toast(/CONFIRMED \d+/).waitFor({ timeout: within(60_000) });
    await bench.shot(`${name}-audited`);
    const [before] = server.sidecars();
    await bench.run('Treewright: Restart Sidecar');
    await eventually(() => server.sidecars().some(pid => pid !== before), 'another sidecar', 60_000);
    await eventually(async () => /ready/.test((await bench.status().getAttribute('aria-label')) ?? ''), 'it to be ready', 60_000);
    assert.equal(await bench.toast(/environment of its own/).count(), 0);
    assert.ok(fs.existsSync(server.home));
  });
}
