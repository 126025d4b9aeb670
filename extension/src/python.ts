// Finds the Python that the sidecar runs on, or makes an environment for it with the user's consent.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs/promises';
import * as os from 'node:os';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { ISOLATED, isRecentEnough, isWithin, readProbe, sidecarEnvironment, usualCommands, type Interpreter } from './interpreter';
import { log, reasonOf } from './log';
import type { Settings } from './settings';

const PROBE_MS = 20_000;

/** What would be launched. Compared as a value: the sidecar is only started again when this changes. */
export interface Resolution {
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  /** `installed`: found in the interpreter itself; `bundled`: in the environment made by us. */
  origin: 'installed' | 'bundled';
  python: string;
}

/** No Python will do. `advice` says what helps; `lines` are the last words of what was tried. */
export class NoPythonError extends Error {
  constructor(
    message: string,
    readonly advice: string,
    readonly lines: readonly string[] = [],
  ) {
    super(message);
  }
}

/** What the extension carries: the sidecar's wheel and its hash-pinned requirements, perhaps all wheels. */
interface Bundle {
  wheel: string;
  requirements: string;
  wheels: string | undefined;
  digest: string;
}

export class PythonFinder {
  constructor(
    private readonly extension: vscode.Uri,
    private readonly storage: vscode.Uri,
  ) {}

  /**
   * Returns what to launch.
   * `consent`: may ask the user to have an environment made; without it a missing one is an error.
   */
  async resolve(settings: Settings, consent: boolean): Promise<Resolution> {
    if (settings.python) return this.fromSetting(settings);
    const found = await this.usable();
    const ready = found.find(each => each.sidecar === this.version());
    if (ready) return this.installed(ready, settings);
    return this.bundled(found, settings, consent);
  }

  private async fromSetting(settings: Settings): Promise<Resolution> {
    const named = expandHome(settings.python);
    const [found, said] = await this.probe([named]);
    const advice = vscode.l10n.t('Set "treewright.python" to a Python 3.11 or newer, or clear it.');
    if (!found) throw new NoPythonError(vscode.l10n.t('"treewright.python" names {0}, which does not start.', named), advice, said);
    if (!isRecentEnough(found)) {
      throw new NoPythonError(vscode.l10n.t('"treewright.python" names Python {0}; 3.11 or newer is needed.', found.version.join('.')), advice);
    }
    if (found.sidecar === this.version()) return this.installed(found, settings);
    return this.bundled([found], settings, true);
  }

  /** Interpreters that are recent enough, the preferred first. */
  private async usable(): Promise<Interpreter[]> {
    const commands = [...(await selectedInterpreter()), ...usualCommands(process.platform)];
    const forbidden = vscode.workspace.isTrusted ? [] : (vscode.workspace.workspaceFolders ?? []).map(folder => folder.uri.fsPath);
    const found: Interpreter[] = [];
    for (const command of commands) {
      if (isWithin(path.resolve(command[0] ?? ''), forbidden) && path.isAbsolute(command[0] ?? '')) continue;
      const [each] = await this.probe(command);
      if (!each || !isRecentEnough(each) || found.some(known => known.executable === each.executable)) continue;
      if (isWithin(each.executable, forbidden)) continue;
      found.push(each);
      if (each.sidecar === this.version()) break;
    }
    return found;
  }

  private async probe(command: readonly string[]): Promise<[Interpreter | null, string[]]> {
    const [program = '', ...first] = command;
    const script = vscode.Uri.joinPath(this.extension, 'python', 'probe.py').fsPath;
    const lines: string[] = [];
    try {
      const output = await run(program, [...first, '-I', script], process.env, line => lines.push(line), PROBE_MS);
      return [readProbe(command, output), lines];
    } catch (error) {
      return [null, [...lines, reasonOf(error)]];
    }
  }

  private installed(found: Interpreter, settings: Settings): Resolution {
    return this.launch(found.executable, 'installed', settings);
  }

  private launch(python: string, origin: Resolution['origin'], settings: Settings): Resolution {
    const home = settings.home ? expandHome(settings.home) : '';
    const env = sidecarEnvironment(process.env, home) as Record<string, string>;
    return { command: python, args: [...ISOLATED, '-m', 'treewright', 'lsp'], env, origin, python };
  }

