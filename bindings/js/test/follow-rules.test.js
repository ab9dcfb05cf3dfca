// The rules of the follower over a feed in this process: what is believed, repeated and refused.

import assert from "node:assert/strict";
import { test } from "node:test";
import { FollowError, follow } from "milepost/follow";
import { Budget } from "../src/follow/budget.js";

const DIGITS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZ";
/** The hash of a block at a height of a branch */
const hashOf = (height, branch = "Z") =>
  `${branch}${[...String(height).padStart(31, "0")].map((digit) => DIGITS[Number(digit) + 9]).join("")}`;

/** A message; its parent is the block before, and the block two before that is final */
function block(height, members = {}) {
  const { parent = height - 1, branch, parentBranch = branch, ...rest } = members;
  const header = {
    height,
    hash: hashOf(height, branch),
    prev_hash: hashOf(parent, parentBranch),
    prev_height: parent,
    last_final_block: hashOf(height - 3),
    timestamp_nanosec: String(height * 1e9),
  };
  return { block: { header, chunks: [], ...rest }, shards: [] };
}

const line = (first, last) => Array.from({ length: last - first + 1 }, (_, index) => block(first + index));
const response = (status, body, headers) =>
  new Response(typeof body === "string" ? body : JSON.stringify(body), { status, headers });
const notFound = (type) => response(404, { error: "x", type });

