// The editor's own models (`vscode.lm`), asked on behalf of the sidecar.
import * as vscode from 'vscode';
import { cutAt, roughTokens, selectorOf } from './completion';
import { log, reasonOf } from './log';
import type { ModelCompleteRequest, ModelCompleteResult } from './protocol';

export class ModelBridge {
  /** Whether this editor has an interface to models at all; whether it has models is only known when asked. */
  available(): boolean {
    const lm = vscode.lm as typeof vscode.lm | undefined;
    return typeof lm?.selectChatModels === 'function';
  }

  /** The models that the editor offers now. */
  async models(): Promise<readonly vscode.LanguageModelChat[]> {
    return this.available() ? vscode.lm.selectChatModels({}) : [];
  }

  /** Answers the sidecar. Outcomes are values: an error of the model's is told by its code, never thrown. */
  async answer(asked: ModelCompleteRequest, cancel: vscode.CancellationToken): Promise<ModelCompleteResult> {
    try {
      const [model] = this.available() ? await vscode.lm.selectChatModels(selectorOf(asked.model ?? '')) : [];
      if (!model) return failed('NotFound', vscode.l10n.t('The editor offers no such model.'));
      return await complete(model, asked, cancel);
    } catch (error) {
      if (cancel.isCancellationRequested || error instanceof vscode.CancellationError) return failed('Cancelled', '');
      const code = error instanceof vscode.LanguageModelError ? error.code : 'Unknown';
      log().warn(`the editor's model: ${code} ${reasonOf(error)}`);
      return failed(code, reasonOf(error));
    }
  }
}

async function complete(model: vscode.LanguageModelChat, asked: ModelCompleteRequest, cancel: vscode.CancellationToken): Promise<ModelCompleteResult> {
  // These models know no system role: what stands there is said first, by the user.
  const messages = asked.messages.map(({ role, text }) =>
    role === 'assistant' ? vscode.LanguageModelChatMessage.Assistant(text) : vscode.LanguageModelChatMessage.User(text),
  );
  const counts = await Promise.all(messages.map(message => model.countTokens(message, cancel)));
  const promptTokens = counts.reduce((sum, each) => sum + each, 0);
  if (model.maxInputTokens > 0 && promptTokens > model.maxInputTokens) {
    return failed('TooLong', vscode.l10n.t('The prompt has {0} tokens; {1} reads {2}.', promptTokens, model.name, model.maxInputTokens));
  }
  const options: vscode.LanguageModelChatRequestOptions = {
    justification: vscode.l10n.t('Treewright grows a tree that you started.'),
    modelOptions: { max_tokens: asked.maxTokens, ...(typeof asked.temperature === 'number' ? { temperature: asked.temperature } : {}) },
  };
  const response = await model.sendRequest(messages, options, cancel);
  let text = '';
  for await (const piece of response.text) {
    text += piece;
    const cut = cutAt(text, asked.stop ?? []);
    if (cut !== null) return { text: cut, finishReason: 'stop', promptTokens, completionTokens: roughTokens(cut) };
  }
  const completionTokens = text ? await model.countTokens(text, cancel) : 0;
  return { text, finishReason: completionTokens >= asked.maxTokens ? 'length' : 'stop', promptTokens, completionTokens };
}

function failed(code: string, message: string): ModelCompleteResult {
  return { text: '', error: { code, message } };
}
