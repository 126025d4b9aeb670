// Small rules about completions, without the editor.

/** The text before the first stop sequence; null when none has come yet. */
export function cutAt(text: string, stop: readonly string[]): string | null {
  const places = stop.filter(Boolean).map(each => text.indexOf(each)).filter(at => at >= 0);
  return places.length ? text.slice(0, Math.min(...places)) : null;
}

/** How many tokens a text has, roughly: used where counting would cost another call. */
export function roughTokens(text: string): number {
  return Math.ceil(text.length / 4);
}

/** How a model is looked up: by `vendor/id`, by its id alone, or any. */
export function selectorOf(name: string): { vendor?: string; id?: string } {
  if (!name) return {};
  const slash = name.indexOf('/');
  return slash > 0 ? { vendor: name.slice(0, slash), id: name.slice(slash + 1) } : { id: name };
}
