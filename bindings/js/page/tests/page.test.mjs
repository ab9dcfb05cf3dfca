// The page in a browser, against a running node: what a person does there, by mouse and by keyboard, on a
// phone and on a desk, in light and in dark. Nothing here is timed; what has to happen is waited for.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ask, DESKTOP, keep, overflow, PHONE, pick, startBrowser, startNode } from './support.mjs';

const UNKNOWN = 'GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T';
const ALL = ['NONE', 'INCLUDED', 'EXECUTED_OPTIMISTIC', 'INCLUDED_FINAL', 'EXECUTED', 'FINAL'];

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

const settled = (kind) => pick(node, (one) => one.kind === kind);
const address = (one) => `/#/tx/${one.tx_hash}/${one.signer_id}`;
const statusOf = async (one) => JSON.parse(await ask(node, 'EXPERIMENTAL_tx_status', { tx_hash: one.tx_hash, sender_account_id: one.signer_id, wait_until: 'NONE' })).result;
const lit = (page) => page.locator('.milestones li.is-lit .label').evaluateAll((labels) => labels.map((label) => label.textContent.split(',')[0]));
const sound = (opened) => {
  assert.deepEqual(opened.foreign, [], 'nothing is asked of anyone else');
  assert.deepEqual(opened.errors, []);
};

test('a transaction is found by its hash', async () => {
  const one = await settled('call across shards');
  const opened = await browser.open(node);
  const { page } = opened;
  await page.getByLabel('Hash, or signed transaction in base64').fill(` ${one.tx_hash}\n`);
  await page.getByLabel('Signer').fill(one.signer_id);
  await page.getByRole('button', { name: 'Follow' }).click();
  await page.waitForURL((url) => url.hash === address(one).slice(1));
  const stops = page.getByRole('treeitem');
  await stops.first().waitFor();
  const answer = await statusOf(one);
  assert.equal(await stops.count(), answer.receipts_outcome.length + 1);
  // Every block in which something happened is a column, in order.
  const hashes = new Set([answer.transaction_outcome, ...answer.receipts_outcome].map((outcome) => outcome.block_hash));
  const heights = await (await fetch(`${node.url}/blocks/${[...hashes].join(',')}`)).json();
  const expected = Object.values(heights).sort((a, b) => a - b).map(String);
  const columns = await page.locator('.captions .column').evaluateAll((all) => all.map((column) => column.lastChild.textContent));
  assert.deepEqual(columns, expected);
  const refunds = answer.receipts.filter((receipt) => receipt.predecessor_id === 'system').length;
  assert.equal(await page.locator('.stop.is-refund').count(), refunds);
  assert.deepEqual(await lit(page), ALL);
  sound(opened);
  await opened.close();
});

test('a signed transaction is found by its bytes', async () => {
  // The node prints one to try, and its hash and signer in the request before.
  const [byHash, signed] = await node.printed(/"tx_hash":"(\w+)","wait_until":"NONE"/, /"signed_tx_base64":"([^"]+)"/);
  const opened = await browser.open(node);
  const { page } = opened;
  await page.getByLabel('Hash, or signed transaction in base64').fill(signed.replace(/.{60}/g, '$&\n'));
  await page.getByRole('button', { name: 'Follow' }).click();
  await page.waitForURL((url) => url.hash.startsWith(`#/tx/${byHash}/`));
  await page.getByRole('treeitem').first().waitFor();
  sound(opened);
  await opened.close();
});

