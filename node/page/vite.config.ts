// Builds the page into the folder that the server embeds: `cargo xtask page`, which first makes the
// module that checks proofs. Nothing is inlined as `data:`, because the content security policy
// forbids it.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const { version } = JSON.parse(readFileSync(here("../../bindings/js/package.json"), "utf8")) as { version: string };

const node = process.env["MILEPOST_URL"] ?? "http://127.0.0.1:3030";

export default defineConfig({
  // Relative links, because the server may have a base path.
  base: "./",
  define: { __VERSION__: JSON.stringify(version) },
  build: {
    outDir: here("../server/page"),
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
