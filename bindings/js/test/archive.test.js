// Archives of the host: what is put into them, what is forgotten then, and how both are answered.

import "fake-indexeddb/auto";
import assert from "node:assert/strict";
import { test } from "node:test";
import { Endpoint, IndexedDbStorage, MemoryStorage, StorageError, UsageError, parseJson, writeJson } from "milepost";
import { IndexedDbArchive, MemoryArchive } from "milepost/archive";
import { checkArchive } from "milepost/kit";
import { HEIGHTS, block, milestone, request } from "./happy-path.js";
import { SlowStorage } from "./slow-storage.js";
import { createEndpoint, read, run, vectors } from "./vectors.js";

const nextTask = () => new Promise((resolve) => setImmediate(resolve));

/** An asynchronous archive, whose hook runs before each of its calls */
class SlowArchive {
  rows = new MemoryArchive();
  calls = [];
  /** Awaited before a call of this name */
  onCall = () => {};

  async #call(name, ...values) {
    this.calls.push(name);
    await this.onCall(name, ...values);
    await nextTask();
    return this.rows[name](...values);
  }

  getMany(keys) {
    return this.#call("getMany", keys);
  }
  scan(table, after, limit) {
    return this.#call("scan", table, after, limit);
  }
  putMany(rows) {
    return this.#call("putMany", rows);
  }
  replaceMany(rows) {
    return this.#call("replaceMany", rows);
  }
}

let databases = 0;
const archives = {
  MemoryArchive: () => new MemoryArchive(),
  "an asynchronous archive": () => new SlowArchive(),
  IndexedDbArchive: () => IndexedDbArchive.open(`archive ${(databases += 1)}`),
};
const storages = {
  "the default storage": () => undefined,
  "an asynchronous storage": () => new SlowStorage(),
  "a storage to which others commit": () => Object.assign(new SlowStorage(), { isolation: "read-committed" }),
  IndexedDbStorage: () => IndexedDbStorage.open(`storage ${(databases += 1)}`),
};

const settings = { retention: { blocks: 1 }, unknown: "immediate" };
/** Where a row has the hash of its content: after version, writer, release, compression and length,
 *  which are 1, 8, 4, 1 and 4 bytes */
const HASH_OFFSET = 18;
const FINAL = request("FINAL");
const UNKNOWN = request("FINAL", "1".repeat(32));

/** The messages of the blocks of the transaction, and of one after them */
const MESSAGES = [...HEIGHTS.map(block), blockAfter(block(HEIGHTS.at(-1)), `${"1".repeat(31)}2`)];
/** Number of blocks that are left when all that can be are forgotten: from the last final one on */
const LEFT = 4n;

function blockAfter(message, hash) {
  const next = parseJson(message.toString(), { bigint: true });
  const { header } = next.block;
  Object.assign(header, { hash, prev_hash: header.hash, prev_height: header.height, height: header.height + 1n });
  return writeJson(next);
}

async function importAll(endpoint, messages = MESSAGES) {
  for (const message of messages) await endpoint.handleBlock(message);
  return endpoint;
}

/** The answer of an endpoint that forgets nothing */
async function expectedAnswer() {
  const endpoint = await importAll(await Endpoint.create());
  const { text } = await endpoint.respond(FINAL);
  endpoint.dispose();
  return text;
}

for (const [name, open] of Object.entries(archives)) {
  test(`${name} meets the requirements`, async () => checkArchive(open));
}

const DEFECTS = {
  "a missing row is `None`": { getMany: (rows) => (keys) => keys.map(() => [Uint8Array.of(rows.size ?? 0)]) },
  "rows that were put are read in the order of the keys": { getMany: (rows) => (keys) => rows.getMany(keys).reverse() },
  "a key with two contents is an error": {
    getMany: (rows) => (keys) => rows.getMany(keys).map((versions) => versions.slice(0, 1)),
  },
  "rows of 8 MiB": {
    putMany: (rows) => (put) => rows.putMany(put.map((one) => ({ ...one, row: one.row.slice(0, 1 << 20) }))),
  },
  "rows can be put again": {
    putMany: (rows) => (put) =>
      rows.putMany(put.map((one) => ({ ...one, content: crypto.getRandomValues(new Uint8Array(33)) }))),
  },
  "a replace removes all": {
    // Only of the table of transactions.
    replaceMany: (rows) => (put) => (put[0].key[0] === 16 ? rows.replaceMany(put) : rows.putMany(put)),
  },
  "a scan lists every row": {
    scan: (rows) => (table, after, limit) => (after && limit === 7 ? [] : rows.scan(table, after, limit)),
  },
  "rows of puts at the same time": {
    putMany: (rows) => {
      let isBusy = false;
      return async (put) => {
        if (isBusy) return;
        isBusy = true;
        await nextTask();
        rows.putMany(put);
        isBusy = false;
      };
    },
  },
};

