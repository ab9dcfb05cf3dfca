// Runs the JavaScript examples of the package's README, except the first, which package.test.js
// runs from the packed package.

import "fake-indexeddb/auto";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { test } from "node:test";
import * as milepost from "milepost";
import { follow } from "milepost/follow";
import { loadAnswerVerifier, loadVerifier } from "milepost/verifier";
import { startFeed } from "./feed-server.js";
import { IndexedDbArchive } from "milepost/archive";
import { connect } from "milepost/client";
import { block, HEIGHTS, idle, milestone, request } from "./happy-path.js";
import { proofs, read } from "./vectors.js";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");

/** Runs the first example after a heading; `names` are the variables that it uses */
function example(heading, names) {
  const code = readme.split(heading)[1].split("```js\n")[1].split("```")[0];
  const lines = code
    .trim()
    .split("\n")
    .filter((line) => line && !line.startsWith("import "));
  assert.ok(lines.length <= 10, `${heading}: ${lines.length} lines`);
  const imported = code.match(/import \{ (.*) \} from "milepost";/)?.[1].split(", ") ?? [];
  const AsyncFunction = (async () => {}).constructor;
  const result = ["response", "endpoint"].find((name) => code.includes(`\nconst ${name} =`));
  if (result) lines.push(`return ${result};`);
  const run = new AsyncFunction(...imported, ...Object.keys(names), lines.join("\n"));
  return run(...imported.map((name) => milepost[name]), ...Object.values(names));
}

/** Passes the blocks to the handler of messages that an example sets */
async function feed(socket) {
  while (!socket.onmessage) await idle();
  for (const height of HEIGHTS) await socket.onmessage({ data: block(height).toString() });
}

test("the example of a wait logs a valid signature and a status", async () => {
  const logged = [];
  const console = { error: assert.ifError, log: (...words) => logged.push(words) };
  const signed = JSON.parse(read("requests/lookup-signed.json")).params.signed_tx_base64;
  const blocks = HEIGHTS.map(block);
  await example("## Waiting for a milestone", { blocks, signed, console });
  assert.equal(logged[0][0], true);
  assert.ok(logged[0][1], "no status");
});

test("the example of a storage keeps the rows, and one endpoint continues after another", async () => {
  const rows = new Map();
  const statements = {
    SELECT: { get: (key) => (rows.has(`${key}`) ? { row: rows.get(`${key}`) } : undefined) },
    INSERT: { run: (key, row) => rows.set(`${key}`, row) },
    DELETE: { run: (key) => rows.delete(`${key}`) },
  };
  const database = {
    prepare: (text) => statements[text.split(" ")[0]],
    // A wrapper that declares no parameters, as the usual drivers make it.
    transaction:
      (work) =>
      (...changes) =>
        work(...changes),
  };
  const heading = "## A storage of your own";
  for (const [from, to] of [
    [0, 5],
    [5, HEIGHTS.length],
  ]) {
    const endpoint = await example(heading, { database });
    for (const height of HEIGHTS.slice(from, to)) await endpoint.handleBlock(block(height));
    if (to === HEIGHTS.length) assert.equal(milestone(await endpoint.respond(request("FINAL"))), "FINAL");
    endpoint.dispose();
  }
});

test("the example of an archive keeps what the storage forgets", async () => {
  const endpoint = await example("## An archive", { IndexedDbArchive });
  for (const height of HEIGHTS) await endpoint.handleBlock(block(height));
  assert.equal(milestone(await endpoint.respond(request("FINAL"))), "FINAL");
  const { exportedTransactions, failure } = endpoint.archiveStatus;
  assert.deepEqual([exportedTransactions, failure], [2, null]);
  endpoint.dispose();
});

test("the example for many requests writes every response", async () => {
  const [blocks, written] = [HEIGHTS.map(block), []];
  const requests = ["INCLUDED", "FINAL"].map((milestone) => request(milestone));
  const unknown = request("FINAL", "11111111111111111111111111111111");
  // Decoded at once, because the next response overwrites the bytes.
  const writeSync = (file, bytes) => written.push([file, new TextDecoder().decode(bytes)]);
  await example("## Many requests", { blocks, requests: [...requests, unknown], file: 7, writeSync });
  const endpoint = await milepost.Endpoint.create();
  blocks.forEach((message) => endpoint.handleBlockSync(message));
  assert.deepEqual(
    written,
    requests.map((body) => [7, endpoint.respondSync(body).text]),
  );
  endpoint.dispose();
});

test("the example of a feed follows it", async () => {
  const feed = await startFeed("--interval", 40, "--age", 4_000);
  const [control, output] = [new AbortController(), {}];
  const names = { url: feed.url, signal: control.signal, output, follow: followUntilSeen };
  const endpoint = await example("## Following a feed", names);
  try {
    while (!(output.textContent >= feed.first)) await idle();
    assert.ok((await endpoint.chainStatus()).head.height >= BigInt(feed.first));
  } finally {
    control.abort();
    feed.stop();
  }
  await following;
  endpoint.dispose();
});

test("the example of a check verifies a block", async () => {
  const feed = await startFeed("--interval", 40, "--age", 2_000);
  const message = await (await fetch(`${feed.url}/v0/block/${feed.first}`)).text();
  feed.stop();
  const logged = [];
  const console = { log: (...words) => logged.push(words) };
  const endpoint = await example("## Checking blocks", { message, console, loadVerifier });
  assert.deepEqual(logged, [["verified", undefined]]);
  endpoint.dispose();
});

test("the example of a proof verifies what a server says", async () => {
  const vector = proofs.find(({ name }) => name === "document");
  const { transaction_hash: transactionHash, block_hash: blockHash } = vector;
  const server = createServer((_, response) => response.end(read(vector.answer)));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const logged = [];
  const console = { log: (...words) => logged.push(words) };
  const url = `http://127.0.0.1:${server.address().port}`;
  const names = { url, transactionHash, blockHash, connect, loadAnswerVerifier, console };
  await example("## Checking answers", names).finally(() => server.close());
  assert.deepEqual(logged, [["verified", { SuccessValue: "aGk=" }, true, undefined]]);
});

let following;
/** Follows as the example does, and keeps the promise that the example leaves pending */
function followUntilSeen(endpoint, options) {
  following = assert.rejects(follow(endpoint, options), { name: "AbortError" });
}

test("the example for a page shows the response", async () => {
  const [socket, cancelButton, output] = [{}, {}, {}];
  const finished = example("## A page", { body: JSON.stringify(request("FINAL")), socket, cancelButton, output });
  await feed(socket);
  await finished;
  assert.match(output.textContent, /^FINAL: \{"jsonrpc":"2\.0","result"/);
});
