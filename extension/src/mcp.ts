// Registers the MCP server with the editor where that has an interface for it, else writes `.vscode/mcp.json`.
import * as vscode from 'vscode';
import { withServer, type McpServer } from './mcpFile';
import { ISOLATED } from './interpreter';
import type { Sidecar } from './client';
import { log, reasonOf } from './log';

/** As much of the interface as is used; it is newer than the oldest editor supported. */
interface McpInterface {
  registerMcpServerDefinitionProvider?: (
    id: string,
    provider: { onDidChangeMcpServerDefinitions: vscode.Event<void>; provideMcpServerDefinitions(): unknown[] },
  ) => vscode.Disposable;
}

type StdioDefinition = new (label: string, command: string, args: string[], env: Record<string, string>, version?: string) => unknown;

const PROVIDER = 'treewright.mcp';
const LABEL = 'Treewright';

/** Offers the server to the editor's agents; `false` where the editor has no interface for that. */
export function registerMcp(sidecar: Sidecar, subscriptions: vscode.Disposable[]): boolean {
  const register = (vscode.lm as McpInterface | undefined)?.registerMcpServerDefinitionProvider;
  const Definition = (vscode as unknown as { McpStdioServerDefinition?: StdioDefinition }).McpStdioServerDefinition;
  if (typeof register !== 'function' || typeof Definition !== 'function') return false;
  const changed = new vscode.EventEmitter<void>();
  try {
    subscriptions.push(
      changed,
      sidecar.onDidChangeState(state => {
        if (state === 'ready') changed.fire();
      }),
      register.call(vscode.lm, PROVIDER, {
        onDidChangeMcpServerDefinitions: changed.event,
        provideMcpServerDefinitions: () => {
          const server = serverOf(sidecar);
          return server && vscode.workspace.isTrusted ? [new Definition(LABEL, server.command, [...server.args], server.env)] : [];
        },
      }),
    );
    return true;
  } catch (error) {
    log().info(`the editor does not take MCP servers from extensions: ${reasonOf(error)}`); // a proposed API elsewhere
    return false;
  }
}

/** Writes the server into the workspace's `.vscode/mcp.json`, whatever else stands there kept. */
export async function addToWorkspace(sidecar: Sidecar): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0];
  const server = serverOf(sidecar);
  if (!folder || !server) {
    void vscode.window.showWarningMessage(vscode.l10n.t('Treewright: open a folder, and have the sidecar run first.'));
    return;
  }
  const file = vscode.Uri.joinPath(folder.uri, '.vscode', 'mcp.json');
  const before = await textOf(file);
  const after = withServer(before, 'treewright', server);
  if (after === null) {
    await vscode.window.showTextDocument(file);
    void vscode.window.showWarningMessage(vscode.l10n.t('Treewright: mcp.json is no plain JSON and was left as it is.'));
    return;
  }
  await vscode.workspace.fs.writeFile(file, Buffer.from(after, 'utf8'));
  await vscode.window.showTextDocument(file);
}

function serverOf(sidecar: Sidecar): McpServer | undefined {
  const found = sidecar.resolution;
  if (!found || sidecar.state !== 'ready') return undefined;
  const roots = (vscode.workspace.workspaceFolders ?? []).filter(folder => folder.uri.scheme === 'file').flatMap(folder => ['--root', folder.uri.fsPath]);
  const env = found.env.TREEWRIGHT_HOME ? { TREEWRIGHT_HOME: found.env.TREEWRIGHT_HOME } : {};
  return { command: found.command, args: [...ISOLATED, '-m', 'treewright', 'mcp', ...roots], env: env as Record<string, string> };
}

async function textOf(file: vscode.Uri): Promise<string> {
  try {
    return Buffer.from(await vscode.workspace.fs.readFile(file)).toString('utf8');
  } catch {
    return '';
  }
}
