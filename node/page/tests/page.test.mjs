// The page in a browser, against a running node, with mouse, keyboard and touch. Tests wait for
// what has to happen and have no time limits of their own.

import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { DESKTOP, findFinal, overflow, PHONE, request, saveScreenshot, startBrowser, startNode } from "./support.mjs";

const UNKNOWN = "GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T";
const ALL = ["NONE", "INCLUDED", "EXECUTED_OPTIMISTIC", "INCLUDED_FINAL", "EXECUTED", "FINAL"];

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

const finalTransaction = (kind) => findFinal(node, (transaction) => transaction.kind === kind);
const path = (transaction) => `/#/tx/${transaction.tx_hash}/${transaction.signer_id}`;
const statusOf = async (transaction) =>
  JSON.parse(
    await request(node, "EXPERIMENTAL_tx_status", {
      tx_hash: transaction.tx_hash,
      sender_account_id: transaction.signer_id,
      wait_until: "NONE",
    }),
  ).result;
const reached = (page) =>
  page
    .locator(".milestones li.is-reached .label")
    .evaluateAll((labels) => labels.map((label) => label.textContent.split(",")[0]));
const assertNoErrors = (tab) => {
  assert.deepEqual(tab.otherOrigins, [], "no request to another origin");
  assert.deepEqual(tab.errors, []);
};

test("a transaction is found by its hash", async () => {
  const transaction = await finalTransaction("call across shards");
  const tab = await browser.open(node);
  const { page } = tab;
  await page.getByLabel("Hash, or signed transaction in base64").fill(` ${transaction.tx_hash}\n`);
  await page.getByLabel("Signer").fill(transaction.signer_id);
  await page.getByRole("button", { name: "Follow" }).click();
  await page.waitForURL((url) => url.hash === path(transaction).slice(1));
  const steps = page.getByRole("treeitem");
  await steps.first().waitFor();
  const status = await statusOf(transaction);
  assert.equal(await steps.count(), status.receipts_outcome.length + 1);
  // Every block in which a step was executed is a column, in order.
  const hashes = new Set([status.transaction_outcome, ...status.receipts_outcome].map((outcome) => outcome.block_hash));
  const heights = await (await fetch(`${node.url}/blocks/${[...hashes].join(",")}`)).json();
  const expected = Object.values(heights)
    .sort((a, b) => a - b)
    .map(String);
  const columns = await page
    .locator(".captions .column")
    .evaluateAll((all) => all.map((column) => column.querySelector(".column-name").textContent));
  assert.deepEqual(columns, expected);
  const refunds = status.receipts.filter((receipt) => receipt.predecessor_id === "system").length;
  assert.equal(await page.locator(".step.is-refund").count(), refunds);
  assert.deepEqual(await reached(page), ALL);
  assertNoErrors(tab);
  await tab.close();
});

