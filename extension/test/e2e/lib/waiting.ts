// Bounded waits.
import assert from 'node:assert/strict';

/** Waits until `look` gives something else than undefined, null or false, and returns it. */
export async function eventually<T>(look: () => T | Promise<T>, what: string | (() => string), ms = 20_000): Promise<NonNullable<T>> {
  const end = Date.now() + ms;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false) return found;
    if (Date.now() > end) assert.fail(`waited ${String(ms)} ms for ${typeof what === 'string' ? what : what()}`);
    await new Promise(resolve => setTimeout(resolve, 60));
  }
}
