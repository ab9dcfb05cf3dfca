// Waiting, ending a wait, and what may happen meanwhile, over the engine's own memory and over storages
// of the host.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Engine, ErrorCode, MemoryStorage, StorageError, UsageError, BlockError } from "milepost";
import { block, milestone, request, settle } from "./road.js";
import { SlowStorage } from "./slow.js";

const storages = {
  "the engine's own memory": () => undefined,
  "a map": () => new MemoryStorage(),
  "a storage that yields": () => new SlowStorage(),
};

for (const [name, open] of Object.entries(storages)) {
  describe(`over ${name}`, () => {
    const engineAt = async (height, options = {}) => {
      const engine = await Engine.create({ storage: open(), ...options });
      for (let next = 100; next <= height; next += 1) await engine.ingest(block(next));
      return engine;
    };

    test("a call is answered by the block that reaches its milestone", async () => {
      const engine = await engineAt(101);
      let answered = false;
      const call = engine.call(request("INCLUDED_FINAL"), { timeout: Infinity });
      call.then(() => (answered = true));
      await settle();
      assert.equal(engine.open, 1);
      assert.equal(await engine.answer(request("INCLUDED_FINAL")), null);
      await engine.ingest(block(102));
      await settle();
      assert.equal(answered, false);
      await engine.ingest(block(103));
      assert.equal(milestone(await call), "INCLUDED_FINAL");
      assert.equal(engine.open, 0);
      engine.dispose();
    });

    test("time-outs are the engine's, by the call's own measure", async () => {
      const engine = await engineAt(101, { patience: { timeout: 600_000 } });
      const long = engine.call(request("FINAL"));
      const short = engine.call(request("FINAL"), { timeout: 20 });
      const answer = await short;
      assert.equal(milestone(answer), "TIMEOUT_ERROR");
      assert.equal(answer.class, "timeout");
      assert.equal(engine.open, 1);
      engine.dispose();
      await assert.rejects(long, UsageError);
    });

    test("a signal ends a wait and frees its place", async () => {
      const engine = await engineAt(101, { patience: { limit: 1 } });
      const reason = new Error("the page was left");
      const control = new AbortController();
      const call = engine.call(request("FINAL"), { signal: control.signal, timeout: Infinity });
      await settle();
      assert.equal((await engine.call(request("EXECUTED"))).class, "unavailable");
      control.abort(reason);
      assert.equal(engine.open, 0);
      await assert.rejects(call, (error) => error === reason);
      // At once: before the first look at the storage, and before it is over.
      await assert.rejects(engine.call(request("FINAL"), { signal: control.signal }), reason);
      const early = new AbortController();
      const asked = engine.call(request("FINAL"), { signal: early.signal, timeout: Infinity });
      early.abort();
      await assert.rejects(asked, { name: "AbortError" });
      await settle();
      assert.equal(engine.open, 0);
      engine.dispose();
    });

    test("stopping answers whatever is open, and what comes later", async () => {
      const engine = await engineAt(101);
      const call = engine.call(request("FINAL"));
      await settle();
      engine.stop();
      for (const answer of [await call, await engine.call(request("FINAL"))]) {
        assert.equal(answer.class, "unavailable");
        assert.match(answer.text, /the service stops/);
      }
      assert.equal(milestone(await engine.call(request("INCLUDED"))), "INCLUDED");
      engine.dispose();
    });

    test("what is refused changes nothing and says where", async () => {
      const engine = await engineAt(101);
      const message = JSON.parse(block(102));
      message.block.header.hash = "l";
      await assert.rejects(engine.ingest(JSON.stringify(message)), (error) => {
        assert.ok(error instanceof BlockError);
        assert.equal(error.name, "BlockError");
        assert.equal(error.code, ErrorCode.SHAPE);
        assert.equal(error.path, "block.header.hash");
        assert.ok(error.offset > 0);
        assert.ok(error.message.startsWith("block.header.hash: ") && error.message.includes(error.detail));
        return true;
      });
      await assert.rejects(engine.ingest(new Uint8Array([0x22, 0xff])), { code: ErrorCode.SYNTAX, offset: 1 });
      await assert.rejects(engine.putConfig(0, "{}"), { name: "ConfigError" });
      await assert.rejects(engine.ingest(7), UsageError);
      await assert.rejects(engine.putConfig(-1, "{}"), UsageError);
      const ingested = await engine.ingest(block(102));
      assert.deepEqual([ingested.place, ingested.block.height, ingested.undone], ["head", 102n, []]);
      assert.equal((await engine.ingest(block(102))).place, "known");
      const chain = await engine.chain();
      assert.equal(chain.head.height, 102n);
      assert.equal(chain.earliest.height, 100n);
      assert.equal(chain.blocks, 3n);
      assert.equal(chain.chainId, null);
      engine.dispose();
    });

    test("an engine that was disposed of refuses, and twice is once", async () => {
      const engine = await engineAt(100);
      engine.dispose();
      engine.dispose();
      assert.throws(() => engine.open, UsageError);
      await assert.rejects(engine.answer(request("NONE")), UsageError);
      await assert.rejects(engine.ingest(block(101)), UsageError);
      await assert.rejects(engine.call(request("NONE")), UsageError);
    });
  });
}