test("a signed transaction is read by the node, which also names the hash of an unknown one", async (context) => {
  const vectors = fileURLToPath(new URL("../../../tests/vectors", import.meta.url));
  const vector = (name) => JSON.parse(readFileSync(join(vectors, name), "utf8"));
  const { signed_tx_base64: signed } = vector("requests/lookup-signed.json").params;
  const { hash, signer_id } = vector("responses/lookup-signed.json").result.transaction;
  const folder = mkdtempSync(join(tmpdir(), "milepost-page-signed-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const { blocks } = vector("manifest.json").fixtures.find(({ name }) => name === "road-110");
  for (const path of blocks) copyFileSync(join(vectors, path), join(folder, basename(path)));
  const knowing = await startNode("--blocks", folder);
  context.after(() => knowing.stop());
  for (const [place, fragment] of [
    [knowing, `#/tx/${hash}/${signer_id}`],
    [node, `#/tx/${hash}`],
  ]) {
    const tab = await browser.open(place);
    const { page } = tab;
    await page.getByLabel("Hash, or signed transaction in base64").fill(signed.replace(/.{60}/g, "$&\n"));
    await page.getByRole("button", { name: "Follow" }).click();
    await page.waitForURL((url) => url.hash === fragment);
    const shown = place === knowing ? page.getByRole("treeitem") : page.getByText("does not know this transaction");
    await shown.first().waitFor();
    assertNoErrors(tab);
    await tab.close();
  }
});

test("input with characters of no hash and no transaction is not requested", async () => {
  const tab = await browser.open(node);
  const { page } = tab;
  const requests = [];
  page.on("request", (request) => request.method() === "POST" && requests.push(request.postData()));
  const input = page.getByLabel("Hash, or signed transaction in base64");
  const follow = page.getByRole("button", { name: "Follow" });
  await input.fill("GKwe8PT8YLdO");
  await page.locator(".find .message").getByText("“O” (character 12) cannot be in a hash").waitFor();
  await follow.click();
  assert.equal(new URL(page.url()).hash, "");
  assert.deepEqual(requests, []);
  await input.fill("AQ4AAABncmFjZS5wcmFjdGljZQDOOoJHBRTk7OsbBobeV1c83yTK1626g9iDOBGugPAgegDLRXoQ81oAAA4A");
  await follow.click();
  await page.locator(".find .message.is-error").getByText("not a signed transaction that can be read").waitFor();
  assert.equal(new URL(page.url()).hash, "");
  assert.equal(requests.length, 1);
  assertNoErrors(tab);
  await tab.close();
});

test("the newest transaction is followed until it is final", async () => {
  const tab = await browser.open(node);
  const { page } = tab;
  await page.getByRole("button", { name: "Watch the newest" }).click();
  await page.getByRole("treeitem").first().waitFor();
  await page.getByText("The transaction is final").waitFor({ timeout: 60_000 });
  assert.deepEqual(await reached(page), ALL);
  // It was not final when the page was opened, so at least FINAL shows a time.
  await page.locator(".milestones .at-final time").waitFor();
  assert.equal(await page.locator(".step.is-pending").count(), 0);
  await saveScreenshot(page, "followed-desktop-light", { fullPage: true });
  assertNoErrors(tab);
  await tab.close();
});

test("events are pushed, and the status is requested only after one", async () => {
  const tab = await browser.open(node);
  const { page } = tab;
  const requests = [];
  page.on("request", (request) => requests.push(request.postData() ?? new URL(request.url()).pathname));
  await page.goto(`${node.url}/#/tx/${UNKNOWN}/alice.near`);
  await page.getByText("The node does not know this transaction").waitFor();
  await page.getByText("Live: waiting for INCLUDED").waitFor();
  assert.ok(requests.includes(`/tx/${UNKNOWN}/events`));
  assert.deepEqual(
    requests.filter((text) => text.includes("tx_status")),
    [],
  );
  await page.getByRole("link", { name: "Transactions" }).click();
  await page.getByRole("button", { name: "Watch the newest" }).click();
  await page.getByText("The transaction is final").waitFor({ timeout: 60_000 });
  const sent = requests.filter((text) => text.includes("tx_status"));
  assert.ok(sent.length > 0);
  for (const text of sent) assert.match(text, /"wait_until":"NONE"/);
  assertNoErrors(tab);
  await tab.close();
});

test("a lost connection is shown, and opened again", async () => {
  const tab = await browser.open(node);
  const { page } = tab;
  const lost = page.getByText("The connection to the node was lost");
  let isFirst = true;
  let reopen;
  const reopened = new Promise((resolve) => (reopen = resolve));
  await page.route("**/events?*", async (route) => {
    if (!isFirst) {
      await lost.waitFor();
      reopen();
      return route.continue();
    }
    isFirst = false;
    // One event, and then the end.
    const status = JSON.stringify({ transaction_hash: UNKNOWN, final_execution_status: "NONE" });
    const body = `retry: 10\n\nid: first\nevent: status\ndata: ${status}\n\n`;
    return route.fulfill({ contentType: "text/event-stream", body });
  });
  await page.goto(`${node.url}/#/tx/${UNKNOWN}/alice.near`);
  await reopened;
  await lost.waitFor({ state: "detached" });
  await page.getByText("Live: waiting for INCLUDED").waitFor();
  await tab.close();
});

test("only the next milestones are waited for", async () => {
  const tab = await browser.open(node);
  const { page } = tab;
  // As of a node without events.
  await page.route("**/events?*", (route) => route.fulfill({ status: 404 }));
  const requests = [];
  page.on("request", (request) => {
    const wanted = /"wait_until":"(\w+)"/.exec(request.postData() ?? "")?.[1];
    if (wanted !== undefined) requests.push(wanted);
  });
  await page.route(`${node.url}/`, async (route) => {
    const response = await route.fetch();
    const body = await response.text();
    const isPoll = route.request().postData()?.includes('"wait_until":"NONE"');
    // As if it were included and not executed.
    await route.fulfill({
      response,
      body: isPoll ? body.replace(/"final_execution_status":"\w+"/, '"final_execution_status":"INCLUDED"') : body,
    });
  });
  const transaction = await finalTransaction("transfer");
  await page.goto(`${node.url}${path(transaction)}`);
  await page.getByText("The transaction is final").waitFor();
  assert.equal(requests[0], "NONE");
  assert.deepEqual(new Set(requests.slice(1, 3)), new Set(["EXECUTED_OPTIMISTIC", "INCLUDED_FINAL"]));
  await tab.close();
});

test("leaving the screen ends its events, or cancels the pending request", async () => {
  const tab = await browser.open(node, `/#/tx/${UNKNOWN}/alice.near`);
  const { page } = tab;
  await page.getByText("The node does not know this transaction").waitFor();
  const until = async (count, found) => {
    while ((await found()) !== count) await new Promise((resolve) => setTimeout(resolve, 50));
  };
  const watched = (count) =>
    until(count, async () =>
      Number(/^milepost_watches_open (\d+)$/m.exec(await (await fetch(`${node.url}/metrics`)).text())[1]),
    );
  await watched(1);
  await page.getByRole("link", { name: "Configuration" }).click();
  await watched(0);
  await page.route("**/events?*", (route) => route.fulfill({ status: 404 }));
  await page.goto(`${node.url}/#/tx/${UNKNOWN}/alice.near`);
  const waiting = (count) => until(count, async () => (await (await fetch(`${node.url}/status`)).json()).waiting);
  await waiting(1);
  await saveScreenshot(page, "unknown-desktop-light");
  await page.getByRole("link", { name: "Configuration" }).click();
  await waiting(0);
  assertNoErrors(tab);
  await tab.close();
});

test("a failed step shows its reason, gas and tokens", async () => {
  const transaction = await findFinal(
    node,
    (transaction) => transaction.kind === "failure" && transaction.label.includes("contract"),
  );
  const tab = await browser.open(node, path(transaction));
  const { page } = tab;
  await page.locator(".status.is-failure").waitFor();
  const step = page.locator(".step.is-failure").first();
  await step.click();
  const id = await step.getAttribute("data-id");
  const status = await statusOf(transaction);
  const { outcome } = [status.transaction_outcome, ...status.receipts_outcome].find((outcome) => outcome.id === id);
  const details = page.getByRole("region", { name: /^(Receipt|Transaction)/ });
  const text = await details.innerText();
  assert.match(await step.getAttribute("aria-label"), /, failed, block \d+, shard \d+$/);
  // An error that is of no single action has the index null, which is not shown.
  const scalars = (value) =>
    value === null ? [] : typeof value === "object" ? Object.values(value).flatMap(scalars) : [String(value)];
  for (const scalar of scalars(outcome.status.Failure)) assert.ok(text.includes(scalar), `${scalar} in ${text}`);
  assert.ok((await details.textContent()).includes(`Tgas${outcome.gas_burnt}`), "the exact gas");
  assert.ok((await details.textContent()).includes(`NEAR${outcome.tokens_burnt}`), "the exact tokens");
  for (const log of outcome.logs) assert.ok(text.includes(log.slice(0, 20)), log);
  assertNoErrors(tab);
  await tab.close();
});

test("the response is shown with every digit", async () => {
  const transaction = await finalTransaction("transfer");
  const tab = await browser.open(node);
  const { page } = tab;
  const huge = "18446744073709551615";
  await page.route(`${node.url}/`, async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replace(/"gas_burnt":\d+/g, `"gas_burnt":${huge}`) });
  });
  await page.goto(`${node.url}${path(transaction)}`);
  await page.getByRole("treeitem").first().click();
  const details = page.getByRole("region", { name: /^Transaction/ });
  assert.ok((await details.textContent()).includes(`18446744.07 Tgas${huge}`));
  const raw = page.locator(".raw");
  for (const name of ["transaction_outcome", "outcome"])
    await raw.locator("summary", { hasText: new RegExp(`^${name}\\{`) }).click();
  const leaf = raw.locator(".leaf", { hasText: "gas_burnt" }).first();
  assert.equal(await leaf.textContent(), `gas_burnt: ${huge}`);
  // So it is in a browser whose `JSON.parse` does not pass the text of a number.
  await page.addInitScript(() => {
    const parse = JSON.parse;
    JSON.parse = (text, reviver) => parse(text, reviver && ((name, value) => reviver(name, value, {})));
  });
  await page.reload();
  await page.getByRole("treeitem").first().click();
  assert.ok((await details.textContent()).includes(`18446744.07 Tgas${huge}`));
  assertNoErrors(tab);
  await tab.close();
});

