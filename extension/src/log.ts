// The one log of the extension; the sidecar's own lines go there too.
import * as vscode from 'vscode';

let channel: vscode.LogOutputChannel | undefined;

/** The log channel, made when first written to or shown. */
export function log(): vscode.LogOutputChannel {
  channel ??= vscode.window.createOutputChannel('Treewright', { log: true });
  return channel;
}

/** Lets the channel go when the extension is deactivated. */
export function closeLog(): void {
  channel?.dispose();
  channel = undefined;
}

/** The text of whatever was thrown. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
