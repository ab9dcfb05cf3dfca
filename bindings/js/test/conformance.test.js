// Broken storages, and the verdict of the conformance kit on them, which is that of the table in
// `docs/CONFORMANCE.md`. Programs in Rust, C and C++ have the same storages.
//
// With `MILEPOST_KIT_RUNS` each broken storage is checked so often; correct ones are then checked a
// thousand times, each isolation and speed in its part.

import "fake-indexeddb/auto";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { IndexedDbStorage, MemoryStorage } from "milepost";
import { checkStorage } from "milepost/kit";
import { SlowStorage } from "./slow-storage.js";

const RUNS = Number(process.env.MILEPOST_KIT_RUNS ?? 10);
const CORRECT_RUNS = process.env.MILEPOST_KIT_RUNS ? 250 : 1;

const TABLE = readFileSync(new URL("../../../docs/CONFORMANCE.md", import.meta.url), "utf8")
  .split("\n| broken storage |")[1]
  .split("\n\n")[0]
  .split("\n")
  .slice(2)
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .map(([, name, , , , snapshot, readCommitted]) => ({ name, snapshot, "read-committed": readCommitted }));

const later = () => new Promise((resolve) => setImmediate(resolve));
const name = (key) => Buffer.from(key).toString("latin1");

/** Rows in a map, with one of the defects; `isSlow` for reads that are answered later */
class Broken {
  #rows = new Map();
  #copy = new Map();
  #commits = 0;
  #defect;
  #isSlow;

  constructor(defect, isolation, isSlow) {
    this.isolation = isolation;
    this.#defect = defect;
    this.#isSlow = isSlow;
  }

  #name(key) {
    return name(this.#defect === "truncated key" ? key.slice(0, 32) : key);
  }

  #get(key) {
    if (this.#defect !== "stale snapshot") return this.#rows.get(this.#name(key));
    if (this.#copy.size !== this.#rows.size) this.#copy = new Map(this.#rows);
    return this.#copy.get(this.#name(key));
  }

  get(key) {
    return this.#isSlow ? later().then(() => this.#get(key)) : this.#get(key);
  }

  #getMany(keys) {
    const defect = this.#defect;
    const ordered = defect === "reordered keys" ? [...keys].sort((left, right) => Buffer.compare(left, right)) : keys;
    const rows = ordered.map((key) => this.#get(key));
    if (defect === "wrong length of get_many") return rows.filter((row) => row !== undefined);
    if (defect === "range off by one") return rows.map((row, index) => (index % 100 === 99 ? null : row));
    return rows;
  }

  getMany(keys) {
    return this.#isSlow ? later().then(() => this.#getMany(keys)) : this.#getMany(keys);
  }

  #apply(changes) {
    for (const { key, row } of changes) {
      if (row !== null) this.#rows.set(this.#name(key), row);
      else if (this.#defect !== "forgotten delete") this.#rows.delete(this.#name(key));
    }
  }

  async commit(changes) {
    const defect = this.#defect;
    this.#commits += 1;
    if (defect === "lost write" && this.#commits % 7 === 0) return;
    if (defect === "error swallowed" && changes.some(({ row }) => row?.length > 1 << 20)) return;
    if (this.#isSlow) await later();
    const parts = {
      "one lock per row": () => Array.from(changes, (change) => [change]),
      "torn commit": () => [changes.slice(0, changes.length / 2), changes.slice(changes.length / 2)],
      "commit visible early": () => [changes.slice(0, 1), changes.slice(1)],
    };
    const applied = parts[defect]?.() ?? [changes];
    // Where a read takes a turn, the other part is written to a log before, in a turn for each row.
    const turns = applied.length === 2 ? changes.length : 1;
    for (const part of applied) {
      this.#apply(part);
      if (this.#isSlow) for (let turn = 0; turn < turns; turn++) await later();
      else await null;
    }
  }
}

test("the table has the storages of this test", () => {
  assert.equal(TABLE.length, 13);
});

for (const { name, ...verdicts } of TABLE) {
  for (const [isolation, verdict] of Object.entries(verdicts)) {
    if (verdict === "–") continue;
    for (const isSlow of [false, true]) {
      test(`${name}, ${isolation}, ${isSlow ? "slow" : "quick"}: ${verdict}`, async () => {
        const create = () => new Broken(name, isolation, isSlow);
        const refused = [];
        const runs = verdict === "refuse" ? RUNS : name === "correct" ? CORRECT_RUNS : 1;
        for (let run = 0; run < runs; run++) {
          await checkStorage(create).catch((error) => refused.push(error.message));
        }
        assert.equal(refused.length, verdict === "refuse" ? runs : 0, refused[0]);
        for (const message of refused) assert.match(message, /^violated requirement ".*": /);
      });
    }
  }
}

let databases = 0;
const STORAGES = {
  MemoryStorage: () => new MemoryStorage(),
  IndexedDbStorage: () => IndexedDbStorage.open(`kit ${(databases += 1)}`),
  "an asynchronous storage": () => new SlowStorage(),
};
for (const isolation of ["snapshot", "read-committed"]) {
  for (const [name, open] of Object.entries(STORAGES)) {
    test(`${name} meets the requirements, ${isolation}`, async () => {
      const begin = performance.now();
      await checkStorage(async () => Object.assign(await open(), { isolation }));
      console.log(`${name}, ${isolation}: ${Math.round(performance.now() - begin)} ms`);
    });
  }
}

test("a storage that cannot be made, or fails, is named with its error", async () => {
  await assert.rejects(
    checkStorage(() => Promise.reject(new Error("the disk is gone"))),
    /the disk is gone/,
  );
  const failing = () => ({ get: () => null, commit: () => Promise.reject(new Error("the disk is full")) });
  await assert.rejects(checkStorage(failing), (error) => {
    assert.match(error.message, /^violated requirement "a row that was put can be read": .*the disk is full/);
    return String(error.cause).includes("the disk is full");
  });
});
