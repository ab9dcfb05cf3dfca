// All shared vectors in Chromium, over the engine's own memory and over a database of the browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { inBrowser, serve } from "./browser.js";
import { vectors } from "./vectors.js";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

for (const storage of ["memory", "a database"]) {
  test(`all vectors are answered in Chromium over ${storage}`, async (context) => {
    const server = await serve(here(".."), here("../../../tests/vectors"));
    try {
      const report = await inBrowser(server.address().port, (page) =>
        page.evaluate(runAll, storage === "a database"),
      );
      if (!report) return context.skip("there is no Chromium here");
      assert.deepEqual(report.failures, []);
      assert.equal(report.passed, vectors.length);
    } finally {
      server.close();
    }
  });
}

/** Runs in the page */
async function runAll(inDatabase) {
  const { Engine, IndexedDbStorage } = await import("/dist/web.js");
  const { runner } = await import("/test/runner.js");
  const files = new Map();
  const read = async (path) => {
    if (!files.has(path)) {
      files.set(path, new Uint8Array(await (await fetch(`/${path}`)).arrayBuffer()));
    }
    return files.get(path);
  };
  const manifest = await (await fetch("/manifest.json")).json();
  const { setScene, ask } = runner(manifest, read);
  const report = { passed: 0, failures: [] };
  for (const vector of manifest.vectors) {
    const options = { durability: "relaxed" };
    const storage = inDatabase ? await IndexedDbStorage.open(vector.name, options) : undefined;
    const engine = await setScene(Engine, vector, storage);
    const { answer, early } = await ask(engine, vector);
    const expected = await read(vector.answer);
    const isSame =
      answer?.bytes.length === expected.length &&
      answer.bytes.every((byte, index) => byte === expected[index]);
    if (isSame && !early && answer.class === vector.class) report.passed += 1;
    else report.failures.push(`${vector.name}: ${answer?.class} ${answer?.text.slice(0, 200)}`);
    engine.dispose();
    storage?.close();
  }
  return report;
}