test('the engine in the page reads what is entered', async (context) => {
  const opened = await browser.open(node);
  const { page } = opened;
  await page.locator('#engine', { hasNotText: 'Loading' }).waitFor();
  if ((await page.locator('#engine').textContent()).includes('not in this page')) {
    await opened.close();
    return context.skip('the page was built without the package');
  }
  const asked = [];
  page.on('request', (request) => request.method() === 'POST' && asked.push(request.postData()));
  const what = page.getByLabel('Hash, or signed transaction in base64');
  await what.fill('GKwe8PT8YLdO');
  await page.locator('.found').getByText("'O' at offset 11 is not base58").waitFor();
  await what.fill('AQ4AAABncmFjZS5wcmFjdGljZQDOOoJHBRTk7OsbBobeV1c83yTK1626g9iDOBGugPAgegDLRXoQ81oAAA4A');
  await page.locator('.found.is-wrong').waitFor();
  await page.getByRole('button', { name: 'Follow' }).click();
  assert.equal(new URL(page.url()).hash, '');
  const [hash, signed] = await node.printed(/"tx_hash":"(\w+)","wait_until":"NONE"/, /"signed_tx_base64":"([^"]+)"/);
  await what.fill(signed);
  await page.locator('.found').getByText(`${hash}: `).waitFor();
  await keep(page, 'decoded-desktop-light');
  assert.deepEqual(asked, [], 'the node was not asked');
  await page.goto(`${node.url}/#/config/-5`);
  await page.locator('.problem').waitFor();
  assert.deepEqual(asked, []);
  sound(opened);
  await opened.close();
});

test('a new transaction is watched until it is final', async () => {
  const opened = await browser.open(node);
  const { page } = opened;
  await page.getByRole('button', { name: 'Watch a new one live' }).click();
  await page.getByRole('treeitem').first().waitFor();
  await page.getByText('The road is done').waitFor({ timeout: 60_000 });
  assert.deepEqual(await lit(page), ALL);
  // It was not final when we came, so at least the end was reached before our eyes.
  await page.locator('.milestones .at-final time').waitFor();
  assert.equal(await page.locator('.stop.is-pending').count(), 0);
  await keep(page, 'watched-desktop-light', { fullPage: true });
  sound(opened);
  await opened.close();
});

test('what the end of a road waits for is asked for, and no more than that', async () => {
  const opened = await browser.open(node);
  const { page } = opened;
  const asked = [];
  page.on('request', (request) => {
    const wanted = /"wait_until":"(\w+)"/.exec(request.postData() ?? '')?.[1];
    if (wanted !== undefined) asked.push(wanted);
  });
  await page.route(`${node.url}/`, async (route) => {
    const response = await route.fetch();
    const body = await response.text();
    const isNow = route.request().postData()?.includes('"wait_until":"NONE"');
    // As if it were in a block and nothing more.
    await route.fulfill({ response, body: isNow ? body.replace(/"final_execution_status":"\w+"/, '"final_execution_status":"INCLUDED"') : body });
  });
  const one = await settled('transfer');
  await page.goto(`${node.url}${address(one)}`);
  await page.getByText('The road is done').waitFor();
  assert.equal(asked[0], 'NONE');
  assert.deepEqual(new Set(asked.slice(1, 3)), new Set(['EXECUTED_OPTIMISTIC', 'INCLUDED_FINAL']));
  await opened.close();
});

test('whoever leaves waits no longer', async () => {
  const opened = await browser.open(node, `/#/tx/${UNKNOWN}/alice.near`);
  const { page } = opened;
  await page.getByText('The node knows no such transaction').waitFor();
  const waiting = async (count) => {
    while ((await (await fetch(`${node.url}/status`)).json()).waiting !== count) await new Promise((resolve) => setTimeout(resolve, 50));
  };
  await waiting(1);
  await keep(page, 'unknown-desktop-light');
  await page.getByRole('link', { name: 'Configuration' }).click();
  await waiting(0);
  sound(opened);
  await opened.close();
});

