// Headless Chromium for tests of pages; without Chromium those tests are skipped.

import { createServer } from "node:http";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join, normalize } from "node:path";
import { chromium } from "playwright-core";

const PROGRAM = process.env.CHROMIUM ?? "/usr/bin/chromium";

const TYPES = {
  ".css": "text/css",
  ".html": "text/html",
  ".js": "text/javascript",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
};

/**
 * Opens a folder, or the server at a local port, and calls `work` with the page; returns
 * `undefined` without a browser
 */
export async function inBrowser(target, work) {
  if (!existsSync(PROGRAM)) return undefined;
  const server = typeof target === "string" ? await serve(target) : null;
  const profile = mkdtempSync(join(tmpdir(), "milepost-browser-"));
  const browser = await chromium.launchPersistentContext(profile, {
    executablePath: PROGRAM,
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  try {
    const page = await browser.newPage();
    page.on("pageerror", (error) => console.error(error));
    await page.goto(`http://127.0.0.1:${server?.address().port ?? target}/`);
    return await work(page);
  } finally {
    await browser.close();
    server?.close();
    rmSync(profile, { recursive: true, force: true });
  }
}

/** Serves the files of folders; a file comes from the first folder that has it */
export async function serve(...folders) {
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url, "http://localhost").pathname);
    const file = folders
      .map((folder) => join(folder, path.endsWith("/") ? `${path}index.html` : path))
      .find((candidate) => existsSync(candidate));
    // An empty page, to run scripts in.
    if (!file && path === "/") return response.writeHead(200, { "content-type": "text/html" }).end();
    if (!file) return response.writeHead(404).end();
    const type = TYPES[extname(file)] ?? "application/octet-stream";
    response.writeHead(200, { "content-type": type }).end(readFileSync(file));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}
