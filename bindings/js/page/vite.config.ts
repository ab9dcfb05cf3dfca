// The page is built into `dist/site`, from where the server embeds it. Everything is a file of its own
// origin: nothing is inlined as `data:`, which the page's policy would refuse.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

// The package stands beside the page. A page built without it does without the engine.
const engine = here('../dist/web.js');

const node = process.env['MILEPOST_URL'] ?? 'http://127.0.0.1:3030';

export default defineConfig({
  resolve: { alias: { milepost: existsSync(engine) ? engine : here('src/engine-absent.ts') } },
  build: {
    outDir: 'dist/site',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
  },
  server: {
    // `npm run dev` shows the page with every change at once, beside a node that answers it.
    proxy: {
      ...Object.fromEntries(['/status', '/practice', '/blocks'].map((path) => [path, node])),
      // The page and the node share an address: who posts means the node.
      '^/$': { target: node, bypass: (request) => (request.method === 'POST' ? null : request.url) },
    },
  },
});
