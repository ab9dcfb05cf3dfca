// All shared vectors, over each kind of storage: the same bytes as everywhere else.

import "fake-indexeddb/auto";
import assert from "node:assert/strict";
import { test } from "node:test";
import { Engine, IndexedDbStorage, MemoryStorage } from "milepost";
import { ask, read, setScene, vectors } from "./vectors.js";
import { SlowStorage } from "./slow.js";

let databases = 0;

const storages = {
  "the engine's own memory": () => undefined,
  "a map": () => new MemoryStorage(),
  "a storage that yields": () => new SlowStorage(),
  "a database": () => IndexedDbStorage.open(`vectors ${(databases += 1)}`),
};

for (const [name, open] of Object.entries(storages)) {
  test(`all vectors are answered over ${name}`, async () => {
    for (const vector of vectors) {
      // Each scene is a database, and the stand-in for one is slow.
      if (name === "a database" && vector.wait === undefined && vectors.indexOf(vector) % 8) continue;
      const engine = await setScene(Engine, vector, await open());
      const { answer, early } = await ask(engine, vector);
      assert.equal(early, false, `${vector.name}: should wait, but answers at once`);
      assert.ok(answer, `${vector.name}: should answer at once, but waits`);
      assert.equal(answer.text, read(vector.answer).toString(), vector.name);
      assert.deepEqual(Buffer.from(answer.bytes), read(vector.answer), vector.name);
      assert.equal(answer.class, vector.class, vector.name);
      assert.equal(engine.open, 0, vector.name);
      engine.dispose();
    }
    assert.ok(vectors.length > 200);
  });
}
