// The Run view: how the chosen run stands, why it has not converged, what it has spent.
import * as vscode from 'vscode';
import type { Sidecar } from './client';
import { SidecarError } from './client';
import { Debounced } from './coalesce';
import { conditionName, firingName, runPhase, stateIcon, stateName, statusName } from './look';
import { log, reasonOf } from './log';
import { FRAMINGS } from './states';
import { Requests, type Condition, type RunResult } from './protocol';


interface Line {
  id: string;
  label: string;
  description?: string;
  tooltip?: string;
  icon?: vscode.ThemeIcon;
  command?: vscode.Command;
  children?: Line[];
  open?: boolean;
}

export class RunStatus implements vscode.TreeDataProvider<Line>, vscode.Disposable {
  private chosen = '';
  private figures: RunResult | undefined;
  private inFlight = 0;
  private readonly changed = new vscode.EventEmitter<undefined>();
  private readonly gather = new Debounced(() => void this.read(), 150, 600);
  private readonly owned: vscode.Disposable[];
  readonly view: vscode.TreeView<Line>;
  readonly onDidChangeTreeData = this.changed.event;

  constructor(private readonly sidecar: Sidecar) {
    this.view = vscode.window.createTreeView('treewright.run', { treeDataProvider: this });
    this.owned = [
      this.view,
      this.changed,
      sidecar.onRunsChanged(changes => {
        const own = changes.find(change => change.run === this.chosen);
        if (!own) return;
        this.inFlight = own.inFlight;
        this.gather.poke();
      }),
      sidecar.onDidChangeState(state => {
        if (state === 'ready') this.gather.poke();
      }),
    ];
  }

  /** The run shown; empty for none. */
  get run(): string {
    return this.chosen;
  }

  get result(): RunResult | undefined {
    return this.figures;
  }

  async choose(run: string): Promise<void> {
    if (run === this.chosen) return;
    this.chosen = run;
    await this.read();
  }

  private async read(): Promise<void> {
    const run = this.chosen;
    if (!run) return;
    try {
      const found = await this.sidecar.ask(Requests.run, { run });
      if (run !== this.chosen) return;
      this.figures = found;
    } catch (error) {
      if (run !== this.chosen) return;
      if (!SidecarError.is(error, 'run_not_found')) log().warn(`the run cannot be shown: ${reasonOf(error)}`);
      this.figures = undefined;
    }
    await this.show();
  }

  private async show(): Promise<void> {
    const { figures } = this;
    this.view.description = figures ? figures.row.title : '';
    await vscode.commands.executeCommand('setContext', 'treewright.run', figures ? runPhase(figures.row) : '');
    this.changed.fire(undefined);
  }

  getTreeItem(line: Line): vscode.TreeItem {
    const folds = line.children
      ? line.open ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.Collapsed
      : vscode.TreeItemCollapsibleState.None;
    const item = new vscode.TreeItem(line.label, folds);
    item.id = `${this.chosen}/${line.id}`;
    item.accessibilityInformation = { label: [line.label, line.description].filter(Boolean).join(', ') };
    if (line.description !== undefined) item.description = line.description;
    if (line.tooltip !== undefined) item.tooltip = line.tooltip;
    if (line.icon) item.iconPath = line.icon;
    if (line.command) item.command = line.command;
    return item;
  }

  getChildren(line?: Line): Line[] {
    if (line) return line.children ?? [];
    return this.figures ? this.lines(this.figures) : [];
  }

  private lines(figures: RunResult): Line[] {
    const { row } = figures;
    const unmet = figures.conditions.filter(each => !each.met);
    return [
      {
        id: 'status',
        label: statusName(row),
        description: [figures.reason, this.inFlight ? vscode.l10n.t('tasks in flight: {0}', this.inFlight) : ''].filter(Boolean).join(' · '),
        tooltip: row.drivenBy ? vscode.l10n.t('Driven by {0}', row.drivenBy) : row.folder,
        icon: new vscode.ThemeIcon(runPhase(row) === 'growing' ? 'sync~spin' : 'info'),
      },
      {
        id: 'conditions',
        label: unmet.length ? vscode.l10n.t('Not converged yet') : vscode.l10n.t('Converged'),
        description: vscode.l10n.t('{0} of {1} conditions met', figures.conditions.length - unmet.length, figures.conditions.length),
        icon: new vscode.ThemeIcon(unmet.length ? 'checklist' : 'pass'),
        children: figures.conditions.map(conditionLine),
        open: unmet.length > 0,
      },
      this.verdicts(figures),
      this.framings(figures),
      spendLine(figures),
      ...this.damage(figures),
    ];
  }

