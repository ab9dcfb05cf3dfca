// What people read on the page: headlines of failures and results, times, explanations of what was
// typed, addresses of receipts and of nothing, titles of the tab.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import {
  axeViolations,
  findFinal,
  overflow,
  PHONE,
  request,
  saveScreenshot,
  startBrowser,
  startNode,
} from "./support.mjs";

const UNKNOWN = "GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T";

let node;
let browser;

before(async () => {
  node = await startNode();
  browser = await startBrowser();
});

after(async () => {
  await browser?.stop();
  await node?.stop();
});

const path = (transaction) => `/#/tx/${transaction.tx_hash}/${transaction.signer_id}`;
const final = (kind) => findFinal(node, (transaction) => transaction.kind === kind);
const paramsOf = ({ tx_hash, signer_id }) => ({ tx_hash, sender_account_id: signer_id, wait_until: "NONE" });
const statusOf = async (transaction) =>
  JSON.parse(await request(node, "EXPERIMENTAL_tx_status", paramsOf(transaction))).result;

/** Opens a transaction whose status is replaced by `change` */
async function openChanged(transaction, change) {
  const tab = await browser.open(node, "/");
  await tab.page.route(`${node.url}/`, async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    const response = await route.fetch();
    const body = await response.json();
    if (body.result?.transaction_outcome) change(body.result);
    await route.fulfill({ response, json: body });
  });
  await tab.page.goto(`${node.url}${path(transaction)}`);
  return tab;
}

const base64 = (bytes) => Buffer.from(bytes).toString("base64");

test("failures are in words, with the path of types below", async () => {
  const transaction = await final("call");
  const action = (kind) => ({ ActionError: { index: 0, kind } });
  const cases = [
    [
      {
        InvalidTxError: {
          NotEnoughBalance: {
            signer_id: "poor.near",
            balance: "10000000000000000000000",
            cost: "2000000000000000000000000",
          },
        },
      },
      "poor.near has 0.01 NEAR, and the transaction needs 2.00 NEAR",
      "InvalidTxError: NotEnoughBalance: signer_id poor.near",
    ],
    [
      { InvalidTxError: "InvalidSignature" },
      "The signature is not that of the key",
      "InvalidTxError: InvalidSignature",
    ],
    [
      action({ FunctionCallError: { ExecutionError: "Smart contract panicked: no tokens left" } }),
      /The contract of \S+ panicked: no tokens left/,
      "action 0: FunctionCallError: ExecutionError: Smart contract panicked",
    ],
    [
      action({ FunctionCallError: { MethodResolveError: "MethodNotFound" } }),
      /The contract of \S+ has no such method/,
      "MethodResolveError: MethodNotFound",
    ],
    [
      action({ FunctionCallError: { ExecutionError: "Exceeded the prepaid gas." } }),
      /ran out of gas/,
      "Exceeded the prepaid gas.",
    ],
    [
      action({ LackBalanceForState: { account_id: "app.near", amount: "1000000000000000000000000" } }),
      "app.near needs 1.00 NEAR more to pay for its storage",
      "LackBalanceForState: account_id app.near",
    ],
    [
      action({ NewErrorOf2030: { reason: "unknown" } }),
      "Failed: new error of2030",
      "action 0: NewErrorOf2030: reason unknown",
    ],
  ];
  for (const [Failure, headline, types] of cases) {
    const tab = await openChanged(transaction, (result) => {
      result.status = { Failure };
      result.transaction_outcome.outcome.status = { Failure };
      result.receipts_outcome = [];
    });
    await tab.page.locator(".status.is-failure").getByText(headline).waitFor();
    await tab.page.locator(".summary .path").getByText(types).waitFor();
    await tab.close();
  }
});

test("a success with a failed receipt is said, and results are shown as what they are", async () => {
  const transaction = await final("callback");
  const cases = [
    ["", "none"],
    [base64("null"), "null"],
    [base64([0, 255, 16]), "3 bytes: 0x00ff10"],
    [base64(new Uint8Array(30)), `30 bytes: 0x${"00".repeat(24)}…`],
    [base64('"12"'), '"12"'],
  ];
  for (const [value, shown] of cases) {
    const tab = await openChanged(transaction, (result) => (result.status = { SuccessValue: value }));
    await tab.page.locator(".summary dd code").getByText(shown, { exact: true }).waitFor();
    await tab.close();
  }
  const tab = await openChanged(await final("transfer"), (result) => {
    result.status = { SuccessValue: "" };
    result.receipts_outcome.at(-1).outcome.status = {
      Failure: { ActionError: { index: 0, kind: { AccountDoesNotExist: { account_id: "gone.near" } } } },
    };
  });
  await tab.page.locator(".status").getByText("Succeeded, but a receipt failed").waitFor();
  await tab.page.locator(".summary").getByText("The account gone.near does not exist").waitFor();
  assert.deepEqual(await axeViolations(tab.page), []);
  await tab.close();
});

