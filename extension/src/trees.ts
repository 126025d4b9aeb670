// The Trees view: runs, then their nodes; fetched page by page when unfolded, refreshed node by node.
import * as vscode from 'vscode';
import type { Sidecar } from './client';
import { Debounced } from './coalesce';
import { kindName, runIcon, runPhase, stateIcon, stateName, statusName } from './look';
import { log, reasonOf } from './log';
import { Requests, type ChildrenRequest, type FilterSpec, type NodeLine, type RunChange, type RunRow } from './protocol';

export const PAGE = 200;
const GATHER_MS = 250;
const GATHER_MOST_MS = 1000;

export class RunElement {
  readonly kind = 'run';
  constructor(public row: RunRow) {}
  get id(): string {
    return this.row.id;
  }
}

export class NodeElement {
  readonly kind = 'node';
  constructor(
    readonly run: string,
    public line: NodeLine,
  ) {}
  get id(): string {
    return `${this.run}/${this.line.id}`;
  }
}

/** Stands below a page for what follows it. */
export class MoreElement {
  readonly kind = 'more';
  constructor(
    readonly parent: RunElement | NodeElement | undefined,
    readonly left: number,
  ) {}
  get id(): string {
    return `${this.parent?.id ?? ''}/+`;
  }
}

export type Element = RunElement | NodeElement | MoreElement;
export type Sort = NonNullable<ChildrenRequest['sort']>;

export class Trees implements vscode.TreeDataProvider<Element>, vscode.Disposable {
  /** What has been unfolded; never the whole tree. */
  private readonly shown = new Map<string, RunElement | NodeElement>();
  private readonly pages = new Map<string, number>();
  private readonly dirty = new Set<string>();
  private readonly changed = new vscode.EventEmitter<Element | undefined>();
  private readonly gather = new Debounced(() => this.refreshDirty(), GATHER_MS, GATHER_MOST_MS);
  private filter: FilterSpec = {};
  private order: Sort = 'tree';
  readonly onDidChangeTreeData = this.changed.event;
  readonly view: vscode.TreeView<Element>;
  private readonly owned: vscode.Disposable[];

  constructor(private readonly sidecar: Sidecar) {
    this.view = vscode.window.createTreeView('treewright.trees', { treeDataProvider: this, showCollapseAll: true, canSelectMany: true });
    this.owned = [
      this.view,
      this.changed,
      sidecar.onDidChangeState(state => {
        if (state === 'ready' || state === 'failed') this.refresh();
      }),
      sidecar.onRunsChanged(changes => this.take(changes)),
      sidecar.onFindingsChanged(({ shown, hidden }) => this.count(shown, hidden)),
      this.view.onDidCollapseElement(({ element }) => this.forget(element)),
    ];
  }

  get filtering(): boolean {
    return Boolean(this.filter.text ?? '') || Boolean(this.filter.states?.length) || Boolean(this.filter.framings?.length);
  }

  get filterSpec(): FilterSpec {
    return this.filter;
  }

  get sorted(): Sort {
    return this.order;
  }

  async setFilter(filter: FilterSpec): Promise<void> {
    this.filter = filter;
    await vscode.commands.executeCommand('setContext', 'treewright.filtered', this.filtering);
    this.describe();
    this.refresh();
  }

  setSort(order: Sort): void {
    this.order = order;
    this.describe();
    this.refresh();
  }

  /** Reads everything anew that is on screen. */
  refresh(): void {
    this.pages.clear();
    this.changed.fire(undefined);
  }

  showMore(more: MoreElement): void {
    const key = more.parent?.id ?? '';
    this.pages.set(key, (this.pages.get(key) ?? 1) + 1);
    this.changed.fire(more.parent);
  }

  element(id: string): RunElement | NodeElement | undefined {
    return this.shown.get(id);
  }

  // vscode.TreeDataProvider

  getTreeItem(element: Element): vscode.TreeItem {
    switch (element.kind) {
      case 'run': return runItem(element.row);
      case 'node': return nodeItem(element);
      case 'more': return moreItem(element);
    }
  }

  getParent(element: Element): Element | undefined {
    if (element.kind === 'run') return undefined;
    if (element.kind === 'more') return element.parent;
    const { parent } = element.line;
    return parent === null || parent === '0' ? this.shown.get(element.run) : this.shown.get(`${element.run}/${parent}`);
  }

