// The reader: a virtual document rendered, live, with links that open nodes and cited lines.
import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import { openPlace } from './commands';
import { Debounced } from './coalesce';
import { documentParts } from './addresses';
import { openDocument, SCHEME } from './documents';
import { isPage, LINK_PREFIX, withLinks } from './links';
import { log, reasonOf } from './log';
import { escapeHtml } from './map';

export const READER_VIEW = 'treewright.reader';

type FromReader = { type: 'ready' } | { type: 'follow'; href: string };

export class Reader implements vscode.Disposable, vscode.WebviewPanelSerializer {
  private panel: vscode.WebviewPanel | undefined;
  private shown: vscode.Uri | undefined;
  private targets: string[] = [];
  private ready = false;
  private readonly gather = new Debounced(() => void this.render(), 100, 500);
  private readonly owned: vscode.Disposable[];

  constructor(private readonly extension: vscode.Uri) {
    this.owned = [
      vscode.window.registerWebviewPanelSerializer(READER_VIEW, this),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (document.uri.toString() === this.shown?.toString()) this.gather.poke();
      }),
    ];
  }

  /** Shows a document; the one reader there is turns to it. */
  show(uri: vscode.Uri, beside: boolean): void {
    if (this.panel) {
      this.panel.reveal(undefined, false);
    } else {
      const column = beside ? vscode.ViewColumn.Beside : vscode.ViewColumn.Active;
      this.adopt(vscode.window.createWebviewPanel(READER_VIEW, 'Treewright', column, { enableFindWidget: true }));
    }
    this.shown = uri;
    this.gather.poke();
  }

  async showSource(): Promise<void> {
    if (this.shown) await openDocument(this.shown, false);
  }

  deserializeWebviewPanel(panel: vscode.WebviewPanel, state: unknown): Promise<void> {
    const { uri } = (typeof state === 'object' && state !== null ? state : {}) as { uri?: unknown };
    if (this.panel || typeof uri !== 'string') {
      panel.dispose();
      return Promise.resolve();
    }
    this.shown = vscode.Uri.parse(uri);
    this.adopt(panel);
    return Promise.resolve();
  }

  private adopt(panel: vscode.WebviewPanel): void {
    const media = vscode.Uri.joinPath(this.extension, 'media');
    const scripts = vscode.Uri.joinPath(this.extension, 'dist', 'webview');
    this.panel = panel;
    this.ready = false;
    panel.iconPath = vscode.Uri.joinPath(media, 'treewright.svg');
    panel.webview.options = { enableScripts: true, localResourceRoots: [media, scripts] };
    panel.webview.onDidReceiveMessage((message: FromReader) => void this.take(message));
    panel.onDidDispose(() => {
      this.panel = undefined;
      this.shown = undefined;
    });
    panel.webview.html = page(panel.webview, vscode.Uri.joinPath(media, 'reader.css'), vscode.Uri.joinPath(scripts, 'reader.js'));
  }

  private async take(message: FromReader): Promise<void> {
    if (message.type === 'ready') {
      this.ready = true;
      await this.render();
      return;
    }
    const target = this.targets[Number(message.href.slice(LINK_PREFIX.length))] ?? (/^https?:/.test(message.href) ? message.href : '');
    if (target) await this.follow(vscode.Uri.parse(target));
  }

  private async follow(uri: vscode.Uri): Promise<void> {
    if (uri.scheme === SCHEME) {
      this.show(uri, false);
    } else if (uri.scheme === 'file') {
      const line = Number(/^L(\d+)/.exec(uri.fragment)?.[1] ?? 1);
      await openPlace({ uri: uri.with({ fragment: '' }).toString(), path: uri.path, start: line, end: line }, true);
    } else if (isPage(uri.scheme)) {
      await vscode.env.openExternal(uri);
    } else {
      log().warn(`a link to ${uri.scheme}: is not followed`);
    }
  }

  private async render(): Promise<void> {
    const uri = this.shown;
    if (!uri || !this.panel || !this.ready) return;
    try {
      const document = await vscode.workspace.openTextDocument(uri);
      const links = (await vscode.commands.executeCommand<vscode.DocumentLink[] | undefined>('vscode.executeLinkProvider', uri)) ?? [];
      const own = links.filter(each => each.target && each.range.isSingleLine);
      this.targets = own.map(each => each.target?.toString() ?? '');
      const placed = own.map((each, index) => ({ line: each.range.start.line, start: each.range.start.character, end: each.range.end.character, target: this.targets[index] ?? '' }));
      const html = await vscode.commands.executeCommand<string>('markdown.api.render', withLinks(document.getText(), placed));
      if (this.shown !== uri) return;
      const parts = documentParts(uri.path);
      this.panel.title = parts?.node || parts?.name || 'Treewright';
      await this.panel.webview.postMessage({ type: 'show', html, uri: uri.toString() });
    } catch (error) {
      log().warn(`the document cannot be rendered: ${reasonOf(error)}`);
      await this.giveUp(uri);
    }
  }

  /** Shows the text instead: the editor's own renderer may be switched off. */
  private async giveUp(uri: vscode.Uri): Promise<void> {
    this.panel?.dispose();
    try {
      await openDocument(uri, false);
    } catch (error) {
      log().warn(`nor can it be opened: ${reasonOf(error)}`);
    }
  }

  dispose(): void {
    this.gather.dispose();
    this.panel?.dispose();
    for (const each of this.owned) each.dispose();
  }
}

function page(webview: vscode.Webview, style: vscode.Uri, script: vscode.Uri): string {
  const nonce = randomBytes(18).toString('base64');
  const policy = `default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'`;
  return `<!DOCTYPE html>
<html lang="${escapeHtml(vscode.env.language)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<link rel="stylesheet" href="${webview.asWebviewUri(style).toString()}">
<title>Treewright</title>
</head>
<body>
<main id="text" tabindex="-1"></main>
<script nonce="${nonce}" src="${webview.asWebviewUri(script).toString()}"></script>
</body>
</html>`;
}