test("times are those of blocks, with their dates, and spans from inclusion", async () => {
  const transaction = await final("call across shards");
  const status = await statusOf(transaction);
  const hashes = [status.transaction_outcome, ...status.receipts_outcome].map((outcome) => outcome.block_hash);
  const blocks = await (await fetch(`${node.url}/blocks/${[...new Set(hashes)].join(",")}?include=timestamp`)).json();
  const times = Object.values(blocks)
    .map((block) => Number(BigInt(block.timestamp_nanosec) / 1_000_000n))
    .sort((a, b) => a - b);
  const tab = await browser.open(node, path(transaction));
  const { page } = tab;
  await page.getByRole("treeitem").first().waitFor();
  const shown = await page
    .locator(".captions .column time")
    .evaluateAll((all) => all.map(({ dateTime, title, textContent }) => ({ dateTime, title, textContent })));
  assert.deepEqual(
    shown.map(({ dateTime }) => Date.parse(dateTime)),
    times,
  );
  for (const [index, { title, textContent }] of shown.entries()) {
    // The practice chain begins on a day that is over, so its time has a date.
    assert.match(title, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(block time\)$/);
    assert.match(textContent, index === 0 ? /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/ : /^\+\d+\.\d s$/);
  }
  assert.equal(shown[1].textContent, `+${((times[1] - times[0]) / 1000).toFixed(1)} s`);
  // It was final when it was opened, so this browser saw no milestone.
  assert.equal(await page.locator(".milestones .seen").count(), 0);
  assert.equal(await page.locator(".at-included time").getAttribute("datetime"), new Date(times[0]).toISOString());
  await page.getByRole("treeitem").nth(1).click();
  await page
    .locator(".details")
    .getByText(/^.*\d\d:\d\d:\d\d, \d+\.\d s after inclusion$/)
    .waitFor();
  await tab.close();
});

test("a live transaction: labelled times, a header that never lags, and its start when it is done", async () => {
  const tab = await browser.open(node);
  const { page } = tab;
  await page.setViewportSize({ width: 800, height: 800 });
  // The header is asked for its height rarely, so that only what is drawn can keep it up.
  let isFirst = true;
  await page.route("**/status", (route) =>
    isFirst ? ((isFirst = false), route.continue()) : route.fulfill({ status: 503, body: "" }),
  );
  await page.reload();
  await page.getByRole("button", { name: "Watch the newest" }).click();
  await page.getByText("The transaction is final").waitFor({ timeout: 120_000 });
  await page.getByRole("treeitem").first().waitFor();
  const drawn = await page.locator(".captions .column-name").allTextContents();
  const newest = Math.max(...drawn.map(Number));
  await page.unroute("**/status");
  await page.waitForFunction(
    (height) => Number(document.querySelector("#chain .height")?.textContent) >= height,
    newest,
  );
  assert.match(await page.locator(".at-final time.seen").textContent(), /^seen \d\d:\d\d:\d\d$/);
  await page.locator(".meaning").getByText("by the clock of this browser").waitFor();
  assert.equal(await page.locator(".viewport").evaluate((viewport) => viewport.scrollLeft), 0);
  assert.match(await page.title(), /^\w{8}… FINAL · Milepost$/);
  await tab.close();
});

test("the road has the full width, the response is below, and details leave no hole", async () => {
  const transaction = await final("call across shards");
  const tab = await browser.open(node, path(transaction));
  const { page } = tab;
  await page.getByRole("treeitem").nth(1).click();
  await page.locator(".details").waitFor();
  // All at once, because the page may be scrolling.
  const boxes = (selectors) =>
    selectors.map((selector) => document.querySelector(selector).getBoundingClientRect().toJSON());
  const [road, details, raw, content] = await page.evaluate(boxes, [".lifecycle", ".details", ".raw", ".content"]);
  assert.equal(road.width, content.width);
  assert.ok(details.y >= road.y + road.height && details.y < road.y + road.height + 40, "details follow the road");
  assert.ok(
    raw.y >= details.y + details.height && raw.y < details.y + details.height + 40,
    "the response follows the details",
  );
  assert.equal(raw.width, content.width);
  await tab.close();
});