test('a failure is read where it happened', async () => {
  const one = await pick(node, (one) => one.kind === 'failure' && one.label.includes('contract'));
  const opened = await browser.open(node, address(one));
  const { page } = opened;
  await page.locator('.verdict.is-failure').waitFor();
  const stop = page.locator('.stop.is-failure').first();
  await stop.click();
  const id = await stop.getAttribute('data-id');
  const answer = await statusOf(one);
  const { outcome } = [answer.transaction_outcome, ...answer.receipts_outcome].find((outcome) => outcome.id === id);
  const details = page.getByRole('region', { name: /^(Receipt|Transaction)/ });
  const words = await details.innerText();
  assert.match(await stop.getAttribute('aria-label'), /, failed, block \d+, shard \d+$/);
  const ends = (value) => (typeof value === 'object' && value !== null ? Object.values(value).flatMap(ends) : [String(value)]);
  for (const end of ends(outcome.status.Failure)) assert.ok(words.includes(end), `${end} in ${words}`);
  assert.ok((await details.textContent()).includes(`Tgas${outcome.gas_burnt}`), 'the exact gas');
  assert.ok((await details.textContent()).includes(`NEAR${outcome.tokens_burnt}`), 'the exact price');
  for (const log of outcome.logs) assert.ok(words.includes(log.slice(0, 20)), log);
  sound(opened);
  await opened.close();
});

test('the answer stands beside the road with every digit', async () => {
  const one = await settled('transfer');
  const opened = await browser.open(node);
  const { page } = opened;
  const huge = '18446744073709551615';
  await page.route(`${node.url}/`, async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replace(/"gas_burnt":\d+/g, `"gas_burnt":${huge}`) });
  });
  await page.goto(`${node.url}${address(one)}`);
  await page.getByRole('treeitem').first().click();
  const details = page.getByRole('region', { name: /^Transaction/ });
  assert.ok((await details.textContent()).includes(`18446744.07 Tgas${huge}`));
  const raw = page.locator('.raw');
  for (const name of ['transaction_outcome', 'outcome']) await raw.locator('summary', { hasText: new RegExp(`^${name}\\{`) }).click();
  const leaf = raw.locator('.leaf', { hasText: 'gas_burnt' }).first();
  assert.equal(await leaf.textContent(), `gas_burnt: ${huge}`);
  sound(opened);
  await opened.close();
});

test('a road whose heights are forgotten is drawn by its steps', async () => {
  const one = await settled('call across shards');
  const opened = await browser.open(node);
  const { page } = opened;
  await page.route('**/blocks/*', async (route) => {
    const names = new URL(route.request().url()).pathname.split('/').pop().split(',');
    await route.fulfill({ json: Object.fromEntries(names.map((name) => [name, null])) });
  });
  await page.goto(`${node.url}${address(one)}`);
  await page.getByRole('treeitem').first().waitFor();
  const columns = await page.locator('.captions .column').allTextContents();
  assert.deepEqual(columns, columns.map((_, step) => `step ${step + 1}`));
  assert.match(await page.getByRole('treeitem').last().getAttribute('aria-label'), /, step \d/);
  await opened.close();
});

test('two configurations are compared', async () => {
  const opened = await browser.open(node, '/#/config/genesis/final');
  const { page } = opened;
  await page.locator('table.changes').waitFor();
  const [before, now] = await Promise.all([
    ask(node, 'EXPERIMENTAL_protocol_config', { sync_checkpoint: 'genesis' }),
    ask(node, 'EXPERIMENTAL_protocol_config', { finality: 'final' }),
  ]);
  const flat = (value, path = '') => (typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.entries(value).flatMap(([name, inner]) => flat(inner, path === '' ? name : `${path}.${name}`))
    : [[path, JSON.stringify(value)]]);
  const [old, young] = [before, now].map((body) => new Map(flat(JSON.parse(body).result)));
  const expected = [...old].filter(([path, value]) => young.get(path) !== value).map(([path, value]) => [path, value, young.get(path)]);
  assert.ok(expected.length > 0, 'the practice chain was upgraded');
  const rows = await page.locator('table.changes tbody tr').evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.deepEqual(rows, expected);
  await page.getByText(`${expected.length} values differ`).waitFor();
  // The same block twice differs in nothing.
  await page.getByLabel('Compare with').fill('genesis');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.getByText('Both blocks have the same configuration').waitFor();
  assert.equal(new URL(page.url()).hash, '#/config/genesis/genesis');
  sound(opened);
  await opened.close();
});