test("a block that comes in while a request is looked at is not missed", async () => {
  /** Brings the block in before the read of this number; how many reads there were */
  const overtaken = async (place) => {
    const storage = new SlowStorage();
    const engine = await Engine.create({ storage });
    for (const height of [100, 101, 102]) await engine.ingest(block(height));
    let reads = 0;
    storage.onRead = () => {
      reads += 1;
      if (reads !== place) return undefined;
      storage.onRead = () => {};
      return engine.ingest(block(103));
    };
    if (place === 0) await engine.answer(request("INCLUDED_FINAL"));
    else {
      const call = engine.call(request("INCLUDED_FINAL"), { timeout: 60_000 });
      assert.equal(milestone(await call), "INCLUDED_FINAL", `read ${place}`);
    }
    engine.dispose();
    return reads;
  };
  const reads = await overtaken(0);
  assert.ok(reads > 1, `${reads}`);
  for (let place = 1; place <= reads; place += 1) await overtaken(place);
});

test("a question sees one state, whatever is committed meanwhile", async () => {
  // The transaction is settled by the last block: its texts go where a slow question still looks.
  const storage = new SlowStorage();
  const engine = await Engine.create({ storage });
  const heights = [100, 101, 102, 103, 104, 105, 106, 108, 109];
  for (const height of heights) await engine.ingest(block(height));
  const before = (await engine.answer(request("EXECUTED"))).text;
  for (const place of [1, 2, 3, 4, 5]) {
    const fresh = new SlowStorage();
    const other = await Engine.create({ storage: fresh });
    for (const height of heights) await other.ingest(block(height));
    let reads = 0;
    fresh.onRead = () => {
      reads += 1;
      if (reads !== place) return undefined;
      fresh.onRead = () => {};
      return other.ingest(block(110));
    };
    const answer = await other.answer(request("EXECUTED"));
    assert.equal(answer.text, before, `read ${place}`);
    fresh.onRead = () => {};
    await settle();
    other.dispose();
  }
  engine.dispose();
});

test("a storage may ask its engine from within its own methods", async () => {
  const storage = new SlowStorage();
  const engine = await Engine.create({ storage });
  const asked = [];
  let depth = 0;
  const reenter = async () => {
    if (depth > 0) return;
    depth += 1;
    asked.push(milestone(await engine.call(request("NONE"))));
    await engine.chain();
    // Not waited for: it waits for the commit that is under way.
    engine.ingest(block(100)).catch((error) => asked.push(error));
    depth -= 1;
  };
  storage.onCommit = reenter;
  storage.onRead = reenter;
  await engine.ingest(block(101));
  storage.onRead = () => {};
  storage.onCommit = () => {};
  await engine.ingest(block(102));
  assert.ok(asked.includes("UNKNOWN_TRANSACTION"));
  assert.equal(milestone(await engine.call(request("INCLUDED"))), "INCLUDED");
  engine.dispose();
});

