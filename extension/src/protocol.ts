// Generated from server/treewright/surfaces/lsp/messages by tools/generate_protocol.py. Do not edit.

import { NotificationType, RequestType } from 'vscode-languageclient/node';

/** A run or session as a list shows it. `drivenHere`: this server drives it. `drivenBy`: who else does; empty for nobody. `workspace`: a path; may be empty. `folder`: its folder, or the session's file. */
export interface RunRow {
  id: string;
  kind: 'exploration' | 'deliberation' | 'search' | 'chain';
  status: string;
  preset: string;
  title: string;
  created: string;
  updated: string;
  folder: string;
  workspace: string;
  drivenHere: boolean;
  drivenBy: string;
}

/** `treewright/runs`: known runs and sessions, the latest first. `workspace`: only those of this folder, an address or a path; empty for the client's folders; `*` for all. */
export interface RunsRequest {
  workspace?: string;
  offset?: number;
  limit?: number;
}

/** `total`: in all, of which this is a page. */
export interface RunsResult {
  runs: RunRow[];
  total: number;
}

/** `treewright/run`: all figures of one run: conditions, framings, verdicts, spend. */
export interface RunRequest {
  run: string;
}

/** One of the six conditions that end a run together, as they stand now. */
export interface Condition {
  number: number;
  name: string;
  met: boolean;
  figures: Record<string, unknown>;
}

/** How many nodes stand for themselves with this verdict. */
export interface Verdict {
  role: string;
  label: string;
  count: number;
}

/** A run's figures. `subject`: what a node is called. `terminal`: nodes that count for the width cap. `frontier`: nodes waiting to be expanded. `framings`: letter to how it fired on the root. */
export interface RunResult {
  row: RunRow;
  reason: string;
  performer: string;
  language: string;
  subject: string;
  nodes: number;
  terminal: number;
  frontier: number;
  verdicts: Verdict[];
  merged: number;
  superseded: number;
  unresolved: number;
  rounds: number;
  conditions: Condition[];
  framings: Record<string, string>;
  citationsHeld: number;
  citationsAll: number;
  usd: number;
  promptTokens: number;
  completionTokens: number;
  caps: Record<string, number | null>;
  damagedLines: number[];
  revision: number;
}

/** `treewright/start`: a new exploration. `root`: the topic, design prompt, or what is looked at, as a path or an address. `base`: folder that paths start from, as an address or a path; empty for the workspace folder of the root, else the first one. */
export interface StartRequest {
  width?: number | null;
  depth?: number | null;
  rounds?: number | null;
  maxBranches?: number | null;
  spendCapUsd?: number | null;
  minNoveltyRatio?: number | null;
  concurrency?: number | null;
  lang?: string | null;
  model?: string;
  workDoneToken?: string | number | null;
  preset?: string;
  root?: string;
  base?: string;
  out?: string;
  field?: string;
  seedFrom?: string;
  glossary?: string;
  noGrill?: boolean;
  online?: boolean | null;
  focus?: string;
  changedSince?: string;
  mode?: string;
  python?: string;
}

/** `treewright/resume`: go on with exactly the tasks not yet done; caps may be raised. */
export interface ResumeRequest {
  width?: number | null;
  depth?: number | null;
  rounds?: number | null;
  maxBranches?: number | null;
  spendCapUsd?: number | null;
  minNoveltyRatio?: number | null;
  concurrency?: number | null;
  lang?: string | null;
  model?: string;
  workDoneToken?: string | number | null;
  run: string;
}

/** Something the user should know that is no error. */
export interface NoticeRow {
  code: string;
  message: string;
  severity: 'info' | 'warning';
}

/** A run has begun, or goes on; `treewright/runChanged` tells how. */
export interface GrowingResult {
  run: string;
  folder: string;
  kept: number;
  redone: number;
  toDo: number;
  notices: NoticeRow[];
}

