// How states and statuses look and what they are called: one table for all views.
import * as vscode from 'vscode';
import type { RunRow } from './protocol';

interface Look {
  icon: string;
  color: string;
}

const STATES: Readonly<Record<string, Look>> = {
  root: { icon: 'target', color: 'foreground' },
  advances: { icon: 'pass-filled', color: 'treewright.advances' },
  kept: { icon: 'circle-outline', color: 'treewright.kept' },
  pruned: { icon: 'circle-slash', color: 'treewright.pruned' },
  blocked: { icon: 'error', color: 'treewright.blocked' },
  waiting: { icon: 'watch', color: 'treewright.waiting' },
  merged: { icon: 'git-merge', color: 'treewright.pruned' },
  superseded: { icon: 'history', color: 'treewright.pruned' },
  unresolved: { icon: 'question', color: 'treewright.blocked' },
};

/** Statuses that nothing can go on from. */
const DONE = new Set(['CONVERGED', 'EARLY_STOP']);

function icon(look: Look): vscode.ThemeIcon {
  return new vscode.ThemeIcon(look.icon, new vscode.ThemeColor(look.color));
}

export function stateIcon(state: string): vscode.ThemeIcon {
  return icon(STATES[state] ?? { icon: 'circle-outline', color: 'foreground' });
}

/** What can be done with a run: it grows (here or elsewhere), it can be gone on with, or it is done. */
export function runPhase(row: Pick<RunRow, 'kind' | 'status' | 'drivenHere' | 'drivenBy'>): 'growing' | 'stopped' | 'done' {
  if (row.drivenHere || row.drivenBy) return 'growing';
  return DONE.has(row.status) || row.kind !== 'exploration' ? 'done' : 'stopped'; // the others are gone on with in a terminal
}

export function runIcon(row: RunRow): vscode.ThemeIcon {
  switch (runPhase(row)) {
    case 'growing': return icon({ icon: 'sync~spin', color: 'treewright.waiting' });
    case 'done': return icon({ icon: 'pass', color: 'treewright.advances' });
    case 'stopped': return icon({ icon: 'debug-pause', color: 'treewright.kept' });
  }
}

export function stateName(state: string): string {
  switch (state) {
    case 'root': return vscode.l10n.t('root');
    case 'advances': return vscode.l10n.t('advances');
    case 'kept': return vscode.l10n.t('kept');
    case 'pruned': return vscode.l10n.t('pruned');
    case 'blocked': return vscode.l10n.t('blocked');
    case 'waiting': return vscode.l10n.t('waiting');
    case 'merged': return vscode.l10n.t('merged');
    case 'superseded': return vscode.l10n.t('superseded');
    case 'unresolved': return vscode.l10n.t('unresolved');
    default: return state;
  }
}

export function statusName(row: Pick<RunRow, 'kind' | 'status' | 'drivenHere' | 'drivenBy'>): string {
  if (runPhase(row) === 'growing') return vscode.l10n.t('growing');
  switch (row.status.toUpperCase()) {
    case 'VERIFIED': return vscode.l10n.t('verified');
    case 'BEST_SO_FAR': return vscode.l10n.t('best so far');
    case 'PAUSED': return vscode.l10n.t('paused');
    case 'STOPPED': return vscode.l10n.t('stopped');
    case 'SPEND_CAP_REACHED': return vscode.l10n.t('spend cap reached');
    case 'WIDTH_CAP_REACHED': return vscode.l10n.t('width cap reached');
    case 'DEPTH_CAP_REACHED': return vscode.l10n.t('depth cap reached');
    case 'ROUNDS_EXHAUSTED': return vscode.l10n.t('rounds exhausted');
    case 'EARLY_STOP': return vscode.l10n.t('ended early');
    case 'CONVERGED': return vscode.l10n.t('converged');
    default: return row.status.toLowerCase().replaceAll('_', ' ');
  }
}

export function kindName(kind: RunRow['kind']): string {
  switch (kind) {
    case 'exploration': return vscode.l10n.t('exploration');
    case 'deliberation': return vscode.l10n.t('deliberation');
    case 'search': return vscode.l10n.t('search');
    case 'chain': return vscode.l10n.t('chain');
  }
}

/** What one of the six conditions says, by its number (the sidecar's own words where there is a seventh). */
export function conditionName(number: number, otherwise: string): string {
  switch (number) {
    case 1: return vscode.l10n.t('No blocked node');
    case 2: return vscode.l10n.t('Little new in the last two rounds');
    case 3: return vscode.l10n.t('All 12 framings fired on the root');
    case 4: return vscode.l10n.t('Every advancing node was expanded');
    case 5: return vscode.l10n.t('A high-risk branch was derived');
    case 6: return vscode.l10n.t('No cap reached');
    default: return otherwise;
  }
}

export function firingName(how: string): string {
  switch (how) {
    case 'answered': return vscode.l10n.t('answered');
    case 'examined': return vscode.l10n.t('examined, nothing found');
    case 'void': return vscode.l10n.t('void');
    case '': return vscode.l10n.t('not yet');
    default: return how;
  }
}
