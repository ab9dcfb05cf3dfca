// How the page looks: pictures of every screen at two widths in two colours, kept in `tests/output` for a
// person to look at, each of them checked by axe for what can be checked: contrast, names, roles.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';

import { DESKTOP, keep, overflow, PHONE, pick, startBrowser, startNode } from './support.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let node;
let browser;
let screens;

before(async () => {
  node = await startNode();
  browser = await startBrowser();
  const settled = (kind, label = '') => pick(node, (one) => one.kind === kind && one.label.includes(label));
  const address = (one) => `/#/tx/${one.tx_hash}/${one.signer_id}`;
  const road = (page) => page.getByRole('treeitem').first().waitFor();
  const opening = (selector) => async (page) => {
    await page.locator(selector).first().click();
    await page.locator('.details').waitFor();
  };
  screens = [
    ['home', '/', (page) => page.locator('.picks li').first().waitFor()],
    ['road', address(await settled('call across shards', 'long')), road],
    ['callback', address(await settled('callback')), opening('.stop')],
    ['yield', address(await settled('yield')), road],
    ['failure', address(await settled('failure', 'contract')), opening('.stop.is-failure')],
    ['config', '/#/config', (page) => page.locator('.json').waitFor()],
    ['changes', '/#/config/genesis/final', (page) => page.locator('.changes').waitFor()],
    ['refused', '/#/config/5', (page) => page.locator('.problem').waitFor()],
    ['unknown', '/#/tx/GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T/alice.near', (page) => page.locator('.empty').waitFor()],
  ];
});

after(async () => {
  await browser?.stop();
  await node?.stop();
});

const desk = { viewport: DESKTOP };
const phone = { viewport: PHONE, isMobile: true, hasTouch: true, deviceScaleFactor: 2 };

for (const [place, options] of [['desktop', desk], ['phone', phone]]) {
  for (const colorScheme of ['light', 'dark']) {
    test(`the page on a ${place} in ${colorScheme}`, async () => {
      for (const [name, path, ready] of screens) {
        const opened = await browser.open(node, path, { ...options, colorScheme });
        const { page } = opened;
        await ready(page);
        await page.locator('#engine', { hasNotText: 'Loading' }).waitFor();
        await page.evaluate(() => Promise.all(document.getAnimations().map((animation) => animation.effect.getTiming().iterations === Infinity || animation.finished)));
        await keep(page, `${name}-${place}-${colorScheme}`, { fullPage: true });
        assert.ok((await overflow(page)) <= 0, `${name} is wider than its window`);
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => globalThis.axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
        const found = violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((one) => `${one.target} ${one.any[0]?.message ?? ''}`).join('; ')}`);
        assert.deepEqual(found, [], name);
        assert.deepEqual([...opened.foreign, ...opened.errors], [], name);
        await opened.close();
      }
    });
  }
}
