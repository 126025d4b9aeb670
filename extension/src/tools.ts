// Tools for the editor's language models: audit, search, tree. What runs or spends asks first.
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Sidecar } from './client';
import type { Growing } from './growing';
import { Requests, type FindingRow, type NodeLine } from './protocol';
import { NODE_STATES } from './states';

interface AuditInput {
  path?: string;
  changedSince?: string;
}

interface SearchInput {
  text: string;
  run?: string;
  states?: string[];
  limit?: number;
}

interface TreeInput {
  preset?: string;
  root?: string;
  run?: string;
  node?: string;
}

const MOST_FINDINGS = 50;

export function registerTools(sidecar: Sidecar, growing: Growing): vscode.Disposable[] {
  const lm = vscode.lm as typeof vscode.lm | undefined;
  if (typeof lm?.registerTool !== 'function') return [];
  return [
    vscode.lm.registerTool('treewright_audit', new AuditTool(sidecar, growing)),
    vscode.lm.registerTool('treewright_search', new SearchTool(sidecar)),
    vscode.lm.registerTool('treewright_tree', new TreeTool(sidecar, growing)),
  ];
}

class AuditTool implements vscode.LanguageModelTool<AuditInput> {
  constructor(
    private readonly sidecar: Sidecar,
    private readonly growing: Growing,
  ) {}

  prepareInvocation({ input }: vscode.LanguageModelToolInvocationPrepareOptions<AuditInput>): vscode.PreparedToolInvocation {
    const what = input.path || vscode.l10n.t('the workspace');
    return {
      invocationMessage: vscode.l10n.t('Auditing {0}', what),
      confirmationMessages: {
        title: vscode.l10n.t('Audit {0}?', what),
        message: vscode.l10n.t('Treewright reads it and looks for flaws, offline. None of its code is run.'),
      },
    };
  }

  async invoke({ input }: vscode.LanguageModelToolInvocationOptions<AuditInput>): Promise<vscode.LanguageModelToolResult> {
    const root = await rootWithin(input.path ?? '');
    const request = { preset: 'code-audit', root: root.toString(), ...(input.changedSince ? { changedSince: input.changedSince } : {}) };
    const ended = await this.growing.start(request, vscode.l10n.t('Treewright: auditing {0}', vscode.workspace.asRelativePath(root)));
    const { findings, total } = await this.sidecar.ask(Requests.findings, { limit: 1000 });
    const own = findings.filter(each => each.run === ended.run);
    const said = own.slice(0, MOST_FINDINGS).map(findingText);
    const head = `Run ${ended.run} ended: ${ended.message}. Findings shown in files: ${String(own.length)} (${String(total)} with those of other runs).`;
    return result([head, ...said].join('\n'));
  }
}

class SearchTool implements vscode.LanguageModelTool<SearchInput> {
  constructor(private readonly sidecar: Sidecar) {}

  prepareInvocation({ input }: vscode.LanguageModelToolInvocationPrepareOptions<SearchInput>): vscode.PreparedToolInvocation {
    return { invocationMessage: vscode.l10n.t('Searching for "{0}"', input.text) };
  }

  async invoke({ input }: vscode.LanguageModelToolInvocationOptions<SearchInput>): Promise<vscode.LanguageModelToolResult> {
    const run = input.run || (await latest(this.sidecar));
    if (!run) return result('There is no run yet. Use treewright_audit or treewright_tree to grow one.');
    const states = NODE_STATES.filter(state => input.states?.includes(state));
    const limit = Math.min(50, Math.max(1, Math.round(input.limit ?? 20)));
    const { rows, total } = await this.sidecar.ask(Requests.children, { run, flat: true, sort: 'score', limit, filter: { text: input.text, states } });
    return result([`Run ${run}: ${String(total)} nodes match, the best ${String(rows.length)}:`, ...rows.map(nodeText)].join('\n'));
  }
}

class TreeTool implements vscode.LanguageModelTool<TreeInput> {
  constructor(
    private readonly sidecar: Sidecar,
    private readonly growing: Growing,
  ) {}

  prepareInvocation({ input }: vscode.LanguageModelToolInvocationPrepareOptions<TreeInput>): vscode.PreparedToolInvocation {
    if (!input.root) return { invocationMessage: vscode.l10n.t('Reading a tree') };
    const title = vscode.l10n.t('Grow a tree ({0})?', input.preset || 'brainstorm');
    const message = vscode.l10n.t('About: {0}. The model that you chose is asked many times, which may cost money.', input.root.slice(0, 300));
    return { invocationMessage: vscode.l10n.t('Growing a tree'), confirmationMessages: { title, message } };
  }

  async invoke({ input }: vscode.LanguageModelToolInvocationOptions<TreeInput>): Promise<vscode.LanguageModelToolResult> {
    if (input.root) {
      const preset = input.preset || 'brainstorm';
      const ended = await this.growing.start({ preset, root: input.root }, vscode.l10n.t('Treewright: growing a tree'));
      const { text } = await this.sidecar.ask(Requests.report, { run: ended.run });
      return result(`Run ${ended.run} ended: ${ended.message}.\n\n${text}`);
    }
    const run = input.run || (await latest(this.sidecar));
    if (!run) return result('There is no run yet.');
    if (input.node) return result((await this.sidecar.ask(Requests.node, { run, node: input.node })).markdown);
    return result((await this.sidecar.ask(Requests.report, { run })).text);
  }
}

/** The place named, which must lie in a workspace folder: a model may not have other files read. */
async function rootWithin(named: string): Promise<vscode.Uri> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const first = folders[0];
  if (!first) throw new Error('No folder is open.');
  if (!named) return first.uri;
  const candidates = path.isAbsolute(named) ? [vscode.Uri.file(path.normalize(named))] : folders.map(folder => vscode.Uri.joinPath(folder.uri, named));
  for (const uri of candidates) {
    if (!vscode.workspace.getWorkspaceFolder(uri)) continue;
    try {
      await vscode.workspace.fs.stat(uri);
      return uri;
    } catch {
      continue;
    }
  }
  throw new Error(`${named} is not in a folder of this workspace.`);
}

async function latest(sidecar: Sidecar): Promise<string> {
  const { runs } = await sidecar.ask(Requests.runs, { limit: 20 });
  return runs.find(row => row.kind === 'exploration')?.id ?? '';
}

function findingText(row: FindingRow): string {
  return `- ${row.path}:${String(row.range.start.line + 1)} [${row.node}, ${row.label}, score ${String(row.score)}${row.cwe ? `, ${row.cwe}` : ''}${row.fixable ? ', has a fix' : ''}] ${row.statement}`;
}

function nodeText(row: NodeLine): string {
  return `- ${row.id} [${row.label}, score ${String(row.total)}, framing ${row.framing}] ${row.statement}`;
}

function result(text: string): vscode.LanguageModelToolResult {
  return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(text)]);
}
