// Draws the map on a canvas: batched by colour, so that 5,000 nodes take a few milliseconds.
import type { Columns, Layout } from './layout';
import type { Palette } from './svg';

export interface Viewport {
  /** Screen pixels from the canvas's corner to the middle of the map. */
  x: number;
  y: number;
  scale: number;
}

export interface Marks {
  hover: number;
  focus: number;
  matches: ReadonlySet<number>;
  highContrast: boolean;
}

export function draw(context: CanvasRenderingContext2D, columns: Columns, layout: Layout, view: Viewport, palette: Palette, marks: Marks, ratio: number): void {
  const { width, height } = context.canvas;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.fillStyle = palette.background;
  context.fillRect(0, 0, width, height);
  context.setTransform(view.scale * ratio, 0, 0, view.scale * ratio, view.x * ratio, view.y * ratio);
  rings(context, layout, view, palette);
  edges(context, columns, layout, palette, view);
  nodes(context, columns, layout, palette, marks, view);
  ringsAround(context, layout, palette, marks, view);
}

function rings(context: CanvasRenderingContext2D, layout: Layout, view: Viewport, palette: Palette): void {
  context.strokeStyle = palette.line;
  context.globalAlpha = 0.35;
  context.lineWidth = 1 / view.scale;
  for (const ring of layout.rings.slice(1)) {
    context.beginPath();
    context.arc(0, 0, ring, 0, 2 * Math.PI);
    context.stroke();
  }
  if (layout.sectors.length > 1) {
    context.beginPath();
    for (const { from } of layout.sectors) {
      context.moveTo(0, 0);
      context.lineTo(Math.cos(from) * (layout.extent - 20), Math.sin(from) * (layout.extent - 20));
    }
    context.setLineDash([4 / view.scale, 6 / view.scale]);
    context.stroke();
    context.setLineDash([]);
  }
  context.globalAlpha = 1;
  context.fillStyle = palette.foreground;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  context.font = `${String(13 / view.scale)}px ${palette.font}`;
  for (const { letter, from, to } of layout.sectors) {
    const angle = (from + to) / 2;
    context.fillText(letter, Math.cos(angle) * (layout.extent - 8), Math.sin(angle) * (layout.extent - 8));
  }
}

function edges(context: CanvasRenderingContext2D, columns: Columns, layout: Layout, palette: Palette, view: Viewport): void {
  context.strokeStyle = palette.line;
  context.globalAlpha = columns.id.length > 1500 ? 0.22 : 0.5;
  context.lineWidth = Math.max(0.5, 0.5 / view.scale);
  context.beginPath();
  for (let index = 0; index < columns.parent.length; index += 1) {
    const above = columns.parent[index] ?? -1;
    if (above < 0) continue;
    context.moveTo(layout.x[above] ?? 0, layout.y[above] ?? 0);
    context.lineTo(layout.x[index] ?? 0, layout.y[index] ?? 0);
  }
  context.stroke();
  context.globalAlpha = 1;
}

function nodes(context: CanvasRenderingContext2D, columns: Columns, layout: Layout, palette: Palette, marks: Marks, view: Viewport): void {
  const groups = new Map<string, number[]>();
  for (let index = 0; index < columns.id.length; index += 1) {
    const dim = marks.matches.size > 0 && !marks.matches.has(index);
    const key = `${columns.state[index] ?? ''}${dim ? '/dim' : ''}`;
    const group = groups.get(key);
    if (group) group.push(index);
    else groups.set(key, [index]);
  }
  for (const [key, members] of groups) {
    const [state = '', dim] = key.split('/');
    const color = palette.states[state] ?? palette.foreground;
    context.globalAlpha = dim ? 0.16 : 1;
    context.beginPath();
    for (const index of members) shape(context, state, layout.x[index] ?? 0, layout.y[index] ?? 0, layout.radius[index] ?? 0);
    context.fillStyle = state === 'kept' ? palette.background : color;
    context.fill();
    if (state === 'kept' || marks.highContrast) {
      context.strokeStyle = state === 'kept' ? color : palette.foreground;
      context.lineWidth = state === 'kept' ? 1.6 : 1 / view.scale;
      context.stroke();
    }
  }
  context.globalAlpha = 1;
}

/** Verdicts differ in shape too, for those who do not tell the colours apart. */
function shape(context: CanvasRenderingContext2D, state: string, x: number, y: number, radius: number): void {
  if (state === 'blocked' || state === 'unresolved') {
    context.rect(x - radius, y - radius, 2 * radius, 2 * radius);
  } else if (state === 'waiting') {
    context.moveTo(x, y - radius);
    context.lineTo(x + radius, y);
    context.lineTo(x, y + radius);
    context.lineTo(x - radius, y);
    context.closePath();
  } else {
    const drawn = state === 'pruned' || state === 'merged' || state === 'superseded' ? radius * 0.7 : radius;
    context.moveTo(x + drawn, y);
    context.arc(x, y, drawn, 0, 2 * Math.PI);
  }
}

function ringsAround(context: CanvasRenderingContext2D, layout: Layout, palette: Palette, marks: Marks, view: Viewport): void {
  const around = (index: number, away: number, width: number, dashed: boolean): void => {
    context.setLineDash(dashed ? [3 / view.scale, 3 / view.scale] : []);
    context.strokeStyle = palette.states.focus ?? palette.foreground;
    context.lineWidth = width / view.scale;
    context.beginPath();
    context.arc(layout.x[index] ?? 0, layout.y[index] ?? 0, (layout.radius[index] ?? 0) + away / view.scale, 0, 2 * Math.PI);
    context.stroke();
    context.setLineDash([]);
  };
  if (marks.matches.size <= 300) for (const index of marks.matches) around(index, 3, 1.2, false);
  if (marks.hover >= 0) around(marks.hover, 3, 1.5, true);
  if (marks.focus >= 0) around(marks.focus, 4, 2.5, false);
}
