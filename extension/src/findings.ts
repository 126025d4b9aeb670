// Findings in files: icons in the gutter, and what the user decides about them.
import * as vscode from 'vscode';
import type { Sidecar } from './client';
import { Debounced } from './coalesce';
import { documentParts } from './addresses';
import { nodeUri, openDocument } from './documents';
import type { Growing } from './growing';
import { Requests, type DecideRequest } from './protocol';
import type { Searching } from './searching';
import { readSettings } from './settings';
import { tellError } from './telling';

/** A finding as the language server's actions name it. */
export interface FindingRef {
  run: string;
  node: string;
}

export function isFindingRef(value: unknown): value is FindingRef {
  const { run, node } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  return typeof run === 'string' && typeof node === 'string';
}

/** The finding a diagnostic is about; null for anybody else's. */
export function findingOf(diagnostic: vscode.Diagnostic): FindingRef | null {
  const code = typeof diagnostic.code === 'object' ? diagnostic.code : null;
  if (diagnostic.source !== 'treewright' || code === null) return null;
  const parts = documentParts(code.target.path);
  return parts?.node ? { run: parts.run, node: parts.node } : null;
}

export class Findings implements vscode.Disposable {
  private readonly kinds: Record<'severe' | 'plain' | 'stale', vscode.TextEditorDecorationType>;
  private readonly gather = new Debounced(() => this.decorate(), 60, 300);
  private readonly owned: vscode.Disposable[];

  constructor(
    extension: vscode.Uri,
    private readonly sidecar: Sidecar,
    private readonly growing: Growing,
    private readonly searching: Searching,
  ) {
    const gutter = (file: string): vscode.TextEditorDecorationType =>
      vscode.window.createTextEditorDecorationType({
        gutterIconPath: vscode.Uri.joinPath(extension, 'media', file),
        gutterIconSize: '70%',
        rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
      });
    this.kinds = { severe: gutter('finding-severe.svg'), plain: gutter('finding.svg'), stale: gutter('finding-stale.svg') };
    this.owned = [
      ...Object.values(this.kinds),
      vscode.languages.onDidChangeDiagnostics(() => this.gather.poke()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.gather.poke()),
      vscode.workspace.onDidChangeConfiguration(change => {
        if (change.affectsConfiguration('treewright.gutterIcons')) this.gather.poke();
      }),
      ...this.commands(),
    ];
  }

  private decorate(): void {
    const wanted = readSettings().gutterIcons;
    for (const editor of vscode.window.visibleTextEditors) {
      const ranges: Record<'severe' | 'plain' | 'stale', vscode.Range[]> = { severe: [], plain: [], stale: [] };
      const found = wanted && editor.document.uri.scheme !== 'treewright' ? vscode.languages.getDiagnostics(editor.document.uri) : [];
      for (const each of found) {
        if (!findingOf(each)) continue;
        const start = new vscode.Range(each.range.start, each.range.start);
        if (each.severity === vscode.DiagnosticSeverity.Hint) ranges.stale.push(start);
        else if (each.severity === vscode.DiagnosticSeverity.Error) ranges.severe.push(start);
        else ranges.plain.push(start);
      }
      for (const kind of ['severe', 'plain', 'stale'] as const) editor.setDecorations(this.kinds[kind], ranges[kind]);
    }
  }

  /** What the quick fixes of the language server call. */
  private commands(): vscode.Disposable[] {
    const on = (name: string, act: (ref: FindingRef) => Promise<void>): vscode.Disposable =>
      vscode.commands.registerCommand(`treewright.finding.${name}`, async (given: unknown) => {
        if (!isFindingRef(given)) return;
        try {
          await act(given);
        } catch (error) {
          await tellError(error);
        }
      });
    return [
      on('open', ref => openDocument(nodeUri(ref.run, ref.node), readSettings().openRendered)),
      on('search', ref => this.searching.fixFinding(ref)),
      on('deeper', ref => this.deeper(ref)),
      on('accept', ref => this.decide(ref, 'accepted')),
      on('dismiss', ref => this.decide(ref, 'dismissed')),
      on('issue', ref => this.copyIssue(ref)),
    ];
  }

  async deeper(ref: FindingRef): Promise<void> {
    await this.growing.deeper(ref, vscode.l10n.t('Treewright: exploring {0} deeper', ref.node));
  }

  private async decide(ref: FindingRef, decision: 'accepted' | 'dismissed'): Promise<void> {
    const reason = await vscode.window.showInputBox({
      title: decision === 'accepted' ? vscode.l10n.t('Accept the risk') : vscode.l10n.t('False alarm'),
      prompt: decision === 'accepted' ? vscode.l10n.t('Why is this risk accepted?') : vscode.l10n.t('Why is this a false alarm?'),
      placeHolder: vscode.l10n.t('The reason is kept; later runs do not report it again.'),
      ignoreFocusOut: true,
      validateInput: text => (text.trim() ? null : vscode.l10n.t('A decision needs a reason.')),
    });
    if (!reason?.trim()) return;
    await this.record({ ...ref, decision, reason: reason.trim() });
  }

  private async record(request: DecideRequest): Promise<void> {
    const { note } = await this.sidecar.ask(Requests.decide, request);
    const undo = vscode.l10n.t('Undo');
    const text = note || vscode.l10n.t('Recorded. Later runs do not report it again.');
    if ((await vscode.window.showInformationMessage(text, undo)) === undo) {
      await this.sidecar.ask(Requests.decide, { run: request.run, node: request.node, decision: 'reopened' });
    }
  }

  private async copyIssue(ref: FindingRef): Promise<void> {
    const { text } = await this.sidecar.ask(Requests.issue, ref);
    await vscode.env.clipboard.writeText(text);
    void vscode.window.showInformationMessage(vscode.l10n.t('The issue text is in the clipboard.'));
  }

  dispose(): void {
    this.gather.dispose();
    for (const each of this.owned) each.dispose();
  }
}
