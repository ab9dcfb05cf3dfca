// A page that follows a feed by itself, in a browser: files of a static server, the engine, a
// database of the browser, and a feed with faults.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { serve } from "../../test/browser.js";
import { startFeed } from "../../test/feed-server.js";
import { overflow, PHONE, saveScreenshot, startBrowser } from "./support.mjs";

const site = fileURLToPath(new URL("../dist/site", import.meta.url));

let server;
let browser;
let feed;

before(async () => {
  server = await serve(site);
  browser = await startBrowser();
  feed = await startFeed("--seed", 11, "--interval", 250, "--age", 20_000, "--faults");
});

after(async () => {
  await browser?.stop();
  server?.close();
  feed?.stop();
});

const open = (options) =>
  browser.open({ url: `http://127.0.0.1:${server.address().port}` }, `/?feed=${encodeURIComponent(feed.url)}`, options);
const heightOf = async (page) =>
  Number(/block (\d+)/.exec(await page.locator(".feed .traffic").textContent())?.[1] ?? 0);
/** Errors but those that the browser logs for the statuses of the feed */
const errorsOf = (tab) => tab.errors.filter((error) => !/^Failed to load resource|CORS policy/.test(error));

async function untilHeight(page, height) {
  for (;;) {
    const found = await heightOf(page);
    if (found >= height) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** A transaction in a block of the feed, at this height or above */
async function transactionAt(height) {
  for (; ; height += 1) {
    const response = await fetch(`${feed.url}/v0/block/${height}?fresh=test`).catch(() => null);
    const message = await response?.json().catch(() => null);
    for (const { chunk } of message?.shards ?? []) {
      const [found] = chunk?.transactions ?? [];
      if (found) return found.transaction;
    }
  }
}

test("the page takes in the blocks of a feed, and resumes after it was loaded again", async () => {
  const tab = await open();
  const { page } = tab;
  await page.getByRole("button", { name: "Start" }).waitFor();
  // Nothing is sent before somebody starts it.
  assert.deepEqual(tab.otherOrigins, []);
  assert.equal(await page.locator(".feed .traffic").textContent(), "Nothing was fetched.");
  await page.getByRole("button", { name: "Start" }).click();
  const first = await untilHeight(page, feed.first);
  assert.match(
    await page.locator(".feed .traffic").textContent(),
    /^block \d+, \d+\.\d MB, \d+ messages in the last minute$/,
  );
  const { hash, signer_id } = await transactionAt(first + 5);
  await page.evaluate((fragment) => (location.hash = fragment), `#/tx/${hash}/${signer_id}`);
  await page.locator(".milestones li.is-reached", { hasText: "FINAL" }).last().waitFor();
  await page.getByRole("treeitem").first().waitFor();
  await saveScreenshot(page, "feed");
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("button", { name: "Start" }).waitFor();
  const stopped = await heightOf(page);

  // From the database, with no request to the feed.
  tab.otherOrigins.splice(0);
  await page.reload();
  await page.getByRole("treeitem").first().waitFor();
  await page.locator(".milestones li.is-reached", { hasText: "FINAL" }).last().waitFor();
  assert.deepEqual(tab.otherOrigins, []);
  await page.getByRole("button", { name: "Start" }).click();
  await untilHeight(page, stopped + 10);
  const heights = tab.otherOrigins.map((url) => Number(/\/block(?:_opt)?\/(\d+)/.exec(url)?.[1] ?? Infinity));
  // It asks for the last final block, to know the chain again, and for what comes after the head.
  assert.ok(Math.min(...heights) > stopped - 15, `${Math.min(...heights)}, stopped at ${stopped}`);
  assert.deepEqual(errorsOf(tab), []);
  await tab.close();
});

test("a feed that cannot be followed is explained", async () => {
  const node = { url: `http://127.0.0.1:${server.address().port}` };
  const tab = await browser.open(node, "/?feed=http%3A%2F%2Ffeed.example", { viewport: PHONE });
  await tab.page.getByRole("button", { name: "Start" }).click();
  await tab.page.getByText("http is for this machine only").waitFor();
  assert.deepEqual(tab.otherOrigins, []);
  assert.ok((await overflow(tab.page)) <= 0);
  await tab.close();
});
