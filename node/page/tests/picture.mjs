// Draws the picture of the readme, `cargo xtask page --picture`: a transaction of the demonstration
// chain, down to the legend of its tree.

import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { findFinal, request, startBrowser, startNode } from "./support.mjs";

const FILE = fileURLToPath(new URL("../../../docs/page.png", import.meta.url));
/** Of the file, which the page of a registry loads with its text */
const MAX_BYTES = 150_000;
/** 1100 pixels of the picture show 1000 of the page, so letters are legible where it is scaled to
 *  the column of a readme */
const WINDOW = { viewport: { width: 1000, height: 1200 }, deviceScaleFactor: 1.1 };
/** A tree that is worth a look and fits beside the names of the shards */
const [MIN_RECEIPTS, MAX_BLOCKS, MIN_SHARDS] = [7, 5, 3];

const node = await startNode();
const browser = await startBrowser();
try {
  const tried = new Set();
  for (;;) {
    const transaction = await findFinal(node, ({ tx_hash }) => !tried.has(tx_hash));
    tried.add(transaction.tx_hash);
    const { tx_hash, signer_id: sender_account_id } = transaction;
    const params = { tx_hash, sender_account_id, wait_until: "NONE" };
    const { result } = JSON.parse(await request(node, "EXPERIMENTAL_tx_status", params));
    const outcomes = [result.transaction_outcome, ...result.receipts_outcome];
    const blocks = new Set(outcomes.map(({ block_hash }) => block_hash));
    const isGood = !outcomes.some(({ outcome }) => outcome.status.Failure);
    if (!isGood || outcomes.length <= MIN_RECEIPTS || blocks.size > MAX_BLOCKS) continue;
    const options = { ...WINDOW, colorScheme: "light", timezoneId: "UTC" };
    const { page, close } = await browser.open(node, `/#/tx/${tx_hash}/${sender_account_id}`, options);
    await page.getByRole("treeitem").first().waitFor();
    if ((await page.locator(".captions .shard").count()) >= MIN_SHARDS) {
      const { bottom } = await page.locator(".legend").evaluate((legend) => legend.getBoundingClientRect().toJSON());
      const clip = { x: 0, y: 0, width: WINDOW.viewport.width, height: Math.ceil(bottom) + 16 };
      await page.screenshot({ path: FILE, clip, animations: "disabled" });
      break;
    }
    await close();
  }
  const { size } = statSync(FILE);
  if (size > MAX_BYTES) throw new Error(`docs/page.png: ${size} bytes, at most ${MAX_BYTES} expected`);
} finally {
  await browser.stop();
  await node.stop();
}
