// Runs one layer of the extension's tests: `node test/run.mjs unit|host|e2e|full|pictures [part of a file's name ...]`.
//
// Tests are bundled from TypeScript into .test/ and run by Node's own runner, a process a file. `host` and `e2e` need a real
// VS Code and a browser (tools/install_vscode.py). Where these cannot be had the tests are skipped, loudly; with CI set that is
// a failure. Two files of `e2e` run at a time, and what failed is run once more, alone: they wait for a screen that others share.
// Environment: CODE_SERVER (version to test on), TREEWRIGHT_PYTHON (interpreter with the sidecar).
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import esbuild from 'esbuild';

const here = path.resolve(import.meta.dirname, '..');
const root = path.dirname(here);
const out = path.join(here, '.test');
const [layer = '', ...parts] = process.argv.slice(2);
const inCi = !['', '0', 'false'].includes((process.env.CI ?? '').toLowerCase());

if (!['unit', 'host', 'e2e', 'full', 'pictures'].includes(layer)) {
  console.error('usage: node test/run.mjs unit|host|e2e|full|pictures [part of a file name ...]');
  process.exit(2);
}

const names = fs.readdirSync(path.join(here, 'test', layer)).filter(name => name.endsWith('.test.ts'));
const LONGEST = ['growing', 'map', 'findings', 'first-run']; // begun first, so that two at a time end together
const rank = name => (LONGEST.findIndex(each => name.startsWith(each)) + LONGEST.length + 1) % (LONGEST.length + 1);
const chosen = names.filter(name => !parts.length || parts.some(part => name.includes(part))).sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
if (!chosen.length) fail(`no test file of ${layer} fits ${parts.join(' ')}`);

await esbuild.build({
  entryPoints: chosen.map(name => path.join(here, 'test', layer, name)),
  outdir: path.join(out, layer),
  outExtension: { '.js': '.mjs' },
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  sourcemap: 'inline',
  packages: 'external',
  logLevel: 'warning',
});

const env = { ...process.env };
delete env.NODE_OPTIONS;
if (layer !== 'unit') Object.assign(env, await prepare());
const files = chosen.map(name => path.join(out, layer, name.replace(/\.ts$/, '.mjs')));
const flags = ['--enable-source-maps', '--test', '--test-reporter=spec', `--test-timeout=${{ unit: 60_000, full: 1_800_000 }[layer] ?? 900_000}`];
if (env.TEST_ONLY) flags.push(`--test-name-pattern=${env.TEST_ONLY}`);
const begun = Date.now();
let failed = await runAll(files, { e2e: 2, unit: 4 }[layer] ?? 1);
if (failed.length && layer === 'e2e' && !parts.length) {
  console.log('== What failed is run once more, alone ==');
  failed = await runAll(failed, 1);
}
console.log(`${layer}: ${String(files.length - failed.length)} of ${String(files.length)} files passed in ${String(Math.round((Date.now() - begun) / 1000))} s`);
process.exit(failed.length ? 1 : 0);

/** Runs files, some at a time, says what each said when it has ended, and returns those that failed. */
async function runAll(all, atOnce) {
  const waiting = [...all];
  const bad = [];
  const work = async () => {
    for (let file = waiting.shift(); file; file = waiting.shift()) if (!(await runFile(file))) bad.push(file);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return bad;
}

function runFile(file) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...flags, file], { cwd: here, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', data => (said += data));
    child.once('error', reject);
    child.once('close', code => {
      const lines = said.split('\n').filter(line => code !== 0 || /^[✔✖#]|^\S/.test(line) && !/^ℹ/.test(line));
      process.stdout.write(`-- ${path.basename(file, '.test.mjs')}\n${lines.join('\n').trimEnd()}\n`);
      resolve(code === 0);
    });
  });
}

/** Builds and packs the extension, and finds VS Code; ends here when that cannot be had. */
async function prepare() {
  const python = process.env.TREEWRIGHT_PYTHON ?? path.join(root, '.venv', 'bin', 'python');
  if (!fs.existsSync(python)) fail(`no Python with the sidecar at ${python}: run "make test" or set TREEWRIGHT_PYTHON`);
  const version = process.env.CODE_SERVER ? ['--version', process.env.CODE_SERVER] : [];
  const install = [path.join(root, 'tools', 'install_vscode.py'), ...version, ...(inCi || process.getuid?.() === 0 ? [] : ['--no-apt'])];
  const installed = spawnSync(python, install, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], env: environment() });
  if (installed.status !== 0) unavailable('VS Code or the browser could not be installed (see above)');
  const vscode = installed.stdout.trim();
  const vsix = path.join(out, 'treewright.vsix');
  const vsce = path.join(here, 'node_modules', '@vscode', 'vsce', 'vsce');
  run(process.execPath, [vsce, 'package', '--no-dependencies', '--skip-license', '--allow-missing-repository', '-o', vsix], { npm_config_ignore_scripts: 'true' });
  if (layer === 'host') await buildHostTests();
  return { TREEWRIGHT_TEST_BUILTINS: fewBuiltins(vscode), TREEWRIGHT_TEST_VSCODE: vscode, TREEWRIGHT_TEST_VSIX: vsix, TREEWRIGHT_TEST_PYTHON: python, TREEWRIGHT_TEST_ROOT: root };
}

/** A folder with the few extensions of VS Code that the tests look at: every start is some seconds shorter. */
function fewBuiltins(vscode) {
  const all = path.join(vscode, 'node_modules', 'code-server', 'lib', 'vscode', 'extensions');
  const few = path.join(out, 'builtins', path.basename(vscode));
  for (const name of ['configuration-editing', 'diff', 'json', 'markdown-basics', 'markdown-language-features', 'python', 'theme-defaults']) {
    const target = path.join(few, name);
    if (!fs.existsSync(target)) fs.cpSync(path.join(all, name), target, { recursive: true });
  }
  return few;
}

/** What runs inside the extension host is CommonJS, and takes `vscode` from there. */
async function buildHostTests() {
  const inside = path.join(here, 'test', 'host', 'inside');
  await esbuild.build({
    entryPoints: fs.readdirSync(inside).filter(name => name.endsWith('.ts')).map(name => path.join(inside, name)),
    outdir: path.join(out, 'inside'),
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    sourcemap: 'inline',
    external: ['vscode'],
    logLevel: 'warning',
  });
}

function environment() {
  const kept = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name));
  return Object.fromEntries(kept);
}

function run(program, args, more = {}) {
  const done = spawnSync(program, args, { cwd: here, encoding: 'utf8', env: { ...process.env, ...more } });
  if (done.status !== 0) fail(`${[program, ...args].join(' ')} failed:\n${done.stdout}${done.stderr}`);
}

function unavailable(why) {
  if (inCi) fail(`${why}. With CI set the ${layer} tests must run.`);
  console.error(`\n${'#'.repeat(100)}\n#  SKIPPED: the ${layer} tests of the extension did not run: ${why}.\n${'#'.repeat(100)}\n`);
  process.exit(0);
}

function fail(why) {
  console.error(why);
  process.exit(1);
}
