// The status bar item: whether the sidecar runs, and which model is used.
import * as vscode from 'vscode';
import type { Sidecar } from './client';

export class StatusItem implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('sidecar', vscode.StatusBarAlignment.Right, 90);
  private readonly listening: vscode.Disposable;

  constructor(private readonly sidecar: Sidecar) {
    this.item.name = 'Treewright';
    this.listening = sidecar.onDidChangeState(() => this.draw());
    this.draw();
    this.item.show();
  }

  private draw(): void {
    const { state, failure } = this.sidecar;
    const [text, spoken] = {
      stopped: ['$(circle-outline) Treewright', vscode.l10n.t('Treewright: stopped')],
      starting: ['$(sync~spin) Treewright', vscode.l10n.t('Treewright: starting')],
      ready: ['$(type-hierarchy) Treewright', vscode.l10n.t('Treewright: ready')],
      failed: ['$(warning) Treewright', vscode.l10n.t('Treewright: the sidecar does not run')],
    }[state];
    this.item.text = text ?? '';
    this.item.tooltip = failure && state === 'failed' ? `${failure.message}\n${failure.lines.join('\n')}\n${failure.advice}` : spoken;
    this.item.accessibilityInformation = { label: spoken ?? '' };
    this.item.backgroundColor = state === 'failed' ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined;
    this.item.command = state === 'failed' ? 'treewright.showLog' : 'treewright.trees.focus';
  }

  dispose(): void {
    this.listening.dispose();
    this.item.dispose();
  }
}
