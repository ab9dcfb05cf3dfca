// Screenshots of every screen at two widths and in two color schemes, in `tests/output` for manual
// review. axe checks each screen for accessibility: contrast, names, roles.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import {
  axeViolations,
  DESKTOP,
  findFinal,
  overflow,
  PHONE,
  saveScreenshot,
  startBrowser,
  startNode,
} from "./support.mjs";

let node;
let browser;
let screens;

before(async () => {
  node = await startNode();
  browser = await startBrowser();
  const final = (kind, label = "") =>
    findFinal(node, (transaction) => transaction.kind === kind && transaction.label.includes(label));
  const path = (transaction) => `/#/tx/${transaction.tx_hash}/${transaction.signer_id}`;
  const drawn = (page) => page.getByRole("treeitem").first().waitFor();
  const selected = (selector) => async (page) => {
    await page.locator(selector).first().click();
    await page.locator(".details").waitFor();
  };
  screens = [
    ["home", "/", (page) => page.locator(".cards li").first().waitFor()],
    ["lifecycle", path(await final("call across shards", "long")), drawn],
    ["callback", path(await final("callback")), selected(".step")],
    ["yield", path(await final("yield")), drawn],
    ["failure", path(await final("failure", "contract")), selected(".step.is-failure")],
    ["config", "/#/config", (page) => page.locator(".json").waitFor()],
    ["changes", "/#/config/genesis/final", (page) => page.locator(".changes").waitFor()],
    ["error", "/#/config/5", (page) => page.locator(".problem").waitFor()],
    [
      "unknown",
      "/#/tx/GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T/alice.near",
      (page) => page.locator(".empty").waitFor(),
    ],
  ];
});

after(async () => {
  await browser?.stop();
  await node?.stop();
});

const desktop = { viewport: DESKTOP };
const phone = { viewport: PHONE, isMobile: true, hasTouch: true, deviceScaleFactor: 2 };

for (const [device, options] of [
  ["desktop", desktop],
  ["phone", phone],
]) {
  for (const colorScheme of ["light", "dark"]) {
    test(`screens on a ${device} in ${colorScheme} fit and are accessible`, async () => {
      for (const [name, path, ready] of screens) {
        const tab = await browser.open(node, path, { ...options, colorScheme });
        const { page } = tab;
        await ready(page);
        await page.evaluate(() =>
          Promise.all(
            document
              .getAnimations()
              .map((animation) => animation.effect.getTiming().iterations === Infinity || animation.finished),
          ),
        );
        await saveScreenshot(page, `${name}-${device}-${colorScheme}`, { fullPage: true });
        assert.ok((await overflow(page)) <= 0, `${name} is wider than its window`);
        assert.deepEqual(await axeViolations(page), [], name);
        assert.deepEqual([...tab.otherOrigins, ...tab.errors], [], name);
        await tab.close();
      }
    });
  }
}