/** `treewright/stop`: stop a run, whoever drives it; nothing is lost. */
export interface StopRequest {
  run: string;
  reason?: string;
}

/** Who was asked to stop. */
export interface StopResult {
  holder: string;
}

/** Which nodes are wanted; what is empty does not narrow. `text`: words that must all occur. */
export interface FilterSpec {
  states?: ('advances' | 'kept' | 'pruned' | 'blocked' | 'waiting' | 'merged' | 'superseded' | 'unresolved')[];
  framings?: string[];
  text?: string;
}

/** `treewright/children`: a page of a node's children. `flat`: all nodes that match, wherever they are, instead of the children of `node`. */
export interface ChildrenRequest {
  run: string;
  node?: string;
  offset?: number;
  limit?: number;
  sort?: 'tree' | 'score' | 'newest';
  filter?: FilterSpec;
  flat?: boolean;
}

/** A node as a line of a list. `state`: `root` or a filter's state. `label`: the verdict's label, the tag, or what the node waits for. `total`: sum of the scores, -1 before there are any. `children`: how many the same filter shows. `matches`: false for a node that is only on the way to one that matches. */
export interface NodeLine {
  id: string;
  parent: string | null;
  statement: string;
  state: string;
  label: string;
  role: string;
  total: number;
  framing: string;
  depth: number;
  round: number;
  position: string;
  cwe: string;
  children: number;
  matches: boolean;
}

/** `revision` grows with the run: a page of another revision may have been paged differently. */
export interface ChildrenResult {
  run: string;
  node: string;
  rows: NodeLine[];
  total: number;
  offset: number;
  revision: number;
}

/** `treewright/node`: one node with everything there is about it. */
export interface NodeRequest {
  run: string;
  node: string;
}

/** A place in a file: `uri` as addresses are written, lines from 1, inclusive; 0 when it has no lines. */
export interface Located {
  uri: string;
  path: string;
  start: number;
  end: number;
}

/** A citation with its state: `verified`, `corrected`, `weak` or `unverified`. */
export interface CitationRow {
  kind: 'file' | 'url' | 'command';
  label: string;
  state: string;
  field: string;
  quote: string;
  reason: string;
  location: Located | null;
}

/** `uri`: its virtual document. `edits`: how many changes its fix has. `children`: ids. */
export interface NodeResult {
  line: NodeLine;
  uri: string;
  markdown: string;
  fields: Record<string, string | string[]>;
  scores: Record<string, number>;
  reasons: string[];
  citations: CitationRow[];
  children: string[];
  edits: number;
}

/** `treewright/map`: the whole tree for the radial map, as columns of equal length, parents before children. */
export interface MapRequest {
  run: string;
  limit?: number;
}

/** `parent`: index into the columns, -1 for the root. `total`: nodes in all, the ones left out included. */
export interface MapResult {
  run: string;
  subject: string;
  labels: Record<string, string>;
  id: string[];
  parent: number[];
  state: string[];
  score: number[];
  statement: string[];
  total: number;
  revision: number;
}

/** `treewright/compare`: two nodes of a run, field by field, as Markdown. */
export interface CompareRequest {
  run: string;
  left: string;
  right: string;
}

/** A text to show. */
export interface TextResult {
  text: string;
  language?: string;
}

/** `treewright/findings`: what is shown in files now, file by file, the most severe first. `uri`: only of this file; empty for all. */
export interface FindingsRequest {
  uri?: string;
  offset?: number;
  limit?: number;
}

/** A position in the units agreed on: line and character from 0. */
export interface Spot {
  line: number;
  character: number;
}

/** From, and up to but not including. */
export interface SpotRange {
  start: Spot;
  end: Spot;
}

/** A finding where it is now. `severity`: as diagnostics have it, 1 to 4. `stale`: its code was changed since. */
export interface FindingRow {
  run: string;
  node: string;
  uri: string;
  path: string;
  range: SpotRange;
  statement: string;
  label: string;
  role: string;
  severity: number;
  score: number;
  cwe: string;
  stale: boolean;
  fixable: boolean;
}