test("without heights the columns are levels", async () => {
  const transaction = await finalTransaction("call across shards");
  const tab = await browser.open(node);
  const { page } = tab;
  await page.route("**/blocks/*", async (route) => {
    const names = new URL(route.request().url()).pathname.split("/").pop().split(",");
    await route.fulfill({ json: Object.fromEntries(names.map((name) => [name, null])) });
  });
  await page.goto(`${node.url}${path(transaction)}`);
  await page.getByRole("treeitem").first().waitFor();
  const columns = await page.locator(".captions .column").allTextContents();
  assert.deepEqual(
    columns,
    columns.map((_, index) => `level ${index + 1}`),
  );
  assert.match(await page.getByRole("treeitem").last().getAttribute("aria-label"), /, level \d/);
  await tab.close();
});

test("two configurations are compared", async () => {
  const tab = await browser.open(node, "/#/config/genesis/final");
  const { page } = tab;
  await page.locator("table.changes").waitFor();
  const [genesis, final] = await Promise.all([
    request(node, "EXPERIMENTAL_protocol_config", { sync_checkpoint: "genesis" }),
    request(node, "EXPERIMENTAL_protocol_config", { finality: "final" }),
  ]);
  const flat = (value, path = "") =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.entries(value).flatMap(([name, inner]) => flat(inner, path === "" ? name : `${path}.${name}`))
      : [[path, JSON.stringify(value)]];
  const [oldValues, newValues] = [genesis, final].map((body) => new Map(flat(JSON.parse(body).result)));
  const expected = [...oldValues]
    .filter(([path, value]) => newValues.get(path) !== value)
    .map(([path, value]) => [path, value, newValues.get(path)]);
  assert.ok(expected.length > 0, "the practice chain was upgraded");
  const rows = await page
    .locator("table.changes tbody tr")
    .evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.deepEqual(rows, expected);
  await page.getByText(`${expected.length} values differ`).waitFor();
  // The same block twice.
  await page.getByLabel("Compare with").fill("genesis");
  await page.getByRole("button", { name: "Show", exact: true }).click();
  await page.getByText("Both blocks have the same configuration").waitFor();
  assert.equal(new URL(page.url()).hash, "#/config/genesis/genesis");
  assertNoErrors(tab);
  await tab.close();
});

