// Runs inside the extension host, with the real interface of the editor. `run` throws when something is not as it should be.
import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { findingOf } from '../../../src/findings';
import { ModelBridge } from '../../../src/model';

async function eventually<T>(look: () => T | undefined | null | false | Promise<T | undefined | null | false>, what: string, ms = 40_000): Promise<T> {
  const end = Date.now() + ms;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited ${String(ms)} ms for ${what}`);
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}

const root = (): vscode.Uri => {
  const folder = vscode.workspace.workspaceFolders?.[0];
  assert.ok(folder);
  return folder.uri;
};
const never = (): vscode.CancellationToken => new vscode.CancellationTokenSource().token;

async function bridgeAnswers(): Promise<void> {
  const bridge = new ModelBridge();
  await eventually(async () => (await vscode.lm.selectChatModels({ vendor: 'rehearsal' })).length > 0, 'the rehearsal model');
  const ask = (text: string, more: { stop?: string[]; model?: string } = {}): ReturnType<ModelBridge['answer']> =>
    bridge.answer({ messages: [{ role: 'system', text: 'Be brief.' }, { role: 'user', text }], maxTokens: 100, model: 'rehearsal/one', ...more }, never());
  const plain = await ask('say one two three');
  assert.equal(plain.text, 'one two three');
  assert.equal(plain.finishReason, 'stop');
  assert.ok((plain.promptTokens ?? 0) > 0 && (plain.completionTokens ?? 0) > 0);
  assert.equal((await ask('hello')).text, 'heard 2: hello');
  assert.equal((await ask('say one END two', { stop: ['END'] })).text, 'one ');
  assert.equal((await ask('hello', { model: 'rehearsal/none' })).error?.code, 'NotFound');
  assert.equal((await ask(`say ${'word '.repeat(4000)}`)).error?.code, 'TooLong');
  const refused = await ask('fail now');
  assert.ok(refused.error?.code, JSON.stringify(refused));
  assert.equal(refused.text, '');
  const stopped = new vscode.CancellationTokenSource();
  stopped.cancel();
  const cancelled = await bridge.answer({ messages: [{ role: 'user', text: 'say x' }], maxTokens: 10, model: 'rehearsal/one' }, stopped.token);
  assert.ok(cancelled.error || cancelled.text === 'x');
}

async function auditMarksFiles(): Promise<void> {
  const file = vscode.Uri.joinPath(root(), 'shop', 'catalogue.py');
  await vscode.window.showTextDocument(file);
  void vscode.commands.executeCommand('treewright.auditFile', file);
  const found = await eventually(() => {
    const own = vscode.languages.getDiagnostics(file).filter(each => findingOf(each));
    return own.length ? own : null;
  }, 'diagnostics', 60_000);
  const [first] = found;
  assert.ok(first);
  const ref = findingOf(first);
  assert.ok(ref?.node && ref.run);
  const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>('vscode.executeCodeActionProvider', file, first.range);
  for (const title of [/^Fix:/, /Open the finding/, /Accept the risk/, /False alarm/, /Explore deeper/, /Copy as issue text/, /verified fix/]) {
    assert.ok(actions.some(each => title.test(each.title)), `${String(title)} in ${actions.map(each => each.title).join('; ')}`);
  }
  const links = await documentOf(ref);
  assert.ok(links.some(each => each.target?.scheme === 'file' && /^L\d+/.test(each.target.fragment)));
}

async function documentOf(ref: { run: string; node: string }): Promise<vscode.DocumentLink[]> {
  const uri = vscode.Uri.parse(`treewright:/run/${ref.run}/node/${ref.node}.md`);
  const document = await vscode.workspace.openTextDocument(uri);
  assert.equal(document.languageId, 'markdown');
  assert.match(document.getText(), new RegExp(`^# ${ref.node}\\n`));
  return vscode.commands.executeCommand<vscode.DocumentLink[]>('vscode.executeLinkProvider', uri);
}

async function toolsWork(): Promise<void> {
  const names = vscode.lm.tools.map(each => each.name).filter(name => name.startsWith('treewright_'));
  assert.deepEqual(names.sort(), ['treewright_audit', 'treewright_search', 'treewright_tree']);
  const call = async (name: string, input: object): Promise<string> => {
    const result = await vscode.lm.invokeTool(name, { input, toolInvocationToken: undefined });
    return result.content.map(part => (part instanceof vscode.LanguageModelTextPart ? part.value : '')).join('');
  };
  assert.match(await call('treewright_search', { text: 'request', states: ['advances'] }), /nodes match[\s\S]*- D\d+ \[CONFIRMED/);
  assert.match(await call('treewright_tree', { node: '' }), /Report/);
  await assert.rejects(call('treewright_audit', { path: '/etc' }), /not in a folder/);
}

async function commandsAreThere(): Promise<void> {
  const known = new Set(await vscode.commands.getCommands(true));
  const own = vscode.extensions.getExtension<unknown>('treewright.treewright')?.packageJSON as { contributes: { commands: { command: string }[] } };
  for (const { command } of own.contributes.commands) assert.ok(known.has(command), command);
}

export async function run(): Promise<void> {
  const steps = { commandsAreThere, auditMarksFiles, toolsWork, bridgeAnswers };
  await vscode.extensions.getExtension('treewright.treewright')?.activate();
  const failed: string[] = [];
  for (const [name, step] of Object.entries(steps)) {
    try {
      await step();
      console.log(`ok ${name}`);
    } catch (error) {
      failed.push(`${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    }
  }
  if (failed.length) throw new Error(failed.join('\n\n'));
}
