// The radial map of a large tree.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { Locator } from 'playwright-core';
import { requirement } from '../requirement';
import { growRun, type Grower } from './lib/runs';
import { session } from './lib/session';
import { eventually, within } from './lib/waiting';

const LARGE = 'b'.repeat(12);
const TITLE = /scripted tree grows|Root of/;
let grower: Grower;
const at = session('map', () => ({ files: { 'pyproject.toml': '' }, prepare: server => void (grower = growRun(server, LARGE, 1950)), setUp: () => grower.done }));

const canvas = (): Locator => at.bench.webview().locator('#map');
const numberOf = async (name: string): Promise<number> => Number(await canvas().getAttribute(`data-${name}`));
const viewOf = async (): Promise<string> => (await canvas().getAttribute('data-view')) ?? '';

test('the map of 5,000 nodes opens and is fitted into its panel', requirement('extension:map:large'), async () => {
  const { bench } = at;
  await bench.row(bench.tree('Trees'), TITLE).click();
  await bench.run('Treewright: Open Radial Map');
  await canvas().waitFor({ timeout: within(30_000) });
  await eventually(async () => (await numberOf('nodes')) >= 5000, 'the nodes to come', 30_000);
  await eventually(async () => (await numberOf('frames')) > 0, 'the first drawing');
  await bench.closeToasts();
  await bench.shot('map');
});

test('dragging pans it, a frame takes a few milliseconds', requirement('extension:map:smooth'), async () => {
  const { bench } = at;
  const box = await canvas().boundingBox();
  assert.ok(box);
  const [x, y] = [box.x + box.width / 2 + 30, box.y + box.height / 2 + 40];
  const before = await viewOf();
  const frames = await numberOf('frames');
  await bench.page.mouse.move(x, y);
  await bench.page.mouse.down();
  const took: number[] = [];
  for (let step = 1; step <= 25; step += 1) {
    await bench.page.mouse.move(x + step * 6, y - step * 3);
    took.push(await numberOf('draw-ms'));
  }
  await bench.page.mouse.up();
  await eventually(async () => (await viewOf()) !== before, 'the view to move');
  assert.ok((await numberOf('frames')) - frames >= 10, 'it follows while it is dragged');
  const median = took.sort((a, b) => a - b)[Math.floor(took.length / 2)] ?? Infinity;
  console.log(`median ${median.toFixed(1)} ms a frame of ${String(await numberOf('nodes'))} nodes`);
  assert.ok(median < 50, `${String(median)} ms a frame`);
});

test('the wheel zooms around the pointer', requirement('extension:map:zoom'), async () => {
  const before = Number((await viewOf()).split(' ')[2]);
  await canvas().hover();
  await at.bench.page.mouse.wheel(0, -600);
  await eventually(async () => Number((await viewOf()).split(' ')[2]) > before, 'the scale to grow');
  await at.bench.webview().locator('#fit').click();
  await eventually(async () => Math.abs(Number((await viewOf()).split(' ')[2]) - before) < 0.01, 'the scale to be as before');
});

test('a search marks what it finds and goes from one to the next', requirement('extension:map:search'), async () => {
  const field = at.bench.webview().locator('#search');
  await field.fill('branch 2');
  await eventually(async () => (await numberOf('matches')) > 10, 'nodes to be found');
  await field.press('Enter');
  const first = await eventually(() => canvas().getAttribute('data-focus'), 'a node to be in focus');
  await at.bench.webview().locator('#tip', { hasText: 'branch' }).waitFor();
  await field.press('Enter');
  await eventually(async () => (await canvas().getAttribute('data-focus')) !== first, 'the next one');
  await at.bench.shot('map-search');
  await field.press('Escape');
});

test('with the keyboard alone one goes from node to node and opens one', requirement('extension:map:keyboard', 'extension:documents:node'), async () => {
  const { bench } = at;
  await canvas().press('Home');
  await eventually(async () => (await canvas().getAttribute('data-focus')) === '0', 'the root');
  await canvas().press('ArrowDown');
  const child = await eventually(async () => {
    const id = await canvas().getAttribute('data-focus');
    return id === '0' ? null : id;
  }, 'a child');
  await canvas().press('ArrowRight');
  await eventually(async () => (await canvas().getAttribute('data-focus')) !== child, 'the one beside it');
  const opened = await canvas().getAttribute('data-focus');
  await canvas().press('Enter');
  await bench.editor(`treewright:/run/${LARGE}/node/${opened ?? ''}.md`).waitFor();
});

test('it is saved as SVG and as PNG', requirement('extension:map:export'), async () => {
  const { bench, server } = at;
  for (const [format, begins] of [['svg', '<svg'], ['png', '\u0089PNG']] as const) {
    await bench.page.locator('.tab', { hasText: 'Map' }).click();
    await bench.webview().locator(`#${format}`).click();
    const file = path.join(server.workspace, `${LARGE}-map.${format}`);
    const input = bench.quickInput().locator('input.input');
    await eventually(async () => (await input.inputValue()).endsWith(`-map.${format}`), 'a name to be proposed');
    await input.fill(file);
    await eventually(async () => (await input.inputValue()) === file, 'the name to stand there');
    await bench.quickInput().getByRole('button', { name: 'OK' }).click();
    await eventually(() => fs.existsSync(file) && fs.statSync(file).size > 10_000, `${format} to be written`);
    const bytes = fs.readFileSync(file);
    assert.equal(bytes.subarray(0, 4).toString('latin1'), begins);
  }
  const svg = fs.readFileSync(path.join(server.workspace, `${LARGE}-map.svg`), 'utf8');
  assert.ok((svg.match(/<circle /g) ?? []).length >= 5000);
});