test("every screen finds transactions and receipts, and explains what it cannot read", async () => {
  const transaction = await final("call");
  const status = await statusOf(transaction);
  const receipt = status.receipts_outcome[0].id;
  const tab = await browser.open(node, "/#/config");
  const { page } = tab;
  const search = page.getByRole("searchbox", { name: "Find a transaction or a receipt" });
  const message = page.locator(".search .message");
  const cases = [
    ["0x12", /“0” \(character 1\) cannot be in a hash/],
    ["abc", /too short for a hash\. Most have 43 or 44 characters; this has 3/],
    ["hello world", /A hash has no blanks\. Character 6 is one\./],
    ["123456", /This page does not show blocks/],
    ["1234567890123456789012345678901234567890123", /“0” \(character 10\) cannot be in a hash/],
    ["alice.near", /This page does not show accounts/],
    ["https://nearblocks.io/address/alice.near", /This link contains no hash of a transaction/],
    [`${"A".repeat(50)}!`, /“!” \(character 51\) cannot be in a signed transaction/],
  ];
  for (const [typed, expected] of cases) {
    await search.fill(typed);
    await message.getByText(expected).waitFor();
    assert.doesNotMatch(await message.textContent(), /params\./);
    assert.equal(await search.getAttribute("aria-invalid"), "true");
  }
  // One hash of a thousand is shorter than 43 characters.
  await search.fill(`https://nearblocks.io/txns/${"7".repeat(41)}`);
  assert.equal(await message.textContent(), "");
  // A hash may have digits alone.
  await search.fill("1234567891234567891234567891234567891234567");
  assert.equal(await message.textContent(), "");
  await search.fill("");
  await search.press("Enter");
  await message.getByText("Enter a hash").waitFor();
  await search.fill(receipt);
  await search.press("Enter");
  await page.waitForURL((url) => url.hash === `#/receipt/${receipt}`);
  // A receipt has an address: its transaction, with its details.
  await page
    .getByRole("region", { name: /^Receipt/ })
    .getByText(receipt)
    .first()
    .waitFor();
  assert.equal(await page.locator('.step[aria-selected="true"]').getAttribute("data-id"), receipt);
  await page.locator("h1").getByText(transaction.tx_hash).waitFor();
  await search.fill(transaction.tx_hash);
  await page.getByRole("button", { name: "Find", exact: true }).click();
  await page.waitForURL((url) => url.hash === `#/tx/${transaction.tx_hash}`);
  await page.getByRole("treeitem").first().waitFor();
  assert.deepEqual(tab.errors, []);
  await tab.close();
});

test("links of explorers and of this page find their transaction", async () => {
  const transaction = await final("call");
  const hash = transaction.tx_hash;
  const links = [
    `https://nearblocks.io/txns/${hash}`,
    `https://nearblocks.io/txns/${hash}?tab=execution#overview`,
    `https://testnet.nearblocks.io/en/txns/${hash}#execution`,
    `nearblocks.io/txns/${hash}/`,
    `https://explorer.near.org/transactions/${hash}`,
    `https://explorer.testnet.near.org/transactions/${hash}/`,
    `http://explorer.near.org/?query=${hash}`,
    `https://pikespeak.ai/transaction-viewer/${hash}/detailed`,
    `https://www.nearvalidate.org/transactions/${hash}?network=mainnet`,
    `https://nearvalidate.org/#/transactions/${hash}`,
    `${node.url}${path(transaction)}`,
    ` localhost:3030/#/tx/${hash}\n`,
  ];
  const tab = await browser.open(node, "/#/config");
  const { page } = tab;
  for (const link of links) {
    await page.locator("#search").fill(link);
    assert.equal(await page.locator(".search .message").textContent(), "", link);
    await page.locator("#search").press("Enter");
    await page.waitForURL((url) => url.hash === `#/tx/${hash}`);
    await page.getByRole("treeitem").first().waitFor();
    await page.goto(`${node.url}/#/config`);
  }
  assert.deepEqual(tab.errors, []);
  await tab.close();
});

