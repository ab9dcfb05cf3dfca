// The client, over both transports: what it reports when connections are cut, and how it ends.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { MilepostError as Base } from "milepost";
import { MilepostError, RequestError, StorageError, UsageError, connect } from "milepost/client";
import { ScriptedServer, state } from "./watch-server.js";
import { WebSocket } from "./websocket.js";

const server = await ScriptedServer.start();
after(() => server.stop());

const name = ({ event, status }) => `${event} ${status.final_execution_status}`;
const until = async (condition) => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
};

for (const transport of ["sse", "websocket"]) {
  describe(`over ${transport}`, () => {
    test("changes continue after a connection was cut", async () => {
      server.send("status", state("NONE"));
      const connections = [];
      const client = connect(server.url, { transport, WebSocket, onConnection: (it) => connections.push(it.isOpen) });
      const changes = client.watch("hash", { include: "status" });
      const next = async () => (await changes.next()).value;
      assert.equal(name(await next()), "status NONE");
      server.send("status", state("INCLUDED", 1));
      const { status } = await next();
      assert.deepEqual(status.block, { height: 9007199254740993n, hash: "block" });
      assert.equal(status.receipts_known, 1);

      server.cut();
      await until(() => connections.length === 3 && server.connections === 1);
      assert.deepEqual(connections, [true, false, true]);
      // The same state again is no change; a fork is one.
      server.send("status", state("INCLUDED", 1));
      server.send("un-included", state("NONE"));
      assert.equal(name(await next()), "un-included NONE");
      if (transport === "sse") {
        assert.equal(server.asked.at(-1).lastEventId, "INCLUDED-1");
        assert.match(server.asked.at(-1).url, /^\/tx\/hash\/events\?wait_until=FINAL&include=status$/);
      } else {
        const last_event_ids = { hash: "INCLUDED-1" };
        const params = { tx_hashes: ["hash"], wait_until: "FINAL", include: "status", last_event_ids };
        assert.deepEqual(server.asked.at(-1), { method: "subscribe_tx_status", params });
      }
      const final = state("FINAL", 3);
      server.send("reached", { id: `${final.id}-reached`, json: final.json });
      assert.equal(name(await next()), "reached FINAL");
      assert.deepEqual(await changes.next(), { value: undefined, done: true });
      await until(() => server.connections === 0);
    });

    test("a reader that is late learns that a fork moved the transaction to another block", async () => {
      server.send("status", state("NONE"));
      const changes = connect(server.url, { transport, WebSocket }).watch("hash");
      const next = async () => name((await changes.next()).value);
      assert.equal(await next(), "status NONE");
      // A block that the reader has not seen is not taken away from it.
      server.send("status", state("INCLUDED", 1));
      server.send("un-included", state("NONE"));
      server.send("status", state("INCLUDED", 2));
      await new Promise((resolve) => setTimeout(resolve, 50));
      assert.equal(await next(), "status INCLUDED");
      server.send("un-included", state("NONE"));
      server.send("status", state("INCLUDED", 3));
      server.send("un-included", state("NONE"));
      server.send("status", state("EXECUTED", 4));
      await new Promise((resolve) => setTimeout(resolve, 50));
      assert.equal(await next(), "un-included NONE");
      assert.equal(await next(), "status EXECUTED");
      await changes.return();
      await until(() => server.connections === 0);
    });

    for (const event of ["forgotten", "timeout"]) {
      test(`the event ${event} is the last change`, async () => {
        server.send("status", state("INCLUDED", 1));
        const changes = connect(server.url, { transport, WebSocket }).watch("hash");
        await changes.next();
        server.send(event, { id: `INCLUDED-1-${event}`, json: '{"transaction_hash":"hash"}' });
        const { value } = await changes.next();
        assert.deepEqual(value, { event, id: "INCLUDED-1", status: { transaction_hash: "hash" } });
        assert.equal((await changes.next()).done, true);
        server.send("status", state("NONE"));
        await until(() => server.connections === 0);
      });
    }

    test("a reader that is late gets the newest state", async () => {
      server.send("status", state("NONE"));
      const changes = connect(server.url, { transport, WebSocket }).watch("hash");
      await changes.next();
      for (let receipts = 1; receipts <= 50; receipts += 1) server.send("status", state("INCLUDED", receipts));
      await until(() => server.connections === 1);
      // The last event ends the connection, so all have come then.
      const final = state("FINAL", 51);
      server.send("reached", final);
      await until(() => server.connections === 0 || transport === "websocket");
      await new Promise((resolve) => setTimeout(resolve, 50));
      assert.equal(name((await changes.next()).value), "reached FINAL");
      assert.equal((await changes.next()).done, true);
      await until(() => server.connections === 0);
    });

    test("an aborted signal and a reader that leaves end the connection", async () => {
      server.send("status", state("NONE"));
      const client = connect(server.url, { transport, WebSocket });
      const control = new AbortController();
      const changes = client.watch("hash", { signal: control.signal });
      await changes.next();
      const reason = new Error("the page was left");
      const pending = changes.next();
      control.abort(reason);
      await assert.rejects(pending, (error) => error === reason);
      await until(() => server.connections === 0);
      for await (const _ of client.watch("hash")) break;
      await until(() => server.connections === 0);
      await assert.rejects(client.watch("hash", { signal: control.signal }).next(), reason);
    });

    test("a refusal and a failure are errors of the package", async () => {
      server.send("status", state("NONE"));
      const client = connect(server.url, { transport, WebSocket });
      server.refusals.push(400);
      await assert.rejects(client.watch("hash").next(), RequestError);
      const changes = client.watch("hash");
      await changes.next();
      server.send("failed", { id: "", json: '{"status":"failed","error":"the disk is gone"}' });
      await assert.rejects(
        changes.next(),
        (error) => error instanceof StorageError && error.message === "the disk is gone",
      );
      server.send("status", state("NONE"));
      await until(() => server.connections === 0);
    });
  });
}

