// Where each node of the map stands: rings are depth, sectors the framings. Pure; knows no canvas.

/** The tree as columns of equal length, parents before children; `parent` is an index, -1 for the root. */
export interface Columns {
  id: readonly string[];
  parent: readonly number[];
  state: readonly string[];
  score: readonly number[];
  statement: readonly string[];
}

export interface Sector {
  letter: string;
  from: number;
  to: number;
}

export interface Layout {
  x: Float32Array;
  y: Float32Array;
  radius: Float32Array;
  depth: Uint16Array;
  sectors: readonly Sector[];
  /** Middle of each ring, by depth. */
  rings: readonly number[];
  /** Everything lies within this distance of the middle. */
  extent: number;
}

const SPACING = 15;
const FIRST = 58;
const GAP = 30;
const SECTOR_GAP = 0.012;
export const BEST_SCORE = 15;

/** The framing a node belongs to: that of its uppermost ancestor below the root. */
export function framingOf(id: string): string {
  const first = id.charAt(0);
  return first >= 'A' && first <= 'Z' ? first : '';
}

/** A node's radius: the greater its score, the larger it is. */
export function sizeOf(score: number): number {
  return score < 0 ? 2.4 : 2.6 + (3.6 * Math.min(score, BEST_SCORE)) / BEST_SCORE;
}

export function layOut(columns: Columns): Layout {
  const count = columns.id.length;
  const depth = depths(columns.parent);
  const weight = weights(columns.parent);
  const [from, to, sectors] = spans(columns, weight);
  const rings = ringsOf(depth);
  const made: Layout = {
    x: new Float32Array(count),
    y: new Float32Array(count),
    radius: new Float32Array(count),
    depth,
    sectors,
    rings: rings.map(ring => ring.inner + (ring.rows * SPACING) / 2),
    extent: Math.max(FIRST, ...rings.map(ring => ring.inner + ring.rows * SPACING)) + GAP,
  };
  const order = [...depth.keys()].sort((a, b) => (from[a] ?? 0) - (from[b] ?? 0));
  const taken = rings.map(() => 0);
  for (const index of order) {
    const level = depth[index] ?? 0;
    const ring = rings[level];
    made.radius[index] = level === 0 ? 9 : sizeOf(columns.score[index] ?? -1);
    if (level === 0 || !ring) continue;
    const row = (taken[level] ?? 0) % ring.rows;
    taken[level] = (taken[level] ?? 0) + 1;
    const angle = ((from[index] ?? 0) + (to[index] ?? 0)) / 2;
    const far = ring.inner + (row + 0.5) * SPACING;
    made.x[index] = Math.cos(angle) * far;
    made.y[index] = Math.sin(angle) * far;
  }
  return made;
}

function depths(parent: readonly number[]): Uint16Array {
  const found = new Uint16Array(parent.length);
  parent.forEach((above, index) => (found[index] = above < 0 ? 0 : (found[above] ?? 0) + 1));
  return found;
}

/** How many leaves hang below each node, itself counted when it is one. */
function weights(parent: readonly number[]): Float64Array {
  const found = new Float64Array(parent.length);
  for (let index = parent.length - 1; index >= 0; index -= 1) {
    if (found[index] === 0) found[index] = 1;
    const above = parent[index] ?? -1;
    if (above >= 0) found[above] = (found[above] ?? 0) + (found[index] ?? 0);
  }
  return found;
}

