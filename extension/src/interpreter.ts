// What is known of an interpreter, without the editor: what a probe said, and whether it will do.
import * as path from 'node:path';

export const LOWEST: readonly [number, number] = [3, 11];

/** An interpreter as `python/probe.py` describes it. `sidecar`: the version installed in it; empty for none that fits. */
export interface Interpreter {
  command: readonly string[];
  executable: string;
  version: readonly [number, number, number];
  sidecar: string;
  why: string;
  venv: boolean;
}

/** Reads a probe's answer; null when it is none. */
export function readProbe(command: readonly string[], output: string): Interpreter | null {
  const line = output.trim().split(/\r?\n/).at(-1) ?? '';
  let found: unknown;
  try {
    found = JSON.parse(line);
  } catch {
    return null;
  }
  if (typeof found !== 'object' || found === null) return null;
  const { version, executable, sidecar, why, venv } = found as Record<string, unknown>;
  if (!Array.isArray(version) || version.length < 3 || !version.every((part): part is number => typeof part === 'number')) return null;
  const [major = 0, minor = 0, micro = 0] = version;
  return {
    command,
    executable: typeof executable === 'string' && executable ? executable : (command[0] ?? ''),
    version: [major, minor, micro],
    sidecar: typeof sidecar === 'string' ? sidecar : '',
    why: typeof why === 'string' ? why : '',
    venv: venv === true,
  };
}

export function isRecentEnough({ version: [major, minor] }: Pick<Interpreter, 'version'>): boolean {
  return major > LOWEST[0] || (major === LOWEST[0] && minor >= LOWEST[1]);
}

/** Commands to try when nothing was chosen: what a terminal would find, the newest names last. */
export function usualCommands(platform: NodeJS.Platform): readonly (readonly string[])[] {
  const named = ['python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11', 'python'].map(name => [name]);
  return platform === 'win32' ? [['py', '-3'], ['python']] : named;
}

/** Whether a file lies in one of the folders. Code of an untrusted folder is never run, its interpreters included. */
export function isWithin(file: string, folders: readonly string[]): boolean {
  return folders.some(folder => {
    const way = path.relative(folder, file);
    return way === '' || (!way.startsWith('..' + path.sep) && way !== '..' && !path.isAbsolute(way));
  });
}

/** The environment of the sidecar: the user's, but nothing that steers a Python. */
export function sidecarEnvironment(given: NodeJS.ProcessEnv, home: string): NodeJS.ProcessEnv {
  const kept = Object.entries(given).filter(([name]) => !/^PYTHON/i.test(name) && name !== '__PYVENV_LAUNCHER__');
  return { ...Object.fromEntries(kept), ...(home ? { TREEWRIGHT_HOME: home } : {}) };
}

/** Flags for every Python of ours: isolated from the user's packages and variables, UTF-8 whatever the locale. */
export const ISOLATED: readonly string[] = ['-I', '-X', 'utf8'];
