// All shared vectors in Chromium, with the storage in memory, with IndexedDB, and with an archive
// in IndexedDB behind it, which is checked there, too; and a page that follows a feed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { inBrowser, serve } from "./browser.js";
import { startFeed } from "./feed-server.js";
import { proofs, vectors } from "./vectors.js";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

for (const storage of ["memory", "IndexedDB", "IndexedDB and an archive"]) {
  test(`all vectors pass in Chromium with ${storage}`, async (context) => {
    const server = await serve(here(".."), here("../../../tests/vectors"));
    try {
      const report = await inBrowser(server.address().port, (page) => page.evaluate(runAll, storage));
      if (!report) return context.skip("Chromium is not installed");
      assert.deepEqual(report.failures, []);
      assert.equal(report.passed, vectors.length);
    } finally {
      server.close();
    }
  });
}

test("the check of every proof in Chromium finds what is declared", async (context) => {
  const server = await serve(here(".."), here("../../../tests/vectors"));
  try {
    const report = await inBrowser(server.address().port, (page) => page.evaluate(verifyAll));
    if (!report) return context.skip("Chromium is not installed");
    assert.deepEqual(report, { passed: proofs.length, failures: [], isEngineLoaded: false });
  } finally {
    server.close();
  }
});

/** Checks all proofs; called in the page */
async function verifyAll() {
  const { loadAnswerVerifier } = await import("/dist/verifier-web.js");
  const json = await import("/dist/client.js");
  const { runner } = await import("/test/runner.js");
  const read = async (path) => (await fetch(`/${path}`)).arrayBuffer();
  const manifest = await (await fetch("/manifest.json")).json();
  const { proofs, verify } = runner(manifest, read, json);
  const verifier = await loadAnswerVerifier();
  const found = await Promise.all(proofs.map((vector) => verify(verifier, vector)));
  const failures = found.filter((difference) => difference !== null);
  const loaded = performance.getEntriesByType("resource").map(({ name }) => name);
  const isEngineLoaded = loaded.some((name) => /\/(milepost\.wasm|core\.js)$/.test(name));
  return { passed: found.length - failures.length, failures, isEngineLoaded };
}

test("archives and storages in IndexedDB and in memory meet the requirements in Chromium", async (context) => {
  const server = await serve(here(".."), here("../../../tests/vectors"));
  try {
    const report = await inBrowser(server.address().port, (page) => page.evaluate(checkArchives));
    if (!report) return context.skip("Chromium is not installed");
    assert.equal(report, "met");
  } finally {
    server.close();
  }
});

/** Checks the archives and storages of the package; called in the page */
async function checkArchives() {
  const { IndexedDbArchive, MemoryArchive } = await import("/dist/archive.js");
  const { checkArchive, checkStorage } = await import("/dist/kit-web.js");
  const { IndexedDbStorage, MemoryStorage } = await import("/dist/web.js");
  let databases = 0;
  const name = () => `check ${(databases += 1)}`;
  const checks = [
    checkArchive(() => IndexedDbArchive.open(name(), { durability: "relaxed" })),
    checkArchive(() => new MemoryArchive()),
    checkStorage(() => IndexedDbStorage.open(name(), { durability: "relaxed" })),
    checkStorage(() => new MemoryStorage()),
  ];
  const results = await Promise.all(checks.map((check) => check.then(() => "met", String)));
  return results.find((result) => result !== "met") ?? "met";
}

test("a page follows a feed with faults over IndexedDB, and resumes after it was loaded again", async (context) => {
  const server = await serve(here(".."));
  const feed = await startFeed("--seed", 11, "--interval", 60, "--age", 20_000, "--faults");
  try {
    const report = await inBrowser(server.address().port, async (page) => {
      const first = await page.evaluate(followFeed, { url: feed.url, from: feed.first, count: 30 });
      await page.reload();
      const second = await page.evaluate(followFeed, { url: feed.url, count: 30 });
      return { first, second };
    });
    if (!report) return context.skip("Chromium is not installed");
    const { first, second } = report;
    assert.equal(first.heights[0], feed.first);
    assert.equal(first.start, null);
    // The database has the blocks of the page that is gone, and none that is final comes again.
    assert.deepEqual(second.start, first.end);
    assert.ok(Math.min(...second.heights) > first.end.final, JSON.stringify(report));
    assert.ok(second.end.final > first.end.head, JSON.stringify(report));
  } finally {
    feed.stop();
    server.close();
  }
});

/** Follows a feed until this number of blocks was imported; called in the page */
async function followFeed({ url, from, count }) {
  const { Endpoint, IndexedDbStorage } = await import("/dist/web.js");
  const { follow } = await import("/dist/follow-web.js");
  const storage = await IndexedDbStorage.open("followed", { durability: "relaxed" });
  const endpoint = await Endpoint.create({ storage });
  const state = async () => {
    const { head, lastFinal } = await endpoint.chainStatus();
    return head && { head: Number(head.height), final: Number(lastFinal?.height) };
  };
  const start = await state();
  const control = new AbortController();
  const heights = [];
  const onEvent = ({ type, height }) => {
    if (type !== "imported") return;
    heights.push(height);
    if (heights.length === count) control.abort();
  };
  const options = { url, signal: control.signal, onEvent, retry: 20, maxRetry: 200, requestsPerMinute: 60_000 };
  await follow(endpoint, from === undefined ? options : { ...options, from }).catch((error) => {
    if (!control.signal.aborted) throw error;
  });
  const end = await state();
  endpoint.dispose();
  storage.close();
  return { start, heights, end };
}

/** Runs all vectors; called in the page */
async function runAll(kind) {
  const useDatabase = kind !== "memory";
  const useArchive = kind === "IndexedDB and an archive";
  const { Endpoint, IndexedDbStorage, parseJson, writeJson } = await import("/dist/web.js");
  // Loads the engine that has archives.
  const { IndexedDbArchive } = useArchive ? await import("/dist/archive.js") : {};
  const { runner } = await import("/test/runner.js");
  const files = new Map();
  const read = async (path) => {
    if (!files.has(path)) {
      files.set(path, new Uint8Array(await (await fetch(`/${path}`)).arrayBuffer()));
    }
    return files.get(path);
  };
  const manifest = await (await fetch("/manifest.json")).json();
  const { createEndpoint, run, vectors } = runner(manifest, read, { parseJson, writeJson });
  const report = { passed: 0, failures: [] };
  for (const vector of vectors) {
    const options = { durability: "relaxed" };
    const storage = useDatabase ? await IndexedDbStorage.open(vector.name, options) : undefined;
    const archive = await IndexedDbArchive?.open(`${vector.name} archive`, options);
    const endpoint = await createEndpoint(Endpoint, vector, storage, archive);
    const { response, early } = await run(endpoint, vector);
    const expected = await read(vector.response);
    const isSame =
      response?.bytes.length === expected.length && response.bytes.every((byte, index) => byte === expected[index]);
    if (isSame && !early && response.kind === vector.kind) report.passed += 1;
    else report.failures.push(`${vector.name}: ${response?.kind} ${response?.text.slice(0, 200)}`);
    endpoint.dispose();
    storage?.close();
    archive?.close();
  }
  return report;
}
