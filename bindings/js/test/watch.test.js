// Watches of an endpoint, with each kind of storage: changes, forks, late readers, and how a watch
// ends.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BlockError, Endpoint, ErrorCode, MemoryStorage, RequestError, StorageError, UsageError } from "milepost";
import { HEIGHTS, block, idle, request } from "./happy-path.js";
import { SlowStorage } from "./slow-storage.js";
import { read } from "./vectors.js";

const HASH = request("NONE").params.tx_hash;
const fork = (name) => read(`blocks/fork-${name}.json`);
/** The first transaction of a block message */
const transactionOf = (message) =>
  JSON.parse(message).shards.flatMap(({ chunk }) => chunk?.transactions ?? [])[0].transaction.hash;

const storages = {
  "the storage in memory": () => undefined,
  MemoryStorage: () => new MemoryStorage(),
  "an asynchronous storage": () => new SlowStorage(),
};

const name = ({ event, status }) => `${event} ${status.final_execution_status}`;

for (const [storage, open] of Object.entries(storages)) {
  describe(`with ${storage}`, () => {
    test("each change is reported until the milestone is reached", async () => {
      const endpoint = await Endpoint.create({ storage: open() });
      const changes = endpoint.watch(HASH, { include: "status" });
      const seen = [name((await changes.next()).value)];
      let last;
      const reading = (async () => {
        for await (const change of changes) {
          seen.push(name(change));
          last = change;
        }
      })();
      for (const height of HEIGHTS) {
        await endpoint.handleBlock(block(height));
        // Lets the reader take the change before the next block replaces it.
        await idle();
        while (storage.includes("asynchronous") && seen.at(-1) !== name(await newest(endpoint))) await idle();
      }
      await reading;
      const milestones = seen.map((text) => text.split(" ")[1]);
      assert.deepEqual(
        [...new Set(milestones)],
        ["NONE", "INCLUDED", "EXECUTED_OPTIMISTIC", "INCLUDED_FINAL", "EXECUTED", "FINAL"].filter((one) =>
          milestones.includes(one),
        ),
      );
      assert.equal(seen[0], "status NONE");
      assert.equal(seen.at(-1), "reached FINAL");
      assert.ok(milestones.includes("INCLUDED") && milestones.includes("EXECUTED"), String(seen));
      const { result, status, receipts_known: known, receipts_executed: executed } = last.status;
      assert.equal(status, "SuccessValue");
      const { header } = JSON.parse(block(101)).block;
      assert.deepEqual(last.status.block, { height: 101n, hash: header.hash });
      assert.equal(last.status.finalized, true);
      // The id that a server has for this state.
      assert.match(last.id, /^FINAL-101-[1-9A-HJ-NP-Za-km-z]{43,44}-[1-9A-HJ-NP-Za-km-z]{10}$/);
      assert.ok(known > 0 && known === executed && executed === result.receipts_outcome.length);
      endpoint.dispose();
    });

    test("a fork that takes the transaction away is a change", async () => {
      const endpoint = await Endpoint.create({ storage: open() });
      const hash = transactionOf(fork("a101"));
      for (const one of ["100", "a101"]) await endpoint.handleBlock(fork(one));
      const changes = endpoint.watch(hash);
      const { value } = await changes.next();
      assert.equal(value.event, "status");
      assert.notEqual(value.status.final_execution_status, "NONE");
      for (const one of ["b101", "b102"]) await endpoint.handleBlock(fork(one));
      assert.equal(name((await changes.next()).value), "un-included NONE");
      // The other branch includes it, too.
      await endpoint.handleBlock(fork("b103"));
      assert.match(name((await changes.next()).value), /^status (?!NONE)/);
      await changes.return();
      endpoint.dispose();
    });

    test("a late reader learns that a fork moved the transaction to another block", async () => {
      const endpoint = await Endpoint.create({ storage: open() });
      const hash = transactionOf(fork("a101"));
      for (const one of ["100", "a101"]) await endpoint.handleBlock(fork(one));
      const changes = endpoint.watch(hash);
      await changes.next();
      for (const one of ["b101", "b102", "b103"]) await endpoint.handleBlock(fork(one));
      assert.equal(name((await changes.next()).value), "un-included NONE");
      const { value } = await changes.next();
      assert.match(name(value), /^status (?!NONE)/);
      assert.equal(value.status.block.height, 103n);
      await changes.return();
      endpoint.dispose();
    });

    test("a transaction that retention forgot ends its watch", async () => {
      const endpoint = await Endpoint.create({ storage: open(), settings: { retention: { blocks: 1 } } });
      const [first, ...others] = HEIGHTS;
      for (const height of [first, 101]) await endpoint.handleBlock(block(height));
      const changes = endpoint.watch(HASH);
      const { value: known } = await changes.next();
      assert.match(name(known), /^status (?!NONE)/);
      for (const height of others) if (height > 101) await endpoint.handleBlock(block(height));
      const seen = [];
      for await (const change of changes) seen.push(change);
      assert.deepEqual(seen, [{ event: "forgotten", id: known.id, status: { transaction_hash: HASH } }]);
      endpoint.dispose();
    });

    test("a late reader gets the newest state, and a watch that is reached ends at once", async () => {
      const endpoint = await Endpoint.create({ storage: open() });
      const changes = endpoint.watch(HASH);
      await changes.next();
      for (const height of HEIGHTS) await endpoint.handleBlock(block(height));
      const seen = [];
      for await (const change of changes) seen.push(name(change));
      assert.equal(seen.at(-1), "reached FINAL");
      assert.ok(seen.length <= 2, String(seen));
      const again = [];
      for await (const change of endpoint.watch(HASH, { waitUntil: "INCLUDED" })) again.push(name(change));
      assert.deepEqual(again, ["reached FINAL"]);
      endpoint.dispose();
    });

    test("a watch ends by its signal, a shutdown or a disposal", async () => {
      const endpoint = await Endpoint.create({ storage: open() });
      const control = new AbortController();
      const aborted = endpoint.watch(HASH, { signal: control.signal });
      await aborted.next();
      const pending = aborted.next();
      const reason = new Error("the page was left");
      control.abort(reason);
      await assert.rejects(pending, (error) => error === reason);
      const watched = endpoint.watch(HASH);
      await watched.next();
      const waiting = watched.next();
      endpoint.shutdown();
      await assert.rejects(waiting, UsageError);
      await assert.rejects(endpoint.watch(HASH).next(), UsageError);
      endpoint.dispose();
      assert.throws(() => endpoint.watch(HASH, { include: "gas" }), UsageError);
    });
  });
}

