// What the manifest says and what the code does must agree.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { requirement } from '../requirement';

interface Manifest {
  capabilities: { untrustedWorkspaces: { supported: string; restrictedConfigurations: string[] } };
  activationEvents: string[];
  extensionDependencies?: string[];
  dependencies: Record<string, string>;
  contributes: {
    commands: { command: string }[];
    configuration: { properties: Record<string, { scope: string; description?: string; markdownDescription?: string }> };
    menus: Record<string, { command: string }[]>;
  };
}

const read = (name: string): string => fs.readFileSync(path.resolve(name), 'utf8');
const json = (name: string): unknown => JSON.parse(read(name));
const texted = (name: string): Record<string, string> => json(name) as Record<string, string>;
const manifest = json('package.json') as Manifest;
const sources = fs.readdirSync('src').filter(name => name.endsWith('.ts')).map(name => read(path.join('src', name)));

/** All texts that are shown, as the code has them. */
function texts(): Set<string> {
  const found = new Set<string>();
  for (const source of sources) {
    for (const match of source.matchAll(/(?:l10n\.t|[^\w.]t)\(\s*(?:'((?:[^'\\]|\\.)*)'|`([^`]*)`)/g)) found.add((match[1] ?? match[2] ?? '').replaceAll("\\'", "'"));
  }
  return found;
}

test('every command that is offered is registered', requirement('extension:commands:registered'), () => {
  const registered = new Set(sources.flatMap(source => [...source.matchAll(/\bon\('(\w+)'/g)].map(match => `treewright.${match[1] ?? ''}`)));
  for (const { command } of manifest.contributes.commands) assert.ok(registered.has(command), command);
  for (const entries of Object.values(manifest.contributes.menus)) for (const { command } of entries) assert.ok(manifest.contributes.commands.some(each => each.command === command), command);
});

test('every text of the manifest is there in both languages', requirement('extension:language:complete'), () => {
  const used = new Set([...read('package.json').matchAll(/"%([\w.]+)%"/g)].map(match => match[1] ?? ''));
  for (const name of ['package.nls.json', 'package.nls.zh-cn.json']) assert.deepEqual(new Set(Object.keys(texted(name))), used, name);
});

test('every text of the code is translated, with the same places for values', requirement('extension:language:complete'), () => {
  const chinese = texted('l10n/bundle.l10n.zh-cn.json');
  const places = (text: string): string[] => (text.match(/\{\d\}/g) ?? []).sort();
  assert.deepEqual(new Set(Object.keys(chinese)), texts());
  assert.deepEqual(new Set(Object.keys(texted('l10n/bundle.l10n.json'))), texts());
  for (const [text, translated] of Object.entries(chinese)) assert.deepEqual(places(translated), places(text), text);
});

test('a folder that is not trusted may not choose what is run', requirement('extension:trust:settings'), () => {
  const { supported, restrictedConfigurations } = manifest.capabilities.untrustedWorkspaces;
  assert.equal(supported, 'limited');
  for (const name of ['treewright.python', 'treewright.home', 'treewright.model']) assert.ok(restrictedConfigurations.includes(name), name);
});

test('no folder may raise what a run may spend', requirement('extension:trust:settings'), () => {
  assert.equal(manifest.contributes.configuration.properties['treewright.spendCapUsd']?.scope, 'machine');
});

test('every setting is described', () => {
  for (const [name, setting] of Object.entries(manifest.contributes.configuration.properties)) assert.ok(setting.description ?? setting.markdownDescription, name);
});

test('it is activated by its own views and commands only, depends on no other extension and sends nothing', requirement('extension:activation:lazy', 'extension:telemetry:none'), () => {
  assert.deepEqual(manifest.activationEvents.filter(each => !each.startsWith('onWebviewPanel:treewright.')), []);
  assert.equal(manifest.extensionDependencies, undefined);
  assert.deepEqual(Object.keys(manifest.dependencies), ['vscode-languageclient']);
  for (const source of sources) assert.ok(!/https?:\/\/(?!www\.w3\.org)|fetch\(|node:https?|createTelemetryLogger/.test(source.replace('/^https?:/', '')), source.slice(0, 60));
});

test('the pages let nothing load but their own script and style', requirement('extension:webview:policy'), () => {
  for (const name of ['map.ts', 'reader.ts']) {
    const source = read(path.join('src', name));
    assert.match(source, /default-src 'none'/);
    assert.match(source, /script-src 'nonce-\$\{nonce\}'/);
    assert.ok(!/unsafe-inline|unsafe-eval/.test(source));
  }
});