/** `total`: shown in all. `hidden`: left out, since a file has more than `maxFindingsPerFile`. */
export interface FindingsResult {
  findings: FindingRow[];
  total: number;
  hidden: number;
}

/** One finding, by its run and node. */
export interface FindingRequest {
  run: string;
  node: string;
}

/** `treewright/decide`: what the user decided about a finding; later runs respect it. `accepted`: a risk that is taken. `dismissed`: a false alarm. `reopened`: neither any more. Each but the last needs a reason. */
export interface DecideRequest {
  run: string;
  node: string;
  decision: 'accepted' | 'dismissed' | 'reopened';
  reason?: string;
}

/** `note`: something the user should know; mostly empty. */
export interface DecideResult {
  note: string;
}

/** `treewright/decisions`: what was decided in the client's folders, the latest first. */
export type DecisionsRequest = Record<string, never>;

/** One decision. `decision`: `accepted`, `dismissed` or `refuted`. `at`: ISO 8601 in UTC. */
export interface DecisionRow {
  workspace: string;
  path: string;
  rule: string;
  symbol: string;
  quote: string;
  decision: string;
  reason: string;
  at: string;
}

/** All decisions of the client's folders. */
export interface DecisionsResult {
  decisions: DecisionRow[];
}

/** `edit`: an LSP `WorkspaceEdit`, null when the fix cannot be applied any more; `reason` says why. */
export interface FixResult {
  edit: Record<string, unknown> | null;
  title: string;
  reason: string;
}

/** `treewright/deeper`: a new run that goes on from one finding or node, with what is known of it as its seed. */
export interface DeeperRequest {
  width?: number | null;
  depth?: number | null;
  rounds?: number | null;
  maxBranches?: number | null;
  spendCapUsd?: number | null;
  minNoveltyRatio?: number | null;
  concurrency?: number | null;
  lang?: string | null;
  model?: string;
  workDoneToken?: string | number | null;
  run: string;
  node: string;
}

/** `treewright/searchFix`: search code branches for a program that passes the tests that reach a function. Either `run` and `node` of a finding, or `uri` and `line` (from 0) of a place in a file; `checks`: files of tests, empty for those that are found to reach it. Code is executed, so the workspace must be trusted. How it ended is told by `treewright/searchEnded`. */
export interface SearchFixRequest {
  run?: string;
  node?: string;
  uri?: string;
  line?: number;
  checks?: string[];
  model?: string;
  timeLimitS?: number;
  spendCapUsd?: number | null;
  workDoneToken?: string | number | null;
}

/** A search has begun. `function`: under test. `checks`: paths of the files of tests. */
export interface SearchFixResult {
  run: string;
  folder: string;
  function: string;
  checks: string[];
  notices: NoticeRow[];
}

/** `treewright/presets`: the shipped presets and the user's. */
export type PresetsRequest = Record<string, never>;

/** `source`: `shipped` or `user`. `faults`: how many errors keep it from being used. */
export interface PresetRow {
  name: string;
  description: string;
  source: string;
  path: string;
  faults: number;
}

/** Every preset that can be named. */
export interface PresetsResult {
  presets: PresetRow[];
}

/** `treewright/models`: which providers answer. `discover`: also ask the usual local ports; only on the user's wish. */
export interface ModelsRequest {
  discover?: boolean;
}

/** A provider; `name` is what `model` of a request takes. */
export interface ModelRow {
  name: string;
  kind: string;
  detail: string;
  ready: boolean;
}

/** `default`: what is used when nothing is named; may be empty. */
export interface ModelsResult {
  models: ModelRow[];
  default: string;
}

/** `treewright/keys`: keys of endpoints by name, from the editor's secret storage; kept in memory, never written. */
export interface KeysRequest {
  keys: Record<string, string>;
}

