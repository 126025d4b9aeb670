// Starting runs and going on with them, shown with progress that can be cancelled.
import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';
import type { Sidecar } from './client';
import { Requests, type DeeperRequest, type GrowingResult, type ResumeRequest, type StartRequest } from './protocol';
import { log, reasonOf } from './log';

/** How a run that was begun here came to its end. */
export interface Ended {
  run: string;
  folder: string;
  message: string;
}

export class Growing {
  private readonly begun = new vscode.EventEmitter<GrowingResult>();
  readonly onDidBegin = this.begun.event;

  constructor(private readonly sidecar: Sidecar) {}

  start(request: StartRequest, title: string): Promise<Ended> {
    return this.show(title, token => this.sidecar.ask(Requests.start, { ...request, workDoneToken: token }));
  }

  resume(request: ResumeRequest, title: string): Promise<Ended> {
    return this.show(title, token => this.sidecar.ask(Requests.resume, { ...request, workDoneToken: token }));
  }

  deeper(request: DeeperRequest, title: string): Promise<Ended> {
    return this.show(title, token => this.sidecar.ask(Requests.deeper, { ...request, workDoneToken: token }));
  }

  /** Shows an operation until it ends, or the sidecar does. Settles with how it ended; throws when it did not begin. */
  private async show(title: string, begin: (token: string) => Promise<GrowingResult>): Promise<Ended> {
    const token = `treewright-${randomUUID()}`;
    const where = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
    return vscode.window.withProgress(where, async (progress, cancel) => {
      let ended: (message: string) => void = () => undefined;
      const end = new Promise<string>(resolve => (ended = resolve));
      const hearing = await this.sidecar.onProgress(token, value => {
        if (value.kind === 'report' && value.message) progress.report({ message: value.message });
        if (value.kind === 'end') ended(value.message ?? '');
      });
      const watching = this.sidecar.onDidChangeState(state => {
        if (state !== 'ready') ended(vscode.l10n.t('interrupted; resume it to go on'));
      });
      try {
        const result = await begin(token);
        for (const notice of result.notices) this.tell(notice);
        this.begun.fire(result);
        const stop = (): void => void this.stop(result.run);
        cancel.onCancellationRequested(stop);
        if (cancel.isCancellationRequested) stop();
        return { run: result.run, folder: result.folder, message: await end };
      } finally {
        hearing.dispose();
        watching.dispose();
      }
    });
  }

  private async stop(run: string): Promise<void> {
    try {
      await this.sidecar.ask(Requests.stop, { run });
    } catch (error) {
      log().warn(`the run could not be stopped: ${reasonOf(error)}`);
    }
  }

  private tell(notice: GrowingResult['notices'][number]): void {
    if (notice.severity === 'warning') void vscode.window.showWarningMessage(`Treewright: ${notice.message}`);
    else log().info(notice.message);
  }
}
