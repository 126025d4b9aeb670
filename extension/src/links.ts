// Puts the links of a virtual document into its Markdown, as places of our own that only the reader's page follows.

/** A link as the language server gives it: line and columns from 0, on one line. */
export interface PlacedLink {
  line: number;
  start: number;
  end: number;
  target: string;
}

export const LINK_PREFIX = '#treewright-';

/** The text with every link in it; the n-th link leads to `LINK_PREFIX + n`. */
export function withLinks(text: string, links: readonly PlacedLink[]): string {
  const lines = text.split('\n');
  const numbered = links.map((link, number) => ({ ...link, number })).sort((a, b) => b.line - a.line || b.start - a.start);
  for (const { line, start, end, number } of numbered) {
    const before = lines[line];
    if (before === undefined || start >= end || end > before.length) continue;
    let [from, to] = [start, end];
    while (before[from - 1] === '`' && before[to] === '`') [from, to] = [from - 1, to + 1]; // a link around the code, not in it
    lines[line] = `${before.slice(0, from)}[${before.slice(from, to)}](${LINK_PREFIX}${String(number)})${before.slice(to)}`;
  }
  return lines.join('\n');
}

/** Whether a link may be handed to the system's browser: pages only, so that no text of a node starts a program or a command. */
export function isPage(scheme: string): boolean {
  return scheme === 'https' || scheme === 'http';
}
