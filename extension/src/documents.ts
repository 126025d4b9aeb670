// Virtual documents `treewright:`: nodes, reports and transcripts, read-only and live.
import * as vscode from 'vscode';
import { SidecarError, type Sidecar } from './client';
import { Debounced } from './coalesce';
import { reasonOf } from './log';
import { Requests, type RunChange } from './protocol';
import { concerns, documentPath } from './addresses';

export const SCHEME = 'treewright';
const QUIET_MS = 200;
const MOST_MS = 800;

export class Documents implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly stale = new Map<string, vscode.Uri>();
  private readonly gather = new Debounced(() => this.refresh(), QUIET_MS, MOST_MS);
  private readonly owned: vscode.Disposable[];
  readonly onDidChange = this.changed.event;

  constructor(private readonly sidecar: Sidecar) {
    this.owned = [
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      sidecar.onRunsChanged(changes => this.take(changes)),
      sidecar.onDidChangeState(state => {
        if (state === 'ready') this.markAll();
      }),
    ];
  }

  async provideTextDocumentContent(uri: vscode.Uri, cancel: vscode.CancellationToken): Promise<string> {
    try {
      const { text } = await this.sidecar.ask(Requests.document, { uri: uri.toString() }, cancel);
      return text;
    } catch (error) {
      if (cancel.isCancellationRequested) throw new vscode.CancellationError();
      const hint = SidecarError.is(error) ? error.hint : '';
      return `> ${vscode.l10n.t('This document cannot be shown now.')}\n>\n> ${reasonOf(error)} ${hint}\n`;
    }
  }

  private take(changes: readonly RunChange[]): void {
    for (const { uri } of vscode.workspace.textDocuments) {
      if (uri.scheme === SCHEME && changes.some(change => concerns(change, uri.path))) this.stale.set(uri.toString(), uri);
    }
    if (this.stale.size) this.gather.poke();
  }

  private markAll(): void {
    for (const { uri } of vscode.workspace.textDocuments) if (uri.scheme === SCHEME) this.stale.set(uri.toString(), uri);
    if (this.stale.size) this.gather.poke();
  }

  /** One refresh for all changes of a while: the editor keeps the last one's content. */
  private refresh(): void {
    const uris = [...this.stale.values()];
    this.stale.clear();
    for (const uri of uris) this.changed.fire(uri);
  }

  dispose(): void {
    this.gather.dispose();
    for (const each of this.owned) each.dispose();
  }
}

export function nodeUri(run: string, node: string): vscode.Uri {
  return vscode.Uri.parse(`${SCHEME}:${documentPath(run, 'node', `${node}.md`)}`, true);
}

export function reportUri(run: string, name = 'report'): vscode.Uri {
  return vscode.Uri.parse(`${SCHEME}:${documentPath(run, `${name}.md`)}`, true);
}

/** Opens a virtual document as text, or rendered where the user wants that. */
export async function openDocument(uri: vscode.Uri, rendered: boolean, beside = false): Promise<void> {
  const column = beside ? vscode.ViewColumn.Beside : vscode.ViewColumn.Active;
  if (rendered) {
    await vscode.commands.executeCommand('treewright.openRendered', uri, { beside });
    return;
  }
  const document = await vscode.workspace.openTextDocument(uri);
  await vscode.window.showTextDocument(document, { viewColumn: column, preview: true });
}
