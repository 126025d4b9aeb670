// Runs made by other processes, as a terminal or an agent would.
import { spawn, type ChildProcess } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fixture, type Server } from './server';

export interface Grower {
  child: ChildProcess;
  /** Settles when the run has ended. */
  done: Promise<void>;
  /** Has it stopped, and waits for that. */
  finish: () => Promise<void>;
}

/** Has another process grow a made-up brainstorm in the server's workspace. */
export function growRun(server: Server, run: string, nodes: number, latencyMs = 0): Grower {
  const script = path.join(fixture.root(), 'extension', 'test', 'fixtures', 'grow_run.py');
  const until = path.join(server.root, `finish-${run}`);
  const args = ['-I', script, server.workspace, run, '--nodes', String(nodes), '--latency', String(latencyMs), '--until', until];
  const child = spawn(fixture.python(), args, { env: { ...process.env, TREEWRIGHT_HOME: server.home }, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (data: Buffer) => (said += data.toString()));
  const done = new Promise<void>((resolve, reject) => {
    child.once('exit', code => (code === 0 ? resolve() : reject(new Error(`growing ended with ${String(code)}:\n${said}`))));
  });
  done.catch(() => undefined); // looked at by whoever waits for it
  const finish = (): Promise<void> => {
    fs.writeFileSync(until, '');
    return done;
  };
  return { child, done, finish };
}