  private async bundled(bases: Interpreter[], settings: Settings, consent: boolean): Promise<Resolution> {
    const bundle = await this.bundle();
    const base = bases.find(each => each.venv) ?? bases[0];
    if (!base) {
      throw new NoPythonError(
        vscode.l10n.t('No Python 3.11 or newer was found.'),
        vscode.l10n.t('Install one, or name one with the setting "treewright.python".'),
      );
    }
    if (!bundle) {
      throw new NoPythonError(
        vscode.l10n.t('Treewright is not installed in {0}, and this build of the extension does not carry it.', base.executable),
        vscode.l10n.t('Run: {0}', `${base.executable} -m pip install treewright`),
        base.why && base.why !== 'not installed' ? [base.why] : [],
      );
    }
    const target = path.join(this.storage.fsPath, 'sidecar', `${bundle.digest}-${base.version.slice(0, 2).join('.')}`);
    const python = path.join(target, process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python');
    if (!(await isFile(path.join(target, 'complete.json'))) || !(await isFile(python))) {
      if (!base.venv) {
        throw new NoPythonError(
          vscode.l10n.t('{0} cannot make environments.', base.executable),
          vscode.l10n.t('On Debian and Ubuntu: apt-get install python3-venv'),
        );
      }
      if (!consent || !(await this.consents(base, bundle))) {
        throw new NoPythonError(
          vscode.l10n.t('The environment of the sidecar has not been set up.'),
          vscode.l10n.t('Restart the sidecar to set it up, or name a Python that has Treewright with "treewright.python".'),
        );
      }
      await this.provision(base, bundle, target);
    }
    return this.launch(python, 'bundled', settings);
  }

  private async consents(base: Interpreter, bundle: Bundle): Promise<boolean> {
    const go = vscode.l10n.t('Set up');
    const detail = bundle.wheels
      ? vscode.l10n.t('The packages come with the extension; nothing is downloaded.')
      : vscode.l10n.t('Some 40 MB of packages are downloaded from the Python package index, each held to its hash.');
    const asked = vscode.l10n.t(
      'Treewright runs in a Python environment of its own. Set it up now with Python {0}? {1}',
      base.version.join('.'),
      detail,
    );
    return (await vscode.window.showInformationMessage(asked, go, vscode.l10n.t('Not now'))) === go;
  }

  private async provision(base: Interpreter, bundle: Bundle, target: string): Promise<void> {
    const script = vscode.Uri.joinPath(this.extension, 'python', 'provision.py').fsPath;
    const [program = '', ...first] = base.command;
    const args = [...first, ...ISOLATED, script, '--target', target, '--requirements', bundle.requirements, '--wheel', bundle.wheel];
    if (bundle.wheels) args.push('--wheels', bundle.wheels);
    const titles: Record<string, string> = {
      environment: vscode.l10n.t('making the environment'),
      packages: vscode.l10n.t('installing packages'),
      sidecar: vscode.l10n.t('installing the sidecar'),
      check: vscode.l10n.t('checking it'),
    };
    const shown = { location: vscode.ProgressLocation.Notification, title: vscode.l10n.t('Setting up Treewright'), cancellable: true };
    await vscode.window.withProgress(shown, async (progress, cancel) => {
      const lines: string[] = [];
      try {
        await run(program, args, process.env, line => {
          log().info(`[set-up] ${line}`);
          lines.push(line);
        }, undefined, cancel, line => {
          const step = stepOf(line);
          if (step) progress.report({ message: titles[step] ?? step, increment: 25 });
        });
      } catch (error) {
        if (cancel.isCancellationRequested) {
          throw new NoPythonError(vscode.l10n.t('Setting up was cancelled.'), vscode.l10n.t('Restart the sidecar to begin anew.'));
        }
        const advice = vscode.l10n.t('Look at the log; restart the sidecar to try again.');
        throw new NoPythonError(vscode.l10n.t('The environment could not be set up: {0}', reasonOf(error)), advice, lines.slice(-12));
      }
    });
  }

  private async bundle(): Promise<Bundle | undefined> {
    const folder = vscode.Uri.joinPath(this.extension, 'sidecar').fsPath;
    let names: string[];
    try {
      names = await fs.readdir(folder);
    } catch {
      return undefined;
    }
    const wheel = names.find(name => name.endsWith('.whl'));
    if (!wheel || !names.includes('requirements.txt')) return undefined;
    const requirements = path.join(folder, 'requirements.txt');
    const total = createHash('sha256');
    total.update(wheel).update(await fs.readFile(path.join(folder, wheel))).update(await fs.readFile(requirements));
    const wheels = names.includes('wheels') ? path.join(folder, 'wheels') : undefined;
    return { wheel: path.join(folder, wheel), requirements, wheels, digest: total.digest('hex').slice(0, 16) };
  }

  private version(): string {
    const own = vscode.extensions.getExtension<unknown>('treewright.treewright')?.packageJSON as { version?: string } | undefined;
    return own?.version ?? '';
  }
}

/** The interpreter chosen in the Python extension, where that is installed; it is never needed. */
async function selectedInterpreter(): Promise<string[][]> {
  const extension = vscode.extensions.getExtension<PythonApi>('ms-python.python');
  if (!extension) return [];
  try {
    const api = await extension.activate();
    const chosen = api.environments?.getActiveEnvironmentPath(vscode.workspace.workspaceFolders?.[0]?.uri);
    const known = chosen && (await api.environments?.resolveEnvironment(chosen));
    const executable = known?.executable?.uri?.fsPath ?? chosen?.path;
    return executable ? [[executable]] : [];
  } catch (error) {
    log().warn(`the Python extension did not name its interpreter: ${reasonOf(error)}`);
    return [];
  }
}

/** As much of the Python extension's interface as is used. */
interface PythonApi {
  environments?: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { path: string };
    resolveEnvironment(environment: { path: string }): Promise<{ executable?: { uri?: vscode.Uri } } | undefined>;
    onDidChangeActiveEnvironmentPath?: vscode.Event<unknown>;
  };
}

