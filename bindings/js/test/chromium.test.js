// All shared vectors in Chromium, with the storage in memory, with IndexedDB, and with an archive
// in IndexedDB behind it, which is checked there, too.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { inBrowser, serve } from "./browser.js";
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
  const { loadAnswerVerifier } = await import("/dist/proof-web.js");
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

test("archives in IndexedDB and in memory meet the requirements in Chromium", async (context) => {
  const server = await serve(here(".."), here("../../../tests/vectors"));
  try {
    const report = await inBrowser(server.address().port, (page) => page.evaluate(checkArchives));
    if (!report) return context.skip("Chromium is not installed");
    assert.equal(report, "met");
  } finally {
    server.close();
  }
});

/** Checks the archives of the package; called in the page */
async function checkArchives() {
  const { IndexedDbArchive, MemoryArchive, checkArchive } = await import("/dist/archive-web.js");
  let databases = 0;
  const open = () => IndexedDbArchive.open(`check ${(databases += 1)}`, { durability: "relaxed" });
  const check = (create) => checkArchive(create).then(() => "met", String);
  const results = [await check(open), await check(() => new MemoryArchive())];
  return results.find((result) => result !== "met") ?? "met";
}

/** Runs all vectors; called in the page */
async function runAll(kind) {
  const useDatabase = kind !== "memory";
  const useArchive = kind === "IndexedDB and an archive";
  const { Endpoint, IndexedDbStorage, parseJson, writeJson } = await import("/dist/web.js");
  // Loads the engine that has archives.
  const { IndexedDbArchive } = useArchive ? await import("/dist/archive-web.js") : {};
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
