// What commands are called with: by menus with elements, by code with references, by the palette with nothing.
import * as vscode from 'vscode';
import { documentParts } from './addresses';
import { MoreElement, NodeElement, RunElement } from './trees';

export interface Target {
  run: string;
  node: string;
}

/** The run, and node, that a command's argument names; the node is empty for a run; null for neither. */
export function targetOf(given: unknown): Target | null {
  if (given instanceof RunElement) return { run: given.row.id, node: '' };
  if (given instanceof NodeElement) return { run: given.run, node: given.line.id };
  if (given instanceof MoreElement) return given.parent ? targetOf(given.parent) : null;
  if (given instanceof vscode.Uri) return fromPath(given);
  const { run, node } = (typeof given === 'object' && given !== null ? given : {}) as Record<string, unknown>;
  return typeof run === 'string' && run ? { run, node: typeof node === 'string' ? node : '' } : null;
}

function fromPath(uri: vscode.Uri): Target | null {
  const parts = uri.scheme === 'treewright' ? documentParts(uri.path) : null;
  return parts ? { run: parts.run, node: parts.node } : null;
}

/** The file that a menu was opened on, else the one in the active editor; null when that is no file. */
export function fileOf(given: unknown): vscode.Uri | null {
  const uri = given instanceof vscode.Uri ? given : vscode.window.activeTextEditor?.document.uri;
  return uri?.scheme === 'file' ? uri : null;
}
