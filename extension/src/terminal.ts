// What is driven from a terminal: chains and deliberations, by the same sidecar and on the same runs.
import * as vscode from 'vscode';
import type { Sidecar } from './client';
import { ISOLATED } from './interpreter';
import { readSettings } from './settings';

export async function chain(sidecar: Sidecar): Promise<void> {
  const model = terminalModel();
  if (!model) {
    void vscode.window.showInformationMessage(vscode.l10n.t('Treewright: a chain asks a model of an endpoint; the editor\'s own cannot be used in a terminal. Choose another model first.'));
    return;
  }
  const root = await ask(vscode.l10n.t('Chain'), vscode.l10n.t('What about? It is brainstormed, then designed, then attacked.'));
  if (root) open(sidecar, vscode.l10n.t('Treewright: chain'), ['chain', '--model', model, ...cap(), '--', root]);
}

/** Without a model the terminal asks step by step. */
export async function deliberate(sidecar: Sidecar): Promise<void> {
  const question = await ask(vscode.l10n.t('Deliberate'), vscode.l10n.t('Which question is to be thought through?'));
  const model = terminalModel();
  if (question) open(sidecar, vscode.l10n.t('Treewright: deliberation'), ['deliberate', ...(model ? ['--model', model, ...cap()] : []), '--', question]);
}

function ask(title: string, prompt: string): Thenable<string | undefined> {
  const validateInput = (text: string): string | null => (text.trim() ? null : vscode.l10n.t('Say in a few words what it is about.'));
  return vscode.window.showInputBox({ title, prompt, ignoreFocusOut: true, validateInput });
}

function terminalModel(): string {
  const { model } = readSettings();
  return model === 'editor' || model.startsWith('editor:') ? '' : model;
}

function cap(): string[] {
  const { spendCapUsd } = readSettings();
  return spendCapUsd === null ? [] : ['--spend-cap', String(spendCapUsd)];
}

/** Runs the sidecar's command line with no shell between, so that nothing has to be quoted. */
function open(sidecar: Sidecar, name: string, words: readonly string[]): void {
  const found = sidecar.resolution;
  if (!found) {
    void vscode.window.showWarningMessage(vscode.l10n.t('The sidecar does not run.'));
    return;
  }
  const env = found.env.TREEWRIGHT_HOME ? { TREEWRIGHT_HOME: found.env.TREEWRIGHT_HOME } : {};
  const terminal = vscode.window.createTerminal({ name, shellPath: found.command, shellArgs: [...ISOLATED, '-m', 'treewright', ...words], env });
  terminal.show();
}
