// The driver of the follower over feeds in this process: requests, bodies, waits, and what ends it.
// The rules are tested in Rust.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { BlockError, ErrorCode, UsageError } from "milepost";
import { FollowError, follow } from "milepost/follow";

const DIGITS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** The hash of a block at a height of a branch */
function hashOf(height, branch = 1) {
  let text = "";
  for (let value = (BigInt(branch) << 248n) + BigInt(height); value > 0n; value /= 58n) {
    text = DIGITS[Number(value % 58n)] + text;
  }
  return text;
}

/** A message; its parent is the block before, and the block two before that is final */
function block(height, members = {}) {
  const header = {
    height,
    hash: hashOf(height),
    prev_hash: hashOf(height - 1),
    prev_height: height - 1,
    epoch_id: hashOf(0),
    last_final_block: hashOf(height - 3),
    timestamp_nanosec: String(height * 1e9),
  };
  return { block: { header, chunks: [], ...members }, shards: [] };
}

const line = (first, last) => Array.from({ length: last - first + 1 }, (_, index) => block(first + index));
const heightsOf = (first, last) => line(first, last).map(({ block }) => block.header.height);
const response = (status, body, headers) =>
  new Response(typeof body === "string" ? body : JSON.stringify(body), { status, headers });
const notFound = (type) => response(404, { error: "x", type });