test('a configuration is browsed and searched', async () => {
  const opened = await browser.open(node, '/#/config');
  const { page } = opened;
  const { result } = JSON.parse(await ask(node, 'EXPERIMENTAL_protocol_config', { finality: 'final' }));
  const threshold = page.locator('.leaf', { hasText: 'fishermen_threshold' });
  assert.equal(await threshold.textContent(), `fishermen_threshold: "${result.fishermen_threshold}"`);
  await page.locator('summary', { hasText: 'runtime_config' }).click();
  await page.locator('summary', { hasText: 'wasm_config' }).waitFor();
  await page.getByLabel('Filter').fill('max gas burnt');
  const hits = page.locator('.leaves dt');
  assert.deepEqual(await hits.allTextContents(), ['runtime_config.wasm_config.limit_config.max_gas_burnt']);
  await page.getByLabel('Filter').fill('no such thing');
  await page.getByText('No name and no value has that in it').waitFor();
  sound(opened);
  await opened.close();
});

test('refusals are told in the words of the node', async () => {
  const opened = await browser.open(node, '/#/config/5');
  const { page } = opened;
  await page.getByText('BLOCK HEIGHT: 5').waitFor();
  await keep(page, 'refused-desktop-light');
  await page.goto(`${node.url}/#/tx/GKwe8PT8YLdO/alice.near`);
  await page.getByText("params.tx_hash: 'O' at offset 11 is not base58").waitFor();
  await page.getByRole('link', { name: 'Look for another' }).click();
  await page.getByRole('heading', { name: 'How far along the road is it?' }).waitFor();
  sound(opened);
  await opened.close();
});

test('the keyboard is enough', async () => {
  const one = await settled('callback');
  const opened = await browser.open(node);
  const { page } = opened;
  const focused = () => page.evaluate(() => {
    const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
    return { text: document.activeElement.textContent, id: document.activeElement.dataset.id, tag: document.activeElement.tagName, isSeen: outlineStyle !== 'none' && outlineWidth !== '0px' };
  });
  await page.getByRole('heading', { name: 'Or pick one' }).waitFor();
  await page.keyboard.press('Tab');
  assert.equal((await focused()).text, 'Skip to the content');
  await page.keyboard.press('Enter');
  assert.equal((await focused()).tag, 'MAIN');
  await page.keyboard.press('Tab');
  assert.ok((await focused()).isSeen);
  await page.keyboard.type(one.tx_hash);
  await page.keyboard.press('Tab');
  await page.keyboard.type(one.signer_id);
  await page.keyboard.press('Enter');
  await page.getByRole('treeitem').first().waitFor();
  // On until the focus is in the tree: it has one place in the order of the page.
  for (let count = 0; (await focused()).id === undefined; count += 1) {
    assert.ok(count < 20, 'the tree can be reached');
    await page.keyboard.press('Tab');
  }
  const ids = await page.getByRole('treeitem').evaluateAll((stops) => stops.map((stop) => stop.dataset.id));
  assert.equal((await focused()).id, ids[0]);
  await page.keyboard.press('ArrowRight');
  assert.equal((await focused()).id, ids[1]);
  assert.ok((await focused()).isSeen, 'the focus can be seen');
  await page.keyboard.press('End');
  assert.equal((await focused()).id, ids.at(-1));
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  assert.match((await focused()).text, /^Receipt/);
  await page.keyboard.press('Escape');
  assert.equal((await focused()).id, ids[1], 'the focus comes back');
  await page.keyboard.press('ArrowLeft');
  assert.equal((await focused()).id, ids[0]);
  sound(opened);
  await opened.close();
});

