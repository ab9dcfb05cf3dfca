// The page on nodes that differ by where their blocks come from: files without a configuration, a
// feed that is followed, and a feed that stops. Nothing is called live where no blocks come in.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { startFeed } from "../../../bindings/js/test/feed-server.js";
import { axeViolations, overflow, PHONE, request, saveScreenshot, startBrowser, startNode } from "./support.mjs";

/** Number of blocks in files */
const BLOCKS = 40;

let directory;
let feed;
let files;
let browser;
let transactions;

before(async () => {
  directory = mkdtempSync(join(tmpdir(), "milepost-page-blocks-"));
  feed = await startFeed("--seed", 11, "--interval", 250, "--age", 20_000);
  browser = await startBrowser();
  const messages = [];
  for (let height = feed.first; messages.length < BLOCKS; height += 1) {
    const response = await fetch(`${feed.url}/v0/block/${height}`);
    const text = await response.text();
    if (response.ok && text !== "null") messages.push(text);
  }
  messages.forEach((text, index) => writeFileSync(join(directory, `${String(index).padStart(4, "0")}.json`), text));
  transactions = messages.flatMap((text) =>
    JSON.parse(text).shards.flatMap(({ chunk }) => (chunk?.transactions ?? []).map(({ transaction }) => transaction)),
  );
  files = await startNode("--blocks", directory);
});

after(async () => {
  await browser?.stop();
  await files?.stop();
  feed?.stop();
  rmSync(directory, { recursive: true, force: true });
});

const path = ({ hash, signer_id }) => `/#/tx/${hash}/${signer_id}`;
const phone = { viewport: PHONE, isMobile: true, hasTouch: true };

async function statusOf({ hash, signer_id }) {
  const text = await request(files, "EXPERIMENTAL_tx_status", {
    tx_hash: hash,
    sender_account_id: signer_id,
    wait_until: "NONE",
  });
  return JSON.parse(text).result;
}

async function checked(tab, name) {
  assert.ok((await overflow(tab.page)) <= 0, `${name} is wider than its window`);
  assert.deepEqual(await axeViolations(tab.page), [], name);
  assert.deepEqual(tab.errors, [], name);
}

test("a node with files has a list, says that no blocks come in, and has no configuration", async () => {
  for (const options of [{}, { ...phone, colorScheme: "dark" }]) {
    const tab = await browser.open(files, "/", options);
    const { page } = tab;
    const cards = page.locator(".cards a");
    await cards.first().waitFor();
    const hashes = new Set(transactions.map(({ hash }) => hash));
    for (const href of await cards.evaluateAll((all) => all.map((card) => card.getAttribute("href")))) {
      assert.ok(hashes.has(href.split("/")[2]), href);
    }
    // The example in the empty box exists.
    assert.ok(hashes.has(await page.getByLabel("Hash, or signed transaction in base64").getAttribute("placeholder")));
    const line = page.locator("#chain");
    await line.getByText("no feed", { exact: true }).waitFor();
    await line.getByText("unknown network").waitFor();
    assert.equal(await page.getByRole("button", { name: "Watch the newest" }).isVisible(), false);
    await checked(tab, "home");
    await saveScreenshot(page, `files-home-${options.viewport ? "phone" : "desktop"}`, { fullPage: true });
    await tab.close();
  }
});

test("without blocks coming in, nothing is live and no lane is drawn for shards that are not known", async () => {
  const unfinished = transactions.at(-1);
  const tab = await browser.open(files, path(unfinished));
  const { page } = tab;
  await page.getByText("This node receives no blocks").waitFor();
  assert.equal(await page.getByText("Live").count(), 0);
  assert.equal(await page.locator(".live").count(), 0);
  await page.locator(".status").getByText("Not complete in the blocks of this node").waitFor();
  const executed = transactions.find(({ signer_id, receiver_id }) => signer_id !== receiver_id);
  await page.goto(`${files.url}${path(executed)}`);
  await page.getByRole("treeitem").first().waitFor();
  assert.equal(await page.locator(".lane, .lane-line").count(), 0);
  assert.equal(await page.locator(".captions .shard").count(), 0);
  assert.equal(await page.getByText("shard ?").count(), 0);
  // What the milestone means and what it waits for is in a sentence.
  const { final_execution_status: milestone } = await statusOf(executed);
  await page.locator(".meaning").getByText(`${milestone} means: `).waitFor();
  await checked(tab, "a transaction");
  await tab.close();
});

test("the configuration page says what is missing", async () => {
  const tab = await browser.open(files, "/#/config");
  const { page } = tab;
  await page.getByRole("alert").getByText("This node has no protocol configuration, because").waitFor();
  await page.getByText("--configs DIRECTORY").waitFor();
  assert.equal(await page.getByText("Try another height").count(), 0);
  assert.equal(await page.title(), "Configuration final · Milepost");
  await saveScreenshot(page, "files-config");
  assert.deepEqual(await axeViolations(page), []);
  await tab.close();
});

test("a followed feed is named so, and a list of its transactions is there", async (context) => {
  const followed = await startFeed("--seed", 12, "--interval", 250, "--age", 20_000);
  context.after(() => followed.stop());
  const node = await startNode(
    "--follow",
    `neardata+${followed.url}`,
    "--from",
    String(followed.first),
    "--feed-requests",
    "100000",
  );
  context.after(() => node.stop());
  const tab = await browser.open(node);
  const { page } = tab;
  // The blocks of the practice chain are older than a feed may be.
  await page.locator("#chain.is-behind").getByText("behind the feed").waitFor();
  let feed = "followed";
  await page.route("**/status", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), feed } });
  });
  await page.locator("#chain.is-followed").getByText("following", { exact: true }).waitFor();
  await page.locator(".cards a").first().waitFor();
  await page.getByRole("button", { name: "Watch the newest" }).click();
  await page.getByText(/Live: waiting for|The transaction is final/).waitFor();
  // When it falls behind, nothing is live any more.
  await page.goto(`${node.url}/#/tx/GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T/alice.near`);
  await page.getByText("Live: waiting for INCLUDED").waitFor();
  feed = "behind";
  await page.locator("#chain.is-behind").getByText("behind the feed").waitFor();
  await page.getByText("This node is behind its feed").waitFor();
  assert.equal(await page.getByText("Live").count(), 0);
  await tab.close();
});
