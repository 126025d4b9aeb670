// Errors and notices, told to the user with what helps.
import * as vscode from 'vscode';
import { SidecarError, type Failure } from './client';
import { log, reasonOf } from './log';

/** Shows what went wrong, and what can be done about it. */
export async function tellError(error: unknown): Promise<void> {
  if (error instanceof vscode.CancellationError) return;
  const hint = SidecarError.is(error) ? error.hint : '';
  log().error(error instanceof Error && !SidecarError.is(error) ? (error.stack ?? error.message) : reasonOf(error));
  const show = vscode.l10n.t('Show log');
  const chosen = await vscode.window.showErrorMessage(`Treewright: ${reasonOf(error)} ${hint}`.trim(), show);
  if (chosen === show) log().show();
}

/** Says why the sidecar does not run, with its last lines and what to do. */
export async function tellFailure(failure: Failure): Promise<void> {
  const last = failure.lines.length ? vscode.l10n.t('Its last words: {0}', failure.lines.slice(-3).join(' | ')) : '';
  const [restart, show, choose] = [vscode.l10n.t('Restart sidecar'), vscode.l10n.t('Show log'), vscode.l10n.t('Choose Python')];
  const text = [`Treewright: ${failure.message}`, failure.advice, last].filter(Boolean).join(' ');
  const chosen = await vscode.window.showErrorMessage(text, restart, choose, show);
  if (chosen === restart) await vscode.commands.executeCommand('treewright.restart');
  else if (chosen === choose) await vscode.commands.executeCommand('treewright.choosePython');
  else if (chosen === show) log().show();
}
