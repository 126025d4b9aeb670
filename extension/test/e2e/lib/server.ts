// One VS Code server with a data folder, an extensions folder, a home and a workspace of its own.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { eventually } from './waiting';

export interface ServerOptions {
  /** Settings of the user, besides the quiet ones. */
  settings?: Record<string, unknown>;
  /** Variables of the server, and so of the extension and the sidecar. */
  env?: Record<string, string>;
  /** Ask whether the workspace is trusted; otherwise it is. */
  askTrust?: boolean;
  /** Do not name the test's Python in the settings. */
  noPython?: boolean;
  /** Start with every extension that VS Code brings, as a user does; otherwise with the few that matter here. */
  allBuiltins?: boolean;
  vsix?: string;
  args?: string[];
  more?: string[];
}

const QUIET = {
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
  'workbench.enableExperiments': false,
  'workbench.reduceMotion': 'on',
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'extensions.autoUpdate': false,
  'extensions.autoCheckUpdates': false,
  'extensions.ignoreRecommendations': true,
  'telemetry.telemetryLevel': 'off',
  'git.enabled': false,
  'git.openRepositoryInParentFolders': 'never',
  'github.gitAuthentication': false,
  'chat.disableAIFeatures': true,
  'editor.minimap.enabled': false,
  'editor.accessibilitySupport': 'off',
  'treewright.openRendered': false, // most tests look at the text
  'files.autoSave': 'off',
  'files.hotExit': 'off',
  'window.confirmBeforeClose': 'never',
};

function needed(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run the tests with test/run.mjs`);
  return value;
}

export const fixture = {
  python: () => needed('TREEWRIGHT_TEST_PYTHON'),
  root: () => needed('TREEWRIGHT_TEST_ROOT'),
  vsix: () => needed('TREEWRIGHT_TEST_VSIX'),
  shop: () => path.join(needed('TREEWRIGHT_TEST_ROOT'), 'docs', 'examples', 'flawed-shop'),
};

/** A fresh folder with a workspace in it: a copy of a project, or what is written into it. */
export function freshFolder(copyOf?: string, files: Record<string, string> = {}): string {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'tw-e2e-'));
  const workspace = path.join(root, 'workspace');
  fs.mkdirSync(workspace);
  if (copyOf) fs.cpSync(copyOf, workspace, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(workspace, name)), { recursive: true });
    fs.writeFileSync(path.join(workspace, name), text);
  }
  return root;
}

export class Server {
  port = 0;
  private child: ChildProcess | undefined;
  private output = '';
  private readonly folder: string;

  constructor(
    readonly root: string,
    private readonly options: ServerOptions = {},
  ) {
    this.folder = needed('TREEWRIGHT_TEST_VSCODE');
  }

  get workspace(): string {
    return path.join(this.root, 'workspace');
  }

  /** Where the sidecar keeps its runs. */
  get home(): string {
    return path.join(this.root, 'home', 'treewright');
  }

  get url(): string {
    return `http://127.0.0.1:${String(this.port)}/?folder=${encodeURI(this.workspace)}`;
  }

  /** Installs the extension (and others that are named) as a user does. */
  install(...others: string[]): void {
    const vsix = [this.options.vsix ?? fixture.vsix(), ...others].flatMap(file => ['--install-extension', file]);
    execFileSync(this.node, [this.main, ...this.common(), ...vsix, '--force'], { stdio: 'pipe', env: this.environment() });
  }

  async start(): Promise<this> {
    this.writeSettings(this.options.settings ?? {});
    const trust = this.options.askTrust ? [] : ['--disable-workspace-trust'];
    const builtins = this.options.allBuiltins ? [] : ['--builtin-extensions-dir', needed('TREEWRIGHT_TEST_BUILTINS')];
    const args = [this.main, ...this.common(), ...builtins, '--host', '127.0.0.1', '--port', '0', '--without-connection-token', '--logsPath', this.logs,
      '--disable-telemetry', '--disable-update-check', '--disable-getting-started-override', ...trust, ...(this.options.args ?? [])];
    const child = spawn(this.node, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true, env: this.environment() });
    this.child = child;
    const take = (data: Buffer): void => void (this.output += data.toString());
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    const heard = await eventually(() => /agent listening on (\d+)/.exec(this.output) ?? (child.exitCode !== null && Promise.reject(new Error(this.output))),
      () => `the server to listen; it said:\n${this.output}`, 60_000);
    this.port = Number((heard as RegExpExecArray)[1]);
    return this;
  }

  /** Writes the settings of the user and of the machine: newer versions look in one, older in the other. */
  writeSettings(settings: Record<string, unknown>): void {
    const python = this.options.noPython ? {} : { 'treewright.python': fixture.python() };
    for (const kind of ['User', 'Machine']) {
      const folder = path.join(this.data, 'data', kind);
      fs.mkdirSync(folder, { recursive: true });
      fs.writeFileSync(path.join(folder, 'settings.json'), JSON.stringify({ ...QUIET, ...python, ...settings }, null, 2));
    }
  }

  /** The text of all logs whose path fits. */
  log(fits = /./): string {
    if (!fs.existsSync(this.logs)) return '';
    const names = fs.readdirSync(this.logs, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.log') && fits.test(name));
    return names.map(name => `== ${name}\n${fs.readFileSync(path.join(this.logs, name), 'utf8')}`).join('\n');
  }

  /** Process ids of sidecars of this server. */
  sidecars(): number[] {
    const out = execFileSync('ps', ['-eo', 'pid=,pgid=,args='], { encoding: 'utf8' });
    return out.split('\n').flatMap(line => {
      const found = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line);
      return found && Number(found[2]) === this.child?.pid && found[3]?.includes('-m treewright lsp') ? [Number(found[1])] : [];
    });
  }

  /** Ends the server and all that it started, which share its process group, and removes the folder. */
  async stop(): Promise<void> {
    const pid = this.child?.pid;
    if (pid !== undefined) {
      for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
        if (!lives(pid)) break;
        process.kill(-pid, signal);
        await eventually(() => !lives(pid), 'the server to end', 4000).catch(() => undefined);
      }
    }
    fs.rmSync(this.root, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }

  private get node(): string {
    return path.join(this.folder, 'node');
  }

  private get main(): string {
    return path.join(this.folder, 'node_modules', 'code-server', 'lib', 'vscode', 'out', 'server-main.js');
  }

  private get data(): string {
    return path.join(this.root, 'data');
  }

  private get logs(): string {
    return path.join(this.root, 'logs');
  }

  private common(): string[] {
    return ['--accept-server-license-terms', '--server-data-dir', this.data, '--extensions-dir', path.join(this.root, 'extensions')];
  }

  private environment(): NodeJS.ProcessEnv {
    const tmp = path.join(this.root, 'tmp');
    fs.mkdirSync(tmp, { recursive: true });
    fs.mkdirSync(path.dirname(this.home), { recursive: true });
    const kept = Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_|VSCODE_|PYTHON|TREEWRIGHT_TEST)/i.test(name));
    return { ...Object.fromEntries(kept), HOME: path.dirname(this.home), TREEWRIGHT_HOME: this.home, TMPDIR: tmp, ...this.options.env };
  }
}

function lives(group: number): boolean {
  try {
    process.kill(-group, 0);
    return true;
  } catch {
    return false;
  }
}
