// Builds what is committed and published: an ES module with its types, and the init script that the plugin embeds.

import { execFileSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { rolldown } from 'rolldown';

process.chdir(import.meta.dirname);
rmSync('dist', { recursive: true, force: true });

const banner = '/* Generated from guest-js/src; do not edit. */';

const library = await rolldown({ input: 'src/index.ts', external: [/^@tauri-apps\/api/], platform: 'browser' });
await library.write({ file: 'dist/index.js', format: 'es', banner });
await library.close();

// No `import` may be left: an init script is a classic script. The name keeps the wrapper from leaking globals.
const script = await rolldown({ input: 'src/init.ts', platform: 'browser' });
await script.write({ file: 'dist/init-iife.js', format: 'iife', postBanner: banner, minify: true });
await script.close();
cpSync('dist/init-iife.js', '../plugin/tauri/src/init-iife.js');

const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
execFileSync(process.execPath, [tsc, '--project', 'tsconfig.build.json'], { stdio: 'inherit' });