test("a server that is busy is asked again", async () => {
  server.send("reached", state("FINAL"));
  server.refusals.push(503, 429);
  const states = [];
  const client = connect(server.url, { onConnection: ({ isOpen }) => states.push(isOpen) });
  const retry = globalThis.setTimeout;
  // The first pauses are those of the client, because no server has asked for others.
  globalThis.setTimeout = (work, delay, ...rest) => retry(work, Math.min(delay, 5), ...rest);
  try {
    assert.equal(name((await client.watch("hash").next()).value), "reached FINAL");
  } finally {
    globalThis.setTimeout = retry;
  }
  assert.deepEqual(states, [false, false, true]);
});

test("an event is read whatever its parts are", async () => {
  const { id, json } = state("FINAL", 3);
  const bytes = new TextEncoder().encode(`: quiet\n\nid: ${id}-reached\nevent: reached\ndata: ${json}\n\n`);
  for (const length of [1, 7, bytes.length]) {
    const parts = Array.from({ length: Math.ceil(bytes.length / length) }, (_, index) =>
      bytes.subarray(index * length, (index + 1) * length),
    );
    const client = connect("http://127.0.0.1:1", { fetch: async () => new Response(ReadableStream.from(parts)) });
    const names = [];
    for await (const change of client.watch("hash")) names.push(name(change));
    assert.deepEqual(names, ["reached FINAL"]);
  }
});

test("a body that is no JSON-RPC response is refused with the HTTP status", async () => {
  for (const [status, body] of [
    [200, "null"],
    [200, "<html>"],
    [500, "<html>"],
    [408, ""],
  ]) {
    const client = connect("http://127.0.0.1:1", { fetch: async () => new Response(body, { status }) });
    await assert.rejects(client.request({ method: "tx" }), (error) => {
      assert.ok(error instanceof RequestError && error.message.includes(`HTTP status ${status}`), error);
      return true;
    });
  }
});

test("one WebSocket carries the watches of many transactions", async () => {
  server.send("status", state("NONE"));
  const client = connect(server.url, { transport: "websocket", WebSocket });
  const watches = Array.from({ length: 64 }, (_, index) => client.watch(`hash${index}`));
  await Promise.all(watches.map((changes) => changes.next()));
  assert.equal(server.connections, 1);
  // One more than a server allows.
  const other = client.watch("other");
  await other.next();
  assert.equal(server.connections, 2);
  await other.return();
  await until(() => server.connections === 1);
  await watches[0].return();
  await until(() => server.asked.at(-1).method === "unsubscribe");
  await Promise.all(watches.map((changes) => changes.return()));
  await until(() => server.connections === 0);
});