test("commits come one at a time, in the order of the messages", async () => {
  const storage = new SlowStorage();
  const engine = await Engine.create({ storage });
  let committing = 0;
  storage.onCommit = async () => {
    assert.equal(committing, 0);
    committing += 1;
    await settle();
    committing -= 1;
  };
  const bytes = new Uint8Array(block(101));
  const all = [engine.ingest(block(100)), engine.ingest(bytes), engine.ingest(block(102))];
  // The caller's bytes are the caller's again.
  bytes.fill(0);
  const places = (await Promise.all(all)).map(({ place }) => place);
  assert.deepEqual(places, ["head", "head", "head"]);
  engine.dispose();
});

test("a storage that fails is an error for those who bring and an answer for those who ask", async () => {
  const failure = new Error("the disk is full");
  const fails = (method) => {
    const storage = new MemoryStorage();
    storage[method] = () => {
      throw failure;
    };
    return storage;
  };
  let engine = await Engine.create({ storage: fails("commit") });
  await assert.rejects(engine.ingest(block(100)), (error) => {
    assert.ok(error instanceof StorageError);
    assert.equal(error.cause, failure);
    assert.equal(error.code, ErrorCode.STORAGE);
    return true;
  });
  assert.equal((await engine.chain()).head, null);
  engine.dispose();
  engine = await Engine.create({ storage: fails("getMany") });
  const answer = await engine.call(request("FINAL"));
  assert.equal(answer.class, "internal");
  assert.match(answer.text, /the disk is full/);
  await assert.rejects(engine.chain(), StorageError);
  engine.dispose();
  // What is no row is no row.
  for (const rows of [[], [1], ["row"], null, [undefined, undefined, undefined]]) {
    engine = await Engine.create({ storage: { get() {}, getMany: () => rows, commit() {} } });
    assert.equal((await engine.call(request("NONE"))).class, rows?.length === 3 ? "handler" : "internal");
    engine.dispose();
  }
  // Rows that nobody wrote are found out.
  engine = await Engine.create({
    storage: { get: () => new Uint8Array([9, 9, 9]), commit() {} },
  });
  await assert.rejects(engine.ingest(block(100)), { name: "StorageError", code: ErrorCode.CORRUPT });
  engine.dispose();
});

test("what can be done at once is done at once", async () => {
  const engine = await Engine.create({ settings: { unknown: "immediate", timeoutCause: true } });
  assert.equal(engine.ingestSync(block(100)).place, "head");
  assert.equal(engine.answerSync(request("FINAL")).class, "handler");
  assert.equal(engine.ingestSync(block(101)).transactions, 2);
  assert.equal(engine.answerSync(request("FINAL")), null);
  assert.equal(milestone(engine.answerSync(request("INCLUDED"))), "INCLUDED");
  engine.dispose();
  const other = await Engine.create({ storage: new MemoryStorage() });
  assert.throws(() => other.answerSync("{}"), UsageError);
  assert.throws(() => other.ingestSync("{}"), UsageError);
  other.dispose();
});

test("options that cannot be are refused by their names", async () => {
  const refused = [
    [{ storage: {} }, "storage"],
    [{ settings: { unknown: "never" } }, "settings.unknown"],
    [{ settings: { finality: "some" } }, "settings.finality"],
    [{ settings: { maxBatch: -1 } }, "settings.maxBatch"],
    [{ settings: { maxReceipts: 1.5 } }, "settings.maxReceipts"],
    [{ settings: { retention: {} } }, "settings.retention"],
    [{ patience: { timeout: "long" } }, "patience.timeout"],
    [{ patience: { limit: NaN } }, "patience.limit"],
  ];
  for (const [options, path] of refused) {
    await assert.rejects(Engine.create(options), (error) => {
      assert.ok(error instanceof UsageError && error.message.startsWith(path), error.message);
      return true;
    });
  }
  assert.throws(() => new Engine(), UsageError);
});

test("an engine that is forgotten is closed, one that waits is kept", async (context) => {
  if (!globalThis.gc) return context.skip("needs --expose-gc");
  const kept = (await Engine.create()).call(request("FINAL"), { timeout: 300 });
  let forgotten = new WeakRef(await Engine.create());
  for (let round = 0; round < 20 && forgotten.deref(); round += 1) {
    await settle();
    globalThis.gc();
  }
  assert.equal(forgotten.deref(), undefined);
  assert.equal(milestone(await kept), "TIMEOUT_ERROR");
});