/** A feed of these messages; `change` may answer a request otherwise */
function feed(messages, { optimistic = messages, change = () => undefined } = {}) {
  const requests = [];
  const fetch = async (url, { headers, signal }) => {
    const { host, pathname, searchParams } = new URL(url);
    const isFresh = searchParams.has("fresh");
    requests.push({ host, path: pathname, isFresh, headers });
    const changed = change(pathname, isFresh, host);
    if (changed) return changed;
    const [, newest] = /\/v0\/last_block\/(final|optimistic)(?:\/headers)?$/.exec(pathname) ?? [];
    if (newest) return response(200, (newest === "final" ? messages : optimistic).at(-1));
    const [, kind, text] = /\/v0\/(block|block_opt)\/(\d+)$/.exec(pathname);
    const list = kind === "block" ? messages : optimistic;
    const found = list.find(({ block }) => block.header.height === Number(text));
    if (found) return response(200, found);
    if (Number(text) < list[0].block.header.height) return notFound("BLOCK_HEIGHT_TOO_LOW");
    // Held back for ever, as at the head of a chain without new blocks.
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  return { fetch, requests };
}

/** An endpoint that keeps the heights that it gets */
function endpoint(head = null, lastFinal = null) {
  const heights = [];
  const point = (height) => height && { height: BigInt(height), hash: hashOf(height) };
  return {
    heights,
    chainStatus: async () => ({ head: point(head), lastFinal: point(lastFinal), earliest: null }),
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

/** Follows a feed of the heights 10 to 30 in full; returns the details of failures */
async function followWith(change) {
  const [host, failed] = [endpoint(), []];
  const onEvent = (event) => event.type === "failed" && failed.push(event);
  const { fetch, requests } = feed(line(10, 30), { change });
  await follow(host, { ...QUICK, fetch, from: 10, until: 29, onEvent });
  assert.deepEqual(host.heights, heightsOf(10, 29));
  return { failed, requests };
}

test("events have the members that are declared", async () => {
  const [host, events] = [endpoint(), []];
  await follow(host, {
    ...QUICK,
    fetch: feed(line(10, 30)).fetch,
    startMargin: 25,
    until: 12,
    onEvent: (it) => events.push(it),
  });
  const fetched = events.find(({ type, height }) => type === "fetched" && height === 11);
  const bytes = JSON.stringify(block(11)).length;
  assert.deepEqual(fetched, { type: "fetched", height: 11, bytes, timestamp: 11_000, feed: 0 });
  const imported = events.filter(({ type }) => type === "imported");
  assert.deepEqual(imported.at(-1), { type: "imported", height: 12, timestamp: 12_000, summary: {} });
  assert.deepEqual(
    events.find(({ type }) => type === "startsLater"),
    { type: "startsLater", asked: 5, first: 10 },
  );
});

test("a block that no feed has is given up if the host says so", async () => {
  const [host, events] = [endpoint(), []];
  const change = (path) => (path.endsWith("/20") ? response(200, "null") : undefined);
  const { fetch } = feed(line(10, 30), { change });
  await follow(host, { ...QUICK, fetch, from: 10, skip: 20, until: 29, onEvent: (it) => events.push(it) });
  assert.deepEqual(host.heights, [...heightsOf(10, 19), ...heightsOf(21, 29)]);
  assert.deepEqual(
    events.filter(({ type }) => type === "givenUp"),
    [{ type: "givenUp", height: 20 }],
  );
});

test("a store that is far behind is started anew if the host says so", async () => {
  const { fetch } = feed(line(10, 900));
  const [anew, resumed] = [endpoint(20, 18), endpoint(20, 18)];
  await follow(anew, { ...QUICK, fetch, maxCatchUp: 500, startMargin: 30, until: 890 });
  assert.equal(anew.heights[0], 870);
  await follow(resumed, { ...QUICK, fetch, maxCatchUp: 880, startMargin: 30, until: 30 });
  assert.equal(resumed.heights[0], 21);
});

test("a message that is wrong is fetched again, past caches", async () => {
  const chunks = [{ shard_id: 3, height_included: 15 }];
  const incomplete = JSON.stringify(block(15, { chunks }));
  for (const wrong of [incomplete, '{"block":', JSON.stringify(block(14)), "[]", "[".repeat(1e6), "\xff"]) {
    const change = (path, isFresh) => (path.endsWith("/15") && !isFresh ? response(200, wrong) : undefined);
    const { failed } = await followWith(change);
    assert.equal(failed.length, 1);
    assert.equal(failed[0].status, null);
  }
  const change = (path) => (path.endsWith("/10") ? response(200, incomplete) : undefined);
  const run = follow(endpoint(), { ...QUICK, fetch: feed(line(10, 30), { change }).fetch, from: 10 });
  await fails(run, "message", /^the feed sent a bad message 15 times: block 15 in place|lacks its chunk/);
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
  const { failed } = await followWith((path) => (path.endsWith("/15") && sent === 0 ? endless() : undefined));
  assert.deepEqual(
    failed.map(({ detail }) => detail),
    ["/v0/block/15: a body of more than 67108864 bytes"],
  );
  assert.ok(sent < 70 << 20, `${sent} bytes`);
});

test("a body of several megabytes in pieces arrives as it was sent", async () => {
  const message = block(15, { author: "é".repeat(3 << 20) });
  const bytes = new TextEncoder().encode(JSON.stringify(message));
  const pieces = () =>
    new Response(
      new ReadableStream({
        start(controller) {
          for (let start = 0; start < bytes.length; start += 65_537) {
            controller.enqueue(bytes.subarray(start, start + 65_537));
          }
          controller.close();
        },
      }),
    );
  const host = endpoint();
  const received = [];
  const handleBlock = async (bytes) => {
    received.push(bytes);
    return {};
  };
  const change = (path) => (path.endsWith("/block/15") ? pieces() : undefined);
  const { fetch } = feed(line(10, 30), { change });
  await follow({ ...host, handleBlock }, { ...QUICK, fetch, from: 10, until: 15 });
  assert.deepEqual(Buffer.from(received.at(-1)), Buffer.from(bytes));
});

test("a refusal ends a start, and no follower that has begun", async () => {
  for (const [status, pattern] of [
    [401, /refuses the token/],
    [403, /refuses this client/],
  ]) {
    const change = () => response(status, "x");
    await fails(
      follow(endpoint(), { ...QUICK, fetch: feed([block(10)], { change }).fetch }),
      "permission-denied",
      pattern,
    );
    let left = 2;
    const { failed } = await followWith((path) =>
      path.endsWith("/15") && left-- > 0 ? response(status, "x") : undefined,
    );
    assert.deepEqual(
      failed.map(({ status }) => status),
      [status, status],
    );
  }
});

test("failures are repeated, with their status", async () => {
  const statuses = [500, 502, 429, 404];
  const left = [...statuses];
  const change = (path) => (path.endsWith("/15") && left.length > 0 ? response(left.shift(), "<html>") : undefined);
  const { failed } = await followWith(change);
  assert.deepEqual(
    failed.map(({ status }) => status),
    statuses,
  );
  let errors = 2;
  const { failed: broken } = await followWith((path) => {
    if (path.endsWith("/15") && errors-- > 0) throw new TypeError("fetch failed", { cause: new Error("no route") });
  });
  assert.equal(broken[0].detail, "/v0/block/15: no route");
  assert.equal(broken[0].status, null);
});

test("the newest block is asked for in full where a feed does not have its header", async () => {
  const change = (path) => (path.endsWith("/headers") ? response(404, "no such path") : undefined);
  const host = endpoint();
  const { fetch, requests } = feed(line(10, 30), { optimistic: line(10, 40), change });
  await follow(host, { ...QUICK, fetch, from: 10, until: 35 });
  assert.deepEqual(host.heights, heightsOf(10, 35));
  const paths = requests.map(({ path }) => path.replace("/base", ""));
  const index = paths.indexOf("/v0/last_block/final/headers");
  assert.ok(index > 0 && paths.indexOf("/v0/last_block/final", index) > index, paths.join(" "));
});

test("a pause that the feed asks for stops all requests", async () => {
  let paused = null;
  const early = [];
  await followWith((path) => {
    if (paused !== null && performance.now() < paused + 950) early.push(path);
    if (path.endsWith("/15") && paused === null) {
      paused = performance.now();
      return response(429, "slow down", { "retry-after": "1" });
    }
  });
  // Those that were under way already.
  assert.ok(performance.now() > paused + 950 && early.length <= 2, early.join(" "));
});

test("a feed that fails is left for another one, and the token is sent to the first one only", async () => {
  const url = ["https://one.example/base", "https://two.example"];
  const change = (path, isFresh, host) =>
    host === "one.example" && /\/block(_opt)?\/(1[5-9]|2\d)$/.test(path) ? response(502, "x") : undefined;
  const [host, events] = [endpoint(), []];
  const { fetch, requests } = feed(line(10, 30), { change });
  const onEvent = (event) => events.push(event);
  await follow(host, { ...QUICK, url, fetch, from: 10, until: 29, token: "secret", onEvent });
  assert.deepEqual(host.heights, heightsOf(10, 29));
  const changes = events.filter(({ type }) => type === "feedChanged");
  assert.deepEqual(changes, [{ type: "feedChanged", feed: 1, from: 0, reason: "failed" }]);
  for (const { host, path, headers } of requests) {
    assert.equal(headers.authorization, host === "one.example" ? "Bearer secret" : undefined);
    assert.ok(path.startsWith(host === "one.example" ? "/base/v0/" : "/v0/"), path);
  }
  assert.ok(!JSON.stringify(events).includes("secret"));
});

test("a feed without new blocks is reported once, and so is its next block", async () => {
  let release;
  const held = new Promise((resolve) => (release = resolve));
  const change = (path) => (path.endsWith("/block_opt/42") ? held.then(() => response(200, block(42))) : undefined);
  const { fetch } = feed(line(10, 40), { optimistic: line(10, 41), change });
  const [host, events] = [endpoint(40, 38), []];
  const onEvent = ({ type }) => {
    if (type !== "frozen" && type !== "thawed") return;
    events.push(type);
    if (type === "frozen") setTimeout(release, 150);
  };
  await follow(host, { ...QUICK, fetch, until: 42, frozenAfter: 50, onEvent });
  assert.deepEqual(events, ["frozen", "thawed"]);
  assert.deepEqual(host.heights, [41, 42]);
});

test("a block that is refused is asked for again, and the first one of a chain ends the run", async () => {
  const refusal = () => new BlockError(ErrorCode.SCHEMA, "wrong");
  let [refusals, head] = [1, null];
  const host = {
    heights: [],
    chainStatus: async () => {
      const [at, final] = [head, 10].map((height) => height && { height: BigInt(height), hash: hashOf(height) });
      return { head: at, lastFinal: head && final, earliest: null };
    },
    handleBlock: async (bytes) => {
      const { height } = JSON.parse(new TextDecoder().decode(bytes)).block.header;
      if (height === 15 && refusals-- > 0) throw refusal();
      host.heights.push(height);
      head = height;
      return {};
    },
  };
  const details = [];
  const onEvent = ({ type, detail }) => type === "failed" && details.push(detail);
  await follow(host, { ...QUICK, fetch: feed(line(10, 30)).fetch, from: 10, until: 29, onEvent });
  assert.deepEqual([...new Set(host.heights)], heightsOf(10, 29));
  assert.deepEqual(details, ["block 15 is refused: wrong"]);
  const refusing = { ...endpoint(), handleBlock: async () => Promise.reject(refusal()) };
  await assert.rejects(follow(refusing, { ...QUICK, fetch: feed(line(10, 30)).fetch, from: 10 }), BlockError);
});

test("a signal ends all waiting, and an error of the host is passed on", async () => {
  const control = new AbortController();
  const run = follow(endpoint(40, 38), { ...QUICK, fetch: feed(line(10, 40)).fetch, signal: control.signal });
  setTimeout(() => control.abort(new Error("enough")), 20);
  await assert.rejects(run, /^Error: enough$/);
  await assert.rejects(follow(endpoint(), { ...QUICK, signal: control.signal }), /^Error: enough$/);
  const full = { ...endpoint(), handleBlock: async () => Promise.reject(new Error("disk full")) };
  const { fetch } = feed(line(10, 40));
  await assert.rejects(follow(full, { ...QUICK, fetch, from: 10 }), /^Error: disk full$/);
  const onEvent = () => {
    throw new Error("no log");
  };
  await assert.rejects(follow(endpoint(), { ...QUICK, fetch, from: 10, onEvent }), /^Error: no log$/);
});

test("the module can be passed, and another one is refused", async () => {
  const { fetch } = feed(line(10, 30));
  const source = readFileSync(new URL("../dist/follow.wasm", import.meta.url));
  const host = endpoint();
  await follow(host, { ...QUICK, fetch, from: 10, until: 12, source });
  assert.deepEqual(host.heights, [10, 11, 12]);
  for (const wrong of [new Uint8Array(8), readFileSync(new URL("../dist/verifier.wasm", import.meta.url))]) {
    const refused = follow(host, { ...QUICK, fetch, source: wrong });
    await assert.rejects(
      refused,
      (error) => error instanceof UsageError && /^the follower cannot be|^the source/.test(error.message),
    );
  }
});
