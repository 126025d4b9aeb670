// Addresses of virtual documents, as `server/treewright/surfaces/lsp/uris.py` makes them.

/** Path of a virtual document: `/run/<id>/node/A1.md`, `/run/<id>/report.md`. */
export function documentPath(run: string, ...parts: string[]): string {
  return `/run/${[run, ...parts].map(part => encodeURIComponent(part)).join('/')}`;
}

/** The run, and the node where it is a node's document; null when it is none of ours. */
export function documentParts(path: string): { run: string; node: string; name: string } | null {
  const [start, run = '', ...rest] = path.split('/').filter(Boolean).map(decode);
  if (start !== 'run' || !run || !rest.length) return null;
  const name = rest.at(-1) ?? '';
  return { run, node: rest.length === 2 && rest[0] === 'node' ? name.replace(/\.md$/, '') : '', name };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Whether a change of a run may have changed a document. */
export function concerns(change: { run: string; nodes: readonly string[]; many: boolean }, path: string): boolean {
  const parts = documentParts(path);
  if (parts?.run !== change.run) return false;
  return !parts.node || change.many || change.nodes.includes(parts.node);
}

/** A citation such as `shop/app.py:12` or `shop/app.py:12-14`; null when it is none. Lines count from 1. */
export function parseCitation(text: string): { path: string; start: number; end: number } | null {
  const found = /^(?<path>[^\s:][^:\n]*?):(?<start>\d{1,7})(?:-(?<end>\d{1,7}))?$/.exec(text.trim());
  if (!found?.groups) return null;
  const start = Number(found.groups.start);
  const end = Number(found.groups.end ?? found.groups.start);
  return start >= 1 && end >= start ? { path: found.groups.path ?? '', start, end } : null;
}