  async getChildren(element?: Element): Promise<Element[]> {
    if (this.sidecar.state === 'failed' || element?.kind === 'more') return [];
    try {
      return element === undefined ? await this.runs() : await this.nodes(element);
    } catch (error) {
      log().warn(`the tree cannot be shown: ${reasonOf(error)}`);
      return [];
    }
  }

  private async runs(): Promise<Element[]> {
    const limit = PAGE * (this.pages.get('') ?? 1);
    const { runs, total } = await this.sidecar.ask(Requests.runs, { limit: Math.min(limit, 1000) });
    const found = runs.map(row => this.kept(row.id, () => new RunElement(row), known => (known.row = row)));
    return total > found.length ? [...found, new MoreElement(undefined, total - found.length)] : found;
  }

  private async nodes(element: RunElement | NodeElement): Promise<Element[]> {
    const run = element.kind === 'run' ? element.row.id : element.run;
    const node = element.kind === 'run' ? '0' : element.line.id;
    const rows: NodeLine[] = [];
    let total = 0;
    for (let page = 0; page < (this.pages.get(element.id) ?? 1); page += 1) {
      const asked = { run, node, offset: page * PAGE, limit: PAGE, sort: this.order, filter: this.filter };
      const answer = await this.sidecar.ask(Requests.children, asked);
      rows.push(...answer.rows);
      total = answer.total;
      if (rows.length >= total) break;
    }
    const found: Element[] = rows.map(line =>
      this.kept(`${run}/${line.id}`, () => new NodeElement(run, line), known => (known.line = line)),
    );
    return total > rows.length ? [...found, new MoreElement(element, total - rows.length)] : found;
  }

  /** The same element for the same node each time, so that selection and folding survive a refresh. */
  private kept<T extends RunElement | NodeElement>(id: string, make: () => T, renew: (known: T) => void): T {
    const known = this.shown.get(id) as T | undefined;
    if (known) {
      renew(known);
      return known;
    }
    const made = make();
    this.shown.set(id, made);
    return made;
  }

  private forget(element: Element): void {
    this.pages.delete(element.id); // the elements stay: the editor keeps them, and takes no second one of the same id
  }

  // what the sidecar tells

  private take(changes: readonly RunChange[]): void {
    for (const change of changes) {
      const known = this.shown.get(change.run);
      if (known?.kind !== 'run' || change.row === null) {
        this.dirty.add('');
        continue;
      }
      known.row = change.row;
      this.dirty.add(change.many ? change.run : `=${change.run}`);
      for (const node of change.nodes) this.markNode(change.run, node);
    }
    this.gather.poke();
  }

  /** A node that changed is drawn again; one that is new makes its parent be read again. */
  private markNode(run: string, node: string): void {
    const own = `${run}/${node}`;
    const parent = node.includes('.') ? `${run}/${node.slice(0, node.lastIndexOf('.'))}` : run;
    if (node !== '0' && this.shown.has(parent)) this.dirty.add(parent);
    else if (this.shown.has(own)) this.dirty.add(own);
  }

  private refreshDirty(): void {
    const dirty = [...this.dirty];
    this.dirty.clear();
    if (dirty.includes('')) {
      this.changed.fire(undefined);
      return;
    }
    const whole = new Set(dirty.filter(id => !id.startsWith('=')));
    for (const id of dirty) {
      const element = this.shown.get(id.replace(/^=/, ''));
      if (element && !this.isBelow(element, whole)) this.changed.fire(element);
    }
  }

  /** Whether something above is read again anyway. */
  private isBelow(element: RunElement | NodeElement, whole: ReadonlySet<string>): boolean {
    let above = this.getParent(element);
    while (above) {
      if (whole.has(above.id)) return true;
      above = this.getParent(above);
    }
    return false;
  }

  private count(shown: number, hidden: number): void {
    const tooltip = hidden
      ? vscode.l10n.t('findings shown in files: {0}; not shown: {1}', shown, hidden)
      : vscode.l10n.t('findings shown in files: {0}', shown);
    this.view.badge = shown ? { value: shown, tooltip } : undefined;
  }