test("a configuration is filtered by name", async () => {
  const tab = await browser.open(node, "/#/config");
  const { page } = tab;
  const { result } = JSON.parse(await request(node, "EXPERIMENTAL_protocol_config", { finality: "final" }));
  const threshold = page.locator(".leaf", { hasText: "fishermen_threshold" });
  assert.equal(await threshold.textContent(), `fishermen_threshold: "${result.fishermen_threshold}"`);
  await page.locator("summary", { hasText: "runtime_config" }).click();
  await page.locator("summary", { hasText: "wasm_config" }).waitFor();
  await page.getByLabel("Filter").fill("max gas burnt");
  const hits = page.locator(".leaves dt");
  assert.deepEqual(await hits.allTextContents(), ["runtime_config.wasm_config.limit_config.max_gas_burnt"]);
  await page.getByLabel("Filter").fill("no such thing");
  await page.getByText("No name or value matches").waitFor();
  assertNoErrors(tab);
  await tab.close();
});

test("errors show the message of the node", async () => {
  const tab = await browser.open(node, "/#/config/5");
  const { page } = tab;
  await page.getByText("BLOCK HEIGHT: 5").waitFor();
  await saveScreenshot(page, "error-desktop-light");
  await page.goto(`${node.url}/#/tx/GKwe8PT8YLdO/alice.near`);
  await page.getByText("This is not a hash: 'O' at offset 11 is not base58").waitFor();
  await page.getByRole("link", { name: "Find another transaction" }).click();
  await page.getByRole("heading", { name: "Follow a NEAR transaction" }).waitFor();
  assertNoErrors(tab);
  await tab.close();
});

