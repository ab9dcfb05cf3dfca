// Pending requests: timeouts, cancellation and blocks that come in meanwhile, with each kind of
// storage.

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, test } from "node:test";
import { inspect } from "node:util";
import { BlockError, Endpoint, ErrorCode, IndexedDbStorage, MemoryStorage, StorageError } from "milepost";
import { UsageError, parseJson, validateRequest } from "milepost";
import { block, idle, milestone, request, untilPending } from "./happy-path.js";
import { SlowStorage } from "./slow-storage.js";

const storages = {
  "the storage in memory": () => undefined,
  MemoryStorage: () => new MemoryStorage(),
  "an asynchronous storage": () => new SlowStorage(),
};

for (const [name, open] of Object.entries(storages)) {
  describe(`with ${name}`, () => {
    const endpointAt = async (height, options = {}) => {
      const endpoint = await Endpoint.create({ storage: open(), ...options });
      for (let next = 100; next <= height; next += 1) await endpoint.handleBlock(block(next));
      return endpoint;
    };

    test("a request is answered by the block that reaches its milestone", async () => {
      const endpoint = await endpointAt(101);
      let isAnswered = false;
      const pending = endpoint.handleRequest(request("INCLUDED_FINAL"), { timeout: Infinity });
      pending.then(() => (isAnswered = true));
      await untilPending(endpoint, 1);
      assert.equal(await endpoint.respond(request("INCLUDED_FINAL")), null);
      await endpoint.handleBlock(block(102));
      await idle();
      assert.equal(isAnswered, false);
      await endpoint.handleBlock(block(103));
      assert.equal(milestone(await pending), "INCLUDED_FINAL");
      assert.equal(endpoint.pendingCount, 0);
      endpoint.dispose();
    });

    test("a request times out after its own timeout, or that of the configuration", async () => {
      const endpoint = await endpointAt(101, { waitConfig: { timeout: 600_000 } });
      const long = endpoint.handleRequest(request("FINAL"));
      const short = endpoint.handleRequest(request("FINAL"), { timeout: 20 });
      const response = await short;
      assert.equal(milestone(response), "TIMEOUT_ERROR");
      assert.equal(response.kind, "timeout");
      assert.equal(endpoint.pendingCount, 1);
      endpoint.dispose();
      await assert.rejects(long, UsageError);
    });

    test("one signal for many requests and watches has one listener", async () => {
      const endpoint = await endpointAt(101);
      const control = new AbortController();
      const { signal } = control;
      const many = Array.from({ length: 20 }, () =>
        endpoint.handleRequest(request("FINAL"), { signal, timeout: Infinity }),
      );
      const watches = Array.from({ length: 20 }, () => endpoint.watch(request("FINAL").params.tx_hash, { signal }));
      await Promise.all(watches.map((watch) => watch.next()));
      await untilPending(endpoint, 20);
      assert.equal(getEventListeners(signal, "abort").length, 1);
      await watches[0].return();
      control.abort(new Error("enough"));
      for (const pending of many) await assert.rejects(pending, /enough/);
      for (const watch of watches.slice(1)) await assert.rejects(watch.next(), /enough/);
      assert.equal(getEventListeners(signal, "abort").length, 0);
      endpoint.dispose();
    });

    test("an aborted signal cancels a pending request", async () => {
      const endpoint = await endpointAt(101, { waitConfig: { maxWaiting: 1 } });
      const reason = new Error("the page was left");
      const control = new AbortController();
      const pending = endpoint.handleRequest(request("FINAL"), { signal: control.signal, timeout: Infinity });
      await untilPending(endpoint, 1);
      assert.equal((await endpoint.handleRequest(request("EXECUTED"))).kind, "unavailable");
      control.abort(reason);
      assert.equal(endpoint.pendingCount, 0);
      await assert.rejects(pending, (error) => error === reason);
      // Before the first read of the storage, and while that is in progress.
      await assert.rejects(endpoint.handleRequest(request("FINAL"), { signal: control.signal }), reason);
      const early = new AbortController();
      const canceled = endpoint.handleRequest(request("FINAL"), { signal: early.signal, timeout: Infinity });
      early.abort();
      await assert.rejects(canceled, { name: "AbortError" });
      await idle();
      assert.equal(endpoint.pendingCount, 0);
      endpoint.dispose();
    });

    test("after a shutdown pending and later requests are answered with an error", async () => {
      const endpoint = await endpointAt(101);
      const pending = endpoint.handleRequest(request("FINAL"));
      await untilPending(endpoint, 1);
      endpoint.shutdown();
      for (const response of [await pending, await endpoint.handleRequest(request("FINAL"))]) {
        assert.equal(response.kind, "unavailable");
        assert.match(response.text, /the service stops/);
      }
      assert.equal(milestone(await endpoint.handleRequest(request("INCLUDED"))), "INCLUDED");
      endpoint.dispose();
    });

    test("an invalid block or configuration changes nothing and its error has a path", async () => {
      const endpoint = await endpointAt(101);
      const message = JSON.parse(block(102));
      message.block.header.hash = "l";
      await assert.rejects(endpoint.handleBlock(JSON.stringify(message)), (error) => {
        assert.ok(error instanceof BlockError);
        assert.equal(error.name, "BlockError");
        assert.equal(error.code, ErrorCode.SCHEMA);
        assert.equal(error.path, "block.header.hash");
        assert.ok(error.offset > 0);
        assert.ok(error.message.startsWith("block.header.hash: ") && error.message.includes(error.detail));
        return true;
      });
      await assert.rejects(endpoint.handleBlock(new Uint8Array([0x22, 0xff])), { code: ErrorCode.SYNTAX, offset: 1 });
      await assert.rejects(endpoint.putConfig(0, "{}"), { name: "ConfigError" });
      await assert.rejects(endpoint.putConfig("", "{}"), { name: "ConfigError", path: "epoch_id" });
      await assert.rejects(endpoint.handleBlock(7), UsageError);
      await assert.rejects(endpoint.putConfig(-1, "{}"), UsageError);
      const summary = await endpoint.handleBlock(block(102));
      assert.deepEqual([summary.position, summary.block.height, summary.reverted], ["head", 102n, []]);
      assert.equal((await endpoint.handleBlock(block(102))).position, "known");
      const chain = await endpoint.chainStatus();
      assert.equal(chain.head.height, 102n);
      assert.equal(chain.earliest.height, 100n);
      assert.equal(chain.completeFrom, 100n);
      assert.equal(chain.blocks, 3n);
      assert.equal(chain.chainId, null);
      endpoint.dispose();
    });

    test("every call after dispose is an error, except dispose", async () => {
      const endpoint = await endpointAt(100);
      endpoint.dispose();
      endpoint.dispose();
      assert.throws(() => endpoint.pendingCount, UsageError);
      await assert.rejects(endpoint.respond(request("NONE")), UsageError);
      await assert.rejects(endpoint.handleBlock(block(101)), UsageError);
      await assert.rejects(endpoint.handleRequest(request("NONE")), UsageError);
    });
  });
}

