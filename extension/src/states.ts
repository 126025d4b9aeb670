// The states a node may be in, as filters name them.
import type { FilterSpec } from './protocol';

export type NodeState = NonNullable<FilterSpec['states']>[number];

/** The letters of the 12 framings. */
export const FRAMINGS: readonly string[] = Array.from('ABCDEFGHIJKL');

export const NODE_STATES: readonly NodeState[] = ['advances', 'kept', 'pruned', 'blocked', 'waiting', 'merged', 'superseded', 'unresolved'];
