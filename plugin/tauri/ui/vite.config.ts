import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  root: import.meta.dirname,
  // The window's scheme serves from its root; relative addresses also work wherever else it is mapped to.
  base: './',
  plugins: [
    svelte(),
    {
      // All of it is of one origin: nothing is fetched with CORS, which a custom scheme need not know.
      name: 'same-origin',
      transformIndexHtml: { order: 'post', handler: (html) => html.replaceAll(' crossorigin', '') },
    },
  ],
  build: {
    // WebKitGTK 2.40 (Debian 12's floor), WebView2, macOS 13.
    target: ['safari16.4', 'chrome111'],
    // Committed and embedded: the same source gives the same names.
    rolldownOptions: {
      checks: { pluginTimings: false },
      output: {
        entryFileNames: 'settings.js',
        chunkFileNames: '[name].js',
        assetFileNames: '[name][extname]',
      },
    },
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    emptyOutDir: true,
    reportCompressedSize: false,
  },
  test: { environment: 'node', include: ['test/**/*.test.ts'], testTimeout: 30_000 },
});