for (const [requirement, methods] of Object.entries(DEFECTS)) {
  test(`a defect is found: ${requirement}`, async () => {
    const create = () => {
      const rows = new MemoryArchive();
      const archive = {};
      for (const name of ["getMany", "scan", "putMany", "replaceMany"]) archive[name] = rows[name].bind(rows);
      for (const [name, method] of Object.entries(methods)) archive[name] = method(rows);
      return archive;
    };
    for (let run = 0; run < 10; run++) {
      await assert.rejects(checkArchive(create), (error) =>
        error.message.includes(`violated requirement "${requirement}`),
      );
    }
  });
}

for (const [storageName, openStorage] of Object.entries(storages)) {
  for (const [archiveName, openArchive] of Object.entries(archives)) {
    test(`with ${storageName} and ${archiveName} what was forgotten is answered`, async () => {
      const [storage, archive] = [await openStorage(), await openArchive()];
      const endpoint = await importAll(await Endpoint.create({ storage, archive, settings }));
      assert.equal((await endpoint.chainStatus()).blocks, LEFT);
      assert.equal((await endpoint.respond(FINAL)).text, await expectedAnswer());
      assert.equal(milestone(await endpoint.respond(UNKNOWN)), "UNKNOWN_TRANSACTION");
      const { keptFrom, archivedHeight, complete, ...status } = endpoint.archiveStatus;
      assert.deepEqual(status, {
        isWritten: true,
        openTransactions: 0,
        exportedTransactions: 2,
        failures: 0,
        failure: null,
        evictedBlocks: 0,
      });
      assert.ok(archivedHeight >= keptFrom && keptFrom > 104n, `${archivedHeight} ${keptFrom}`);
      assert.deepEqual(complete, [[100n, archivedHeight]]);
      endpoint.dispose();

      // Another endpoint over both continues after what is archived.
      if (storage === undefined) return;
      const next = await Endpoint.create({ storage, archive, settings });
      await next.handleBlock(MESSAGES.at(-1));
      assert.equal((await next.respond(FINAL)).text, await expectedAnswer());
      const { exportedTransactions, archivedHeight: height } = next.archiveStatus;
      assert.deepEqual([exportedTransactions, height], [0, archivedHeight]);
      next.dispose();
    });
  }
}

test("imports that end while an export waits to start share it", async () => {
  const archive = new SlowArchive();
  const endpoint = await Endpoint.create({ archive, settings });
  await Promise.all(MESSAGES.slice(0, -1).map((message) => endpoint.handleBlock(message)));
  await endpoint.handleBlock(MESSAGES.at(-1));
  assert.equal((await endpoint.chainStatus()).blocks, LEFT);
  assert.equal(endpoint.archiveStatus.exportedTransactions, 2);
  assert.equal((await endpoint.respond(FINAL)).text, await expectedAnswer());
  endpoint.dispose();
});

test("without an archive what was forgotten is unknown", async () => {
  const endpoint = await importAll(await Endpoint.create({ settings }));
  assert.equal(milestone(await endpoint.respond(FINAL)), "UNKNOWN_TRANSACTION");
  assert.equal(endpoint.archiveStatus, null);
  endpoint.dispose();
});