/** The newest state, as another watch sees it */
async function newest(endpoint) {
  const changes = endpoint.watch(HASH);
  const { value } = await changes.next();
  await changes.return();
  return value;
}

test("a hash that is none is refused, and names the digit", async () => {
  const endpoint = await Endpoint.create();
  await assert.rejects(endpoint.watch("0" + HASH.slice(1)).next(), (error) => {
    assert.ok(error instanceof RequestError);
    assert.deepEqual([error.code, error.path], [ErrorCode.VALUE, "hash"]);
    return true;
  });
  endpoint.dispose();
});

test("the result of a watch that is added during an observation is there", async () => {
  const endpoint = await Endpoint.create({ storage: new SlowStorage() });
  for (const height of HEIGHTS) await endpoint.handleBlock(block(height));
  const plain = endpoint.watch(HASH).next();
  const whole = endpoint.watch(HASH, { include: "status" }).next();
  assert.equal((await plain).value.status.result, undefined);
  assert.equal((await whole).value.status.result.transaction.hash, HASH);
  endpoint.dispose();
});

test("a storage that fails ends the watches of the transaction", async () => {
  const storage = new MemoryStorage();
  const endpoint = await Endpoint.create({ storage });
  await assert.rejects(endpoint.handleBlock("{}"), BlockError);
  const changes = endpoint.watch(HASH);
  await changes.next();
  storage.getMany = storage.get = () => {
    throw new Error("the disk is gone");
  };
  const next = changes.next();
  await assert.rejects(endpoint.handleBlock(block(100)), StorageError);
  // The block was not imported, so only the next look finds the storage failing.
  await assert.rejects(endpoint.watch(HASH).next(), StorageError);
  await assert.rejects(next, /the disk is gone/);
  endpoint.dispose();
});
