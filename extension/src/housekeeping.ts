// Commands about the extension itself: its Python, what an issue report needs, what was decided.
import * as vscode from 'vscode';
import type { Sidecar } from './client';
import { Requests } from './protocol';
import { readSettings, SECTION } from './settings';

export async function choosePython(sidecar: Sidecar): Promise<void> {
  const now = readSettings().python;
  const items = [
    { label: vscode.l10n.t('Find one by itself'), description: vscode.l10n.t('the Python extension\'s, then python3 on PATH'), act: 'clear' },
    { label: vscode.l10n.t('Enter a path…'), description: now, act: 'enter' },
    { label: vscode.l10n.t('Browse…'), description: '', act: 'browse' },
  ];
  const chosen = await vscode.window.showQuickPick(items, { title: vscode.l10n.t('Python for the sidecar') });
  if (!chosen) return;
  let python: string | undefined = '';
  if (chosen.act === 'enter') {
    python = await vscode.window.showInputBox({ title: vscode.l10n.t('Path of a Python 3.11 or newer'), value: now, ignoreFocusOut: true });
  } else if (chosen.act === 'browse') {
    python = (await vscode.window.showOpenDialog({ canSelectMany: false, title: vscode.l10n.t('Python for the sidecar') }))?.[0]?.fsPath;
  }
  if (python === undefined) return;
  await vscode.workspace.getConfiguration(SECTION).update('python', python.trim() || undefined, vscode.ConfigurationTarget.Global);
  await sidecar.restart();
}

/** Copies what an issue report needs. */
export async function copyAbout(sidecar: Sidecar): Promise<void> {
  const lines = [`VS Code ${vscode.version}, ${process.platform} ${process.arch}, language ${vscode.env.language}`, `sidecar: ${sidecar.state}`];
  if (sidecar.failure) lines.push(sidecar.failure.message, ...sidecar.failure.lines);
  if (sidecar.state === 'ready') {
    const about = await sidecar.ask(Requests.about, {});
    lines.push(
      `Treewright ${about.version}, Python ${about.python} (${sidecar.resolution?.origin ?? ''})`,
      about.platform,
      `trusted ${about.trusted}, diagnostics ${about.diagnostics}, positions ${about.positionEncoding}, runs driven ${about.runsDriven}`,
    );
  }
  await vscode.env.clipboard.writeText(lines.join('\n'));
  void vscode.window.showInformationMessage(vscode.l10n.t('Treewright: the debug information is in the clipboard.'));
}

/** Shows what was decided about findings in this workspace. */
export async function showDecisions(sidecar: Sidecar): Promise<void> {
  const { decisions } = await sidecar.ask(Requests.decisions, {});
  if (!decisions.length) {
    void vscode.window.showInformationMessage(vscode.l10n.t('Treewright: nothing was decided here yet.'));
    return;
  }
  const cell = (text: string): string => text.replace(/\s+/g, ' ').replaceAll('|', '\\|');
  const heads = [vscode.l10n.t('decision'), vscode.l10n.t('reason'), vscode.l10n.t('file'), vscode.l10n.t('code'), vscode.l10n.t('when')];
  const rows = decisions.map(each => [each.decision, each.reason, each.path, `\`${each.quote.slice(0, 80)}\``, each.at.slice(0, 16)].map(cell));
  const table = [heads, heads.map(() => '---'), ...rows].map(row => `| ${row.join(' | ')} |`);
  const content = [`# ${vscode.l10n.t('Decisions')}`, '', ...table, ''].join('\n');
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ language: 'markdown', content }));
}
