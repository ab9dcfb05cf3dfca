// A watched transaction has the same states everywhere: in an endpoint of the package, over
// server-sent events and over a WebSocket, value by value and with the same ids.
//
// A server and an endpoint follow one feed with forks. States may be left out where blocks come
// quickly, so those with one id are compared, and the last ones. Needs the server's program in
// `SERVER_PROGRAM`.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Endpoint } from "milepost";
import { connect } from "milepost/client";
import { follow } from "milepost/follow";
import { startFeed } from "./feed-server.js";
import { idle } from "./happy-path.js";
import { program, startServer } from "./server.js";
import { WebSocket } from "./websocket.js";

/** The options of a server that follows a feed */
const followOptions = (feed) =>
  `--follow neardata+${feed.url} --from ${feed.first} --feed-requests 100000 --upstream none --max-age 1h`.split(" ");

/** The first transaction of a block that comes from now on */
async function nextTransaction(feed) {
  const { block } = await (await fetch(`${feed.url}/v0/last_block/optimistic`)).json();
  for (let height = block.header.height + 1; ; ) {
    const response = await fetch(`${feed.url}/v0/block_opt/${height}`);
    const message = response.ok ? JSON.parse(await response.text()) : undefined;
    if (message === undefined) await idle();
    else height += 1;
    const included = (message?.shards ?? []).flatMap(({ chunk }) => chunk?.transactions ?? []);
    if (included.length > 0) return included[0].transaction.hash;
  }
}

async function collect(changes) {
  const seen = [];
  for await (const change of changes) seen.push(change);
  return seen;
}

test("an endpoint, server-sent events and a WebSocket report the same states", { skip: !program }, async () => {
  const feed = await startFeed("--seed", 4, "--interval", 200, "--blocks", 200, "--age", 6_000);
  const server = await startServer(...followOptions(feed));
  const endpoint = await Endpoint.create();
  const control = new AbortController();
  const { url, first: from } = feed;
  const pace = { retry: 20, maxRetry: 200, requestsPerMinute: 60_000, signal: control.signal };
  const following = follow(endpoint, { ...pace, url, from }).catch(() => {});
  try {
    const hash = await nextTransaction(feed);
    const options = { include: "status" };
    const over = (transport) => collect(connect(server.url, { transport, WebSocket }).watch(hash, options));
    const watches = [collect(endpoint.watch(hash, options)), over("sse"), over("websocket")];
    const [local, sse, websocket] = await Promise.all(watches);
    for (const [name, seen] of Object.entries({ sse, websocket })) {
      const ids = `${name}: ${seen.map(({ id }) => id)} and ${local.map(({ id }) => id)}`;
      const shared = seen.filter(({ id }) => local.some((own) => own.id === id));
      for (const { id, status } of shared) {
        assert.deepEqual(status, local.find((own) => own.id === id).status, `${name}: ${id}`);
      }
      assert.ok(shared.length > 0, ids);
      assert.deepEqual(seen.at(-1), local.at(-1), ids);
    }
    const { event, status } = local.at(-1);
    assert.deepEqual([event, status.result.transaction.hash], ["reached", hash]);
  } finally {
    control.abort();
    await following;
    server.stop();
    feed.stop();
    endpoint.dispose();
  }
});