test("a block that is imported while a request runs is not missed", async () => {
  /** Imports the block before the read of this number; returns the number of reads */
  const importBefore = async (number) => {
    const storage = new SlowStorage();
    const endpoint = await Endpoint.create({ storage });
    for (const height of [100, 101, 102]) await endpoint.handleBlock(block(height));
    let reads = 0;
    storage.onRead = () => {
      reads += 1;
      if (reads !== number) return undefined;
      storage.onRead = () => {};
      return endpoint.handleBlock(block(103));
    };
    if (number === 0) await endpoint.respond(request("INCLUDED_FINAL"));
    else {
      const pending = endpoint.handleRequest(request("INCLUDED_FINAL"), { timeout: 60_000 });
      assert.equal(milestone(await pending), "INCLUDED_FINAL", `read ${number}`);
    }
    endpoint.dispose();
    return reads;
  };
  const reads = await importBefore(0);
  assert.ok(reads > 1, `${reads}`);
  for (let number = 1; number <= reads; number += 1) await importBefore(number);
});

test("a query sees one state of the storage, whatever is committed meanwhile", async () => {
  // The last block finalizes the transaction, which moves rows that a slow query still reads.
  const storage = new SlowStorage();
  const endpoint = await Endpoint.create({ storage });
  const heights = [100, 101, 102, 103, 104, 105, 106, 108, 109];
  for (const height of heights) await endpoint.handleBlock(block(height));
  const before = (await endpoint.respond(request("EXECUTED"))).text;
  for (const number of [1, 2, 3, 4, 5]) {
    const fresh = new SlowStorage();
    const other = await Endpoint.create({ storage: fresh });
    for (const height of heights) await other.handleBlock(block(height));
    let reads = 0;
    fresh.onRead = () => {
      reads += 1;
      if (reads !== number) return undefined;
      fresh.onRead = () => {};
      return other.handleBlock(block(110));
    };
    const response = await other.respond(request("EXECUTED"));
    assert.equal(response.text, before, `read ${number}`);
    fresh.onRead = () => {};
    await idle();
    other.dispose();
  }
  endpoint.dispose();
});

