// A panic in one endpoint becomes an exception, and the other endpoints are not affected.
//
// The module of this test panics when the block message is `panic`; otherwise it is the shipped
// one.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { decodeTransaction, Endpoint, ErrorCode, init, MemoryStorage, PanicError } from "milepost/slim";
import { block, milestone, request } from "./happy-path.js";

await init(readFileSync(new URL("../build/panic/module.wasm", import.meta.url)));

for (const storage of [undefined, new MemoryStorage()]) {
  test(`a panic affects only its endpoint, with ${storage ? "MemoryStorage" : "the storage in memory"}`, async () => {
    const [panicked, intact] = [await Endpoint.create({ storage }), await Endpoint.create()];
    for (const endpoint of [panicked, intact]) {
      await endpoint.handleBlock(block(100));
      await endpoint.handleBlock(block(101));
    }
    const rejected = panicked.handleRequest(request("FINAL"));
    rejected.catch(() => {});
    const pending = intact.handleRequest(request("INCLUDED_FINAL"));
    const isPanic = (error) => {
      assert.ok(error instanceof PanicError, String(error));
      assert.equal(error.code, ErrorCode.PANIC);
      assert.match(error.message, /panicked/);
      assert.ok(error.cause instanceof Error);
      return true;
    };
    await assert.rejects(panicked.handleBlock("panic"), isPanic);
    await assert.rejects(rejected, isPanic);
    await assert.rejects(panicked.respond(request("NONE")), isPanic);
    await assert.rejects(panicked.chainStatus(), isPanic);
    assert.throws(() => panicked.pendingCount, isPanic);
    panicked.dispose();
    await intact.handleBlock(block(102));
    await intact.handleBlock(block(103));
    assert.equal(milestone(await pending), "INCLUDED_FINAL");
    assert.throws(() => decodeTransaction("AAAA"), { name: "TransactionError" });
    const fresh = await Endpoint.create({ storage });
    if (storage) assert.equal((await fresh.chainStatus()).head.height, 101n);
    fresh.dispose();
    intact.dispose();
  });
}

test("a program ends when no request is pending", () => {
  const script = `
    import { Endpoint } from "milepost";
    const endpoint = await Endpoint.create();
    const control = new AbortController();
    const body = { method: "tx", params: ["11111111111111111111111111111111", "alice.near"] };
    endpoint.handleRequest(body, { signal: control.signal }).catch(() => {});
    setTimeout(() => control.abort(), 10);`;
  execFileSync(process.execPath, ["--input-type=module", "-e", script], {
    cwd: fileURLToPath(new URL("..", import.meta.url)),
    timeout: 8_000,
  });
});
