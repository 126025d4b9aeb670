// What the map's host and its page tell each other.
import type { Columns } from './layout';

export interface TreeMessage extends Columns {
  type: 'tree';
  run: string;
  title: string;
  labels: Record<string, string>;
  total: number;
}

export interface SelectMessage {
  type: 'select';
  node: string;
}

/** Asks the page for the map as a file, as its own buttons do. */
export interface ExportMessage {
  type: 'export';
  format: 'svg' | 'png';
}

export type ToPage = TreeMessage | SelectMessage | ExportMessage;

export type FromPage =
  | { type: 'ready' }
  | { type: 'open'; node: string }
  | { type: 'save'; format: 'svg' | 'png'; data: string }
  | { type: 'fault'; message: string };