test("a key is the number of its table, then 1 to 32 bytes", async () => {
  const rows = new MemoryStorage();
  const changed = [];
  const storage = {
    get: (key) => rows.get(key),
    commit(changes) {
      changed.push(...changes.map(({ key }) => key));
      rows.commit(changes);
    },
  };
  const endpoint = await Endpoint.create({ storage });
  await endpoint.handleBlock(block(100));
  endpoint.dispose();
  assert.ok(changed.every((key) => key.length >= 2 && key.length <= 33 && key[0] < 10));
  // The hash of the canonical block, by height
  assert.ok(changed.some((key) => `${key}` === "2,0,0,0,0,0,0,0,100"));
});

test("a storage to which others commit is read again until all rows have one state", async () => {
  const heights = [100, 101, 102, 103, 104, 105, 106, 108, 109];
  /** Reads while another endpoint commits a block before the read of this number; the last block
   *  finalizes the transaction, which moves rows that the reader still needs */
  const respondDuringCommit = async (isolation, number) => {
    const rows = new MemoryStorage();
    const writer = await Endpoint.create({ storage: rows });
    for (const height of heights) await writer.handleBlock(block(height));
    let reads = 0;
    const get = async (key) => {
      reads += 1;
      if (reads === number) await writer.handleBlock(block(110));
      return rows.get(key);
    };
    const reader = await Endpoint.create({ storage: { isolation, get, commit() {} } });
    const { text } = await reader.respond(request("INCLUDED"));
    reader.dispose();
    writer.dispose();
    return { text, reads };
  };
  const { text: before, reads } = await respondDuringCommit("read-committed", 0);
  const { text: after } = await respondDuringCommit("read-committed", 1);
  assert.notEqual(before, after);
  const answers = { snapshot: new Set(), "read-committed": new Set() };
  for (const [isolation, found] of Object.entries(answers)) {
    for (let number = 1; number <= reads; number += 1) {
      found.add((await respondDuringCommit(isolation, number)).text);
    }
  }
  // The last read is of the generation again, so it notices even a commit right before it.
  assert.deepEqual([...answers["read-committed"]], [after]);
  assert.ok([...answers.snapshot].some((text) => text !== before && text !== after));
});

test("a storage may call its endpoint from within its own methods", async () => {
  const storage = new SlowStorage();
  const endpoint = await Endpoint.create({ storage });
  const results = [];
  let depth = 0;
  const reenter = async () => {
    if (depth > 0) return;
    depth += 1;
    results.push(milestone(await endpoint.handleRequest(request("NONE"))));
    await endpoint.chainStatus();
    // Not awaited, because it waits for the commit in progress.
    endpoint.handleBlock(block(100)).catch((error) => results.push(error));
    depth -= 1;
  };
  storage.onCommit = reenter;
  storage.onRead = reenter;
  await endpoint.handleBlock(block(101));
  storage.onRead = () => {};
  storage.onCommit = () => {};
  await endpoint.handleBlock(block(102));
  assert.ok(results.includes("UNKNOWN_TRANSACTION"));
  assert.equal(milestone(await endpoint.handleRequest(request("INCLUDED"))), "INCLUDED");
  endpoint.dispose();
});

