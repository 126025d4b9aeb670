// The sidecar: started, asked, started again when it broke, and its last words when it cannot be.
import { spawn, type ChildProcess } from 'node:child_process';
import { isDeepStrictEqual } from 'node:util';
import * as vscode from 'vscode';
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  ResponseError,
  RevealOutputChannelOn,
  WorkDoneProgress,
  type LanguageClientOptions,
  type RequestType,
  type WorkspaceEdit,
} from 'vscode-languageclient/node';
import { Coalesced } from './coalesce';
import { log, reasonOf } from './log';
import { ClientRequests, Notifications, Requests } from './protocol';
import type { ErrorData, FindingsChanged, ModelCompleteRequest, ModelCompleteResult, RunChange, SearchEnded } from './protocol';
import { NoPythonError, type PythonFinder, type Resolution } from './python';
import { forSidecar, readSettings, SECTION } from './settings';

export type SidecarState = 'stopped' | 'starting' | 'ready' | 'failed';

/** Why the sidecar does not run, for a person. */
export interface Failure {
  message: string;
  advice: string;
  lines: readonly string[];
}

/** The editor's side of `treewright/model/complete`. */
export type ModelAnswer = (asked: ModelCompleteRequest, cancel: vscode.CancellationToken) => Promise<ModelCompleteResult>;

/** An error of the sidecar's as it is told: `code` decides what to do, never the text. */
export class SidecarError extends Error {
  constructor(
    message: string,
    readonly code: string,
    readonly hint: string,
    readonly details: Record<string, unknown>,
  ) {
    super(message);
  }

  static is(error: unknown, code?: string): error is SidecarError {
    return error instanceof SidecarError && (code === undefined || error.code === code);
  }
}

const LAST_LINES = 12;
const READY_MS = 60_000;
const STOP_MS = 5_000;
/** So many restarts by ourselves in so much time; then the user is asked. */
const MOST_CRASHES = 3;
const CRASH_MS = 180_000;

