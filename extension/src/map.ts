// The radial map: a panel a run, its page in src/webview, kept up while the run grows.
import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import type { Sidecar } from './client';
import { saveAs } from './commands';
import { Debounced } from './coalesce';
import { nodeUri, openDocument } from './documents';
import { stateName } from './look';
import { log, reasonOf } from './log';
import { Requests } from './protocol';
import { readSettings } from './settings';
import type { FromPage, ToPage } from './webview/messages';

export const MAP_VIEW = 'treewright.map';
/** A large tree is sent whole, so less often. */
const QUIET_MS = 400;
const MOST_MS = 2500;

export class Maps implements vscode.Disposable, vscode.WebviewPanelSerializer {
  private readonly open = new Map<string, RunMap>();
  private readonly owned: vscode.Disposable[];

  constructor(
    private readonly extension: vscode.Uri,
    private readonly sidecar: Sidecar,
  ) {
    this.owned = [
      vscode.window.registerWebviewPanelSerializer(MAP_VIEW, this),
      sidecar.onRunsChanged(changes => {
        for (const change of changes) this.open.get(change.run)?.refresh();
      }),
      sidecar.onDidChangeState(state => {
        if (state === 'ready') for (const map of this.open.values()) map.refresh();
      }),
    ];
  }

  show(run: string): void {
    const known = this.open.get(run);
    if (known) {
      known.panel.reveal();
      return;
    }
    const panel = vscode.window.createWebviewPanel(MAP_VIEW, vscode.l10n.t('Map'), vscode.ViewColumn.Active, { retainContextWhenHidden: true });
    this.adopt(run, panel);
  }

  deserializeWebviewPanel(panel: vscode.WebviewPanel, state: unknown): Promise<void> {
    const { run } = (typeof state === 'object' && state !== null ? state : {}) as { run?: unknown };
    if (typeof run === 'string' && !this.open.has(run)) this.adopt(run, panel);
    else panel.dispose();
    return Promise.resolve();
  }

  /** Has the active map saved, as its buttons do. */
  save(format: 'svg' | 'png'): void {
    const active = [...this.open.values()].find(map => map.panel.active) ?? [...this.open.values()].at(-1);
    active?.post({ type: 'export', format });
  }

  private adopt(run: string, panel: vscode.WebviewPanel): void {
    const map = new RunMap(run, panel, this.extension, this.sidecar);
    this.open.set(run, map);
    panel.onDidDispose(() => {
      map.dispose();
      this.open.delete(run);
    });
  }

  dispose(): void {
    for (const map of this.open.values()) map.panel.dispose();
    for (const each of this.owned) each.dispose();
  }
}

class RunMap implements vscode.Disposable {
  private revision = -1;
  private pageReady = false;
  private readonly gather = new Debounced(() => void this.send(), QUIET_MS, MOST_MS);
  private readonly listening: vscode.Disposable;

  constructor(
    private readonly run: string,
    readonly panel: vscode.WebviewPanel,
    extension: vscode.Uri,
    private readonly sidecar: Sidecar,
  ) {
    const media = vscode.Uri.joinPath(extension, 'media');
    const scripts = vscode.Uri.joinPath(extension, 'dist', 'webview');
    panel.iconPath = vscode.Uri.joinPath(media, 'treewright.svg');
    panel.webview.options = { enableScripts: true, localResourceRoots: [media, scripts] };
    this.listening = panel.webview.onDidReceiveMessage((message: FromPage) => void this.take(message));
    panel.webview.html = page(panel.webview, vscode.Uri.joinPath(media, 'map.css'), vscode.Uri.joinPath(scripts, 'map.js'));
  }

  refresh(): void {
    this.gather.poke();
  }

  post(message: ToPage): void {
    void this.panel.webview.postMessage(message);
  }

  private async send(): Promise<void> {
    if (!this.pageReady) return;
    try {
      const found = await this.sidecar.ask(Requests.map, { run: this.run });
      if (found.revision === this.revision) return;
      this.revision = found.revision;
      const title = found.statement[0] ?? found.run;
      this.panel.title = vscode.l10n.t('Map: {0}', title.length > 40 ? `${title.slice(0, 39)}…` : title);
      const { id, parent, state, score, statement, total } = found;
      this.post({ type: 'tree', run: found.run, title, labels: found.labels, id, parent, state, score, statement, total });
    } catch (error) {
      log().warn(`the map cannot be shown: ${reasonOf(error)}`);
      if (this.revision < 0) void vscode.window.showErrorMessage(`Treewright: ${reasonOf(error)}`);
    }
  }

  private async take(message: FromPage): Promise<void> {
    switch (message.type) {
      case 'ready':
        this.pageReady = true;
        this.revision = -1;
        await this.send();
        break;
      case 'open':
        await openDocument(nodeUri(this.run, message.node), readSettings().openRendered, true);
        break;
      case 'save':
        await saveAs(`${this.run}-map.${message.format}`, Buffer.from(message.data, message.format === 'png' ? 'base64' : 'utf8'));
        break;
      case 'fault':
        log().error(`the map's page: ${message.message}`);
    }
  }

  dispose(): void {
    this.gather.dispose();
    this.listening.dispose();
  }
}

/** The page; nothing but our own script and style sheet may load. */
function page(webview: vscode.Webview, style: vscode.Uri, script: vscode.Uri): string {
  const nonce = randomBytes(18).toString('base64');
  const policy = `default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'; img-src data:; base-uri 'none'; form-action 'none'`;
  const t = (text: string): string => escapeHtml(vscode.l10n.t(text));
  const legend = ['advances', 'kept', 'pruned', 'blocked', 'waiting'].map(state => `<li class="${state}">${escapeHtml(stateName(state))}</li>`).join('');
  const keys = t('Arrow keys go from node to node, Enter opens one, plus and minus zoom, 0 fits, slash searches.');
  return `<!DOCTYPE html>
<html lang="${escapeHtml(vscode.env.language)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="${webview.asWebviewUri(style).toString()}">
<title>Treewright</title>
</head>
<body>
<div id="bar" role="toolbar" aria-label="${t('Map')}">
<h1 id="title"></h1>
<input id="search" type="search" placeholder="${t('Search nodes')}" aria-label="${t('Search nodes')}">
<span id="count" role="status" data-nodes="${t('nodes:')}"></span>
<button id="out" title="${t('Zoom out')}" aria-label="${t('Zoom out')}">−</button>
<button id="in" title="${t('Zoom in')}" aria-label="${t('Zoom in')}">+</button>
<button id="fit">${t('Fit')}</button>
<button id="svg">SVG</button>
<button id="png">PNG</button>
</div>
<div id="stage">
<canvas id="map" tabindex="0" role="application" aria-describedby="keys"></canvas>
<ul id="legend" aria-label="${t('Legend')}">${legend}</ul>
<div id="tip" role="tooltip" hidden></div>
</div>
<p id="keys" class="spoken">${keys}</p>
<div id="live" class="spoken" aria-live="polite"></div>
<script nonce="${nonce}" src="${webview.asWebviewUri(script).toString()}"></script>
</body>
</html>`;
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, each => `&#${String(each.charCodeAt(0))};`);
}