test("a storage may dispose of its endpoint from within its own methods", async () => {
  for (const method of ["onRead", "onCommit"]) {
    const storage = new SlowStorage();
    const endpoint = await Endpoint.create({ storage });
    await endpoint.handleBlock(block(100));
    storage[method] = () => endpoint.dispose();
    const calls = [endpoint.handleBlock(block(101)), endpoint.handleRequest(request("FINAL"))];
    for (const call of calls) await assert.rejects(call, UsageError);
    await idle();
  }
});

test("a deadline may pass while rows are fetched", async () => {
  const storage = new SlowStorage();
  const endpoint = await Endpoint.create({ storage });
  storage.onRead = idle;
  assert.equal((await endpoint.handleRequest(request("FINAL"), { timeout: 0 })).kind, "timeout");
  assert.equal(endpoint.pendingCount, 0);
  endpoint.dispose();
});

test("commits come one at a time, in the order of the messages", async () => {
  const storage = new SlowStorage();
  const endpoint = await Endpoint.create({ storage });
  let committing = 0;
  storage.onCommit = async () => {
    assert.equal(committing, 0);
    committing += 1;
    await idle();
    committing -= 1;
  };
  const bytes = new Uint8Array(block(101));
  const imports = [endpoint.handleBlock(block(100)), endpoint.handleBlock(bytes), endpoint.handleBlock(block(102))];
  // The caller may reuse its bytes.
  bytes.fill(0);
  const positions = (await Promise.all(imports)).map(({ position }) => position);
  assert.deepEqual(positions, ["head", "head", "head"]);
  endpoint.dispose();
});

test("when the storage fails, imports throw and requests are answered with an error", async () => {
  const failure = new Error("the disk is full");
  const failing = (method) => {
    const storage = new MemoryStorage();
    storage[method] = () => {
      throw failure;
    };
    return storage;
  };
  let endpoint = await Endpoint.create({ storage: failing("commit") });
  await assert.rejects(endpoint.handleBlock(block(100)), (error) => {
    assert.ok(error instanceof StorageError);
    assert.equal(error.cause, failure);
    assert.equal(error.code, ErrorCode.STORAGE);
    assert.equal(error.message, "storage.commit: the disk is full");
    return true;
  });
  assert.equal((await endpoint.chainStatus()).head, null);
  endpoint.dispose();
  endpoint = await Endpoint.create({ storage: failing("getMany") });
  const response = await endpoint.handleRequest(request("FINAL"));
  assert.equal(response.kind, "internal");
  assert.match(response.text, /storage\.getMany\(000000000000000000, \d more\): the disk is full/);
  await assert.rejects(endpoint.chainStatus(), StorageError);
  endpoint.dispose();
  // Without `getMany`, the key that cannot be read is named; also by a promise that is rejected.
  for (const get of [() => failing("get").get(), () => Promise.reject(failure)]) {
    endpoint = await Endpoint.create({ storage: { get, commit() {} } });
    await assert.rejects(endpoint.chainStatus(), {
      name: "StorageError",
      message: "storage.get(000000000000000000): the disk is full",
      path: "storage.get(000000000000000000)",
      detail: "the disk is full",
      cause: failure,
    });
    endpoint.dispose();
  }
  // Values that are not rows.
  for (const rows of [[], [1], ["row"], null, [undefined, undefined, undefined]]) {
    endpoint = await Endpoint.create({ storage: { get() {}, getMany: () => rows, commit() {} } });
    assert.equal((await endpoint.handleRequest(request("NONE"))).kind, rows?.length === 3 ? "handler" : "internal");
    endpoint.dispose();
  }
  // Rows that the engine did not write.
  for (const [row, code] of [
    [[], ErrorCode.CORRUPT],
    [[255, 9, 9], ErrorCode.VERSION],
  ]) {
    endpoint = await Endpoint.create({ storage: { get: () => new Uint8Array(row), commit() {} } });
    await assert.rejects(endpoint.handleBlock(block(100)), { name: "StorageError", code });
    endpoint.dispose();
  }
});

