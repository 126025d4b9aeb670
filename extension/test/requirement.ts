// Names what a test proves; `tests/requirement_manifest.py` reads these calls.

/** Options of a test that proves the requirements named (ids of `tests/requirements/*.toml`, as plain strings). */
export function requirement(...ids: readonly string[]): Record<string, never> {
  if (!ids.every(id => /^[a-z][a-z0-9-]*(:[a-z0-9][a-z0-9_.-]*){2}$/.test(id))) throw new Error(`no requirement: ${ids.join(', ')}`);
  return {};
}