/** How many keys are known now. */
export interface KeysResult {
  known: number;
}

/** `treewright/validate`: check a preset, profile or lens file, or a folder of them; an address or a path. */
export interface ValidateRequest {
  target: string;
}

/** A broken rule: line and columns from 1, columns in code points, the end exclusive. */
export interface FaultRow {
  uri: string;
  path: string;
  line: number;
  column: number;
  endColumn: number;
  rule: string;
  message: string;
  severity: 'error' | 'warning';
}

/** In reading order. */
export interface ValidateResult {
  faults: FaultRow[];
}

/** `treewright/presetText`: the text of a new preset, to be saved as `<name>.md`; made from a shipped one. */
export interface PresetTextRequest {
  name: string;
  like?: string;
}

/** `folder`: where the user's presets are kept. */
export interface PresetTextResult {
  text: string;
  folder: string;
}

/** `treewright/about`: what an issue report needs. */
export type AboutRequest = Record<string, never>;

/** `root`: the store's folder. */
export interface AboutResult {
  version: string;
  python: string;
  executable: string;
  platform: string;
  root: string;
  trusted: boolean;
  diagnostics: 'push' | 'pull';
  positionEncoding: string;
  runsDriven: number;
}

/** `treewright/report`: a run as a document: its report, outline, a deliverable by its file name, or SARIF. */
export interface ReportRequest {
  run: string;
  name?: string;
}

/** `treewright/document`: the text of a `treewright:` address. */
export interface DocumentRequest {
  uri: string;
}

/** `treewright/searchEnded`: `edit` is an LSP `WorkspaceEdit`, only when a program passed every check and the file is as it was when the search began; `headline` says in one line how it ended. */
export interface SearchEnded {
  run: string;
  status: string;
  verified: boolean;
  headline: string;
  uri: string;
  diff: string;
  edit: Record<string, unknown> | null;
}

/** What changed of one run since the last notice. `row`: null when the run is gone. `nodes`: whose lines changed, when the run is open in a view and they are few; `many`: too many to name. `revision`: as in pages; 0 when the run is not open in a view. */
export interface RunChange {
  run: string;
  row: RunRow | null;
  nodes: string[];
  many: boolean;
  revision: number;
  inFlight: number;
}

/** `treewright/runChanged`: runs have changed, whoever changed them; at most ten notices a second. */
export interface RunChanged {
  changes: RunChange[];
}

/** `treewright/findingsChanged`: how many findings are shown in files, and how many more there are. */
export interface FindingsChanged {
  shown: number;
  hidden: number;
}

/** One message of a conversation. */
export interface ModelMessage {
  role: 'system' | 'user' | 'assistant';
  text: string;
}

/** `treewright/model/complete`: one completion by the editor's own model; cancelled by `$/cancelRequest`. */
export interface ModelCompleteRequest {
  messages: ModelMessage[];
  maxTokens: number;
  temperature?: number | null;
  stop?: string[];
  model?: string;
}

/** `code` of the editor's error: `NoPermissions`, `Blocked`, `NotFound`, `Cancelled` or another word. */
export interface ModelError {
  code: string;
  message: string;
}

/** What the editor's model answered, or its error; `finishReason` as the editor names it. */
export interface ModelCompleteResult {
  text?: string;
  finishReason?: string | null;
  promptTokens?: number | null;
  completionTokens?: number | null;
  error?: ModelError | null;
}