test("synchronous methods work with the storage in memory only", async () => {
  const endpoint = await Endpoint.create({ settings: { unknown: "immediate", timeoutCause: true } });
  assert.equal(endpoint.handleBlockSync(block(100)).position, "head");
  assert.equal(endpoint.respondSync(request("FINAL")).kind, "handler");
  assert.equal(endpoint.handleBlockSync(block(101)).transactions, 2);
  assert.equal(endpoint.respondSync(request("FINAL")), null);
  assert.equal(milestone(endpoint.respondSync(request("INCLUDED"))), "INCLUDED");
  endpoint.dispose();
  const other = await Endpoint.create({ storage: new MemoryStorage() });
  assert.throws(() => other.respondSync("{}"), UsageError);
  assert.throws(() => other.handleBlockSync("{}"), UsageError);
  other.dispose();
});

test("invalid options are rejected by their names", async () => {
  const invalid = [
    [{ storage: {} }, "storage"],
    [{ settings: { unknown: "never" } }, "settings.unknown"],
    [{ settings: { finality: "some" } }, "settings.finality"],
    [{ settings: { maxBatch: -1 } }, "settings.maxBatch"],
    [{ settings: { maxBatch: 0 } }, "settings.maxBatch"],
    [{ settings: { maxIdBytes: 0 } }, "settings.maxIdBytes"],
    [{ settings: { maxReceipts: 0 } }, "settings.maxReceipts"],
    [{ settings: { strictTypes: "yes" } }, "settings.strictTypes"],
    [{ settings: { maxReceipts: 1.5 } }, "settings.maxReceipts"],
    [{ settings: { retention: {} } }, "settings.retention"],
    [{ waitConfig: { timeout: "long" } }, "waitConfig.timeout"],
    [{ waitConfig: { maxWaiting: NaN } }, "waitConfig.maxWaiting"],
    [{ settings: { timeoutCause: "no" } }, "settings.timeoutCause"],
    [{ settings: { retention: { blocks: 1, epochs: 1 } } }, "settings.retention"],
    // Unknown ones.
    [{ store: new MemoryStorage() }, "options.store: unknown option, expected one of storage"],
    [{ settings: { maxBatches: 1 } }, "settings.maxBatches: unknown option"],
    [{ settings: { retention: { blocks: 1, epoch: 1 } } }, "settings.retention.epoch: unknown"],
    [{ waitConfig: { timeOut: 1 } }, "waitConfig.timeOut: unknown option"],
    [{ waitConfig: 10 }, "waitConfig: a value of type number, expected an object"],
    [null, "options: null, expected an object"],
    // Storages with other signatures.
    [{ storage: new Map() }, "storage: has no method commit"],
    [{ storage: { get(table, key) {}, commit() {} } }, "storage.get: declares 2 parameters, expected get(key)"],
    [{ storage: { get() {} } }, "storage: has no method commit"],
    [{ storage: { get() {}, getMany: 1, commit() {} } }, "storage: has no method getMany"],
    [{ storage: { get() {}, getMany(table, keys) {}, commit() {} } }, "storage.getMany: declares 2 parameters"],
    [{ storage: { get() {}, commit(table, key, row) {} } }, "storage.commit: declares 3 parameters"],
    [{ storage: { get() {}, commit() {}, isolation: "serial" } }, "storage.isolation: serial, expected one of"],
  ];
  for (const [options, path] of invalid) {
    await assert.rejects(Endpoint.create(options), (error) => {
      assert.ok(error instanceof UsageError && error.message.startsWith(path), error.message);
      return true;
    });
  }
  assert.throws(() => new Endpoint(), UsageError);
});

