// What the tests of the page share: a node that is stopped after the tests, and a browser. Records
// errors in the console of a page and its requests to other origins, for tests to assert that there
// are none.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { chromium } from "playwright-core";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Folder of screenshots, for manual review */
const output = here("output");
/** The program with the page embedded */
const program = process.env.SERVER_PROGRAM ?? here("../../../target/debug/milepost");
const browserProgram = process.env.CHROMIUM ?? "/usr/bin/chromium";

export const PHONE = { width: 360, height: 740 };
export const DESKTOP = { width: 1360, height: 900 };

/** Starts a node on a free port; `args` are further arguments, such as `--seed` */
export async function startNode(...args) {
  if (!existsSync(program))
    throw new Error(`${program} does not exist; build it with \`cargo build -p milepost-server\``);
  const environment = { ...process.env, MILEPOST_LOG: "warn" };
  const child = spawn(program, ["serve", "--listen", "127.0.0.1:0", ...args], {
    env: environment,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout });
  const first = await new Promise((resolve, reject) => {
    lines.once("line", resolve);
    child.once("exit", (code) => reject(new Error(`the node exited with ${code} before it listened`)));
  });
  // All lines are read, because the node blocks when the pipe is full.
  lines.on("line", () => undefined);
  const url = /http:\/\/[^\s,()]+/.exec(first)?.[0].replace(/\/$/, "");
  if (url === undefined) throw new Error(`no URL in ${first}`);
  return {
    url,
    async stop() {
      if (child.exitCode !== null) return;
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** Starts a browser with an empty profile */
export async function startBrowser() {
  const profile = mkdtempSync(join(tmpdir(), "milepost-page-"));
  const browser = await chromium.launch({
    executablePath: browserProgram,
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
    env: { ...process.env, HOME: profile, XDG_CONFIG_HOME: profile, XDG_CACHE_HOME: profile },
  });
  return {
    /** Opens a page of this node; `options` are options of a browser context */
    async open(node, path = "/", options = {}) {
      const context = await browser.newContext({ viewport: DESKTOP, ...options });
      const page = await context.newPage();
      page.setDefaultTimeout(30_000);
      const recorded = record(page, node);
      await page.goto(`${node.url}${path}`);
      return { page, ...recorded, close: () => context.close() };
    },
    async stop() {
      await browser.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

function record(page, node) {
  const otherOrigins = [];
  const errors = [];
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== new URL(node.url).origin) otherOrigins.push(request.url());
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    // The HTTP status of an error response, such as 408 for a timeout, is not an error of the page.
    if (message.type() === "error" && !/status of (400|404|408|422)|ERR_INTERNET_DISCONNECTED/.test(message.text()))
      errors.push(message.text());
  });
  return { otherOrigins, errors };
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds on a page: contrast, names, roles */
export async function axeViolations(page) {
  // A colour that is still changing is none to judge.
  await page.evaluate(() => {
    const ending = document.getAnimations().filter(({ effect }) => effect.getTiming().iterations !== Infinity);
    // One whose element is drawn again is cancelled.
    return Promise.all(ending.map(({ finished }) => finished.catch(() => undefined)));
  });
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() =>
    globalThis.axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"] }),
  );
  return violations.map(
    ({ id, nodes }) =>
      `${id}: ${nodes
        .slice(0, 3)
        .map((element) => `${element.target} ${element.any[0]?.message ?? ""}`)
        .join("; ")}`,
  );
}

/** Saves a screenshot */
export async function saveScreenshot(page, name, options = {}) {
  mkdirSync(output, { recursive: true });
  await page.screenshot({ path: join(output, `${name}.png`), animations: "disabled", ...options });
}

/** The oldest recent transaction that satisfies `predicate` and is final; waits until there is
 *  one */
export async function findFinal(node, predicate) {
  for (;;) {
    const recent = await (await fetch(`${node.url}/practice/recent`)).json();
    for (const transaction of recent.reverse().filter(predicate)) {
      const params = { tx_hash: transaction.tx_hash, sender_account_id: transaction.signer_id, wait_until: "NONE" };
      const response = await request(node, "EXPERIMENTAL_tx_status", params);
      if (response.includes('"final_execution_status":"FINAL"')) return transaction;
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Sends a request to the node and returns the response body as text */
export async function request(node, method, params) {
  const body = JSON.stringify({ jsonrpc: "2.0", id: "test", method, params });
  const response = await fetch(node.url, { method: "POST", headers: { "content-type": "application/json" }, body });
  return response.text();
}

/** Number of pixels by which the page is wider than its window */
export function overflow(page) {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

/** Texts and icons that lie over others, as pairs, with the pixels that they share. A text is
 *  measured where it is visible: within each ancestor that clips it. */
export function overlaps(page) {
  return page.evaluate(() => {
    /** Pixels that two boxes may share: a line is a little lower than its letters may be */
    const tolerance = { width: 1, height: 1 };
    const isClipping = (element) => getComputedStyle(element).overflow !== "visible";
    const intersection = (a, b) => ({
      left: Math.max(a.left, b.left),
      top: Math.max(a.top, b.top),
      right: Math.min(a.right, b.right),
      bottom: Math.min(a.bottom, b.bottom),
    });
    const visible = (box, parent) => {
      let shown = intersection(box, box);
      for (let element = parent; element !== null; element = element.parentElement) {
        const { visibility, clipPath } = getComputedStyle(element);
        if (visibility === "hidden" || clipPath !== "none") return null;
        if (isClipping(element)) shown = intersection(shown, element.getBoundingClientRect());
      }
      return shown.right - shown.left > 0 && shown.bottom - shown.top > 0 ? shown : null;
    };
    const boxes = [];
    const add = (owner, parent, name, rects) => {
      for (const rect of rects) {
        const box = visible(rect, parent);
        if (box !== null) boxes.push({ ...box, owner, name });
      }
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    for (let text = walker.nextNode(); text !== null; text = walker.nextNode()) {
      if (text.data.trim() === "" || text.parentElement.closest("script, noscript, option")) continue;
      range.selectNodeContents(text);
      add(text, text.parentElement, text.data.trim().slice(0, 40), range.getClientRects());
    }
    for (const icon of document.querySelectorAll("svg.icon, svg.logo")) {
      add(icon, icon.parentElement, "an icon", icon.getClientRects());
    }
    const found = new Set();
    boxes.forEach((a, index) => {
      for (const b of boxes.slice(index + 1)) {
        if (a.owner === b.owner) continue;
        const { left, top, right, bottom } = intersection(a, b);
        const [width, height] = [right - left, bottom - top];
        if (width > tolerance.width && height > tolerance.height)
          found.add(`“${a.name}” and “${b.name}”: ${width.toFixed()} by ${height.toFixed()} pixels`);
      }
    });
    return [...found];
  });
}

/** Moves through the page by Tab; returns the controls that Tab does not reach, and those that it
 *  reaches without an outline or outside the window */
export async function tabStops(page) {
  const wanted = await page.evaluate(() => {
    // Tab continues from the last focus: the start of the page.
    const start = document.createElement("span");
    start.tabIndex = -1;
    document.body.prepend(start);
    start.focus();
    start.remove();
    const usable = [...document.querySelectorAll("a[href], button, input, textarea, summary, [tabindex='0']")];
    const shown = usable.filter(
      (element) => !element.disabled && element.tabIndex >= 0 && element.checkVisibility({ visibilityProperty: true }),
    );
    shown.forEach((element, index) => (element.dataset.stop = index));
    return shown.map((element) => (element.getAttribute("aria-label") ?? element.textContent ?? "").slice(0, 40));
  });
  const reached = new Set();
  const unseen = [];
  for (let presses = 0; presses <= wanted.length; presses += 1) {
    await page.keyboard.press("Tab");
    const stop = await page.evaluate(() => {
      const element = document.activeElement;
      const { outlineStyle, outlineWidth } = getComputedStyle(element);
      const { left, top, right, bottom } = element.getBoundingClientRect();
      const isInWindow = right > 0 && bottom > 0 && left < innerWidth && top < innerHeight;
      return { index: element.dataset?.stop, isSeen: outlineStyle !== "none" && outlineWidth !== "0px" && isInWindow };
    });
    if (stop.index === undefined || reached.has(Number(stop.index))) break;
    reached.add(Number(stop.index));
    if (!stop.isSeen) unseen.push(wanted[Number(stop.index)]);
  }
  await page.evaluate(() => document.activeElement?.blur());
  return { missed: wanted.filter((_, index) => !reached.has(index)), unseen };
}