test("every function is available from the keyboard", async () => {
  const transaction = await finalTransaction("callback");
  const tab = await browser.open(node);
  const { page } = tab;
  const focused = () =>
    page.evaluate(() => {
      const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
      return {
        text: document.activeElement.textContent,
        id: document.activeElement.dataset.id,
        tag: document.activeElement.tagName,
        isVisible: outlineStyle !== "none" && outlineWidth !== "0px",
      };
    });
  await page.getByRole("heading", { name: "Recent transactions" }).waitFor();
  await page.keyboard.press("Tab");
  assert.equal((await focused()).text, "Skip to the content");
  await page.keyboard.press("Enter");
  assert.equal((await focused()).tag, "MAIN");
  await page.keyboard.press("Tab");
  assert.ok((await focused()).isVisible);
  await page.keyboard.type(transaction.tx_hash);
  await page.keyboard.press("Tab");
  await page.keyboard.type(transaction.signer_id);
  await page.keyboard.press("Enter");
  await page.getByRole("treeitem").first().waitFor();
  // The tree has one tab stop.
  for (let count = 0; (await focused()).id === undefined; count += 1) {
    assert.ok(count < 20, "the tree is reachable");
    await page.keyboard.press("Tab");
  }
  const ids = await page.getByRole("treeitem").evaluateAll((steps) => steps.map((step) => step.dataset.id));
  assert.equal((await focused()).id, ids[0]);
  await page.keyboard.press("ArrowRight");
  assert.equal((await focused()).id, ids[1]);
  assert.ok((await focused()).isVisible, "the focus is visible");
  await page.keyboard.press("End");
  assert.equal((await focused()).id, ids.at(-1));
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.match((await focused()).text, /^Receipt/);
  await page.keyboard.press("Escape");
  assert.equal((await focused()).id, ids[1], "the focus returns");
  await page.keyboard.press("ArrowLeft");
  assert.equal((await focused()).id, ids[0]);
  assertNoErrors(tab);
  await tab.close();
});

test("every screen fits on a phone", async () => {
  const transaction = await finalTransaction("call across shards");
  const tab = await browser.open(node, "/", { viewport: PHONE, isMobile: true, hasTouch: true, deviceScaleFactor: 2 });
  const { page } = tab;
  await page.getByRole("heading", { name: "Recent transactions" }).waitFor();
  assert.ok((await overflow(page)) <= 0, "home");
  await page.goto(`${node.url}${path(transaction)}`);
  await page.getByRole("treeitem").nth(1).tap();
  await page.getByRole("region", { name: /^Receipt/ }).waitFor();
  assert.ok((await overflow(page)) <= 0, "a transaction");
  // Time runs downwards.
  const tops = await page
    .locator(".captions .column")
    .evaluateAll((all) => all.map((column) => column.getBoundingClientRect().top));
  assert.deepEqual(
    tops,
    tops.toSorted((a, b) => a - b),
  );
  for (const path of ["/#/config", "/#/config/genesis/final", `/#/tx/${UNKNOWN}/alice.near`]) {
    await page.goto(`${node.url}${path}`);
    await page.locator(".result .panel, .empty").first().waitFor();
    assert.ok((await overflow(page)) <= 0, path);
  }
  assertNoErrors(tab);
  await tab.close();
});

