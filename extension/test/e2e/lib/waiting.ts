// Bounded waits, longer where the machine is shared with much else.
import assert from 'node:assert/strict';
import os from 'node:os';

/** How many times longer than on a quiet machine a wait may take; 1 there, at most 8. */
function patience(): number {
  const [load = 0] = os.loadavg();
  return Math.min(8, Math.max(1, load / os.cpus().length));
}

/** So many milliseconds of a quiet machine. */
export function within(ms: number): number {
  return Math.round(ms * patience());
}

/** Waits until `look` gives something else than undefined, null or false, and returns it. */
export async function eventually<T>(look: () => T | Promise<T>, what: string | (() => string), ms = 20_000): Promise<NonNullable<T>> {
  const begun = Date.now();
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false) return found;
    if (Date.now() - begun > within(ms)) assert.fail(`waited ${String(Date.now() - begun)} ms for ${typeof what === 'string' ? what : what()}`);
    await new Promise(resolve => setTimeout(resolve, 60));
  }
}
