// The page of the radial map: pointer, keyboard, search, and what is said to screen readers.
import { draw, type Viewport } from './draw';
import { Grid, layOut, search, type Columns, type Layout } from './layout';
import type { FromPage, ToPage, TreeMessage } from './messages';
import { svgOf, type Palette } from './svg';

declare function acquireVsCodeApi(): { postMessage(message: FromPage): void; setState(state: unknown): void; getState(): unknown };

const api = acquireVsCodeApi();
const STATES = ['advances', 'kept', 'pruned', 'blocked', 'waiting'];
const LARGEST_PNG = 8192;

function part<T extends HTMLElement>(id: string, kind: new () => T): T {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${id}`);
  return found;
}

const canvas = part('map', HTMLCanvasElement);
const field = part('search', HTMLInputElement);
const tip = part('tip', HTMLElement);
const live = part('live', HTMLElement);
const count = part('count', HTMLElement);
const surface = canvas.getContext('2d', { alpha: false });
if (!surface) throw new Error('no canvas');
const context = surface;

let tree: TreeMessage | null = null;
let layout: Layout = layOut({ id: [], parent: [], state: [], score: [], statement: [] });
let grid = new Grid(layout);
let children: number[][] = [];
let palette = readPalette();
const view: Viewport = { x: 0, y: 0, scale: 1 };
let hover = -1;
let focus = -1;
let matches: number[] = [];
let matchSet: ReadonlySet<number> = new Set();
let fitted = false;
let waiting = false;

// drawing

function readPalette(): Palette {
  const style = getComputedStyle(document.body);
  const of = (name: string, otherwise: string): string => style.getPropertyValue(name).trim() || otherwise;
  const foreground = of('--vscode-editor-foreground', '#333');
  const states: Record<string, string> = { root: foreground, focus: of('--vscode-focusBorder', foreground) };
  for (const state of STATES) states[state] = of(`--vscode-treewright-${state}`, foreground);
  states.merged = states.superseded = states.pruned ?? foreground;
  states.unresolved = states.blocked ?? foreground;
  const line = of('--vscode-contrastBorder', '') || of('--vscode-editorIndentGuide-activeBackground1', '') || of('--vscode-editorLineNumber-foreground', '#888');
  return { background: of('--vscode-editor-background', '#fff'), foreground, line, font: of('--vscode-font-family', 'sans-serif'), states };
}

function redraw(): void {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    if (!tree) return;
    const begun = performance.now();
    const marks = { hover, focus, matches: matchSet, highContrast: document.body.classList.contains('vscode-high-contrast') };
    draw(context, tree, layout, view, palette, marks, devicePixelRatio);
    canvas.dataset.drawMs = (performance.now() - begun).toFixed(1);
    canvas.dataset.frames = String(Number(canvas.dataset.frames ?? 0) + 1);
    canvas.dataset.view = [view.x, view.y, view.scale].map(value => value.toFixed(3)).join(' ');
  });
}

let size = { width: 0, height: 0 };

function resize(): void {
  const box = canvas.getBoundingClientRect();
  if (!box.width || !box.height) return;
  if (fitted && size.width) {
    view.x += (box.width - size.width) / 2; // what was in the middle stays there
    view.y += (box.height - size.height) / 2;
  }
  size = { width: box.width, height: box.height };
  canvas.width = Math.round(box.width * devicePixelRatio);
  canvas.height = Math.round(box.height * devicePixelRatio);
  if (!fitted) fit();
  redraw();
}

function fit(): void {
  const box = canvas.getBoundingClientRect();
  if (!box.width || !box.height || !tree) return;
  view.scale = Math.min(2.2, Math.min(box.width, box.height) / (2 * layout.extent + 24));
  view.x = box.width / 2;
  view.y = box.height / 2;
  fitted = true;
  redraw();
}

function zoom(by: number, x: number, y: number): void {
  const scale = Math.min(20, Math.max(0.02, view.scale * by));
  view.x = x - ((x - view.x) * scale) / view.scale;
  view.y = y - ((y - view.y) * scale) / view.scale;
  view.scale = scale;
  redraw();
}

function zoomMiddle(by: number): void {
  zoom(by, canvas.clientWidth / 2, canvas.clientHeight / 2);
}

function place(index: number): { x: number; y: number } {
  return { x: (layout.x[index] ?? 0) * view.scale + view.x, y: (layout.y[index] ?? 0) * view.scale + view.y };
}

/** Brings a node into sight, moving as little as will do. */
function reveal(index: number): void {
  const at = place(index);
  const edge = 60;
  if (at.x < edge) view.x += edge - at.x;
  if (at.y < edge) view.y += edge - at.y;
  if (at.x > canvas.clientWidth - edge) view.x -= at.x - (canvas.clientWidth - edge);
  if (at.y > canvas.clientHeight - edge) view.y -= at.y - (canvas.clientHeight - edge);
}

// the tree

function take(message: TreeMessage): void {
  const kept = focus >= 0 ? tree?.id[focus] : undefined;
  const same = tree?.run === message.run;
  tree = message;
  layout = layOut(message);
  grid = new Grid(layout);
  children = message.id.map(() => []);
  message.parent.forEach((above, index) => children[above]?.push(index));
  focus = kept === undefined ? -1 : message.id.indexOf(kept);
  hover = -1;
  tip.hidden = true;
  part('title', HTMLElement).textContent = message.title;
  canvas.dataset.nodes = String(message.id.length);
  canvas.setAttribute('aria-label', `${message.title}, ${count.dataset.nodes ?? ''} ${String(message.total)}`);
  api.setState({ run: message.run });
  find(field.value, false);
  if (!same || !fitted) fit();
  redraw();
}

function told(index: number): string[] {
  if (!tree) return [];
  const state = tree.state[index] ?? '';
  const score = tree.score[index] ?? -1;
  return [[tree.id[index] ?? '', tree.labels[state] ?? state, score < 0 ? '' : String(score)].filter(Boolean).join(' · '), tree.statement[index] ?? ''];
}

function show(index: number): void {
  if (index < 0) {
    tip.hidden = true;
    return;
  }
  const [head = '', body = ''] = told(index);
  tip.replaceChildren(Object.assign(document.createElement('strong'), { textContent: head }), Object.assign(document.createElement('p'), { textContent: body }));
  tip.hidden = false;
  const at = place(index);
  const box = tip.getBoundingClientRect();
  tip.style.left = `${String(Math.max(8, Math.min(at.x + 14, canvas.clientWidth - box.width - 8)))}px`;
  tip.style.top = `${String(Math.max(8, Math.min(at.y + 14, canvas.clientHeight - box.height - 8)))}px`;
}

function setFocus(index: number): void {
  if (index < 0) return;
  focus = index;
  canvas.dataset.focus = tree?.id[index] ?? '';
  reveal(index);
  show(index);
  live.textContent = told(index).join('. ');
  redraw();
}

function open(index: number): void {
  const node = tree?.id[index];
  if (node !== undefined) api.postMessage({ type: 'open', node });
}

function find(text: string, go: boolean): void {
  matches = tree ? search(tree, text) : [];
  matchSet = new Set(matches);
  count.textContent = text.trim() ? String(matches.length) : '';
  canvas.dataset.matches = String(matches.length);
  if (go && matches.length) {
    const next = matches.find(index => index > focus) ?? matches[0] ?? -1;
    setFocus(next);
  }
  redraw();
}

// pointer

let dragging: { x: number; y: number; moved: boolean } | null = null;

canvas.addEventListener('pointerdown', event => {
  dragging = { x: event.offsetX, y: event.offsetY, moved: false };
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener('pointermove', event => {
  if (dragging) {
    const [dx, dy] = [event.offsetX - dragging.x, event.offsetY - dragging.y];
    if (dragging.moved || Math.hypot(dx, dy) > 3) {
      view.x += dx;
      view.y += dy;
      dragging = { x: event.offsetX, y: event.offsetY, moved: true };
      tip.hidden = true;
      redraw();
    }
    return;
  }
  const found = under(event);
  if (found !== hover) {
    hover = found;
    canvas.style.cursor = found >= 0 ? 'pointer' : 'grab';
    show(found);
    redraw();
  }
});
canvas.addEventListener('pointerup', event => {
  const clicked = dragging && !dragging.moved;
  dragging = null;
  if (!clicked) return;
  const found = under(event);
  if (found >= 0) {
    setFocus(found);
    open(found);
  }
});
canvas.addEventListener('pointercancel', () => (dragging = null));
canvas.addEventListener('pointerleave', () => {
  hover = -1;
  if (!dragging) tip.hidden = true;
  redraw();
});
canvas.addEventListener('wheel', event => {
  event.preventDefault();
  zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), event.offsetX, event.offsetY);
}, { passive: false });

function under(event: PointerEvent): number {
  return grid.at((event.offsetX - view.x) / view.scale, (event.offsetY - view.y) / view.scale, 5 / view.scale);
}

// keyboard

function step(key: string): number {
  if (!tree) return -1;
  if (focus < 0) return 0;
  const above = tree.parent[focus] ?? -1;
  const beside = above < 0 ? [focus] : (children[above] ?? []);
  const at = beside.indexOf(focus);
  switch (key) {
    case 'ArrowUp': return above < 0 ? focus : above;
    case 'ArrowDown': return children[focus]?.[0] ?? focus;
    case 'ArrowLeft': return beside[(at - 1 + beside.length) % beside.length] ?? focus;
    case 'ArrowRight': return beside[(at + 1) % beside.length] ?? focus;
    case 'Home': return 0;
    default: return -1;
  }
}

canvas.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const next = event.shiftKey && event.key.startsWith('Arrow') ? -1 : step(event.key);
  if (next >= 0) setFocus(next);
  else if (event.key === 'Enter' || event.key === ' ') open(focus);
  else if (event.key === '+' || event.key === '=') zoomMiddle(1.25);
  else if (event.key === '-') zoomMiddle(0.8);
  else if (event.key === '0') fit();
  else if (event.key === '/') field.focus();
  else if (event.shiftKey && event.key === 'ArrowLeft') pan(60, 0);
  else if (event.shiftKey && event.key === 'ArrowRight') pan(-60, 0);
  else if (event.shiftKey && event.key === 'ArrowUp') pan(0, 60);
  else if (event.shiftKey && event.key === 'ArrowDown') pan(0, -60);
  else return;
  event.preventDefault();
});

function pan(dx: number, dy: number): void {
  view.x += dx;
  view.y += dy;
  redraw();
}

canvas.addEventListener('focus', () => {
  if (focus < 0 && tree?.id.length) setFocus(0);
});
field.addEventListener('input', () => find(field.value, false));
field.addEventListener('keydown', event => {
  if (event.key === 'Enter') find(field.value, true);
  if (event.key === 'Escape') {
    field.value = '';
    find('', false);
    canvas.focus();
  }
});
part('fit', HTMLElement).addEventListener('click', fit);
part('in', HTMLElement).addEventListener('click', () => zoomMiddle(1.25));
part('out', HTMLElement).addEventListener('click', () => zoomMiddle(0.8));
part('svg', HTMLElement).addEventListener('click', () => save('svg'));
part('png', HTMLElement).addEventListener('click', () => save('png'));

// export

function save(format: 'svg' | 'png'): void {
  if (!tree) return;
  if (format === 'svg') api.postMessage({ type: 'save', format, data: svgOf(tree, layout, palette, tree.title, tree.labels) });
  else api.postMessage({ type: 'save', format, data: pngOf(tree) });
}

/** The whole map as a PNG of at most 8192 pixels a side, in base64. */
function pngOf(columns: Columns): string {
  const sheet = document.createElement('canvas');
  const size = Math.min(LARGEST_PNG, Math.ceil(layout.extent * 2 * 2));
  sheet.width = sheet.height = size;
  const target = sheet.getContext('2d', { alpha: false });
  if (!target) throw new Error('no canvas to save from');
  const whole = { x: size / 2, y: size / 2, scale: size / (2 * layout.extent) };
  draw(target, columns, layout, whole, palette, { hover: -1, focus: -1, matches: new Set(), highContrast: false }, 1);
  return sheet.toDataURL('image/png').replace(/^data:image\/png;base64,/, '');
}

// the host

window.addEventListener('message', (event: MessageEvent<ToPage>) => {
  const message = event.data;
  switch (message.type) {
    case 'tree': take(message); break;
    case 'select': setFocus(tree?.id.indexOf(message.node) ?? -1); break;
    case 'export': save(message.format); break;
  }
});
window.addEventListener('error', event => api.postMessage({ type: 'fault', message: event.message }));
new ResizeObserver(resize).observe(canvas);
new MutationObserver(() => {
  palette = readPalette();
  redraw();
}).observe(document.body, { attributes: true, attributeFilter: ['class', 'data-vscode-theme-id'] });
api.postMessage({ type: 'ready' });