test("unknown options of calls are refused by their names", async () => {
  const endpoint = await Endpoint.create();
  const unknown = (name) => ({ name: "UsageError", message: new RegExp(`^options\\.${name}: unknown option`) });
  await assert.rejects(endpoint.handleRequest("{}", { timeOut: 5 }), unknown("timeOut"));
  await assert.rejects(endpoint.handleRequest("{}", { signal: {} }), /^UsageError: signal: /);
  await assert.rejects(endpoint.respond("{}", { timeout: 5 }), unknown("timeout"));
  assert.throws(() => endpoint.respondSync("{}", { timeout: 5 }), unknown("timeout"));
  assert.throws(() => endpoint.respondInto("{}", new Uint8Array(9), { timeout: 5 }), unknown("timeout"));
  assert.throws(() => validateRequest("{}", { url: "tx" }), unknown("url"));
  assert.throws(() => parseJson("1", { bigInt: true }), unknown("bigInt"));
  assert.throws(() => parseJson("1", { bigint: 1 }), /^UsageError: options\.bigint: /);
  await assert.rejects(IndexedDbStorage.open("rows", { durable: true }), unknown("durable"));
  assert.equal(endpoint.pendingCount, 0);
  endpoint.dispose();
});

test("a storage that returns no rows is named with its method", async () => {
  for (const [storage, message] of [
    [{ get: () => "row", commit() {} }, "storage.get returned a value of type string as a row"],
    [{ get() {}, getMany: () => null, commit() {} }, "storage.getMany returned null, expected an array"],
    [{ get() {}, getMany: () => [], commit() {} }, "storage.getMany returned 0 rows for "],
  ]) {
    const endpoint = await Endpoint.create({ storage });
    await assert.rejects(endpoint.chainStatus(), (error) => {
      assert.ok(error instanceof StorageError && error.message.includes(message), error.message);
      return true;
    });
    endpoint.dispose();
  }
});

test("a response has its result or its error, with exact integers", async () => {
  const endpoint = await Endpoint.create({ settings: { unknown: "immediate" } });
  for (const height of [100, 101]) endpoint.handleBlockSync(block(height));
  const found = endpoint.respondSync(request("INCLUDED"));
  assert.deepEqual([found.ok, found.error], [true, undefined]);
  assert.deepEqual(found.result, found.json({ bigint: true }).result);
  assert.equal(typeof found.result.transaction.nonce, "bigint");
  assert.equal(found.result, found.result);
  const failed = endpoint.respondSync(request("FINAL", "11111111111111111111111111111111"));
  assert.deepEqual([failed.ok, failed.result], [false, undefined]);
  assert.deepEqual([failed.error.code, failed.error.cause.name], [-32000, "UNKNOWN_TRANSACTION"]);
  const batch = endpoint.respondSync([request("INCLUDED"), request("INCLUDED")]);
  assert.deepEqual([batch.ok, batch.result, batch.error], [true, undefined, undefined]);
  endpoint.dispose();
});

test("objects of the package print under their names", async () => {
  const endpoint = await Endpoint.create();
  assert.equal(String(endpoint), "[object Endpoint]");
  assert.equal(Endpoint.name, "Endpoint");
  assert.equal(inspect(endpoint), "Endpoint { pendingCount: 0 }");
  assert.equal(inspect([endpoint], { depth: 0 }), "[ [Endpoint] ]");
  const response = endpoint.respondSync("[");
  assert.equal(String(response), "[object EndpointResponse]");
  assert.match(inspect(response), /^EndpointResponse \{\n {2}kind: 'request_validation',\n {2}text: /);
  endpoint.dispose();
  assert.equal(inspect(endpoint), "Endpoint <the endpoint was disposed of>");
});

test("an unreferenced endpoint is collected, unless a request is pending", async (context) => {
  if (!globalThis.gc) return context.skip("needs --expose-gc");
  const pending = (await Endpoint.create()).handleRequest(request("FINAL"), { timeout: 300 });
  let unreferenced = new WeakRef(await Endpoint.create());
  for (let round = 0; round < 20 && unreferenced.deref(); round += 1) {
    await idle();
    globalThis.gc();
  }
  assert.equal(unreferenced.deref(), undefined);
  assert.equal(milestone(await pending), "TIMEOUT_ERROR");
});
