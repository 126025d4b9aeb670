// The text of `.vscode/mcp.json` with a server in it.

export interface McpServer {
  command: string;
  args: readonly string[];
  env: Record<string, string>;
}

/** The text with the server added or replaced; null when the file is not plain JSON and cannot be added to safely. */
export function withServer(before: string, name: string, server: McpServer): string | null {
  let known: unknown = {};
  if (before.trim()) {
    try {
      known = JSON.parse(before);
    } catch {
      return null;
    }
  }
  if (typeof known !== 'object' || known === null || Array.isArray(known)) return null;
  const { servers } = known as { servers?: unknown };
  if (servers !== undefined && (typeof servers !== 'object' || servers === null || Array.isArray(servers))) return null;
  const made = { type: 'stdio', command: server.command, args: server.args, ...(Object.keys(server.env).length ? { env: server.env } : {}) };
  return `${JSON.stringify({ ...known, servers: { ...servers, [name]: made } }, null, 2)}\n`;
}