/** Settings of a client; every key is optional. Attributes: trusted: the workspace may configure Treewright and have code executed; false unless the editor says so. diagnostics: `push`, `pull`, or `auto` to go by what the client offers. max_findings_per_file: at most so many findings of a file are shown, the rest is counted. show_marginal: also show findings that were kept but not confirmed. audit_on_save: audit a file when it is saved. confirm_fixes: ask before a fix that changes more than one file, where the client can. client_commands: the client has the commands `treewright.finding.*` itself; actions name these. virtual_documents: serve `treewright:` documents where the client takes them from a server. editor_model: the client answers `treewright/model/complete`. model: used when a request names none. locale: language of messages to people: `en` or `zh-cn`. */
export interface EditorSettings {
  trusted?: boolean;
  diagnostics?: 'auto' | 'push' | 'pull';
  maxFindingsPerFile?: number;
  showMarginal?: boolean;
  auditOnSave?: boolean;
  confirmFixes?: boolean;
  clientCommands?: boolean;
  virtualDocuments?: boolean;
  editorModel?: boolean;
  model?: string;
  locale?: string;
}

/** The `data` of a response's error: `code` decides, never the text. */
export interface ErrorData {
  code: string;
  hint?: string;
  details?: Record<string, unknown>;
  faults?: { field: string; message: string }[];
}

/** What the extension asks the server. */
export const Requests = {
  runs: new RequestType<RunsRequest, RunsResult, ErrorData>('treewright/runs'),
  run: new RequestType<RunRequest, RunResult, ErrorData>('treewright/run'),
  start: new RequestType<StartRequest, GrowingResult, ErrorData>('treewright/start'),
  resume: new RequestType<ResumeRequest, GrowingResult, ErrorData>('treewright/resume'),
  deeper: new RequestType<DeeperRequest, GrowingResult, ErrorData>('treewright/deeper'),
  stop: new RequestType<StopRequest, StopResult, ErrorData>('treewright/stop'),
  children: new RequestType<ChildrenRequest, ChildrenResult, ErrorData>('treewright/children'),
  node: new RequestType<NodeRequest, NodeResult, ErrorData>('treewright/node'),
  map: new RequestType<MapRequest, MapResult, ErrorData>('treewright/map'),
  compare: new RequestType<CompareRequest, TextResult, ErrorData>('treewright/compare'),
  findings: new RequestType<FindingsRequest, FindingsResult, ErrorData>('treewright/findings'),
  fix: new RequestType<FindingRequest, FixResult, ErrorData>('treewright/fix'),
  searchFix: new RequestType<SearchFixRequest, SearchFixResult, ErrorData>('treewright/searchFix'),
  issue: new RequestType<FindingRequest, TextResult, ErrorData>('treewright/issue'),
  decide: new RequestType<DecideRequest, DecideResult, ErrorData>('treewright/decide'),
  decisions: new RequestType<DecisionsRequest, DecisionsResult, ErrorData>('treewright/decisions'),
  presets: new RequestType<PresetsRequest, PresetsResult, ErrorData>('treewright/presets'),
  presetText: new RequestType<PresetTextRequest, PresetTextResult, ErrorData>('treewright/presetText'),
  validate: new RequestType<ValidateRequest, ValidateResult, ErrorData>('treewright/validate'),
  models: new RequestType<ModelsRequest, ModelsResult, ErrorData>('treewright/models'),
  keys: new RequestType<KeysRequest, KeysResult, ErrorData>('treewright/keys'),
  report: new RequestType<ReportRequest, TextResult, ErrorData>('treewright/report'),
  document: new RequestType<DocumentRequest, TextResult, ErrorData>('treewright/document'),
  about: new RequestType<AboutRequest, AboutResult, ErrorData>('treewright/about'),
} as const;

/** What the server tells the extension. */
export const Notifications = {
  runChanged: new NotificationType<RunChanged>('treewright/runChanged'),
  findingsChanged: new NotificationType<FindingsChanged>('treewright/findingsChanged'),
  searchEnded: new NotificationType<SearchEnded>('treewright/searchEnded'),
} as const;

/** What the server asks the extension. */
export const ClientRequests = {
  modelComplete: new RequestType<ModelCompleteRequest, ModelCompleteResult, ErrorData>('treewright/model/complete'),
} as const;
