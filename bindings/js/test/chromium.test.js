// All shared vectors in Chromium, with the storage in memory and with IndexedDB.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { inBrowser, serve } from "./browser.js";
import { vectors } from "./vectors.js";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

for (const storage of ["memory", "IndexedDB"]) {
  test(`all vectors pass in Chromium with ${storage}`, async (context) => {
    const server = await serve(here(".."), here("../../../tests/vectors"));
    try {
      const report = await inBrowser(server.address().port, (page) =>
        page.evaluate(runAll, storage === "IndexedDB"),
      );
      if (!report) return context.skip("Chromium is not installed");
      assert.deepEqual(report.failures, []);
      assert.equal(report.passed, vectors.length);
    } finally {
      server.close();
    }
  });
}

/** Runs all vectors; called in the page */
async function runAll(useDatabase) {
  const { Endpoint, IndexedDbStorage } = await import("/dist/web.js");
  const { runner } = await import("/test/runner.js");
  const files = new Map();
  const read = async (path) => {
    if (!files.has(path)) {
      files.set(path, new Uint8Array(await (await fetch(`/${path}`)).arrayBuffer()));
    }
    return files.get(path);
  };
  const manifest = await (await fetch("/manifest.json")).json();
  const { createEndpoint, run, vectors } = runner(manifest, read);
  const report = { passed: 0, failures: [] };
  for (const vector of vectors) {
    const options = { durability: "relaxed" };
    const storage = useDatabase ? await IndexedDbStorage.open(vector.name, options) : undefined;
    const endpoint = await createEndpoint(Endpoint, vector, storage);
    const { response, early } = await run(endpoint, vector);
    const expected = await read(vector.response);
    const isSame =
      response?.bytes.length === expected.length &&
      response.bytes.every((byte, index) => byte === expected[index]);
    if (isSame && !early && response.kind === vector.kind) report.passed += 1;
    else report.failures.push(`${vector.name}: ${response?.kind} ${response?.text.slice(0, 200)}`);
    endpoint.dispose();
    storage?.close();
  }
  return report;
}
