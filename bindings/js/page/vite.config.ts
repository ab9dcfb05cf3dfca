// Builds the page into `dist/site`, which the server embeds. Nothing is inlined as `data:`, because
// the content security policy forbids it.

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

// The package in the parent directory; without it the page is built without the engine.
const engine = here("../dist/web.js");
const hasEngine = existsSync(engine);

const node = process.env["MILEPOST_URL"] ?? "http://127.0.0.1:3030";

export default defineConfig({
  // Relative links, because the server may have a base path.
  base: "./",
  resolve: {
    alias: [
      { find: /^milepost$/, replacement: hasEngine ? engine : here("src/engine-stub.ts") },
      { find: /^milepost\/follow$/, replacement: here(hasEngine ? "../dist/follow.js" : "src/engine-stub.ts") },
      { find: /^milepost\/proof$/, replacement: here(hasEngine ? "../dist/proof-web.js" : "src/engine-stub.ts") },
    ],
  },
  build: {
    outDir: "dist/site",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
  },
  server: {
    // `npm run dev` serves the page and forwards requests to a node.
    proxy: {
      ...Object.fromEntries(["/status", "/practice", "/blocks", "/tx", "/receipt"].map((path) => [path, node])),
      // The page and JSON-RPC share the path `/`: POST goes to the node.
      "^/$": { target: node, bypass: (request) => (request.method === "POST" ? null : request.url) },
    },
  },
});