  private verdicts(figures: RunResult): Line {
    const counted = figures.verdicts.map(each => ({
      id: `verdict.${each.role}`,
      label: each.label,
      description: `${String(each.count)} · ${stateName(each.role)}`,
      icon: stateIcon(each.role),
    }));
    const others = (['merged', 'superseded', 'unresolved'] as const)
      .filter(name => figures[name] > 0)
      .map(name => ({ id: `state.${name}`, label: stateName(name), description: String(figures[name]), icon: stateIcon(name) }));
    return {
      id: 'verdicts',
      label: vscode.l10n.t('Verdicts'),
      description: vscode.l10n.t('nodes: {0}, rounds: {1}', figures.nodes, figures.rounds),
      icon: new vscode.ThemeIcon('law'),
      children: [...counted, ...others],
    };
  }

  private framings(figures: RunResult): Line {
    const fired = Object.keys(figures.framings).length;
    return {
      id: 'framings',
      label: vscode.l10n.t('Framings'),
      description: vscode.l10n.t('{0} of 12 fired', fired),
      icon: new vscode.ThemeIcon('symbol-misc'),
      children: FRAMINGS.map(letter => {
        const how = figures.framings[letter] ?? '';
        return { id: `framing.${letter}`, label: letter, description: firingName(how), icon: new vscode.ThemeIcon(how ? 'pass' : 'circle-outline') };
      }),
    };
  }

  private damage(figures: RunResult): Line[] {
    if (!figures.damagedLines.length) return [];
    return [{
      id: 'damage',
      label: vscode.l10n.t('Damaged lines in the journal'),
      description: figures.damagedLines.join(', '),
      tooltip: vscode.l10n.t('Everything else can be read. Run: treewright recover {0}', this.chosen),
      icon: new vscode.ThemeIcon('warning'),
    }];
  }

  dispose(): void {
    this.gather.dispose();
    for (const each of this.owned) each.dispose();
  }
}

function conditionLine(condition: Condition): Line {
  return {
    id: `condition.${String(condition.number)}`,
    label: conditionName(condition.number, condition.name),
    description: figuresOf(condition.figures),
    icon: new vscode.ThemeIcon(condition.met ? 'pass' : 'circle-large-outline', new vscode.ThemeColor(condition.met ? 'treewright.advances' : 'treewright.kept')),
    tooltip: condition.met ? vscode.l10n.t('met') : vscode.l10n.t('not met'),
  };
}

/** The figures that say something: numbers, and lists that are not empty. */
export function figuresOf(figures: Readonly<Record<string, unknown>>): string {
  const told: string[] = [];
  for (const [name, value] of Object.entries(figures)) {
    if (typeof value === 'number') told.push(`${name.replaceAll('_', ' ')} ${String(Math.round(value * 1000) / 1000)}`);
    else if (Array.isArray(value) && value.length && value.length <= 12) told.push(`${name.replaceAll('_', ' ')} ${value.join(', ')}`);
  }
  return told.join(' · ');
}

function spendLine(figures: RunResult): Line {
  const caps = Object.entries(figures.caps).filter((pair): pair is [string, number] => pair[1] !== null);
  return {
    id: 'spend',
    label: vscode.l10n.t('Spend'),
    description: `$${figures.usd.toFixed(4)}`,
    icon: new vscode.ThemeIcon('credit-card'),
    children: [
      { id: 'tokens', label: vscode.l10n.t('Tokens'), description: vscode.l10n.t('{0} in, {1} out', figures.promptTokens, figures.completionTokens) },
      { id: 'performer', label: vscode.l10n.t('Performer'), description: figures.performer },
      { id: 'citations', label: vscode.l10n.t('Citations'), description: vscode.l10n.t('{0} of {1} hold', figures.citationsHeld, figures.citationsAll) },
      ...caps.map(([name, value]) => ({ id: `cap.${name}`, label: vscode.l10n.t('Cap: {0}', name.replaceAll('_', ' ')), description: String(value) })),
    ],
  };
}