/** Calls back when another interpreter is chosen in the Python extension. */
export function onInterpreterChosen(heard: () => void): vscode.Disposable {
  const extension = vscode.extensions.getExtension<PythonApi>('ms-python.python');
  const event = extension?.isActive ? extension.exports.environments?.onDidChangeActiveEnvironmentPath : undefined;
  return event ? event(heard) : new vscode.Disposable(() => undefined);
}

function expandHome(text: string): string {
  return text === '~' || text.startsWith('~/') ? path.join(os.homedir(), text.slice(1)) : text;
}

async function isFile(file: string): Promise<boolean> {
  try {
    return (await fs.stat(file)).isFile();
  } catch {
    return false;
  }
}

function stepOf(line: string): string {
  try {
    const { step } = JSON.parse(line) as { step?: unknown };
    return typeof step === 'string' ? step : '';
  } catch {
    return '';
  }
}

/** Runs a program without a shell and returns its output; each line of stderr is told as it comes. */
function run(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  said: (line: string) => void,
  mostMs?: number,
  cancel?: vscode.CancellationToken,
  told?: (line: string) => void,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env: sidecarEnvironment(env, ''), stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true, ...(mostMs ? { timeout: mostMs } : {}) });
    let output = '';
    const lines = { out: '', err: '' };
    const each = (which: 'out' | 'err', text: string, heard: (line: string) => void): void => {
      const parts = (lines[which] + text).split(/\r?\n/);
      lines[which] = parts.pop() ?? '';
      for (const line of parts) if (line.trim()) heard(line);
    };
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (told) each('out', text, told);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => each('err', text, said));
    const stop = cancel?.onCancellationRequested(() => child.kill());
    child.once('error', error => {
      stop?.dispose();
      reject(error);
    });
    child.once('close', (code, signal) => {
      stop?.dispose();
      if (lines.err.trim()) said(lines.err);
      if (code === 0) resolve(output);
      else reject(new Error(signal ? `${program} was ended by ${signal}` : `${program} ended with ${String(code)}`));
    });
  });
}
