import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Grid, layOut, search, type Columns } from '../../src/webview/layout';
import { svgOf } from '../../src/webview/svg';
import { requirement } from '../requirement';

/** A tree with so many nodes: twelve children each, level by level. */
function tree(size: number): Columns & { id: string[]; parent: number[] } {
  const made = { id: ['0'], parent: [-1], state: ['root'], score: [-1], statement: ['<Root> & "all"'] };
  for (let at = 0; made.id.length < size; at += 1) {
    for (const letter of 'ABCDEFGHIJKL') {
      if (made.id.length >= size) break;
      made.id.push(at === 0 ? `${letter}1` : `${made.id[at] ?? ''}.${letter}1`);
      made.parent.push(at);
      made.state.push(['advances', 'kept', 'pruned'][made.id.length % 3] ?? '');
      made.score.push(made.id.length % 16);
      made.statement.push(`Statement ${String(made.id.length)}`);
    }
  }
  return made;
}

const far = (layout: ReturnType<typeof layOut>, index: number): number => Math.hypot(layout.x[index] ?? 0, layout.y[index] ?? 0);

test('rings are depth: every node lies farther out than its parent', requirement('extension:map:rings'), () => {
  const columns = tree(3000);
  const layout = layOut(columns);
  columns.parent.forEach((above, index) => {
    if (above >= 0) assert.ok(far(layout, index) > far(layout, above), columns.id[index]);
  });
});

test('sectors are framings: every node lies in the sector of its first letter', requirement('extension:map:sectors'), () => {
  const columns = tree(3000);
  const layout = layOut(columns);
  assert.deepEqual(layout.sectors.map(each => each.letter), Array.from('ABCDEFGHIJKL'));
  for (let index = 1; index < columns.id.length; index += 1) {
    const sector = layout.sectors.find(each => each.letter === columns.id[index]?.charAt(0));
    assert.ok(sector);
    let angle = Math.atan2(layout.y[index] ?? 0, layout.x[index] ?? 0);
    while (angle < sector.from - 1e-4) angle += 2 * Math.PI;
    assert.ok(angle <= sector.to + 1e-4, columns.id[index]);
  }
});

test('size is score', () => {
  const columns = { id: ['0', 'A1', 'A2'], parent: [-1, 0, 0], state: ['root', 'kept', 'kept'], score: [-1, 3, 14], statement: ['', '', ''] };
  const { radius } = layOut(columns);
  assert.ok((radius[2] ?? 0) > (radius[1] ?? 0));
});

test('5,000 nodes are laid out compactly, none on top of another', requirement('extension:map:large'), () => {
  const columns = tree(5000);
  const layout = layOut(columns);
  assert.ok(layout.extent < 1500, String(layout.extent));
  const places = new Set(columns.id.map((_, index) => `${(layout.x[index] ?? 0).toFixed(2)},${(layout.y[index] ?? 0).toFixed(2)}`));
  assert.equal(places.size, 5000);
});

test('the node under a point is found, and nothing where there is none', () => {
  const columns = tree(500);
  const layout = layOut(columns);
  const grid = new Grid(layout);
  for (const index of [0, 7, 130, 499]) assert.equal(grid.at(layout.x[index] ?? 0, layout.y[index] ?? 0, 2), index);
  assert.equal(grid.at(layout.extent * 2, 0, 5), -1);
});

test('a tree of a root alone, and of nothing, is laid out too', () => {
  assert.equal(layOut({ id: ['0'], parent: [-1], state: ['root'], score: [-1], statement: ['x'] }).x[0], 0);
  assert.equal(layOut({ id: [], parent: [], state: [], score: [], statement: [] }).x.length, 0);
});

test('a search finds nodes that hold all words', () => {
  const columns = tree(40);
  assert.deepEqual(search(columns, 'statement 13'), [12]);
  assert.deepEqual(search(columns, '  '), []);
});

test('the SVG holds every node and no markup of a statement', requirement('extension:map:export'), () => {
  const columns = tree(60);
  const palette = { background: '#fff', foreground: '#000', line: '#888', font: '"A" & B', states: {} };
  const svg = svgOf(columns, layOut(columns), palette, columns.statement[0] ?? '', {});
  assert.ok((svg.match(/<circle cx/g) ?? []).length === 60);
  assert.ok(!svg.includes('<Root>'));
  assert.ok(svg.includes('&#60;Root&#62; &#38; &#34;all&#34;'));
});
