// Activation and wiring only.
import * as vscode from 'vscode';
import { Sidecar } from './client';
import { RunCommands } from './commands';
import { Documents, SCHEME } from './documents';
import { Choosing } from './choosing';
import { Findings } from './findings';
import { Growing } from './growing';
import { choosePython, copyAbout, showDecisions } from './housekeeping';
import { closeLog, log, reasonOf } from './log';
import { Maps } from './map';
import { addToWorkspace, registerMcp } from './mcp';
import { ModelBridge } from './model';
import { newPreset, validatePreset } from './presets';
import { onInterpreterChosen, PythonFinder } from './python';
import { Reader } from './reader';
import { RunStatus } from './run';
import { Searching } from './searching';
import { SECTION } from './settings';
import { Starting } from './starting';
import { StatusItem } from './status';
import { tellError, tellFailure } from './telling';
import { chain, deliberate } from './terminal';
import { targetOf } from './arguments';
import { registerTools } from './tools';
import { Trees } from './trees';

let running: Sidecar | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const finder = new PythonFinder(context.extensionUri, context.globalStorageUri);
  const bridge = new ModelBridge();
  const sidecar = new Sidecar(finder, bridge);
  running = sidecar;
  const trees = new Trees(sidecar);
  const status = new RunStatus(sidecar);
  const growing = new Growing(sidecar);
  const runs = new RunCommands(sidecar, trees, status, growing);
  const choosing = new Choosing(sidecar, bridge, context.secrets, context.globalState);
  const starting = new Starting(sidecar, growing, () => choosing.need());
  const searching = new Searching(sidecar);
  const findings = new Findings(context.extensionUri, sidecar, growing, searching);
  const documents = new Documents(sidecar);
  const item = new StatusItem(sidecar);
  const maps = new Maps(context.extensionUri, sidecar);
  const reader = new Reader(context.extensionUri);

  const on = (name: string, act: (...given: unknown[]) => unknown): vscode.Disposable =>
    vscode.commands.registerCommand(`${SECTION}.${name}`, async (...given: unknown[]) => {
      try {
        return await act(...given);
      } catch (error) {
        await tellError(error);
        return undefined;
      }
    });
  context.subscriptions.push(
    trees, status, findings, documents, item, maps, reader, searching,
    on('audit', () => starting.audit()),
    on('auditFile', given => starting.auditFile(given)),
    on('auditFolder', given => starting.auditFolder(given)),
    on('auditChanges', () => starting.auditChanges()),
    on('auditWorkspace', () => starting.auditWorkspace()),
    on('brainstorm', () => starting.brainstorm()),
    on('attack', given => starting.attack(given)),
    on('design', () => starting.design()),
    on('searchFunction', () => searching.atCursor()),
    on('chain', () => chain(sidecar)),
    on('deliberate', () => deliberate(sidecar)),
    on('openNode', given => runs.openNode(given)),
    on('report', given => runs.report(given)),
    on('showCode', given => runs.showCode(given)),
    on('resume', given => runs.resume(given)),
    on('stop', given => runs.stop(given)),
    on('compare', (given, all) => runs.compare(given, all)),
    on('export', given => runs.exportRun(given)),
    on('deeper', given => deeper(runs, findings, given)),
    on('filter', () => runs.filter()),
    on('clearFilter', () => trees.setFilter({})),
    on('sort', () => runs.sort()),
    on('refresh', () => trees.refresh()),
    on('showMore', given => runs.showMore(given)),
    on('openMap', async given => {
      const run = await runs.run(given);
      if (run) maps.show(run);
    }),
    on('saveMap', given => maps.save(given === 'png' ? 'png' : 'svg')),
    on('openRendered', (given, how) => {
      const uri = given instanceof vscode.Uri ? given : vscode.window.activeTextEditor?.document.uri;
      if (uri?.scheme === SCHEME) reader.show(uri, (how as { beside?: boolean } | undefined)?.beside === true);
    }),
    on('openSource', () => reader.showSource()),
    on('newPreset', () => newPreset(sidecar)),
    on('validatePreset', given => validatePreset(sidecar, given)),
    on('chooseModel', () => choosing.choose()),
    on('storeKey', () => choosing.storeKey()),
    on('forgetKey', () => choosing.forgetKey()),
    on('decisions', () => showDecisions(sidecar)),
    on('addMcp', () => addToWorkspace(sidecar)),
    on('choosePython', () => choosePython(sidecar)),
    on('about', () => copyAbout(sidecar)),
    on('restart', () => sidecar.restart()),
    on('showLog', () => log().show()),
    trees.view.onDidChangeSelection(({ selection }) => {
      const target = targetOf(selection[0]);
      if (target) void status.choose(target.run);
    }),
    growing.onDidBegin(result => void status.choose(result.run)),
    sidecar.onDidChangeState(state => {
      void vscode.commands.executeCommand('setContext', 'treewright.state', state);
      if (state === 'failed' && sidecar.failure) void tellFailure(sidecar.failure);
      if (state === 'ready') choosing.handKeys().catch((error: unknown) => log().warn(`keys: ${reasonOf(error)}`));
    }),
    vscode.workspace.onDidChangeConfiguration(change => {
      if (change.affectsConfiguration('treewright.python') || change.affectsConfiguration('treewright.home')) void sidecar.start();
      else if (change.affectsConfiguration(SECTION)) void sidecar.configure();
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void sidecar.start().then(() => sidecar.configure())),
    onInterpreterChosen(() => void sidecar.start(false)),
    ...registerTools(sidecar, growing),
  );
  const registered = registerMcp(sidecar, context.subscriptions);
  log().debug(registered ? 'the MCP server is registered with the editor' : 'the editor has no interface for MCP servers');
  void sidecar.start();
}

function deeper(runs: RunCommands, findings: Findings, given: unknown): Promise<void> {
  const target = runs.target(given);
  return target?.node ? findings.deeper(target) : Promise.resolve();
}

export async function deactivate(): Promise<void> {
  await running?.close();
  closeLog();
}