test("an archive that cannot be written fails no import, and nothing is forgotten meanwhile", async () => {
  const archive = new SlowArchive();
  const failing = { ...settings, archiveBacklog: 1_000 };
  for (const method of ["putMany", "replaceMany"]) {
    const endpoint = await Endpoint.create({ archive, settings: failing });
    archive.onCall = (name) => {
      if (name === method) throw new Error("no disk");
    };
    await importAll(endpoint);
    const { failures, failure, exportedTransactions, archivedHeight } = endpoint.archiveStatus;
    assert.ok(failures > 0);
    assert.equal(failure, `archive.${method}: no disk`);
    assert.deepEqual([exportedTransactions, archivedHeight], [0, null]);
    assert.equal((await endpoint.chainStatus()).blocks, BigInt(MESSAGES.length));
    // The storage has it.
    assert.equal((await endpoint.respond(FINAL)).text, await expectedAnswer());
    archive.onCall = () => {};
    await importAll(endpoint, MESSAGES.slice(-1));
    assert.equal(endpoint.archiveStatus.failure, null);
    assert.equal(endpoint.archiveStatus.exportedTransactions, 2);
    endpoint.dispose();
    archive.rows = new MemoryArchive();
  }
});

test("beyond the backlog the oldest blocks are forgotten, and counted", async () => {
  const archive = new SlowArchive();
  archive.onCall = (name) => {
    if (name === "putMany") throw new Error("no disk");
  };
  const endpoint = await Endpoint.create({ archive, settings: { ...settings, archiveBacklog: 4 } });
  await importAll(endpoint);
  assert.ok((await endpoint.chainStatus()).blocks <= 5n);
  assert.ok(endpoint.archiveStatus.evictedBlocks >= MESSAGES.length - 5, String(endpoint.archiveStatus.evictedBlocks));
  endpoint.dispose();
});

test("an archive that cannot be read is an internal error, and never an unknown transaction", async () => {
  const archive = new SlowArchive();
  const endpoint = await importAll(await Endpoint.create({ archive, settings }));
  const answers = {
    "archive.getMany(10": () => {
      throw new Error("no network");
    },
    "archive.getMany returned 0 entries for 1 keys": () => [],
    "archive.getMany returned null for a key, expected its rows": (keys) => keys.map(() => null),
    "archive.getMany returned an array for a key": (keys) => keys.map(() => ["row"]),
  };
  for (const [message, getMany] of Object.entries(answers)) {
    archive.rows = Object.assign(new MemoryArchive(), { getMany });
    for (const body of [FINAL, UNKNOWN]) {
      const response = await endpoint.respond(body);
      assert.equal(response.kind, "internal");
      assert.ok(response.text.includes(message), response.text);
    }
  }
  endpoint.dispose();
});

test("two rows of a key that differ are an error, until one of them is replaced", async () => {
  const archive = new MemoryArchive();
  const endpoint = await importAll(await Endpoint.create({ archive, settings }));
  const transactions = archive.scan(16, null, 10);
  // Only the hash of the content, which the row has before it, is compared.
  const other = (row) => row.map((byte, index) => (index === HASH_OFFSET ? byte ^ 1 : byte));
  archive.putMany(transactions.map(({ key, row }) => ({ key, content: new Uint8Array(33), row: other(row) })));
  const response = await endpoint.respond(FINAL);
  assert.equal(response.kind, "internal");
  assert.match(response.text, /two writers have put different content/);
  archive.replaceMany(transactions);
  assert.equal((await endpoint.respond(FINAL)).text, await expectedAnswer());
  endpoint.dispose();
});

test("an endpoint that only reads forgets what others have archived", async () => {
  const rows = new MemoryArchive();
  const writer = await Endpoint.create({ archive: rows, settings });
  const archive = {
    getMany: (keys) => rows.getMany(keys),
    scan: (table, after, limit) => rows.scan(table, after, limit),
  };
  const reader = await Endpoint.create({ archive, settings });
  await importAll(reader, MESSAGES.slice(0, -1));
  assert.equal((await reader.chainStatus()).blocks, BigInt(MESSAGES.length - 1));
  assert.equal(reader.archiveStatus.isWritten, false);
  await importAll(writer);
  // The first import after it finds what is archived, the second one forgets.
  await importAll(reader, MESSAGES.slice(-2));
  assert.equal((await reader.chainStatus()).blocks, LEFT);
  assert.equal((await reader.respond(FINAL)).text, await expectedAnswer());
  assert.equal(reader.archiveStatus.exportedTransactions, 0);
  for (const endpoint of [reader, writer]) endpoint.dispose();
});

