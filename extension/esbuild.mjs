// Bundles the extension and its webview scripts into dist/. `--production` minifies, `--watch` keeps at it.
import esbuild from 'esbuild';

const production = process.argv.includes('--production');
const common = { bundle: true, minify: production, sourcemap: production ? false : 'linked', logLevel: 'warning', legalComments: 'none' };

const builds = [
  {
    ...common,
    entryPoints: ['src/extension.ts'],
    outfile: 'dist/extension.js',
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    external: ['vscode'],
  },
  {
    ...common,
    entryPoints: ['src/webview/map.ts', 'src/webview/reader.ts'],
    outdir: 'dist/webview',
    platform: 'browser',
    format: 'iife',
    target: 'es2022',
  },
];

if (process.argv.includes('--watch')) {
  for (const build of builds) await (await esbuild.context(build)).watch();
} else {
  await Promise.all(builds.map(build => esbuild.build(build)));
}
