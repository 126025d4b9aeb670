import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Coalesced, Debounced } from '../../src/coalesce';
import { requirement } from '../requirement';

interface Round {
  end: () => void;
  fail: (error: Error) => void;
}

function counted(): { work: () => Promise<void>; rounds: Round[] } {
  const rounds: Round[] = [];
  return { rounds, work: () => new Promise<void>((resolve, reject) => rounds.push({ end: resolve, fail: reject })) };
}

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

test('however often a restart is asked for, one is in flight and at most one waits', requirement('extension:sidecar:coalesce'), async () => {
  const { work, rounds } = counted();
  const restart = new Coalesced(work);
  const first = restart.request();
  const waiting = [restart.request(), restart.request(), restart.request()];
  assert.equal(rounds.length, 1);
  rounds[0]?.end();
  await first;
  await turn();
  assert.equal(rounds.length, 2);
  rounds[1]?.end();
  await Promise.all(waiting);
  await turn();
  assert.equal(rounds.length, 2);
});

test('a round that fails does not keep the next from beginning', async () => {
  const { work, rounds } = counted();
  const restart = new Coalesced(work);
  const first = restart.request();
  const second = restart.request();
  rounds[0]?.fail(new Error('no'));
  await assert.rejects(first, /no/);
  await turn();
  rounds[1]?.end();
  await second;
  const third = restart.request();
  await turn();
  assert.equal(rounds.length, 3);
  rounds[2]?.end();
  await third;
});

test('rounds never run at once, even when asked for the moment one ends', async () => {
  let running = 0;
  let most = 0;
  const restart = new Coalesced(async () => {
    running += 1;
    most = Math.max(most, running);
    await turn();
    running -= 1;
  });
  const asked: Promise<void>[] = [];
  for (let count = 0; count < 20; count += 1) {
    asked.push(restart.request());
    await Promise.resolve();
    void asked.at(-1)?.then(() => asked.push(restart.request()));
  }
  await Promise.all(asked);
  await turn();
  assert.equal(most, 1);
});

test('work waits for quiet, and not for ever', async () => {
  let done = 0;
  const gather = new Debounced(() => (done += 1), 40, 120);
  const begun = Date.now();
  while (done === 0 && Date.now() - begun < 2000) {
    gather.poke();
    await new Promise(resolve => setTimeout(resolve, 10));
  }
  assert.equal(done, 1);
  gather.dispose();
});
