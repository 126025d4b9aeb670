// Settings, read in one place and checked: what does not fit counts as not set.
import * as vscode from 'vscode';
import type { EditorSettings } from './protocol';

export const SECTION = 'treewright';

/** The extension's settings as they are now. */
export interface Settings {
  python: string;
  home: string;
  model: string;
  spendCapUsd: number | null;
  maxFindingsPerFile: number;
  showMarginal: boolean;
  auditOnSave: boolean;
  confirmFixes: boolean;
  gutterIcons: boolean;
  openRendered: boolean;
}

export function readSettings(): Settings {
  const from = vscode.workspace.getConfiguration(SECTION);
  const text = (key: string): string => {
    const value = from.get<unknown>(key);
    return typeof value === 'string' ? value.trim() : '';
  };
  const flag = (key: string, otherwise: boolean): boolean => {
    const value = from.get<unknown>(key);
    return typeof value === 'boolean' ? value : otherwise;
  };
  const cap = from.get<unknown>('spendCapUsd');
  const most = from.get<unknown>('maxFindingsPerFile');
  return {
    python: text('python'),
    home: text('home'),
    model: text('model'),
    spendCapUsd: typeof cap === 'number' && cap >= 0 ? cap : null,
    maxFindingsPerFile: typeof most === 'number' && Number.isInteger(most) && most >= 1 && most <= 10_000 ? most : 100,
    showMarginal: flag('showMarginal', false),
    auditOnSave: flag('auditOnSave', false),
    confirmFixes: flag('confirmFixes', true),
    gutterIcons: flag('gutterIcons', true),
    openRendered: flag('openRendered', true),
  };
}

/** What the sidecar is told. An untrusted workspace may not have anything executed. */
export function forSidecar(settings: Settings, editorModel: boolean): EditorSettings {
  return {
    trusted: vscode.workspace.isTrusted,
    diagnostics: 'push',
    maxFindingsPerFile: settings.maxFindingsPerFile,
    showMarginal: settings.showMarginal,
    auditOnSave: settings.auditOnSave && vscode.workspace.isTrusted,
    confirmFixes: settings.confirmFixes,
    clientCommands: true,
    virtualDocuments: false,
    editorModel,
    model: settings.model,
    locale: vscode.env.language.toLowerCase().startsWith('zh') ? 'zh-cn' : 'en',
  };
}
