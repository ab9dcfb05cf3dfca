// Chromium without a window, if there is one: for tests of what happens in pages.

import { createServer } from "node:http";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join, normalize } from "node:path";
import { chromium } from "playwright-core";

const PROGRAM = process.env.CHROMIUM ?? "/usr/bin/chromium";

const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".json": "application/json",
  ".wasm": "application/wasm",
};

/**
 * Opens a folder, or what listens at a port, and does `work` with the page; nothing without a browser.
 */
export async function inBrowser(where, work) {
  if (!existsSync(PROGRAM)) return undefined;
  const server = typeof where === "string" ? await serve(where) : null;
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
    await page.goto(`http://127.0.0.1:${server?.address().port ?? where}/`);
    return await work(page);
  } finally {
    await browser.close();
    server?.close();
    rmSync(profile, { recursive: true, force: true });
  }
}

/** Serves the files of folders: the first that has one */
export async function serve(...folders) {
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url, "http://localhost").pathname);
    const file = folders
      .map((folder) => join(folder, path.endsWith("/") ? `${path}index.html` : path))
      .find((candidate) => existsSync(candidate));
    // A folder without a page is an empty one: somewhere to run scripts.
    if (!file && path === "/") return response.writeHead(200, { "content-type": "text/html" }).end();
    if (!file) return response.writeHead(404).end();
    const type = TYPES[extname(file)] ?? "application/octet-stream";
    response.writeHead(200, { "content-type": type }).end(readFileSync(file));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}
