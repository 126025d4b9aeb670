// The editor's own models (`vscode.lm`), asked on behalf of the sidecar.
import * as vscode from 'vscode';
import type { ModelCompleteRequest, ModelCompleteResult, ModelMessage } from './protocol';

export class ModelBridge {
  available(): boolean {
    return typeof vscode.lm?.selectChatModels === 'function';
  }

  async answer(asked: ModelCompleteRequest, cancel: vscode.CancellationToken): Promise<ModelCompleteResult> {
    return { error: { code: 'NotFound', message: String(asked.maxTokens) + String(cancel.isCancellationRequested) } };
  }
}

export type { ModelMessage };
