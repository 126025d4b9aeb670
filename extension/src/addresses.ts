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
