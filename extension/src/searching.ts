// Searching for a verified fix: asks before anything is executed, shows what passed as a diff, applies it on consent.
import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';
import type { Sidecar } from './client';
import type { FindingRef } from './findings';
import { log, reasonOf } from './log';
import { Requests, type SearchEnded, type SearchFixRequest } from './protocol';
import { readSettings } from './settings';

const PROPOSED = 'treewright-proposed';

export class Searching implements vscode.Disposable, vscode.TextDocumentContentProvider {
  private readonly proposals = new Map<string, string>();
  private readonly registered = vscode.workspace.registerTextDocumentContentProvider(PROPOSED, this);

  constructor(private readonly sidecar: Sidecar) {}

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.proposals.get(uri.query) ?? '';
  }

  fixFinding(ref: FindingRef): Promise<void> {
    return this.search({ run: ref.run, node: ref.node });
  }

  async atCursor(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor?.document.uri.scheme !== 'file') {
      void vscode.window.showWarningMessage(vscode.l10n.t('Treewright: go into a function of a saved file first.'));
      return;
    }
    await this.search({ uri: editor.document.uri.toString(), line: editor.selection.active.line });
  }

  private async search(request: SearchFixRequest): Promise<void> {
    if (!(await consents())) return;
    const { spendCapUsd } = readSettings();
    const asked = { ...request, workDoneToken: `treewright-${randomUUID()}`, ...(spendCapUsd === null ? {} : { spendCapUsd }) };
    const where = { location: vscode.ProgressLocation.Notification, title: vscode.l10n.t('Treewright: searching for a verified fix'), cancellable: true };
    const ended = await vscode.window.withProgress(where, (progress, cancel) => this.run(asked, progress, cancel));
    if (ended) await this.offer(ended);
  }

  private async run(request: SearchFixRequest & { workDoneToken: string }, progress: vscode.Progress<{ message?: string }>, cancel: vscode.CancellationToken): Promise<SearchEnded | undefined> {
    const early: SearchEnded[] = [];
    let take: (ended: SearchEnded | undefined) => void = () => undefined;
    const end = new Promise<SearchEnded | undefined>(resolve => (take = resolve));
    let run = '';
    const listening = [
      this.sidecar.onSearchEnded(told => {
        if (told.run === run) take(told);
        else early.push(told);
      }),
      this.sidecar.onDidChangeState(state => {
        if (state !== 'ready') take(undefined);
      }),
      await this.sidecar.onProgress(request.workDoneToken, value => {
        if (value.kind === 'report' && value.message) progress.report({ message: value.message });
      }),
    ];
    try {
      const begun = await this.sidecar.ask(Requests.searchFix, request);
      run = begun.run;
      log().info(`searching for ${begun.function} with ${begun.checks.join(', ')}`);
      for (const each of begun.notices) if (each.severity === 'warning') void vscode.window.showWarningMessage(`Treewright: ${each.message}`);
      const known = early.find(told => told.run === run);
      if (known) take(known);
      cancel.onCancellationRequested(() => {
        this.sidecar.ask(Requests.stop, { run }).catch((error: unknown) => log().warn(`stopping: ${reasonOf(error)}`));
      });
      return await end;
    } finally {
      for (const each of listening) each.dispose();
    }
  }

  /** Shows the difference, and applies it only when the user says so and the text is still the one it was made for. */
  private async offer(ended: SearchEnded): Promise<void> {
    if (!ended.verified || !ended.edit) {
      const more = ended.verified ? vscode.l10n.t('The file has changed since.') : '';
      void vscode.window.showInformationMessage(`Treewright: ${ended.headline} ${more}`.trim());
      return;
    }
    const uri = vscode.Uri.parse(ended.uri, true);
    const document = await vscode.workspace.openTextDocument(uri);
    const { version } = document;
    const edit = await this.sidecar.asEdit(ended.edit);
    const key = randomUUID();
    this.proposals.set(key, applied(document, edit.get(uri)));
    const proposed = uri.with({ scheme: PROPOSED, authority: '', query: key, fragment: '' });
    await vscode.commands.executeCommand('vscode.diff', uri, proposed, vscode.l10n.t('Verified fix: {0}', vscode.workspace.asRelativePath(uri)), { preview: true });
    const apply = vscode.l10n.t('Apply');
    const chosen = await vscode.window.showInformationMessage(`Treewright: ${ended.headline}`, apply, vscode.l10n.t('Discard'));
    this.proposals.delete(key);
    if (chosen !== apply) return;
    if (document.isClosed ? false : document.version !== version) {
      void vscode.window.showWarningMessage(vscode.l10n.t('Treewright: the file was changed meanwhile; nothing was applied.'));
      return;
    }
    if (await vscode.workspace.applyEdit(edit)) await vscode.window.showTextDocument(uri);
  }

  dispose(): void {
    this.registered.dispose();
  }
}

async function consents(): Promise<boolean> {
  const go = vscode.l10n.t('Search');
  const said = vscode.l10n.t('Search for a fix by running code?');
  const detail = vscode.l10n.t('Candidate programs and the tests that reach the function are executed in fresh processes, with limits on time, memory and output.');
  return (await vscode.window.showWarningMessage(said, { modal: true, detail }, go)) === go;
}

/** The document's text with edits applied. */
function applied(document: vscode.TextDocument, edits: readonly vscode.TextEdit[]): string {
  let text = document.getText();
  for (const each of [...edits].sort((a, b) => b.range.start.compareTo(a.range.start))) {
    text = text.slice(0, document.offsetAt(each.range.start)) + each.newText + text.slice(document.offsetAt(each.range.end));
  }
  return text;
}