/** The angles that each node has for itself and what is below it, and the sectors of the framings. */
function spans(columns: Columns, weight: Float64Array): [Float64Array, Float64Array, Sector[]] {
  const count = columns.id.length;
  const from = new Float64Array(count);
  const to = new Float64Array(count);
  const children: number[][] = Array.from({ length: count }, () => []);
  columns.parent.forEach((above, index) => children[above]?.push(index));
  const first = [...(children[0] ?? [])].sort((a, b) => letterOrder(columns.id[a], columns.id[b]) || a - b);
  const sectors: Sector[] = [];
  const total = first.reduce((sum, index) => sum + (weight[index] ?? 0), 0);
  const letters = new Set(first.map(index => framingOf(columns.id[index] ?? '')));
  const free = 2 * Math.PI - SECTOR_GAP * letters.size;
  let at = -Math.PI / 2;
  for (const index of first) {
    const letter = framingOf(columns.id[index] ?? '');
    const last = sectors.at(-1);
    if (last?.letter !== letter) {
      at += SECTOR_GAP;
      sectors.push({ letter, from: at, to: at });
    }
    const share = total ? (free * (weight[index] ?? 0)) / total : 0;
    [from[index], to[index]] = [at, at + share];
    at += share;
    const own = sectors.at(-1);
    if (own) own.to = at;
  }
  for (let index = 1; index < count; index += 1) divide(index, children[index] ?? [], weight, from, to);
  return [from, to, sectors];
}

function divide(index: number, below: readonly number[], weight: Float64Array, from: Float64Array, to: Float64Array): void {
  const total = below.reduce((sum, child) => sum + (weight[child] ?? 0), 0);
  let at = from[index] ?? 0;
  const width = (to[index] ?? 0) - at;
  for (const child of below) {
    const share = (width * (weight[child] ?? 0)) / total;
    [from[child], to[child]] = [at, at + share];
    at += share;
  }
}

function letterOrder(one = '', other = ''): number {
  return framingOf(one).localeCompare(framingOf(other));
}

/** Inner radius and rows of each ring: a ring with many nodes has them in several rows, so that the map stays compact. */
function ringsOf(depth: Uint16Array): { inner: number; rows: number }[] {
  const counts: number[] = [];
  for (const level of depth) counts[level] = (counts[level] ?? 0) + 1;
  const found: { inner: number; rows: number }[] = [];
  let inner = 0;
  for (let level = 0; level < counts.length; level += 1) {
    if (level === 0) {
      found.push({ inner: 0, rows: 1 });
      inner = FIRST;
      continue;
    }
    const around = 2 * Math.PI * inner;
    const needed = (counts[level] ?? 0) * SPACING;
    const rows = Math.max(1, Math.ceil((-around + Math.sqrt(around * around + 4 * Math.PI * SPACING * needed)) / (2 * Math.PI * SPACING)));
    found.push({ inner, rows });
    inner += rows * SPACING + GAP;
  }
  return found;
}

/** Finds the node under a point quickly: nodes by cells of a grid. */
export class Grid {
  private readonly cells = new Map<string, number[]>();
  private static readonly size = 40;

  constructor(private readonly layout: Layout) {
    for (let index = 0; index < layout.x.length; index += 1) {
      const key = this.key(layout.x[index] ?? 0, layout.y[index] ?? 0);
      const cell = this.cells.get(key);
      if (cell) cell.push(index);
      else this.cells.set(key, [index]);
    }
  }

  /** The nearest node within `reach` of its rim, or -1. */
  at(x: number, y: number, reach: number): number {
    let best = -1;
    let nearest = Infinity;
    const around = Math.ceil((reach + 10) / Grid.size);
    for (let dx = -around; dx <= around; dx += 1) {
      for (let dy = -around; dy <= around; dy += 1) {
        for (const index of this.cells.get(this.key(x + dx * Grid.size, y + dy * Grid.size)) ?? []) {
          const away = Math.hypot((this.layout.x[index] ?? 0) - x, (this.layout.y[index] ?? 0) - y) - (this.layout.radius[index] ?? 0);
          if (away <= reach && away < nearest) [best, nearest] = [index, away];
        }
      }
    }
    return best;
  }

  private key(x: number, y: number): string {
    return `${Math.floor(x / Grid.size)},${Math.floor(y / Grid.size)}`;
  }
}

/** Indices of nodes that hold all words, in reading order. */
export function search(columns: Columns, text: string): number[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const found: number[] = [];
  columns.id.forEach((id, index) => {
    const hay = `${id} ${columns.statement[index] ?? ''}`.toLowerCase();
    if (words.every(word => hay.includes(word))) found.push(index);
  });
  return found;
}
