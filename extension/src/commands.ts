// The commands about runs and nodes: from ids to calls.
import * as path from 'node:path';
import * as vscode from 'vscode';
import { targetOf, type Target } from './arguments';
import type { Sidecar } from './client';
import { nodeUri, openDocument, reportUri } from './documents';
import type { Growing } from './growing';
import { runPhase, stateName, statusName } from './look';
import { Requests, type Located, type RunRow } from './protocol';
import type { RunStatus } from './run';
import { readSettings } from './settings';
import { FRAMINGS, NODE_STATES } from './states';
import { MoreElement, type Sort, type Trees } from './trees';

export class RunCommands {
  constructor(
    private readonly sidecar: Sidecar,
    private readonly trees: Trees,
    private readonly status: RunStatus,
    private readonly growing: Growing,
  ) {}

  async openNode(given: unknown): Promise<void> {
    const target = this.target(given);
    if (target?.node) await openDocument(nodeUri(target.run, target.node), readSettings().openRendered);
    else if (target) await this.report({ run: target.run });
  }

  async report(given: unknown): Promise<void> {
    const run = await this.run(given);
    if (run) await openDocument(reportUri(run), readSettings().openRendered);
  }

  /** Opens the first cited place of a node. */
  async showCode(given: unknown): Promise<void> {
    const target = this.target(given);
    if (!target?.node) return;
    const node = await this.sidecar.ask(Requests.node, target);
    const place = node.citations.find(each => each.location)?.location;
    if (place) await openPlace(place);
    else void vscode.window.showInformationMessage(vscode.l10n.t('Treewright: this node cites no file.'));
  }

  async resume(given: unknown): Promise<void> {
    const run = await this.run(given, row => runPhase(row) === 'stopped');
    if (run) await this.growing.resume({ run }, vscode.l10n.t('Treewright: going on'));
  }

  async stop(given: unknown): Promise<void> {
    const run = await this.run(given, row => runPhase(row) === 'growing');
    if (!run) return;
    const { holder } = await this.sidecar.ask(Requests.stop, { run });
    void vscode.window.setStatusBarMessage(vscode.l10n.t('Treewright: asked {0} to stop', holder), 5000);
  }

  async compare(given: unknown, all: unknown): Promise<void> {
    const chosen = (Array.isArray(all) ? all : this.trees.view.selection).map(targetOf).filter(each => each?.node);
    const [left, right] = chosen.length === 2 ? chosen : [targetOf(given), null];
    if (!left?.node) {
      void vscode.window.showInformationMessage(vscode.l10n.t('Treewright: select two nodes of one run in the Trees view.'));
      return;
    }
    const other = right?.node && right.run === left.run ? right.node : await this.pickNode(left);
    if (!other) return;
    const { text } = await this.sidecar.ask(Requests.compare, { run: left.run, left: left.node, right: other });
    const document = await vscode.workspace.openTextDocument({ language: 'markdown', content: text });
    await vscode.window.showTextDocument(document, { preview: true });
  }

  private async pickNode(beside: Target): Promise<string | undefined> {
    const { rows } = await this.sidecar.ask(Requests.children, { run: beside.run, flat: true, sort: 'score', limit: 500 });
    const items = rows.filter(row => row.id !== beside.node && row.id !== '0').map(row => ({ label: row.id, description: row.label, detail: row.statement }));
    const chosen = await vscode.window.showQuickPick(items, {
      title: vscode.l10n.t('Compare {0} with', beside.node),
      matchOnDescription: true,
      matchOnDetail: true,
    });
    return chosen?.label;
  }

  async exportRun(given: unknown): Promise<void> {
    const run = await this.run(given);
    if (!run) return;
    const kinds = [
      { label: vscode.l10n.t('Report (Markdown)'), name: 'report', extension: 'md' },
      { label: vscode.l10n.t('Outline of the tree (Markdown)'), name: 'tree', extension: 'md' },
      { label: vscode.l10n.t('Findings (SARIF)'), name: 'sarif', extension: 'sarif' },
      { label: vscode.l10n.t('Map (SVG or PNG)…'), name: '', extension: '' },
    ];
    const kind = await vscode.window.showQuickPick(kinds, { title: vscode.l10n.t('Export') });
    if (!kind) return;
    if (!kind.name) {
      await vscode.commands.executeCommand('treewright.openMap', { run });
      return;
    }
    const { text } = await this.sidecar.ask(Requests.report, { run, name: kind.name });
    await saveAs(`${run}-${kind.name}.${kind.extension}`, Buffer.from(text, 'utf8'));
  }

