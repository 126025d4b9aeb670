// The whole map as an SVG document. Pure.
import type { Columns, Layout } from './layout';

export interface Palette {
  background: string;
  foreground: string;
  line: string;
  font: string;
  states: Readonly<Record<string, string>>;
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, each => `&#${String(each.charCodeAt(0))};`).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, ''); // eslint-disable-line no-control-regex -- XML forbids these
}

const round = (value: number): string => String(Math.round(value * 10) / 10);

export function svgOf(columns: Columns, layout: Layout, palette: Palette, title: string, labels: Readonly<Record<string, string>>): string {
  const size = Math.ceil(layout.extent);
  const color = (state: string): string => palette.states[state] ?? palette.foreground;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${[-size, -size, 2 * size, 2 * size].join(' ')}" width="${String(2 * size)}" height="${String(2 * size)}" role="img" aria-label="${escape(title)}" font-family="${escape(palette.font)}">`,
    `<title>${escape(title)}</title>`,
    `<rect x="${String(-size)}" y="${String(-size)}" width="${String(2 * size)}" height="${String(2 * size)}" fill="${palette.background}"/>`,
    `<g fill="none" stroke="${palette.line}" stroke-opacity=".35">`,
    ...layout.rings.slice(1).map(ring => `<circle r="${round(ring)}"/>`),
    '</g>',
    `<g stroke="${palette.line}" stroke-opacity=".5" stroke-width=".7">`,
  ];
  columns.parent.forEach((above, index) => {
    if (above >= 0) parts.push(`<path d="M${round(layout.x[above] ?? 0)} ${round(layout.y[above] ?? 0)}L${round(layout.x[index] ?? 0)} ${round(layout.y[index] ?? 0)}"/>`);
  });
  parts.push('</g>', `<g fill="${palette.foreground}" font-size="14" text-anchor="middle" dominant-baseline="middle">`);
  for (const { letter, from, to } of layout.sectors) {
    const angle = (from + to) / 2;
    parts.push(`<text x="${round(Math.cos(angle) * (size - 12))}" y="${round(Math.sin(angle) * (size - 12))}">${escape(letter)}</text>`);
  }
  parts.push('</g>', '<g>');
  columns.id.forEach((id, index) => {
    const state = columns.state[index] ?? '';
    const hollow = state === 'kept';
    const look = hollow ? `fill="${palette.background}" stroke="${color(state)}" stroke-width="1.600"` : `fill="${color(state)}"`;
    const told = [id, labels[state] ?? state, columns.statement[index] ?? ''].filter(Boolean).join(' · ');
    parts.push(`<circle cx="${round(layout.x[index] ?? 0)}" cy="${round(layout.y[index] ?? 0)}" r="${round(layout.radius[index] ?? 0)}" ${look}><title>${escape(told)}</title></circle>`);
  });
  parts.push('</g>', '</svg>');
  return `${parts.join('\n')}\n`;
}
