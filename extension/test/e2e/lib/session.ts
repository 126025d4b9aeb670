// A server and a browser for all tests of one file.
import { after, afterEach, before, beforeEach } from 'node:test';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { freshFolder, Server, type ServerOptions } from './server';
import { launchBrowser, Workbench } from './workbench';
import { within } from './waiting';

export interface SessionOptions extends ServerOptions {
  copyOf?: string;
  files?: Record<string, string>;
  prepare?: (server: Server) => void | Promise<void>;
  browser?: BrowserContextOptions & { language?: string };
  /** Do not open the side bar first. */
  cold?: boolean;
  readyLabel?: RegExp;
  /** What all tests of the file build on, once the workbench is there. */
  setUp?: (session: Session) => Promise<void>;
}

export interface Session {
  server: Server;
  browser: Browser;
  bench: Workbench;
}

/** Starts everything before the tests of the file, ends it after them, and keeps a picture of what failed. */
export function session(name: string, options: () => SessionOptions): Session {
  const made = {} as Session;
  before(async () => {
    const chosen = options();
    made.server = new Server(freshFolder(chosen.copyOf, chosen.files), chosen);
    await chosen.prepare?.(made.server);
    made.server.install(...(chosen.more ?? []));
    await made.server.start();
    made.browser = await launchBrowser();
    made.bench = await Workbench.open(made.browser, made.server.url, chosen.browser);
    if (!chosen.cold) await made.bench.ready(chosen.readyLabel);
    await chosen.setUp?.(made);
  }, { timeout: within(240_000) });

  beforeEach(async () => {
    await made.bench.page.keyboard.press('Escape');
  });

  afterEach(async context => {
    const { passed, error } = context as unknown as { passed?: boolean; error?: unknown };
    if (passed === false || error) {
      const shot = `failed-${name}-${('name' in context ? context.name : '').replace(/\W+/g, '-').slice(0, 60)}`;
      await made.bench.shot(shot).catch(() => undefined);
    }
  });

  after(async () => {
    if (process.env.SHOW_LOGS) console.log(made.server.log(/treewright/i));
    if ('browser' in made) await made.browser.close();
    if ('server' in made) await made.server.stop();
  }, { timeout: within(60_000) });
  return made;
}
