// Every screen at the widths of phones, tablets and desktops, light and dark. No text lies over
// another, nothing scrolls sideways, axe finds nothing, and Tab reaches whatever can be used.
// Screenshots are in `tests/output` for manual review.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import {
  axeViolations,
  findFinal,
  overflow,
  overlaps,
  saveScreenshot,
  startBrowser,
  startNode,
  tabStops,
} from "./support.mjs";

const WIDTHS = [320, 360, 390, 430, 820, 1440];
const HEIGHT = 800;

let node;
let browser;
let across;
let failed;

before(async () => {
  node = await startNode();
  browser = await startBrowser();
  const final = (kind, label) =>
    findFinal(node, (transaction) => transaction.kind === kind && transaction.label.includes(label));
  across = await final("call across shards", "long");
  failed = await final("failure", "contract");
});

after(async () => {
  await browser?.stop();
  await node?.stop();
});

const path = (transaction) => `/#/tx/${transaction.tx_hash}/${transaction.signer_id}`;
const drawn = (page) => page.getByRole("treeitem").first().waitFor();

/** Opens a step whose details are shown below the tree */
const opened = (selector) => async (page) => {
  await page.locator(selector).first().click();
  await page.locator(".details").waitFor();
};

/** Checks the proof, and shows the path of a receipt */
async function checked(page) {
  await page.getByText("The transaction is final").waitFor();
  await page.locator(".step:not(.is-refund)").nth(2).click();
  await page.getByRole("button", { name: "Check in this browser" }).click();
  await page.locator(".proof .verdict").waitFor();
  for (const toggle of await page.getByRole("button", { name: "Path of" }).all()) {
    await toggle.click();
    await page.locator(".proof-path").last().waitFor();
  }
}

/** Lets the node report milestones one after the other, up to the last of these, and then wait: a
 *  transaction in progress, whose last receipts are not executed yet */
const atMilestones =
  (...milestones) =>
  async (page) => {
    // As of a node that refuses events: then the page asks for each milestone.
    await page.route("**/events?*", (route) => route.fulfill({ status: 404 }));
    let reached = milestones[0];
    await page.route(`${node.url}/`, async (route) => {
      const wanted = /"wait_until":"(\w+)"/.exec(route.request().postData() ?? "")?.[1];
      if (wanted === undefined) return route.continue();
      if (wanted !== "NONE") {
        if (!milestones.includes(wanted) || milestones.indexOf(wanted) <= milestones.indexOf(reached)) return;
        reached = wanted;
      }
      const response = await route.fetch();
      const { result, ...rest } = await response.json();
      const { receipts_outcome: outcomes } = result;
      for (const { outcome } of outcomes.slice(-2)) Object.assign(outcome, { status: "Unknown", logs: [] });
      Object.assign(result, { final_execution_status: reached, status: "Started" });
      await route.fulfill({ response, json: { ...rest, result } });
    });
  };
const reached = (milestone) => (page) =>
  page.locator(`.at-${milestone.toLowerCase().replace("_", "-")} time.seen`).waitFor();

/** Gives methods and accounts long names, as a real network has them */
const longNames = (page) =>
  page.route(`${node.url}/`, async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    const response = await route.fetch();
    const names = {
      method_name: (name) => `${name}_and_then_resolve_the_transfer_of_all_tokens`,
      receiver_id: (name) => `a-rather-long-name-of-a-contract.${name}`,
      executor_id: (name) => `a-rather-long-name-of-a-contract.${name}`,
      signer_id: (name) => `a-rather-long-name-of-a-contract.${name}`,
    };
    const body = JSON.stringify(await response.json(), (name, value) => names[name]?.(value) ?? value);
    await route.fulfill({ response, body });
  });

/** Lets the node change an outcome, so that the check of the proof finds it */
const liar = (page) =>
  page.route(`${node.url}/`, async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    const response = await route.fetch();
    const json = await response.json();
    if (json.result?.receipts_outcome) json.result.receipts_outcome.at(-1).outcome.gas_burnt += 1;
    await route.fulfill({ response, json });
  });

const SCREENS = [
  ["home", () => "/", (page) => page.locator(".cards li").first().waitFor()],
  [
    "home-refused",
    () => "/",
    async (page) => {
      await page.locator(".cards li").first().waitFor();
      await page.getByLabel("Hash, or signed transaction in base64").fill("GKwe8PT8YLdO");
      await page.locator(".find .message.is-error").waitFor();
    },
  ],
  ["included-final", () => path(across), reached("INCLUDED_FINAL"), atMilestones("INCLUDED", "INCLUDED_FINAL")],
  [
    "executed",
    () => path(across),
    reached("EXECUTED"),
    atMilestones("NONE", "INCLUDED", "EXECUTED_OPTIMISTIC", "INCLUDED_FINAL", "EXECUTED"),
  ],
  ["final", () => path(across), drawn],
  ["long-names", () => path(across), checked, longNames],
  ["receipt", () => path(across), opened(".step:not(.is-refund) >> nth=2")],
  ["failed", () => path(failed), opened(".step.is-failure")],
  ["proof", () => path(across), checked],
  ["proof-wrong", () => path(across), checked, liar],
  ["config", () => "/#/config", (page) => page.locator(".json").waitFor()],
  [
    "config-filter",
    () => "/#/config",
    async (page) => {
      await page.getByLabel("Filter").fill("gas");
      await page.locator(".leaves").waitFor();
    },
  ],
  ["changes", () => "/#/config/genesis/final", (page) => page.locator(".changes").waitFor()],
  ["error", () => "/#/config/5", (page) => page.locator(".problem").waitFor()],
  [
    "unknown",
    () => "/#/tx/GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T/alice.near",
    (page) => page.locator(".empty").waitFor(),
  ],
  ["nothing", () => "/#/nothing/here", (page) => page.locator(".empty").waitFor()],
];

for (const [name, address, ready, change] of SCREENS) {
  test(`the screen "${name}" fits at every width, light and dark, and from the keyboard`, async () => {
    const tab = await browser.open(node, "/#/nothing");
    const { page } = tab;
    if (change) await change(page);
    await page.goto(`${node.url}${address()}`);
    // Where the hash alone differs, the page is not loaded again.
    await ready(page);
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: HEIGHT });
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        const where = `${name} at ${width} pixels in ${colorScheme}`;
        assert.deepEqual(await axeViolations(page), [], where);
        await saveScreenshot(page, `${name}-${width}-${colorScheme}`, { fullPage: true });
      }
      assert.ok((await overflow(page)) <= 0, `${name} is wider than ${width} pixels`);
      assert.deepEqual(await overlaps(page), [], `${name} at ${width} pixels`);
      // Where time runs down, the tree has the width of the window.
      const narrow = page.locator(".viewport:has(.picture:not(.is-wide))");
      const scrolled = await narrow.evaluateAll((all) => all.map((it) => it.scrollWidth - it.clientWidth));
      assert.ok(Math.max(0, ...scrolled) <= 0, `the tree of ${name} scrolls sideways at ${width} pixels`);
      const { missed, unseen } = await tabStops(page);
      assert.deepEqual({ missed, unseen }, { missed: [], unseen: [] }, `${name} at ${width} pixels`);
    }
    assert.deepEqual([...tab.otherOrigins, ...tab.errors], [], name);
    await tab.close();
  });
}