export class Sidecar implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private process: ChildProcess | undefined;
  private launched: Resolution | undefined;
  private lines: string[] = [];
  private ended = '';
  private crashes: number[] = [];
  private force = false;
  private consent = false;
  private disposed = false;
  private current: SidecarState = 'stopped';
  private broken: Failure | undefined;
  private readonly round = new Coalesced(() => this.bringUp());
  private readonly states = new vscode.EventEmitter<SidecarState>();
  private readonly runs = new vscode.EventEmitter<readonly RunChange[]>();
  private readonly counts = new vscode.EventEmitter<FindingsChanged>();
  private readonly searches = new vscode.EventEmitter<SearchEnded>();

  readonly onDidChangeState = this.states.event;
  readonly onRunsChanged = this.runs.event;
  readonly onFindingsChanged = this.counts.event;
  readonly onSearchEnded = this.searches.event;

  constructor(
    private readonly finder: PythonFinder,
    private readonly model: { available(): boolean; answer: ModelAnswer },
  ) {}

  get state(): SidecarState {
    return this.current;
  }

  get failure(): Failure | undefined {
    return this.broken;
  }

  get resolution(): Resolution | undefined {
    return this.launched;
  }

  get pid(): number | undefined {
    return this.process?.pid;
  }

  /** Starts it, unless it runs as it should. `consent`: the user may be asked to have an environment made. */
  start(consent = true): Promise<void> {
    this.consent ||= consent;
    return this.round.request();
  }

  /** Starts it anew in any case. */
  restart(): Promise<void> {
    this.force = true;
    this.crashes = [];
    return this.start();
  }

  /** Asks the sidecar; waits for it while it starts. */
  async ask<P, R>(request: RequestType<P, R, ErrorData>, params: P, cancel?: vscode.CancellationToken): Promise<R> {
    const client = await this.ready();
    try {
      return await (cancel ? client.sendRequest<R>(request.method, params, cancel) : client.sendRequest<R>(request.method, params));
    } catch (error) {
      throw asSidecarError(error);
    }
  }

  /** Listens to the progress of one operation; the returned object ends that. */
  async onProgress(token: string, heard: (value: { kind: string; message?: string }) => void): Promise<vscode.Disposable> {
    const client = await this.ready();
    return client.onProgress(WorkDoneProgress.type, token, heard);
  }

  /** An edit as the editor takes it, from one as the language server protocol has it. */
  async asEdit(edit: Record<string, unknown>): Promise<vscode.WorkspaceEdit> {
    const client = await this.ready();
    return client.protocol2CodeConverter.asWorkspaceEdit(edit as unknown as WorkspaceEdit);
  }

  /** Tells the sidecar of settings, trust, or an editor's model that came or went. */
  async configure(): Promise<void> {
    if (this.current !== 'ready') return;
    const settings = forSidecar(readSettings(), this.model.available());
    await this.client?.sendNotification('workspace/didChangeConfiguration', { settings: { [SECTION]: settings } });
  }

  private async ready(): Promise<LanguageClient> {
    if (this.current === 'stopped') void this.start();
    if (this.current === 'stopped' || this.current === 'starting') await this.settled();
    if (this.current === 'ready' && this.client) return this.client;
    const { message, advice } = this.broken ?? { message: vscode.l10n.t('The sidecar does not run.'), advice: '' };
    throw new SidecarError(message, 'sidecar_not_running', advice, {});
  }

  private settled(): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        listening.dispose();
        reject(new SidecarError(vscode.l10n.t('The sidecar has not answered for a minute.'), 'sidecar_silent', '', {}));
      }, READY_MS);
      const listening = this.states.event(state => {
        if (state !== 'ready' && state !== 'failed') return;
        clearTimeout(timer);
        listening.dispose();
        resolve();
      });
    });
  }

  private async bringUp(): Promise<void> {
    if (this.disposed) return;
    const settings = readSettings();
    const force = this.force;
    const consent = this.consent;
    this.force = false;
    this.consent = false;
    if (this.current !== 'ready') this.become('starting');
    try {
      const wanted = await this.finder.resolve(settings, consent);
      if (!force && this.current === 'ready' && isDeepStrictEqual(wanted, this.launched)) return;
      await this.end();
      this.become('starting');
      await this.launch(wanted);
      this.broken = undefined;
      this.become('ready');
    } catch (error) {
      await this.end();
      this.fail(error);
    }
  }

  private async launch(wanted: Resolution): Promise<void> {
    this.launched = wanted;
    this.lines = [];
    this.ended = '';
    log().info(`starting the sidecar: ${wanted.command} ${wanted.args.join(' ')} (${wanted.origin})`);
    const client = new LanguageClient('treewright', 'Treewright', () => Promise.resolve(this.spawn(wanted)), this.options());
    this.client = client;
    client.onNotification(Notifications.runChanged, told => this.runs.fire(told.changes));
    client.onNotification(Notifications.findingsChanged, told => this.counts.fire(told));
    client.onNotification(Notifications.searchEnded, told => this.searches.fire(told));
    client.onRequest(ClientRequests.modelComplete, (asked, cancel) => this.model.answer(asked, cancel));
    await client.start();
    await client.sendRequest(Requests.runs, { limit: 1 }); // what comes first loads the rest; after this it is quick
  }

  private spawn(wanted: Resolution): ChildProcess {
    const child = spawn(wanted.command, wanted.args, { env: wanted.env, stdio: ['pipe', 'pipe', 'pipe'], windowsHide: true });
    this.process = child;
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.lines.push(...text.split(/\r?\n/).filter(line => line.trim()));
      this.lines.splice(0, Math.max(0, this.lines.length - LAST_LINES));
    });
    child.stdin.on('error', () => undefined); // it is gone; `exit` tells why
    child.once('error', error => (this.ended = reasonOf(error)));
    child.once('exit', (code, signal) => {
      this.ended ||= signal ? vscode.l10n.t('it was ended by {0}', signal) : vscode.l10n.t('it ended with code {0}', String(code));
      log().info(`the sidecar is gone: ${this.ended}`);
    });
    return child;
  }

  private options(): LanguageClientOptions {
    return {
      documentSelector: [{ scheme: 'file' }, { scheme: 'treewright' }],
      outputChannel: log(),
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: forSidecar(readSettings(), this.model.available()),
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => {
          this.closed();
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
    };
  }

  /** The connection broke by itself: start again, unless that happens all the time. */
  private closed(): void {
    if (this.disposed || this.current !== 'ready') return;
    const now = Date.now();
    this.crashes = [...this.crashes.filter(at => now - at < CRASH_MS), now];
    this.force = true;
    if (this.crashes.length <= MOST_CRASHES) {
      log().warn('the sidecar broke off and is started again');
      this.become('starting');
      void this.start(false);
    } else {
      this.fail(new Error(vscode.l10n.t('The sidecar broke off {0} times in a few minutes.', this.crashes.length)));
    }
  }

  private fail(error: unknown): void {
    if (error instanceof NoPythonError) {
      this.broken = { message: error.message, advice: error.advice, lines: error.lines };
    } else {
      const why = this.ended || reasonOf(error);
      this.broken = {
        message: vscode.l10n.t('The sidecar does not run: {0}', why),
        advice: vscode.l10n.t('Look at the log, then restart the sidecar.'),
        lines: [...this.lines],
      };
    }
    log().error([this.broken.message, ...this.broken.lines, this.broken.advice].join('\n'));
    this.become('failed');
  }

  private async end(): Promise<void> {
    const client = this.client;
    const child = this.process;
    this.client = undefined;
    this.process = undefined;
    try {
      if (client?.needsStop()) await client.stop(STOP_MS);
    } catch (error) {
      log().debug(`stopping: ${reasonOf(error)}`); // it was not running any more
    }
    await client?.dispose().catch(() => undefined);
    if (child && child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
  }

  private become(state: SidecarState): void {
    if (state === this.current) return;
    this.current = state;
    this.states.fire(state);
  }

  /** Ends it for good; runs that it drives stop where they are and can be resumed. */
  async close(): Promise<void> {
    this.disposed = true;
    await this.end();
    this.dispose();
  }

  dispose(): void {
    this.disposed = true;
    this.states.dispose();
    this.runs.dispose();
    this.counts.dispose();
    this.searches.dispose();
  }
}

function asSidecarError(error: unknown): unknown {
  if (!(error instanceof ResponseError)) return error;
  const data = error.data as Partial<ErrorData> | undefined;
  return new SidecarError(error.message, data?.code ?? `rpc_${String(error.code)}`, data?.hint ?? '', data?.details ?? {});
}
