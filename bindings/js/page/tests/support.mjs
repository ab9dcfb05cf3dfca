// What every test of the page needs: a node that ends with its tests, and a browser that may reach nothing
// but that node. Pages are watched: what they log as an error, and whatever they ask of anyone else,
// fails the test that looks.

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { chromium } from 'playwright-core';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Screenshots, for a person to look at */
const output = here('output');
/** The program with the page in it, as `cargo build -p milepost-server` makes it after the page */
const program = process.env.MILEPOST_BIN ?? here('../../../../target/debug/milepost');
const browserProgram = process.env.CHROMIUM ?? '/usr/bin/chromium';

export const PHONE = { width: 360, height: 740 };
export const DESKTOP = { width: 1360, height: 900 };

/** Starts a node on a free port; `--seed` and the like can be given */
export async function startNode(...args) {
  if (!existsSync(program)) throw new Error(`${program} is not there; build it by \`cargo build -p milepost-server\``);
  const environment = { ...process.env, MILEPOST_LOG: 'warn' };
  const child = spawn(program, ['serve', '--listen', '127.0.0.1:0', ...args], { env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout });
  const first = await new Promise((resolve, reject) => {
    lines.once('line', resolve);
    child.once('exit', (code) => reject(new Error(`the node ended with ${code} before it listened`)));
  });
  // Read on, or the node would stand still once the pipe is full.
  const printed = [];
  lines.on('line', (line) => printed.push(line));
  const url = /http:\S+/.exec(first)?.[0];
  if (url === undefined) throw new Error(`no address in ${first}`);
  return {
    url,
    /** What these patterns catch in the lines that the node prints, which come in their time */
    async printed(...patterns) {
      for (;;) {
        const caught = patterns.map((pattern) => printed.map((line) => pattern.exec(line)?.[1]).find(Boolean));
        if (caught.every(Boolean)) return caught;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    async stop() {
      if (child.exitCode !== null) return;
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** Starts a browser with an empty profile */
export async function startBrowser() {
  const profile = mkdtempSync(join(tmpdir(), 'milepost-page-'));
  const browser = await chromium.launch({
    executablePath: browserProgram,
    headless: true,
    args: [
      '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync',
    ],
    env: { ...process.env, HOME: profile, XDG_CONFIG_HOME: profile, XDG_CACHE_HOME: profile },
  });
  return {
    /** Opens a page of this node; `options` are those of a browser context */
    async open(node, path = '/', options = {}) {
      const context = await browser.newContext({ viewport: DESKTOP, ...options });
      const page = await context.newPage();
      page.setDefaultTimeout(30_000);
      const watched = watch(page, node);
      await page.goto(`${node.url}${path}`);
      return { page, ...watched, close: () => context.close() };
    },
    async stop() {
      await browser.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

function watch(page, node) {
  const foreign = [];
  const errors = [];
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== node.url) foreign.push(request.url());
  });
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => {
    // An answer with an HTTP status of its own (408: not in time) is no error of the page.
    if (message.type() === 'error' && !/status of (400|404|408|422)|ERR_INTERNET_DISCONNECTED/.test(message.text())) errors.push(message.text());
  });
  return { foreign, errors };
}

/** Keeps a picture of what is to be seen */
export async function keep(page, name, options = {}) {
  mkdirSync(output, { recursive: true });
  await page.screenshot({ path: join(output, `${name}.png`), animations: 'disabled', ...options });
}

/** The oldest practice transaction that the node lists of which this is so, once it is final */
export async function pick(node, isWanted) {
  for (;;) {
    const listed = await (await fetch(`${node.url}/practice/recent`)).json();
    for (const one of listed.reverse().filter(isWanted)) {
      const params = { tx_hash: one.tx_hash, sender_account_id: one.signer_id, wait_until: 'NONE' };
      const answer = await ask(node, 'EXPERIMENTAL_tx_status', params);
      if (answer.includes('"final_execution_status":"FINAL"')) return one;
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** The answer of the node itself, as text */
export async function ask(node, method, params) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 'test', method, params });
  const response = await fetch(node.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  return response.text();
}

/** How far the page is wider than its window */
export function overflow(page) {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}