test("an opened receipt is in the address, which opens it again", async () => {
  const transaction = await final("call across shards");
  const tab = await browser.open(node, path(transaction));
  const { page } = tab;
  const step = page.getByRole("treeitem").nth(2);
  await step.click();
  const id = await step.getAttribute("data-id");
  const address = `${path(transaction).slice(1)}/${id}`;
  assert.equal(new URL(page.url()).hash, address);
  await page.reload();
  const details = page.getByRole("region", { name: /^Receipt/ });
  await details.getByText(id).first().waitFor();
  assert.equal(await page.locator('.step[aria-selected="true"]').getAttribute("data-id"), id);
  await page.keyboard.press("Escape");
  assert.equal(new URL(page.url()).hash, path(transaction).slice(1));
  // Without a signer the receipt has the same place in the address.
  await page.goto(`${node.url}/#/tx/${transaction.tx_hash}//${id}`);
  await details.getByText(id).first().waitFor();
  // A refund is called so once.
  await page.locator(".step.is-refund").first().click();
  await page.waitForFunction(() => document.querySelector("#details-title").textContent === "Refund");
  assert.deepEqual(tab.errors, []);
  await tab.close();
});

test("the header names the network, and delegated actions are named by their inner actions", async () => {
  const { chain_id } = await (await fetch(`${node.url}/status`)).json();
  const transaction = await final("call");
  const tab = await openChanged(transaction, ({ transaction: shown }) => {
    const call = { FunctionCall: { method_name: "mint", args: "", gas: 1, deposit: "0" } };
    shown.actions = [{ Delegate: { delegate_action: { sender_id: "a.near", actions: [call] }, signature: "" } }];
  });
  const { page } = tab;
  await page.locator("#chain .name").getByText(chain_id, { exact: true }).waitFor();
  await page.locator(".summary").getByText("mint()").waitFor();
  assert.equal(await page.locator(".step .title").first().textContent(), "mint()");
  await page.route("**/status", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), feed: "followed" } });
  });
  await page.route("**/tx/recent", (route) => {
    const one = { tx_hash: UNKNOWN, signer_id: "relayer.near", receiver_id: "a.near", height: 5 };
    const actions = [
      { actions: ["Delegate", "FunctionCall"], method_name: "mint" },
      { actions: ["DelegateV2", "Transfer"], method_name: null },
    ];
    return route.fulfill({ json: actions.map((each) => ({ ...one, ...each, timestamp_nanosec: "1" })) });
  });
  await page.goto(`${node.url}/#/`);
  await page.reload();
  await page.locator(".cards li").first().waitFor();
  const cards = await page
    .locator(".cards a")
    .evaluateAll((all) => all.map((card) => [".kind", ".label"].map((name) => card.querySelector(name)?.textContent)));
  assert.deepEqual(cards, [
    ["mint()", "delegated"],
    ["transfer", "delegated"],
  ]);
  await page
    .locator(".cards time")
    .first()
    .getByText(/^19(69|70)-\d\d-\d\d \d\d:\d\d:\d\d$/)
    .waitFor();
  await tab.close();
});

test("unknown addresses say so, and every state is accessible", async () => {
  const screens = [
    ["/#/nothing/here", "Nothing is here", "Nothing here · Milepost"],
    [`/#/receipt/${UNKNOWN}`, "This node knows no transaction that created this receipt", "Receipt · Milepost"],
    ["/#/receipt/x", "The receipt cannot be found", "Receipt · Milepost"],
    [`/#/tx/${UNKNOWN}`, "The node does not know this transaction", `${UNKNOWN.slice(0, 8)}… · Milepost`],
    ["/#/config/5", "This node has blocks", "Configuration 5 · Milepost"],
  ];
  for (const options of [{}, { viewport: PHONE, isMobile: true, colorScheme: "dark" }]) {
    for (const [address, words, title] of screens) {
      const tab = await browser.open(node, address, options);
      const { page } = tab;
      await page.getByText(words).first().waitFor();
      assert.equal(await page.title(), title);
      assert.ok((await overflow(page)) <= 0, address);
      assert.deepEqual(await axeViolations(page), [], address);
      assert.deepEqual(tab.errors, [], address);
      await tab.close();
    }
  }
});

test("the start page of a phone is a few screens", async () => {
  const tab = await browser.open(node, "/", { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });
  const { page } = tab;
  await page.locator(".cards li").first().waitFor();
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  await saveScreenshot(page, "home-phone-390", { fullPage: true });
  assert.ok(height < 2 * 844, `${height} pixels`);
  // The example in the empty box exists.
  const hash = await page.getByLabel("Hash, or signed transaction in base64").getAttribute("placeholder");
  assert.equal((await fetch(`${node.url}/tx/${hash}`)).status, 200);
  await tab.close();
});
