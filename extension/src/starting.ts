// Commands that start runs: what is asked of the user, then the request.
import * as vscode from 'vscode';
import { fileOf } from './arguments';
import type { Sidecar } from './client';
import type { Ended, Growing } from './growing';
import { Requests, type StartRequest } from './protocol';
import { readSettings } from './settings';

const LONGEST_SELECTION = 60_000;

export class Starting {
  constructor(
    private readonly sidecar: Sidecar,
    private readonly growing: Growing,
    private readonly needModel: () => Promise<boolean>,
  ) {}

  async audit(): Promise<void> {
    const what = [
      { label: vscode.l10n.t('The whole workspace'), command: 'treewright.auditWorkspace' },
      { label: vscode.l10n.t('This file'), command: 'treewright.auditFile' },
      { label: vscode.l10n.t('A folder…'), command: 'treewright.auditFolder' },
      { label: vscode.l10n.t('Changes since a commit…'), command: 'treewright.auditChanges' },
    ];
    const chosen = await vscode.window.showQuickPick(what, { title: vscode.l10n.t('Audit'), placeHolder: vscode.l10n.t('What to audit') });
    if (chosen) await vscode.commands.executeCommand(chosen.command);
  }

  async auditFile(given: unknown): Promise<void> {
    const file = fileOf(given);
    if (!file) {
      void vscode.window.showWarningMessage(vscode.l10n.t('Treewright: open a saved file first.'));
      return;
    }
    await this.auditRoot(file);
  }

  async auditFolder(given: unknown): Promise<void> {
    const folder = given instanceof vscode.Uri ? given : await chooseFolder();
    if (folder) await this.auditRoot(folder);
  }

  async auditWorkspace(): Promise<void> {
    const folder = await workspaceFolder();
    if (folder) await this.auditRoot(folder);
  }

  async auditChanges(): Promise<void> {
    const folder = await workspaceFolder();
    if (!folder) return;
    const since = await vscode.window.showInputBox({
      title: vscode.l10n.t('Audit changes'),
      prompt: vscode.l10n.t('Since which commit, branch or tag?'),
      value: 'HEAD',
      validateInput: text => (/^[^\s-]\S*$/.test(text) ? null : vscode.l10n.t('Name one commit, branch or tag.')),
    });
    if (since) await this.auditRoot(folder, { changedSince: since });
  }

  /** Audits offline; what came of it is said when it ends. */
  async auditRoot(root: vscode.Uri, more: StartRequest = {}): Promise<Ended> {
    const name = vscode.workspace.asRelativePath(root, true);
    const ended = await this.growing.start({ preset: 'code-audit', root: root.toString(), ...more }, vscode.l10n.t('Treewright: auditing {0}', name));
    await this.tellEnd(ended);
    return ended;
  }

  async brainstorm(): Promise<void> {
    const root = await vscode.window.showInputBox({
      title: vscode.l10n.t('Brainstorm'),
      prompt: vscode.l10n.t('What about?'),
      ignoreFocusOut: true,
      validateInput: text => (text.trim() ? null : vscode.l10n.t('Say in a few words what it is about.')),
    });
    if (root) await this.grow({ preset: 'brainstorm', root }, vscode.l10n.t('Treewright: brainstorming'));
  }

  async design(): Promise<void> {
    const root = await vscode.window.showInputBox({
      title: vscode.l10n.t('Design'),
      prompt: vscode.l10n.t('What is to be designed?'),
      ignoreFocusOut: true,
      validateInput: text => (text.trim() ? null : vscode.l10n.t('Say in a few words what it is about.')),
    });
    if (root) await this.grow({ preset: 'design', root }, vscode.l10n.t('Treewright: designing'));
  }

  /** Attacks the selection, else the file. */
  async attack(given: unknown): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const chosen = editor && !(given instanceof vscode.Uri && given.toString() !== editor.document.uri.toString()) ? editor.document.getText(editor.selection) : '';
    if (chosen.trim()) {
      await this.grow({ preset: 'attack', root: chosen.slice(0, LONGEST_SELECTION) }, vscode.l10n.t('Treewright: attacking the selection'));
      return;
    }
    const file = fileOf(given);
    if (!file) {
      void vscode.window.showWarningMessage(vscode.l10n.t('Treewright: select some text, or open a saved file.'));
      return;
    }
    await this.grow({ preset: 'attack', root: file.toString() }, vscode.l10n.t('Treewright: attacking {0}', vscode.workspace.asRelativePath(file)));
  }

  /** Everything but audits needs a model, and may cost. */
  async grow(request: StartRequest, title: string): Promise<Ended | undefined> {
    if (!(await this.needModel())) return undefined;
    const { spendCapUsd } = readSettings();
    const ended = await this.growing.start({ ...request, ...(spendCapUsd === null ? {} : { spendCapUsd }) }, title);
    await this.tellEnd(ended);
    return ended;
  }

  private async tellEnd(ended: Ended): Promise<void> {
    const figures = await this.sidecar.ask(Requests.run, { run: ended.run });
    const counts = figures.verdicts.filter(each => each.count > 0).map(each => `${each.label} ${String(each.count)}`).join(', ');
    const [report, map] = [vscode.l10n.t('Open report'), vscode.l10n.t('Open map')];
    const text = vscode.l10n.t('Treewright: {0}. {1}', ended.message || figures.row.status, counts || vscode.l10n.t('Nothing was found.'));
    void vscode.window.showInformationMessage(text, report, map).then(chosen => {
      if (chosen === report) void vscode.commands.executeCommand('treewright.report', { run: ended.run });
      if (chosen === map) void vscode.commands.executeCommand('treewright.openMap', { run: ended.run });
    });
  }
}

async function workspaceFolder(): Promise<vscode.Uri | undefined> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  if (!folders.length) {
    void vscode.window.showWarningMessage(vscode.l10n.t('Treewright: open a folder first.'));
    return undefined;
  }
  return folders.length === 1 ? folders[0]?.uri : (await vscode.window.showWorkspaceFolderPick())?.uri;
}

async function chooseFolder(): Promise<vscode.Uri | undefined> {
  const first = vscode.workspace.workspaceFolders?.[0]?.uri;
  const chosen = await vscode.window.showOpenDialog({
    canSelectFiles: false,
    canSelectFolders: true,
    canSelectMany: false,
    title: vscode.l10n.t('Folder to audit'),
    ...(first ? { defaultUri: first } : {}),
  });
  return chosen?.[0];
}
