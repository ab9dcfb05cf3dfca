// Following a feed with faults over HTTP: it ends in the rows of a feed without any.

import "fake-indexeddb/auto";
import assert from "node:assert/strict";
import { test } from "node:test";
import { Endpoint, IndexedDbStorage, UsageError } from "milepost";
import { FollowError, follow } from "milepost/follow";
import { startFeed } from "./feed-server.js";

/** Short waits, and as many requests as the chain of the tests needs */
const QUICK = { retry: 20, maxRetry: 200, requestsPerMinute: 60_000 };
/** The first byte of the key of the row that has the number of imports */
const CHAIN_TABLE = 0;

/** A storage whose rows can be compared */
class Rows {
  rows = new Map();
  get(key) {
    return this.rows.get(Buffer.from(key).toString("hex"));
  }
  commit(changes) {
    for (const { key, row } of changes) {
      const name = Buffer.from(key).toString("hex");
      if (row === null) this.rows.delete(name);
      else this.rows.set(name, row);
    }
  }
  compared() {
    const rows = [...this.rows].filter(([key]) => Buffer.from(key, "hex")[0] !== CHAIN_TABLE);
    return rows.map(([key, row]) => `${key} ${Buffer.from(row).toString("base64")}`).sort();
  }
}

/** Follows in a new endpoint over a storage; returns the state of the chain */
async function run(storage, url, options) {
  const endpoint = await Endpoint.create({ storage });
  try {
    await follow(endpoint, { ...QUICK, url, ...options });
  } finally {
    var { generation, ...status } = await endpoint.chainStatus();
    endpoint.dispose();
  }
  return { ...status, ran: generation > 0n };
}

async function withFeeds(work, ...all) {
  const feeds = await Promise.all(all.map((options) => startFeed(...options)));
  try {
    return await work(...feeds);
  } finally {
    feeds.forEach((feed) => feed.stop());
  }
}

/** Follows a feed with faults to its end, and compares with the same one without; counts events */
async function followWithFaults(seed, counts) {
  const chain = ["--seed", seed, "--interval", 90, "--blocks", 120, "--age", 2_000];
  await withFeeds(
    async (faulty, quiet) => {
      const [one, other] = [new Rows(), new Rows()];
      const onEvent = ({ type }) => (counts[type] = (counts[type] ?? 0) + 1);
      const from = faulty.first;
      const found = await run(one, faulty.url, { from, until: faulty.until, onEvent });
      const expected = await run(other, quiet.url, { from, until: quiet.until });
      assert.equal(Number(expected.head.height), quiet.until);
      assert.deepEqual(found, expected);
      assert.deepEqual(one.compared(), other.compared());
      assert.ok(one.compared().length > 100);
    },
    [...chain, "--faults"],
    [...chain, "--quiet"],
  );
}

test("feeds with faults end in the rows of quiet ones", { concurrency: true }, async (context) => {
  const counts = {};
  const seeds = [1, 2, 3, 4, 5, 6];
  const all = seeds.map((seed) => context.test(`seed ${seed}`, () => followWithFaults(seed, counts)));
  await Promise.all(all);
  console.log(JSON.stringify(counts));
  assert.ok(counts.failed > 20 && counts.linkBroken > 2 && counts.imported > 600);
});

test("a run that is aborted is continued after the stored head, over IndexedDB", async () => {
  const chain = ["--seed", 5, "--interval", 40, "--blocks", 120, "--age", 3_000];
  await withFeeds(
    async (faulty, quiet) => {
      const heights = [];
      let opened = 0;
      for (const until of [25, 60, null]) {
        const storage = await IndexedDbStorage.open("followed", { durability: "relaxed" });
        const control = new AbortController();
        const onEvent = (event) => {
          if (event.type !== "imported") return;
          heights.push(event.height);
          if (until !== null && event.height >= faulty.first + until) control.abort(new Error("closed"));
        };
        const options = { until: faulty.until, signal: control.signal, onEvent };
        if (opened === 0) options.from = faulty.first;
        const finished = run(storage, faulty.url, options);
        if (until === null) await finished;
        else await assert.rejects(finished, /^Error: closed$/);
        opened += 1;
        storage.close();
      }
      // A rest of the fork that was the head may come again, no block that was final.
      const again = heights.length - new Set(heights).size;
      assert.ok(again < 25, `${again} heights were imported again`);
      const storage = await IndexedDbStorage.open("followed");
      const endpoint = await Endpoint.create({ storage });
      const { head, lastFinal, completeFrom } = await endpoint.chainStatus();
      const expected = await run(new Rows(), quiet.url, { from: quiet.first, until: quiet.until });
      assert.deepEqual(
        { head, lastFinal, completeFrom },
        {
          head: expected.head,
          lastFinal: expected.lastFinal,
          completeFrom: expected.completeFrom,
        },
      );
      endpoint.dispose();
    },
    [...chain, "--faults"],
    [...chain, "--quiet"],
  );
});

test("an empty endpoint starts before the last final block, as far as the feed goes back", async () => {
  const chain = ["--seed", 6, "--interval", 40, "--age", 4_000];
  await withFeeds(async (feed) => {
    const first = async (startMargin) => {
      const control = new AbortController();
      let lowest;
      const onEvent = (event) => {
        if (event.type !== "imported") return;
        lowest = event.height;
        control.abort();
      };
      const ended = run(new Rows(), feed.url, { startMargin, onEvent, signal: control.signal });
      await assert.rejects(ended, { name: "AbortError" });
      return lowest;
    };
    const [none, few, all] = [await first(0), await first(20), await first(100_000)];
    assert.ok(few < none && none - few < 100, `${few}, ${none}`);
    assert.ok(all < few && all >= feed.first, `${all}, ${few}`);
  }, chain);
});

test("a storage of another chain is refused", async () => {
  const chain = ["--interval", 40, "--age", 4_000];
  await withFeeds(
    async (one, other) => {
      const rows = new Rows();
      await run(rows, one.url, { from: one.first, until: one.first + 40 });
      const before = rows.compared();
      await assert.rejects(run(rows, other.url, {}), (error) => {
        assert.ok(error instanceof FollowError);
        assert.equal(error.kind, "other-chain");
        assert.match(error.message, /^feed 1 has another chain: its block at height \d+ is/);
        return true;
      });
      assert.deepEqual(rows.compared(), before);
    },
    [...chain, "--seed", 7],
    [...chain, "--seed", 8],
  );
});

test("options are checked, and plain http is for this machine only", async () => {
  const endpoint = await Endpoint.create();
  const refused = (options, pattern) =>
    assert.rejects(follow(endpoint, options), (error) => error instanceof UsageError && pattern.test(error.message));
  await refused({}, /^url: expected/);
  await refused({ url: [] }, /^url: expected at least one feed/);
  await refused({ url: ["mainnet", "http://feed.example"] }, /http is for this machine only/);
  await refused({ url: "http://feed.example" }, /http is for this machine only/);
  await refused({ url: "https://feed.example/?key=1" }, /^url/);
  await refused({ url: "mainnet", frm: 5 }, /^options\.frm: unknown option/);
  await refused({ url: "mainnet", from: -1 }, /^from/);
  await refused({ url: "mainnet", from: "tip" }, /^from: tip, expected one of resume, final/);
  await refused({ url: "mainnet", requestsPerMinute: 0 }, /^requestsPerMinute/);
  await refused({ url: "mainnet", skip: 1.5 }, /^skip/);
  await refused({ url: "mainnet", signal: 5 }, /^signal/);
  await refused(undefined, /^options/);
  endpoint.dispose();
});