/** A feed of these messages; `change` may answer a request otherwise */
function feed(messages, { optimistic = messages, change = () => undefined } = {}) {
  const requests = [];
  const fetch = async (url, { headers, signal }) => {
    const { pathname, searchParams } = new URL(url);
    const isFresh = searchParams.has("fresh");
    requests.push({ path: pathname, isFresh, headers });
    const changed = change(pathname, isFresh, requests.length);
    if (changed) return changed;
    const last = messages.at(-1).block.header.height;
    if (pathname.endsWith("/v0/last_block/final")) return response(200, messages.at(-1));
    const [, kind, text] = /\/v0\/(block|block_opt)\/(\d+)$/.exec(pathname);
    const list = kind === "block" ? messages : optimistic;
    const height = Number(text);
    const found = list.find(({ block }) => block.header.height === height);
    if (found) return response(200, found);
    if (height < list[0].block.header.height) return notFound("BLOCK_HEIGHT_TOO_LOW");
    if (height < Math.max(last, list.at(-1).block.header.height)) return response(200, "null");
    // Held back for ever, as at the head of a chain without new blocks.
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  return { fetch, requests };
}

/** An endpoint that keeps the heights that it gets */
function endpoint(head = null, lastFinal = null, earliest = lastFinal) {
  const heights = [];
  const point = (height) => (typeof height === "number" ? { height: BigInt(height), hash: hashOf(height) } : height);
  return {
    heights,
    chainStatus: async () => ({ head: point(head), lastFinal: point(lastFinal), earliest: point(earliest) }),
    handleBlock: async (bytes) => {
      const { header } = JSON.parse(new TextDecoder().decode(bytes)).block;
      heights.push(header.height);
      return {};
    },
  };
}

const QUICK = { url: "https://feed.example/base/", retry: 1, maxRetry: 4, requestsPerMinute: 1e6 };
const fails = (run, kind, pattern) =>
  assert.rejects(run, (error) => {
    assert.ok(error instanceof FollowError, String(error));
    assert.equal(error.kind, kind);
    assert.match(error.message, pattern);
    return true;
  });

test("a null is not believed before the next block names its parent", async () => {
  const nulls = { height: 15, fresh: 0 };
  const change = (path, isFresh) => {
    if (!path.endsWith(`/${nulls.height}`)) return;
    if (!isFresh) return response(200, "null");
    nulls.fresh += 1;
  };
  const { fetch } = feed(line(10, 30), { change });
  const host = endpoint();
  await follow(host, { ...QUICK, fetch, from: 10, until: 29 });
  assert.deepEqual(
    host.heights,
    line(10, 29).map(({ block }) => block.header.height),
  );
  assert.ok(nulls.fresh > 0);
  // A height that is skipped is not asked for again.
  const skipped = [...line(10, 14), block(16, { parent: 14 }), ...line(17, 30)];
  const { fetch: other, requests } = feed(skipped);
  const second = endpoint();
  await follow(second, { ...QUICK, fetch: other, from: 10, until: 29 });
  assert.ok(!second.heights.includes(15) && second.heights.includes(16));
  assert.equal(requests.filter(({ path }) => path.endsWith("/15")).length, 1);
});

test("at a hash break the ancestors come from the final chain, past caches", async () => {
  // The optimistic stream has two blocks of a fork and then goes on with the canonical branch.
  const fork = [block(21, { branch: "Y", parentBranch: "Z" }), block(22, { branch: "Y" })];
  const optimistic = [...line(10, 20), ...fork, ...line(23, 40)];
  const { fetch, requests } = feed(line(10, 40), { optimistic, change: finalAt(20, line(10, 40)) });
  const host = endpoint(20, 18);
  const events = [];
  await follow(host, { ...QUICK, fetch, until: 30, onEvent: ({ type }) => events.push(type) });
  assert.deepEqual(host.heights.slice(0, 2), [21, 22]);
  // Then everything after the last final block that is stored, except the stored head.
  const canonical = [19, ...line(21, 30).map(({ block }) => block.header.height)];
  assert.deepEqual(host.heights.slice(2), canonical);
  assert.equal(events.filter((type) => type === "linkBroken").length, 1);
  assert.ok(requests.filter(({ path }) => /\/block\/2\d$/.test(path)).some(({ isFresh }) => isFresh));
});

/** The last final block is this one at the first request */
function finalAt(height, messages) {
  return (path) =>
    path.endsWith("/last_block/final")
      ? response(
          200,
          messages.find(({ block }) => block.header.height === height),
        )
      : undefined;
}

test("a chain that contradicts what was final ends with an error, after few requests", async () => {
  const other = [...line(10, 20), block(21, { branch: "Y" }), ...line(22, 40)];
  const { fetch, requests } = feed(other);
  await fails(
    follow(endpoint(), { ...QUICK, fetch, from: 10 }),
    "contradiction",
    /contradicts what was final: its final block 21/,
  );
  assert.ok(requests.length < 60, `${requests.length} requests`);
});

test("a block that the feed never has is named", async () => {
  const lacking = [...line(10, 16), ...line(18, 40)];
  await fails(
    follow(endpoint(), { ...QUICK, fetch: feed(lacking).fetch, from: 10 }),
    "missing",
    /lacks a block between them: its final block 18/,
  );
});

test("a store of another chain, or far above the feed, is refused", async () => {
  const { fetch } = feed(line(10, 40));
  const stored = { height: 20n, hash: hashOf(20, "Y") };
  await fails(follow(endpoint(stored, stored), { ...QUICK, fetch }), "contradiction", /not of the feed's chain/);
  await fails(follow(endpoint(90_000, 90_000), { ...QUICK, fetch }), "contradiction", /the store is at block 90000/);
});

test("a stored head on an abandoned fork is left, and healed from the last final block", async () => {
  const head = { height: 21n, hash: hashOf(21, "Y") };
  const { fetch } = feed(line(10, 60));
  const host = endpoint(head, 18);
  await follow(host, { ...QUICK, fetch, until: 50 });
  assert.deepEqual(
    host.heights,
    line(19, 50).map(({ block }) => block.header.height),
  );
});

test("a cached fork above a stored head is left also when nothing stored is final", async () => {
  const cached = block(21, { branch: "Y", parentBranch: "Z" });
  const change = (path, isFresh) => (path.endsWith("/block/21") && !isFresh ? response(200, cached) : undefined);
  const { fetch, requests } = feed(line(10, 60), { change });
  const host = endpoint(20, null, 20);
  await follow(host, { ...QUICK, fetch, until: 50 });
  const expected = line(21, 50).map(({ block }) => block.header.height);
  assert.deepEqual([...new Set(host.heights)], expected);
  assert.ok(requests.every(({ path }) => !path.endsWith("/block/0")));
  // The stored head is of a fork, and the earliest block is before it.
  const fork = { height: 20n, hash: hashOf(20, "Y") };
  const other = endpoint(fork, null, 19);
  await follow(other, { ...QUICK, fetch, until: 50 });
  assert.deepEqual([...new Set(other.heights)], [20, ...expected]);
});

test("a store that is far behind is started anew if the host says so", async () => {
  const { fetch } = feed(line(10, 900));
  const host = endpoint(20, 18);
  await follow(host, { ...QUICK, fetch, maxCatchUp: 500, startMargin: 30, until: 890 });
  assert.equal(host.heights[0], 870);
});

test("a chain without finality is bounded", async () => {
  const messages = line(10, 100);
  for (const { block } of messages) delete block.header.last_final_block;
  const run = follow(endpoint(), { ...QUICK, fetch: feed(messages).fetch, from: 10, maxUnfinalized: 40 });
  await fails(run, "unfinalized", /more than 40 blocks/);
});

test("a message that is cut, of another height or incomplete is fetched again, past caches", async () => {
  const chunks = [
    { shard_id: 3, height_included: 15 },
    { shard_id: 4, height_included: 9 },
  ];
  const incomplete = JSON.stringify(block(15, { chunks }));
  for (const wrong of [incomplete, '{"block":', JSON.stringify(block(14)), "[]", "[".repeat(1e6), "\xff"]) {
    const change = (path, isFresh) => (path.endsWith("/15") && !isFresh ? response(200, wrong) : undefined);
    const [host, details] = [endpoint(), []];
    const onEvent = (event) => event.type === "retry" && details.push(event);
    await follow(host, { ...QUICK, fetch: feed(line(10, 30), { change }).fetch, from: 10, until: 29, onEvent });
    assert.equal(host.heights.length, 20);
    assert.equal(details.length, 1);
    assert.equal(details[0].status, null);
  }
  const change = (path) => (path.endsWith("/15") ? response(200, incomplete) : undefined);
  const run = follow(endpoint(), { ...QUICK, fetch: feed(line(10, 30), { change }).fetch, from: 10 });
  await fails(
    run,
    "message",
    /block\/15: the feed sent a bad message 15 times: shards: incomplete, shard 3 lacks its chunk/,
  );
});

test("a body is read up to its bound", async () => {
  let sent = 0;
  const endless = () =>
    new Response(
      new ReadableStream({
        pull(controller) {
          sent += 1 << 20;
          controller.enqueue(new Uint8Array(1 << 20));
        },
      }),
    );
  const change = (path, isFresh, count) => (path.endsWith("/15") && sent === 0 ? endless() : undefined);
  const [host, details] = [endpoint(), []];
  const onEvent = (event) => event.type === "retry" && details.push(event.detail);
  await follow(host, { ...QUICK, fetch: feed(line(10, 30), { change }).fetch, from: 10, until: 29, onEvent });
  assert.deepEqual(details, ["a body of more than 67108864 bytes"]);
  assert.ok(sent < 70 << 20, `${sent} bytes`);
});

test("a status decides what is done", async () => {
  for (const [status, kind, pattern] of [
    [401, "permission-denied", /refuses the token/],
    [403, "permission-denied", /refuses this client/],
  ]) {
    const change = (path) => (path.endsWith("/15") ? response(status, "x") : undefined);
    await fails(follow(endpoint(), { ...QUICK, fetch: feed(line(10, 30), { change }).fetch, from: 10 }), kind, pattern);
  }
  let left = 4;
  const statuses = [500, 502, 429, 404];
  const change = (path) => (path.endsWith("/15") && left > 0 ? response(statuses[--left], "<html>") : undefined);
  const [host, seen] = [endpoint(), []];
  const onEvent = (event) => event.type === "retry" && seen.push(event.status);
  await follow(host, { ...QUICK, fetch: feed(line(10, 30), { change }).fetch, from: 10, until: 29, onEvent });
  assert.deepEqual(seen, statuses.toReversed());
  assert.equal(host.heights.length, 20);
});

test("a pause that the feed asks for stops all requests", async () => {
  let paused = null;
  const early = [];
  const change = (path) => {
    if (paused !== null && performance.now() < paused + 950) early.push(path);
    if (path.endsWith("/15") && paused === null) {
      paused = performance.now();
      return response(429, "slow down", { "retry-after": "1" });
    }
  };
  const [host, delays] = [endpoint(), []];
  const onEvent = (event) => event.type === "retry" && delays.push(event.delay);
  await follow(host, { ...QUICK, fetch: feed(line(10, 30), { change }).fetch, from: 10, until: 29, onEvent });
  assert.equal(delays[0], 1_000);
  // Those that were under way already.
  assert.ok(early.length <= 2, early.join(" "));
});

test("no minute has more requests than the budget", () => {
  for (const perMinute of [1, 7, 170]) {
    const budget = new Budget(perMinute);
    const times = [];
    for (let now = 0; times.length < perMinute * 3; ) {
      now = budget.reserve(now);
      times.push(now);
    }
    for (const time of times) {
      const inMinute = times.filter((other) => other >= time && other < time + 59_999.999);
      assert.ok(inMinute.length <= perMinute, `${perMinute} from ${time}`);
    }
    // And it is used: three minutes have at least two and a half budgets.
    assert.ok(times.at(-1) < 60_000 * 3.4, `${perMinute}: ${times.at(-1)}`);
  }
});

test("the token is sent, and shown nowhere", async () => {
  const { fetch, requests } = feed(line(10, 30));
  const events = [];
  await follow(endpoint(), {
    ...QUICK,
    fetch,
    from: 10,
    until: 12,
    token: "secret",
    onEvent: (event) => events.push(event),
  });
  assert.ok(
    requests.every(({ path, headers }) => headers.authorization === "Bearer secret" && path.startsWith("/base/v0/")),
  );
  assert.ok(!JSON.stringify(events).includes("secret"));
});

test("a feed without new blocks is reported once, and so is its next block", async () => {
  let release;
  const held = new Promise((resolve) => (release = resolve));
  const messages = line(10, 40);
  const change = (path) => (path.endsWith("/block_opt/42") ? held.then(() => response(200, block(42))) : undefined);
  const { fetch } = feed(messages, { optimistic: line(10, 41), change });
  const [host, events] = [endpoint(40, 38), []];
  const onEvent = ({ type }) => {
    if (type === "fetched" || type === "imported") return;
    events.push(type);
    if (type === "frozen") setTimeout(release, 150);
  };
  await follow(host, { ...QUICK, fetch, until: 42, frozenAfter: 50, onEvent });
  assert.deepEqual(events, ["frozen", "thawed"]);
  assert.deepEqual(host.heights, [41, 42]);
});

test("a signal ends all waiting, and an error of the host is passed on", async () => {
  const control = new AbortController();
  const run = follow(endpoint(40, 38), { ...QUICK, fetch: feed(line(10, 40)).fetch, signal: control.signal });
  setTimeout(() => control.abort(new Error("enough")), 20);
  await assert.rejects(run, /^Error: enough$/);
  await assert.rejects(follow(endpoint(), { ...QUICK, signal: control.signal }), /^Error: enough$/);
  const full = { ...endpoint(), handleBlock: async () => Promise.reject(new Error("disk full")) };
  await assert.rejects(follow(full, { ...QUICK, fetch: feed(line(10, 40)).fetch, from: 10 }), /^Error: disk full$/);
});
