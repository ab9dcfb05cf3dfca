// The check of an answer by its proof: of a node that is honest, and of nodes that lie about
// an outcome, the status, or the blocks. Screenshots in `tests/output` for manual review.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";

import { DESKTOP, findFinal, overflow, PHONE, request, saveScreenshot, startBrowser, startNode } from "./support.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let node;
let browser;
let transaction;

before(async () => {
  node = await startNode();
  browser = await startBrowser();
  transaction = await findFinal(node, ({ kind }) => kind === "call across shards");
});

after(async () => {
  await browser?.stop();
  await node?.stop();
});

const answer = async () => {
  const params = { tx_hash: transaction.tx_hash, sender_account_id: transaction.signer_id, wait_until: "NONE" };
  return JSON.parse(await request(node, "EXPERIMENTAL_tx_status", params)).result;
};

/** Opens the transaction on a node whose responses `change` may change */
async function open(options = {}, change = null) {
  const tab = await browser.open(node, "/", options);
  const { page } = tab;
  if (change !== null) await change(page);
  await page.goto(`${node.url}/#/tx/${transaction.tx_hash}/${transaction.signer_id}`);
  await page.getByText("The transaction is final").waitFor();
  return tab;
}

const panel = (page) => page.locator(".proof");
const check = async (page) => {
  await page.getByRole("button", { name: "Check in this browser" }).click();
  await page.locator(".proof .verdict").waitFor();
  const labels = (all) => all.map((mark) => mark.getAttribute("aria-label"));
  const marks = await page.locator(".step .mark[role='img']").evaluateAll(labels);
  const named = await page.locator(".checked .badge").allTextContents();
  return { verdict: await page.locator(".proof .verdict").textContent(), marks, named };
};
/** Changes the responses to JSON-RPC */
const changeAnswer = (change) => (page) =>
  page.route("**/", async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    const response = await route.fetch();
    const body = await response.json();
    if (body.result?.transaction_outcome) change(body.result);
    return route.fulfill({ response, json: body });
  });
/** Changes the documents that have a proof */
const changeProof = (change) => (page) =>
  page.route("**/tx/*include=outcomes*", async (route) => {
    const response = await route.fetch();
    const document = await response.json();
    change(document.proof);
    return route.fulfill({ response, json: document });
  });