  private describe(): void {
    const parts = [
      this.filter.text ? `"${this.filter.text}"` : '',
      ...(this.filter.states ?? []).map(stateName),
      ...(this.filter.framings ?? []),
    ].filter(Boolean);
    if (this.order === 'score') parts.push(vscode.l10n.t('by score'));
    if (this.order === 'newest') parts.push(vscode.l10n.t('newest first'));
    this.view.description = parts.join(', ');
  }

  dispose(): void {
    this.gather.dispose();
    for (const each of this.owned) each.dispose();
  }
}

function runItem(row: RunRow): vscode.TreeItem {
  const grown = row.kind === 'exploration';
  const item = new vscode.TreeItem(row.title || row.id, row.kind !== 'chain' ? vscode.TreeItemCollapsibleState.Collapsed : vscode.TreeItemCollapsibleState.None);
  const status = statusName(row);
  item.id = row.id;
  item.iconPath = runIcon(row);
  item.description = [row.preset || kindName(row.kind), status].join(' · ');
  item.contextValue = `run.${runPhase(row)}`;
  const driven = row.drivenBy ? `\n\n${vscode.l10n.t('Driven by {0}', row.drivenBy)}` : '';
  item.tooltip = new vscode.MarkdownString().appendText(`${row.title}\n\n${kindName(row.kind)} ${row.id} · ${status}\n\n${row.folder}${driven}`);
  item.accessibilityInformation = { label: `${row.title}, ${kindName(row.kind)}, ${row.preset}, ${status}` };
  if (!grown) item.command = { command: 'treewright.report', title: vscode.l10n.t('Open'), arguments: [{ run: row.id }] };
  return item;
}

function nodeItem(element: NodeElement): vscode.TreeItem {
  const { line } = element;
  const folds = line.children > 0 ? vscode.TreeItemCollapsibleState.Collapsed : vscode.TreeItemCollapsibleState.None;
  if (!line.framing) return pointItem(element, folds);
  const score = line.total < 0 ? '' : String(line.total);
  const item = new vscode.TreeItem([line.id, score].filter(Boolean).join(' · '), folds);
  item.id = element.id;
  item.iconPath = stateIcon(line.state);
  item.description = line.statement;
  item.contextValue = ['node', line.state, line.position ? 'cited' : ''].filter(Boolean).join('.');
  item.tooltip = new vscode.MarkdownString().appendText(
    [line.statement, [line.label, vscode.l10n.t('score {0}', score || '–'), vscode.l10n.t('framing {0}', line.framing), line.cwe].filter(Boolean).join(' · '), line.position].filter(Boolean).join('\n\n'),
  );
  const spoken = [line.id, line.label, score && vscode.l10n.t('score {0}', score), vscode.l10n.t('framing {0}', line.framing), line.statement];
  item.accessibilityInformation = { label: spoken.filter(Boolean).join(', ') };
  item.command = { command: 'treewright.openNode', title: vscode.l10n.t('Open'), arguments: [{ run: element.run, node: line.id }] };
  return item;
}

/** A branch of a search, or a stage, thought or round of a session. */
function pointItem({ id, run, line }: NodeElement, folds: vscode.TreeItemCollapsibleState): vscode.TreeItem {
  const item = new vscode.TreeItem(line.statement || line.id, folds);
  item.id = id;
  item.iconPath = stateIcon(line.state);
  item.description = line.label;
  item.contextValue = 'point';
  item.tooltip = new vscode.MarkdownString().appendText([line.id, line.statement, line.label].filter(Boolean).join('\n\n'));
  item.accessibilityInformation = { label: [line.id, line.statement, line.label].filter(Boolean).join(', ') };
  item.command = { command: 'treewright.openNode', title: vscode.l10n.t('Open'), arguments: [{ run, node: line.id }] };
  return item;
}

function moreItem(element: MoreElement): vscode.TreeItem {
  const item = new vscode.TreeItem(vscode.l10n.t('Show more ({0} left)', element.left));
  item.id = element.id;
  item.iconPath = new vscode.ThemeIcon('ellipsis');
  item.command = { command: 'treewright.showMore', title: vscode.l10n.t('Show more'), arguments: [element] };
  return item;
}