test("a request returns the response whatever its HTTP status is", async () => {
  const client = connect(`${server.url}/`);
  server.response = { status: 200, text: '{"jsonrpc":"2.0","result":{"value":9007199254740993},"id":1}' };
  const response = await client.request({ method: "tx", params: ["hash", "a.near"] }, { timeout: 1500 });
  assert.equal(response.ok, true);
  assert.equal(response.result.value, 9007199254740993n);
  assert.deepEqual(server.requests.at(-1), { body: '{"method":"tx","params":["hash","a.near"]}', prefer: "wait=2" });
  const error =
    '{"jsonrpc":"2.0","error":{"code":-32000,"name":"HANDLER_ERROR","cause":{"name":"TIMEOUT_ERROR"}},"id":1}';
  for (const [status, kind] of [
    [200, "handler"],
    [408, "timeout"],
    [503, "unavailable"],
  ]) {
    server.response = { status, text: error };
    const failed = await client.request("{}");
    assert.deepEqual([failed.kind, failed.error.code], [kind, -32000]);
  }
  server.response = { status: 200, text: "<html>" };
  await assert.rejects(client.request("{}"), RequestError);
});

test("invalid options are refused by name", () => {
  assert.equal(MilepostError, Base);
  assert.throws(() => connect(server.url, { transport: "udp" }), UsageError);
  assert.throws(() => connect(server.url, { retry: 5 }), /options\.retry: unknown option/);
  const client = connect(server.url);
  assert.throws(() => client.watch("hash", { until: "FINAL" }), /options\.until: unknown option/);
  assert.throws(() => client.watch("hash", { waitUntil: "LATER" }), /waitUntil: LATER, expected one of NONE/);
  assert.throws(() => client.watch(7), /hash: a value of type number/);
});

/** Maximum size of the client in a bundle, minified and after gzip, in bytes: 4,600 at the last
 *  change */
const BUDGET = 4_600;

test("the client is within its size budget, and has no engine", () => {
  const here = fileURLToPath(new URL("..", import.meta.url));
  const directory = mkdtempSync(join(tmpdir(), "milepost-client-"));
  try {
    const entry = join(directory, "main.js");
    writeFileSync(entry, `export { connect } from ${JSON.stringify(join(here, "dist/client.js"))};`);
    const bundle = join(directory, "out.js");
    const esbuild = join(here, "node_modules/esbuild/bin/esbuild");
    execFileSync(esbuild, [entry, "--bundle", "--minify", "--format=esm", `--outfile=${bundle}`, "--log-level=error"]);
    const text = readFileSync(bundle);
    const size = gzipSync(text).length;
    console.log(`client: ${size} bytes`);
    assert.ok(size <= BUDGET, `${size} bytes, the budget is ${BUDGET}`);
    assert.ok(!text.includes("WebAssembly"));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test("a proof is asked for with the outcomes that it proves", async () => {
  const asked = [];
  let status = 200;
  const prover = createServer((request, response) => {
    asked.push(request.url);
    response.writeHead(status).end(status === 200 ? '{"proof":null}' : '{"status":"failed","error":"why"}');
  });
  prover.listen(0, "127.0.0.1");
  await once(prover, "listening");
  try {
    const client = connect(`http://127.0.0.1:${prover.address().port}/base`);
    assert.equal(await client.prove("hash", { block: "final" }), '{"proof":null}');
    await client.prove("hash");
    const path = "/base/tx/hash?include=outcomes%2Cstatus%2Cproof";
    assert.deepEqual(asked, [`${path}&block=final`, path]);
    for (const [code, type] of [
      [404, RequestError],
      [501, RequestError],
      [503, StorageError],
    ]) {
      status = code;
      await assert.rejects(client.prove("hash"), (error) => {
        assert.ok(error instanceof type, String(error));
        assert.match(error.message, new RegExp(`HTTP status ${code}: .*why`));
        return true;
      });
    }
    await assert.rejects(client.prove("hash", { end: "final" }), UsageError);
  } finally {
    prover.close();
  }
});