/** The message with five times as many heights between blocks */
function spread(message) {
  const names = ["height", "prev_height", "height_included", "height_created"];
  const next = parseJson(message.toString(), { bigint: true });
  const visit = (value) => {
    if (typeof value !== "object" || value === null) return;
    for (const [name, member] of Object.entries(value)) {
      if (names.includes(name) && typeof member === "bigint") value[name] = 100n + (member - 100n) * 5n;
      else visit(member);
    }
  };
  visit(next);
  return writeJson(next);
}

test("an endpoint whose head lags asks the archive about what it has not seen finished", async () => {
  const archive = new MemoryArchive();
  const messages = MESSAGES.map(spread);
  const writer = await importAll(await Endpoint.create({ archive, settings }), messages);
  const { getMany, scan } = MemoryArchive.prototype;
  const rows = { getMany: getMany.bind(archive), scan: scan.bind(archive) };
  const late = await importAll(await Endpoint.create({ archive: rows, settings }), messages.slice(0, 2));
  const alone = await importAll(await Endpoint.create({ settings }), messages.slice(0, 2));
  const unfinished = request("NONE");
  assert.notEqual((await alone.respond(unfinished)).text, await expectedAnswer());
  assert.equal((await late.respond(unfinished)).text, await expectedAnswer());
  for (const endpoint of [writer, late, alone]) endpoint.dispose();
});

test("a storage that fails before the first import fails it, and the next one continues", async () => {
  const storage = new MemoryStorage();
  const endpoint = await Endpoint.create({ storage, archive: new MemoryArchive(), settings });
  const { getMany } = MemoryStorage.prototype;
  storage.getMany = () => {
    throw new Error("locked");
  };
  await assert.rejects(endpoint.handleBlock(block(100)), StorageError);
  storage.getMany = getMany;
  await importAll(endpoint);
  assert.equal((await endpoint.respond(FINAL)).text, await expectedAnswer());
  endpoint.dispose();
});

test("imports that are started at once run in their order", async () => {
  const archive = new SlowArchive();
  const endpoint = await Endpoint.create({ storage: new SlowStorage(), archive, settings });
  const summaries = await Promise.all(MESSAGES.map((message) => endpoint.handleBlock(message)));
  const heights = summaries.map((summary) => Number(summary.block.height));
  assert.deepEqual(heights.slice(0, -1), HEIGHTS);
  assert.equal((await endpoint.respond(FINAL)).text, await expectedAnswer());
  assert.equal(endpoint.archiveStatus.exportedTransactions, 2);
  endpoint.dispose();
});

test("an endpoint that is disposed of during an export ends it", async () => {
  const archive = new SlowArchive();
  const endpoint = await Endpoint.create({ archive, settings });
  archive.onCall = (name) => {
    if (name === "putMany") endpoint.dispose();
  };
  await Promise.allSettled(MESSAGES.map((message) => endpoint.handleBlock(message)));
  const { length } = archive.calls;
  for (let turn = 0; turn < 20; turn++) await nextTask();
  assert.equal(archive.calls.length, length);
});

test("archives with other methods are refused", async () => {
  const right = new MemoryArchive();
  const getMany = right.getMany.bind(right);
  const scan = (table, after, limit) => right.scan(table, after, limit);
  for (const [archive, message] of [
    [{}, "archive: has no method getMany"],
    [{ getMany }, "archive: has no method scan"],
    [{ getMany, scan: (table) => [table] }, "archive.scan: declares 1 parameter, expected scan(table, after, limit)"],
    [{ getMany, scan, putMany() {} }, "archive: has no method replaceMany"],
    [null, "archive: has no method getMany"],
  ]) {
    await assert.rejects(Endpoint.create({ archive }), (error) => {
      assert.ok(error instanceof UsageError);
      assert.equal(error.message, message);
      return true;
    });
  }
  const archiveBacklog = -1;
  await assert.rejects(Endpoint.create({ archive: right, settings: { archiveBacklog } }), UsageError);
});

test("all vectors pass with an archive", async () => {
  for (const vector of vectors) {
    const endpoint = await createEndpoint(Endpoint, vector, undefined, new MemoryArchive());
    const { response, early } = await run(endpoint, vector);
    assert.equal(early, false, `${vector.name}: answered at once, expected to wait`);
    assert.equal(response.text, read(vector.response).toString(), vector.name);
    assert.equal(endpoint.archiveStatus.failure, null, vector.name);
    endpoint.dispose();
  }
});
