// A panic in one engine: it becomes an exception, and the other engines live on.
//
// The module of this test panics when a block message says so; otherwise it is the one that ships.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { decodeTransaction, Engine, init, PanicError, ErrorCode } from "milepost/slim";
import { MemoryStorage } from "milepost/slim";
import { block, milestone, request } from "./road.js";

await init(readFileSync(new URL("../build/panic/module.wasm", import.meta.url)));

for (const storage of [undefined, new MemoryStorage()]) {
  test(`a panic poisons its engine alone, ${storage ? "over a map" : "in memory"}`, async () => {
    const [broken, sound] = [await Engine.create({ storage }), await Engine.create()];
    for (const engine of [broken, sound]) {
      await engine.ingest(block(100));
      await engine.ingest(block(101));
    }
    const open = [broken.call(request("FINAL")), sound.call(request("INCLUDED_FINAL"))];
    open[0].catch(() => {});
    const isPanic = (error) => {
      assert.ok(error instanceof PanicError, String(error));
      assert.equal(error.code, ErrorCode.PANIC);
      assert.match(error.message, /out of order/);
      assert.ok(error.cause instanceof Error);
      return true;
    };
    await assert.rejects(broken.ingest("panic"), isPanic);
    await assert.rejects(open[0], isPanic);
    await assert.rejects(broken.answer(request("NONE")), isPanic);
    await assert.rejects(broken.chain(), isPanic);
    assert.throws(() => broken.open, isPanic);
    broken.dispose();
    await sound.ingest(block(102));
    await sound.ingest(block(103));
    assert.equal(milestone(await open[1]), "INCLUDED_FINAL");
    assert.throws(() => decodeTransaction("AAAA"), { name: "TransactionError" });
    const fresh = await Engine.create({ storage });
    if (storage) assert.equal((await fresh.chain()).head.height, 101n);
    fresh.dispose();
    sound.dispose();
  });
}

test("nothing keeps a program running when nobody waits", () => {
  const script = `
    import { Engine } from "milepost";
    const engine = await Engine.create();
    const control = new AbortController();
    engine.call({ method: "tx", params: ["11111111111111111111111111111111", "alice.near"] }, { signal: control.signal }).catch(() => {});
    setTimeout(() => control.abort(), 10);`;
  execFileSync(process.execPath, ["--input-type=module", "-e", script], {
    cwd: fileURLToPath(new URL("..", import.meta.url)),
    timeout: 8_000,
  });
});
