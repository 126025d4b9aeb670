// New presets, and checking those that are there.
import * as path from 'node:path';
import * as vscode from 'vscode';
import { fileOf } from './arguments';
import type { Sidecar } from './client';
import { Requests } from './protocol';

export async function newPreset(sidecar: Sidecar): Promise<void> {
  const { presets } = await sidecar.ask(Requests.presets, {});
  const items = presets.filter(each => !each.faults).map(each => ({ label: each.name, description: each.source, detail: each.description }));
  const like = await vscode.window.showQuickPick(items, { title: vscode.l10n.t('New preset, made from which?'), matchOnDetail: true });
  if (!like) return;
  const name = await vscode.window.showInputBox({
    title: vscode.l10n.t('Name of the new preset'),
    prompt: vscode.l10n.t('Small letters, digits and hyphens'),
    ignoreFocusOut: true,
    validateInput: text => {
      if (!/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/.test(text) || text.length > 64) return vscode.l10n.t('Small letters, digits and hyphens, beginning with a letter.');
      return presets.some(each => each.name === text) ? vscode.l10n.t('There is one of that name.') : null;
    },
  });
  if (!name) return;
  const { text, folder } = await sidecar.ask(Requests.presetText, { name, like: like.label });
  const file = vscode.Uri.file(path.join(folder, `${name}.md`));
  const edit = new vscode.WorkspaceEdit();
  edit.createFile(file, { overwrite: false, ignoreIfExists: false, contents: Buffer.from(text, 'utf8') });
  if (!(await vscode.workspace.applyEdit(edit))) throw new Error(vscode.l10n.t('{0} could not be made.', file.fsPath));
  await vscode.window.showTextDocument(file);
}

export async function validatePreset(sidecar: Sidecar, given: unknown): Promise<void> {
  const file = fileOf(given);
  if (!file) {
    void vscode.window.showWarningMessage(vscode.l10n.t('Treewright: open a preset, profile or lens file first.'));
    return;
  }
  const { faults } = await sidecar.ask(Requests.validate, { target: file.toString() });
  const [first] = faults;
  if (!first) {
    void vscode.window.showInformationMessage(vscode.l10n.t('Treewright: {0} is valid.', path.basename(file.fsPath)));
    return;
  }
  const uri = vscode.Uri.parse(first.uri, true);
  const at = new vscode.Position(Math.max(0, first.line - 1), Math.max(0, first.column - 1));
  await vscode.window.showTextDocument(uri, { selection: new vscode.Range(at, at) });
  void vscode.window.showWarningMessage(vscode.l10n.t('Treewright: faults: {0}. The first: {1} {2}', faults.length, first.rule, first.message));
}