test('a phone shows everything in its width', async () => {
  const one = await settled('call across shards');
  const opened = await browser.open(node, '/', { viewport: PHONE, isMobile: true, hasTouch: true, deviceScaleFactor: 2 });
  const { page } = opened;
  await page.getByRole('heading', { name: 'Or pick one' }).waitFor();
  assert.ok((await overflow(page)) <= 0, 'the start');
  await page.goto(`${node.url}${address(one)}`);
  await page.getByRole('treeitem').nth(1).tap();
  await page.getByRole('region', { name: /^Receipt/ }).waitFor();
  assert.ok((await overflow(page)) <= 0, 'a transaction');
  // Time runs downwards.
  const tops = await page.locator('.captions .column').evaluateAll((all) => all.map((column) => column.getBoundingClientRect().top));
  assert.deepEqual(tops, tops.toSorted((a, b) => a - b));
  for (const path of ['/#/config', '/#/config/genesis/final', `/#/tx/${UNKNOWN}/alice.near`]) {
    await page.goto(`${node.url}${path}`);
    await page.locator('.result .panel, .empty').first().waitFor();
    assert.ok((await overflow(page)) <= 0, path);
  }
  sound(opened);
  await opened.close();
});

test('dark is dark, and who wants no motion sees none', async () => {
  const light = await browser.open(node, `/#/tx/${UNKNOWN}/a.near`, { colorScheme: 'light' });
  const dark = await browser.open(node, `/#/tx/${UNKNOWN}/a.near`, { colorScheme: 'dark', reducedMotion: 'reduce' });
  const brightness = ({ page }) => page.evaluate(() => {
    const colours = [document.body, document.querySelector('h1')].map((element, place) => getComputedStyle(element)[place === 0 ? 'backgroundColor' : 'color']);
    return colours.map((colour) => colour.match(/\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 3);
  });
  for (const opened of [light, dark]) await opened.page.locator('.is-awaited').waitFor();
  const [[lightPaper, lightInk], [darkPaper, darkInk]] = await Promise.all([brightness(light), brightness(dark)]);
  assert.ok(lightPaper > 220 && lightInk < 60 && darkPaper < 40 && darkInk > 200);
  const moving = ({ page }) => page.evaluate(() => document.getAnimations().length);
  assert.ok((await moving(light)) > 0);
  assert.equal(await moving(dark), 0);
  await light.close();
  await dark.close();
});

test('a node that goes away is missed, and found again', async (context) => {
  // One whose patience ends at once: a wait that is cut off is asked for again.
  const hasty = await startNode('--wait-timeout', '300ms');
  context.after(() => hasty.stop());
  const opened = await browser.open(hasty, `/#/tx/${UNKNOWN}/a.near`);
  const { page } = opened;
  await page.getByText('waiting for INCLUDED').waitFor();
  await page.context().setOffline(true);
  await page.locator('.chain.is-away').waitFor();
  await page.getByRole('alert').getByText('the node does not answer').waitFor();
  await page.context().setOffline(false);
  await page.getByText('waiting for INCLUDED').waitFor();
  await page.locator('.chain:not(.is-away)').waitFor();
  await opened.close();
});

test('text from a chain stays text', async () => {
  const one = await settled('call');
  const opened = await browser.open(node, '/', { bypassCSP: false });
  const { page } = opened;
  const nasty = '<img src=x onerror=alert(1)>\u202e';
  await page.route(`${node.url}/`, async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    const response = await route.fetch();
    const replaced = { method_name: nasty, logs: [nasty] };
    const body = JSON.stringify(await response.json(), (name, value) => replaced[name] ?? value);
    await route.fulfill({ response, body });
  });
  await page.goto(`${node.url}${address(one)}`);
  await page.getByRole('treeitem').nth(1).click();
  assert.equal(await page.locator('main img').count(), 0);
  const title = await page.locator('.stop .title').first().textContent();
  assert.equal(title, '<img src=x onerror=alert(1)>\ufffd()');
  assert.equal(await page.locator('.logs li').first().textContent(), '<img src=x onerror=alert(1)>\ufffd');
  // And a script that came in by another way would not run.
  await page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'window.ran = true';
    document.body.append(script);
  });
  assert.equal(await page.evaluate(() => window.ran), undefined);
  assert.match(opened.errors.join('\n'), /Content Security Policy/);
  await opened.close();
});