  async filter(): Promise<void> {
    const now = this.trees.filterSpec;
    const text = await vscode.window.showInputBox({
      title: vscode.l10n.t('Filter nodes'),
      prompt: vscode.l10n.t('Words that must all occur; leave empty for any'),
      value: now.text ?? '',
    });
    if (text === undefined) return;
    const states = NODE_STATES.map(state => ({ label: stateName(state), state, picked: now.states?.includes(state) ?? false }));
    const framings = FRAMINGS.map(letter => ({ label: vscode.l10n.t('framing {0}', letter), letter, picked: now.framings?.includes(letter) ?? false }));
    const chosen = await vscode.window.showQuickPick([...states, ...framings], {
      title: vscode.l10n.t('Verdicts and framings; none for all'),
      canPickMany: true,
    });
    if (!chosen) return;
    await this.trees.setFilter({
      text: text.trim(),
      states: chosen.flatMap(each => ('state' in each ? [each.state] : [])),
      framings: chosen.flatMap(each => ('letter' in each ? [each.letter] : [])),
    });
  }

  async sort(): Promise<void> {
    const kinds: { label: string; sort: Sort }[] = [
      { label: vscode.l10n.t('As grown'), sort: 'tree' },
      { label: vscode.l10n.t('By score, the best first'), sort: 'score' },
      { label: vscode.l10n.t('The newest first'), sort: 'newest' },
    ];
    const items = kinds.map(each => ({ ...each, description: each.sort === this.trees.sorted ? vscode.l10n.t('now') : '' }));
    const chosen = await vscode.window.showQuickPick(items, { title: vscode.l10n.t('Sort nodes') });
    if (chosen) this.trees.setSort(chosen.sort);
  }

  showMore(given: unknown): void {
    if (given instanceof MoreElement) this.trees.showMore(given);
  }

  /** The target a command was called on, else the selected element, else the active document. */
  target(given: unknown): Target | null {
    const active = vscode.window.activeTextEditor?.document.uri;
    return targetOf(given) ?? targetOf(this.trees.view.selection[0]) ?? (active ? targetOf(active) : null);
  }

  /** The run a command is about: named, selected, shown, or chosen from those that fit. */
  async run(given: unknown, fits: (row: RunRow) => boolean = () => true): Promise<string | undefined> {
    const named = targetOf(given);
    if (named) return named.run;
    const { runs } = await this.sidecar.ask(Requests.runs, {});
    const possible = runs.filter(fits);
    if (!possible.length) {
      void vscode.window.showInformationMessage(vscode.l10n.t('Treewright: there is no such run.'));
      return undefined;
    }
    const wanted = [targetOf(this.trees.view.selection[0])?.run, this.status.run];
    const shown = possible.find(row => wanted.includes(row.id)) ?? (possible.length === 1 ? possible[0] : undefined);
    if (shown) return shown.id;
    const items = possible.map(row => ({ label: row.title || row.id, description: `${row.preset} · ${statusName(row)}`, detail: row.updated, id: row.id }));
    return (await vscode.window.showQuickPick(items, { title: vscode.l10n.t('Which run?'), matchOnDescription: true }))?.id;
  }
}

/** Opens a cited place with its lines selected. */
export async function openPlace(place: Located, beside = false): Promise<void> {
  const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(place.uri, true));
  const first = Math.min(Math.max(place.start, 1), document.lineCount) - 1;
  const last = Math.min(Math.max(place.end, place.start, 1), document.lineCount) - 1;
  const selection = new vscode.Range(first, 0, last, document.lineAt(last).text.length);
  await vscode.window.showTextDocument(document, { selection, viewColumn: beside ? vscode.ViewColumn.Beside : vscode.ViewColumn.Active });
}

/** Asks where to, and writes it. */
export async function saveAs(name: string, bytes: Uint8Array): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const target = await vscode.window.showSaveDialog(folder ? { defaultUri: vscode.Uri.joinPath(folder, name) } : {});
  if (!target) return;
  await vscode.workspace.fs.writeFile(target, bytes);
  const open = vscode.l10n.t('Open');
  const chosen = await vscode.window.showInformationMessage(vscode.l10n.t('Treewright: saved {0}.', path.posix.basename(target.path)), open);
  if (chosen === open) await vscode.commands.executeCommand('vscode.open', target);
}
