// Which model is asked: the editor's, one found on this machine, a configured endpoint, or none; and the keys of endpoints.
import * as vscode from 'vscode';
import type { Sidecar } from './client';
import type { ModelBridge } from './model';
import { Requests } from './protocol';
import { readSettings, SECTION } from './settings';

const KEY = 'treewright.key.';
const NAMES = 'treewright.keyNames';

interface Choice extends vscode.QuickPickItem {
  model?: string;
  act?: 'discover' | 'key';
}

export class Choosing {
  constructor(
    private readonly sidecar: Sidecar,
    private readonly bridge: ModelBridge,
    private readonly secrets: vscode.SecretStorage,
    private readonly memory: vscode.Memento,
  ) {}

  /** Lets the user choose; nothing on the network is asked before the user says so. */
  async choose(): Promise<boolean> {
    let discover = false;
    for (;;) {
      const chosen = await vscode.window.showQuickPick(this.choices(discover), {
        title: vscode.l10n.t('Which model is asked?'),
        placeHolder: vscode.l10n.t('Audits need none'),
        matchOnDescription: true,
      });
      if (!chosen) return false;
      if (chosen.act === 'key') {
        await this.storeKey();
        return false;
      }
      if (chosen.act === 'discover') {
        discover = true;
        continue;
      }
      await vscode.workspace.getConfiguration(SECTION).update('model', chosen.model, vscode.ConfigurationTarget.Global);
      await this.sidecar.configure();
      return Boolean(chosen.model);
    }
  }

  /** Whether there is a model to ask; the user is asked to choose one otherwise. */
  async need(): Promise<boolean> {
    if (readSettings().model) return true;
    const { default: standard } = await this.sidecar.ask(Requests.models, {});
    if (standard && standard !== 'static') return true;
    const go = vscode.l10n.t('Choose a model');
    const said = vscode.l10n.t('This needs a language model. Audits do not.');
    return (await vscode.window.showInformationMessage(`Treewright: ${said}`, go)) === go && (await this.choose());
  }

  private async choices(discover: boolean): Promise<Choice[]> {
    const now = readSettings().model;
    const [{ models }, own] = await Promise.all([this.sidecar.ask(Requests.models, { discover }), this.bridge.models()]);
    const mark = (model: string): string => (model === now ? '$(check) ' : '');
    const editor = own.map(each => ({
      label: `${mark(`editor:${each.vendor}/${each.id}`)}${each.name}`,
      description: vscode.l10n.t('the editor\'s own, by {0}', each.vendor),
      model: `editor:${each.vendor}/${each.id}`,
    }));
    const others = models
      .filter(each => each.kind !== 'editor' && each.kind !== 'static')
      .map(each => ({ label: mark(each.name) + each.name, description: each.detail, model: each.name }));
    const separator = (label: string): Choice => ({ label, kind: vscode.QuickPickItemKind.Separator });
    return [
      { label: `${mark('')}${vscode.l10n.t('None, or what the configuration says')}`, description: vscode.l10n.t('offline audits'), model: '' },
      ...(editor.length ? [separator(vscode.l10n.t('Editor')), ...editor] : []),
      ...(others.length ? [separator(vscode.l10n.t('Endpoints')), ...others] : []),
      separator(''),
      ...(discover ? [] : [{ label: vscode.l10n.t('Look for model servers on this machine…'), description: vscode.l10n.t('asks the usual local ports'), act: 'discover' as const }]),
      { label: vscode.l10n.t('Store an endpoint\'s key…'), act: 'key' as const },
    ];
  }

  // keys: in the editor's secret storage, handed to the sidecar's memory, never written anywhere else

  async storeKey(): Promise<void> {
    const { models } = await this.sidecar.ask(Requests.models, {});
    const endpoints = models.filter(each => !['editor', 'static', 'local', 'scripted'].includes(each.kind));
    const items = [...endpoints.map(each => ({ label: each.name, description: each.detail })), { label: vscode.l10n.t('Another…'), description: '' }];
    const chosen = await vscode.window.showQuickPick(items, { title: vscode.l10n.t('Whose key?') });
    if (!chosen) return;
    const name = endpoints.some(each => each.name === chosen.label)
      ? chosen.label
      : await vscode.window.showInputBox({ title: vscode.l10n.t('Name of the endpoint, as in config.toml'), ignoreFocusOut: true });
    if (!name?.trim()) return;
    const key = await vscode.window.showInputBox({ title: vscode.l10n.t('Key of {0}', name), password: true, ignoreFocusOut: true });
    if (!key?.trim()) return;
    await this.secrets.store(KEY + name, key.trim());
    await this.memory.update(NAMES, [...new Set([...this.names(), name])]);
    await this.sidecar.ask(Requests.keys, { keys: { [name]: key.trim() } });
    void vscode.window.showInformationMessage(vscode.l10n.t('Treewright: the key is in the editor\'s secret storage.'));
  }

  async forgetKey(): Promise<void> {
    const name = await vscode.window.showQuickPick(this.names(), { title: vscode.l10n.t('Forget whose key?') });
    if (!name) return;
    await this.secrets.delete(KEY + name);
    await this.memory.update(NAMES, this.names().filter(each => each !== name));
    await this.sidecar.ask(Requests.keys, { keys: { [name]: '' } });
  }

  /** Hands the keys to a sidecar that has just started. */
  async handKeys(): Promise<void> {
    const keys: Record<string, string> = {};
    for (const name of this.names()) {
      const key = await this.secrets.get(KEY + name);
      if (key) keys[name] = key;
    }
    if (Object.keys(keys).length) await this.sidecar.ask(Requests.keys, { keys });
  }

  private names(): string[] {
    return this.memory.get<string[]>(NAMES, []);
  }
}