test("the page follows the color scheme and the reduced motion setting", async () => {
  const light = await browser.open(node, `/#/tx/${UNKNOWN}/a.near`, { colorScheme: "light" });
  const dark = await browser.open(node, `/#/tx/${UNKNOWN}/a.near`, { colorScheme: "dark", reducedMotion: "reduce" });
  const brightness = ({ page }) =>
    page.evaluate(() => {
      const colors = [document.body, document.querySelector("h1")].map(
        (element, index) => getComputedStyle(element)[index === 0 ? "backgroundColor" : "color"],
      );
      return colors.map(
        (color) =>
          color
            .match(/\d+/g)
            .slice(0, 3)
            .reduce((sum, part) => sum + Number(part), 0) / 3,
      );
    });
  for (const tab of [light, dark]) await tab.page.locator(".is-awaited").waitFor();
  const [[lightBackground, lightText], [darkBackground, darkText]] = await Promise.all([
    brightness(light),
    brightness(dark),
  ]);
  assert.ok(lightBackground > 220 && lightText < 60 && darkBackground < 40 && darkText > 200);
  const animations = ({ page }) => page.evaluate(() => document.getAnimations().length);
  assert.ok((await animations(light)) > 0);
  assert.equal(await animations(dark), 0);
  await light.close();
  await dark.close();
});

test("the page reports an unreachable node and recovers", async (context) => {
  // Its timeout is short: a pending request is repeated after each timeout.
  const shortTimeout = await startNode("--timeout", "300ms");
  context.after(() => shortTimeout.stop());
  const tab = await browser.open(shortTimeout);
  const { page } = tab;
  // By requests: a browser that is made offline keeps the streams that are open.
  await page.route("**/events?*", (route) => route.fulfill({ status: 404 }));
  await page.goto(`${shortTimeout.url}/#/tx/${UNKNOWN}/a.near`);
  await page.getByText("waiting for INCLUDED").waitFor();
  await page.context().setOffline(true);
  await page.locator(".chain.is-unreachable").waitFor();
  await page.getByRole("alert").getByText("the node does not respond").waitFor();
  await page.context().setOffline(false);
  await page.getByText("waiting for INCLUDED").waitFor();
  await page.locator(".chain:not(.is-unreachable)").waitFor();
  await tab.close();
});

test("the page works below a base path", async (context) => {
  const below = await startNode("--base-path", "/near/rpc");
  context.after(() => below.stop());
  const transaction = await findFinal(below, ({ kind }) => kind === "call");
  // Without its slash, the path is redirected: the links of the page are relative.
  const tab = await browser.open(below, "");
  const { page } = tab;
  await page.waitForURL((url) => url.pathname === "/near/rpc/");
  await page.locator(".cards li").first().waitFor();
  await page.goto(`${below.url}${path(transaction)}`);
  await page.getByRole("treeitem").first().waitFor();
  await page.goto(`${below.url}/#/config`);
  await page.locator(".json").waitFor();
  assertNoErrors(tab);
  await tab.close();
});

test("text from a chain stays text", async () => {
  const transaction = await finalTransaction("call");
  const tab = await browser.open(node, "/", { bypassCSP: false });
  const { page } = tab;
  const hostile = "<img src=x onerror=alert(1)>\u202e";
  await page.route(`${node.url}/`, async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    const response = await route.fetch();
    const replaced = { method_name: hostile, logs: [hostile] };
    const body = JSON.stringify(await response.json(), (name, value) => replaced[name] ?? value);
    await route.fulfill({ response, body });
  });
  await page.goto(`${node.url}${path(transaction)}`);
  await page.getByRole("treeitem").nth(1).click();
  assert.equal(await page.locator("main img").count(), 0);
  const title = await page.locator(".step .title").first().textContent();
  assert.equal(title, "<img src=x onerror=alert(1)>\ufffd()");
  assert.equal(await page.locator(".logs li").first().textContent(), "<img src=x onerror=alert(1)>\ufffd");
  // A script that is added to the page does not run.
  await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.ran = true";
    document.body.append(script);
  });
  assert.equal(await page.evaluate(() => window.ran), undefined);
  assert.match(tab.errors.join("\n"), /Content Security Policy/);
  await tab.close();
});
