// The workbench as a person uses it.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { chromium, type Browser, type BrowserContextOptions, type FrameLocator, type Locator, type Page } from 'playwright-core';
import { eventually, within } from './waiting';

export const STATUS = 'treewright.treewright.sidecar';

export function launchBrowser(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM ?? execFileSync('sh', ['-c', 'command -v chromium || command -v google-chrome'], { encoding: 'utf8' }).trim();
  const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'];
  return chromium.launch({ executablePath, args });
}

/** Matches a text as a whole, white space around it aside. */
export function exactly(text: string): RegExp {
  return new RegExp(`^\\s*${text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}\\s*$`);
}

export type Severity = 'error' | 'warning' | 'info' | 'hint';

export class Workbench {
  private constructor(readonly page: Page) {}

  static async open(browser: Browser, url: string, options: BrowserContextOptions & { language?: string } = {}): Promise<Workbench> {
    const { language, ...rest } = options;
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, permissions: ['clipboard-read', 'clipboard-write'], acceptDownloads: true, ...rest });
    if (language) await context.addInitScript(`globalThis._VSCODE_NLS_LANGUAGE = ${JSON.stringify(language)};`);
    const page = await context.newPage();
    page.setDefaultTimeout(within(20_000));
    await page.goto(url, { waitUntil: 'domcontentloaded' });
    await page.locator('.monaco-workbench .activitybar').waitFor({ timeout: within(90_000) });
    return new Workbench(page);
  }

  close(): Promise<void> {
    return this.page.context().close();
  }

  /** Saves a picture below .test/shots, for people to look at. */
  async shot(name: string): Promise<void> {
    const folder = path.resolve('.test', 'shots');
    fs.mkdirSync(folder, { recursive: true });
    await this.page.screenshot({ path: path.join(folder, `${name}.png`) });
  }

  // the sidecar

  status(): Locator {
    return this.page.locator(`.statusbar-item[id="${STATUS}"]`);
  }

  /** Opens the Treewright side bar, which activates the extension, and waits until the sidecar answers. */
  async ready(label = /ready/): Promise<void> {
    await this.openSideBar();
    let last = '';
    await eventually(async () => {
      last = (await this.status().getAttribute('aria-label', { timeout: within(30_000) })) ?? '';
      if (/does not run/.test(last)) throw new Error(last);
      return label.test(last);
    }, () => `the sidecar to be ready; it was "${last}"`, 60_000);
  }

  async openSideBar(): Promise<void> {
    const tab = this.page.locator('.activitybar').getByRole('tab', { name: /Treewright/ });
    await tab.waitFor();
    if ((await tab.getAttribute('aria-selected')) !== 'true') await tab.click();
    await this.page.locator('.sidebar .composite.title', { hasText: /treewright/i }).waitFor();
  }

  // palette, quick picks, input boxes

  quickInput(): Locator {
    return this.page.locator('.quick-input-widget:visible');
  }

  /** Runs a command by its title as the palette shows it. */
  async run(title: string): Promise<void> {
    const input = this.quickInput().locator('input.input');
    const row = this.quickInput().locator('.monaco-list-row').filter({ has: this.page.locator('.label-name', { hasText: exactly(title) }) }).first();
    for (let tries = 0; ; tries += 1) {
      await this.page.keyboard.press('F1'); // it goes astray, or the list closes again, while the focus moves
      try {
        await input.fill(`>${title}`, { timeout: within(4000) });
        await row.waitFor({ timeout: within(8000) });
        break;
      } catch (error) {
        if (tries === 4) throw error;
        await this.page.keyboard.press('Escape');
      }
    }
    await row.click();
  }

  async fill(text: string): Promise<void> {
    await this.quickInput().locator('input.input').fill(text);
    await this.page.keyboard.press('Enter');
  }

  async pick(text: string): Promise<void> {
    await this.quickInput().locator('.monaco-list-row', { hasText: text }).first().click();
  }

  async openFile(name: string): Promise<Locator> {
    await this.page.keyboard.press('Control+P');
    await this.quickInput().locator('input.input').fill(name);
    await this.quickInput().locator('.monaco-list-row', { hasText: path.basename(name) }).first().click();
    const editor = this.editor(name);
    await editor.waitFor();
    return editor;
  }

  // trees

  tree(name: string): Locator {
    return this.page.locator(`.sidebar [role=tree][aria-label*="${name}"]`);
  }

  rows(tree: Locator): Locator {
    return tree.locator('[role=treeitem]');
  }

  row(tree: Locator, text: string | RegExp): Locator {
    return this.rows(tree).filter({ hasText: text }).first();
  }

  async expand(row: Locator): Promise<void> {
    await row.waitFor();
    if ((await row.getAttribute('aria-expanded')) !== 'true') await row.locator('.monaco-tl-twistie').click();
    await eventually(async () => (await row.getAttribute('aria-expanded')) === 'true', 'a row to unfold');
  }

  // editors

  editor(uriPart: string): Locator {
    return this.page.locator(`.editor-instance .monaco-editor[data-uri*="${uriPart}"]`);
  }

  /** The lines on screen, top to bottom. */
  async lines(editor: Locator): Promise<string[]> {
    const got = await editor.locator('.view-line').evaluateAll(all => all.map(each => [parseFloat((each as HTMLElement).style.top), each.textContent] as const));
    return got.sort((a, b) => a[0] - b[0]).map(([, text]) => text.replaceAll('\u00a0', ' '));
  }

  async text(editor: Locator): Promise<string> {
    return (await this.lines(editor)).join('\n');
  }

  /** Numbers of the lines on screen that are underlined. */
  async underlined(editor: Locator, severity: Severity): Promise<number[]> {
    return editor.evaluate((element, kind) => {
      const rows = [...element.querySelectorAll('.margin-view-overlays .line-numbers')].map(each => [Number(each.textContent), each.getBoundingClientRect()] as const);
      const marks = [...element.querySelectorAll(`.view-overlays .squiggly-${kind}`)].flatMap(each => (each.parentElement ? [each.parentElement.getBoundingClientRect()] : []));
      const hit = marks.map(mark => rows.find(([, box]) => (mark.top + mark.bottom) / 2 >= box.top && (mark.top + mark.bottom) / 2 < box.bottom)?.[0] ?? -1);
      return [...new Set(hit)].sort((a, b) => a - b);
    }, severity);
  }

  async goTo(line: number, column = 1): Promise<void> {
    await this.page.keyboard.press('Control+G');
    await this.fill(`:${String(line)}:${String(column)}`);
    await this.cursorAt(line);
  }

  async cursorAt(line: number): Promise<void> {
    await this.page.locator('.editor-instance .line-numbers.active-line-number', { hasText: exactly(String(line)) }).first().waitFor();
  }

  /** Opens the quick-fix menu at the cursor and returns one of its actions. */
  async quickFixes(title: string | RegExp): Promise<Locator> {
    const row = this.page.locator('.action-widget .monaco-list-row.action', { hasText: title }).first();
    for (let tries = 0; ; tries += 1) {
      await this.page.keyboard.press('Control+Period');
      try {
        await row.waitFor({ timeout: within(4000) });
        break;
      } catch (error) {
        if (tries === 4) throw error;
        await this.page.keyboard.press('Escape');
      }
    }
    return row;
  }

  /** Chooses an action of the quick-fix menu at the cursor. */
  async quickFix(title: string | RegExp, shot = ''): Promise<void> {
    const row = await this.quickFixes(title);
    if (shot) await this.shot(shot);
    await row.hover({ force: true }); // an invisible block lies over the menu until the pointer moves
    await row.click();
    await row.waitFor({ state: 'detached' });
  }

  // problems, messages, webviews

  async problems(): Promise<Locator> {
    const panel = this.page.locator('.markers-panel');
    if (!(await panel.isVisible())) await this.page.keyboard.press('Control+Shift+M');
    await panel.waitFor();
    return panel.locator('[role=treeitem]');
  }

  toast(text: string | RegExp): Locator {
    return this.page.locator('.notifications-toasts .notification-toast', { hasText: text });
  }

  async closeToasts(): Promise<void> {
    await this.run('Notifications: Clear All Notifications');
  }

  webview(): FrameLocator {
    return this.page.frameLocator('iframe.webview.ready').frameLocator('iframe#active-frame');
  }

  dialog(): Locator {
    return this.page.locator('.monaco-dialog-box');
  }
}