for (const [device, options] of [
  ["desktop", { viewport: DESKTOP }],
  ["phone", { viewport: PHONE, isMobile: true, hasTouch: true, deviceScaleFactor: 2 }],
]) {
  for (const colorScheme of ["light", "dark"]) {
    test(`every outcome is verified, and its path drawn, on a ${device} in ${colorScheme}`, async () => {
      const tab = await open({ ...options, colorScheme });
      const { page } = tab;
      const loaded = () =>
        page.evaluate(
          () =>
            performance.getEntriesByType("resource").filter(({ name }) => /verifier-[^/]*\.wasm$/.test(name)).length,
        );
      assert.equal(await loaded(), 0, "the module is loaded before it is asked for");
      const { verdict, marks, named } = await check(page);
      const { receipts_outcome: receipts } = await answer();
      assert.match(verdict, /^Verified in this browser All \d+ outcomes and the final status/);
      assert.deepEqual(marks, Array(receipts.length + 1).fill("Verified in this browser"));
      // Verified outcomes are not listed again below the verdict.
      assert.deepEqual(named, []);
      assert.equal(await loaded(), 1);
      assert.equal(await page.locator(".summary .mark.is-verified").count(), 1);
      await page.getByText("This node names it as its newest final block.").waitFor();
      await page.getByRole("treeitem").nth(1).click();
      assert.equal(await page.locator(".proof-path").count(), 0);
      const toggle = page.locator(".details").getByRole("button", { name: "Path of" });
      await toggle.click();
      const picture = page.locator(".proof-path");
      const name = await picture.getAttribute("aria-label");
      assert.match(
        name,
        /^From the trusted block down to the outcome: .*Block \d+.*Outcome root in its header \w{40,}.*Leaf: this outcome \w{40,}\.$/,
      );
      await page.getByText("What no block proves").click();
      await page.getByText("the content of receipts").waitFor();
      await saveScreenshot(page, `proof-${device}-${colorScheme}`, { fullPage: true });
      assert.ok((await overflow(page)) <= 0, "the page is wider than its window");
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() =>
        globalThis.axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"] }),
      );
      assert.deepEqual(
        violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target)}`),
        [],
      );
      await toggle.click();
      assert.equal(await toggle.getAttribute("aria-expanded"), "false");
      assert.equal(await picture.isVisible(), false);
      assert.deepEqual([...tab.otherOrigins, ...tab.errors], []);
      await tab.close();
    });
  }
}

for (const colorScheme of ["light", "dark"]) {
  test(`an outcome that the node changed is wrong, with both values, in ${colorScheme}`, async () => {
    const change = changeAnswer(({ receipts_outcome: receipts }) => (receipts.at(-1).outcome.gas_burnt += 1));
    const tab = await open({ colorScheme }, change);
    const { page } = tab;
    const { verdict, marks, named } = await check(page);
    assert.match(verdict, /^Wrong The chain has other values for 1 of \d+ outcomes\.$/);
    assert.deepEqual(named, ["Wrong"]);
    assert.equal(marks.filter((mark) => mark === "Wrong").length, 1);
    assert.equal(marks.filter((mark) => mark !== "Verified in this browser").length, 1);
    const found = await page.locator(".checked .why .hash").allTextContents();
    assert.equal(found.length, 2);
    assert.notEqual(found[0], found[1]);
    await page.locator(".checked").getByRole("button", { name: "Path of" }).click();
    await page.locator(".proof-path").waitFor();
    assert.ok(
      (await page.locator(".proof-path").getAttribute("aria-label")).includes(
        `This outcome leads to the root ${found[1]}`,
      ),
    );
    await saveScreenshot(page, `proof-wrong-desktop-${colorScheme}`, { fullPage: true });
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() =>
      globalThis.axe.run(document.querySelector(".proof"), { runOnly: ["wcag2a", "wcag2aa", "best-practice"] }),
    );
    assert.deepEqual(
      violations.map(({ id }) => id),
      [],
    );
    await tab.close();
  });
}

test("a changed outcome of the transaction leaves nothing verified", async () => {
  const tab = await open(
    {},
    changeAnswer(({ transaction_outcome: own }) => own.outcome.logs.push("one more")),
  );
  const { verdict, marks, named } = await check(tab.page);
  assert.match(verdict, /^Wrong The chain has other values for 1 of/);
  assert.deepEqual([marks[0], ...new Set(marks.slice(1))], ["Wrong", "Unverifiable"]);
  assert.deepEqual([named[0], ...new Set(named.slice(1))], ["Wrong", "Unverifiable"]);
  await tab.page.getByText("The outcome that created it is not verified.").first().waitFor();
  await tab.close();
});

test("a changed final status is wrong, and the outcomes are verified", async () => {
  const tab = await open(
    {},
    changeAnswer((result) => (result.status = { SuccessValue: "bGll" })),
  );
  const { verdict, marks, named } = await check(tab.page);
  assert.match(verdict, /^Wrong The status of the answer is another one/);
  assert.deepEqual([...new Set(marks)], ["Verified in this browser"]);
  assert.deepEqual(named, []);
  await tab.close();
});

test("headers that do not lead to the trusted block are wrong", async () => {
  const tab = await open(
    {},
    changeProof(({ headers }) => (headers[0].inner_lite.height += 1)),
  );
  const { verdict, marks, named } = await check(tab.page);
  assert.match(verdict, /^Wrong proof\.headers/);
  // No outcome has a verdict of its own.
  assert.deepEqual([...new Set(marks)], ["Unverifiable"]);
  assert.deepEqual(named, []);
  await tab.close();
});

test("a hash that is entered is the one that is trusted", async () => {
  const tab = await open();
  const { page } = tab;
  const { head } = await (await fetch(`${node.url}/status`)).json();
  const field = page.getByLabel("Hash of a block that you trust");
  await field.fill(head.hash);
  assert.match((await check(page)).verdict, /^Verified in this browser/);
  await page.getByText("You entered this hash.").waitFor();
  assert.ok((await panel(page).textContent()).includes(head.hash));
  await field.fill(transaction.tx_hash);
  const { verdict, marks } = await check(page);
  assert.match(verdict, /^Unverifiable The node returned no proof: /);
  assert.deepEqual([...new Set(marks)], ["Unverifiable"]);
  await tab.close();
});

test("a node without proofs leaves everything unverifiable", async () => {
  const tab = await open({}, (page) => page.route("**/tx/*include=outcomes*", (route) => route.abort()));
  const { verdict } = await check(tab.page);
  assert.match(verdict, /^Unverifiable the node does not respond$/);
  await tab.close();
});
