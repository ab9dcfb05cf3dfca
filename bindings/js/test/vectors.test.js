// All shared vectors with each kind of storage.

import "fake-indexeddb/auto";
import assert from "node:assert/strict";
import { test } from "node:test";
import { Endpoint, IndexedDbStorage, MemoryStorage } from "milepost";
import { createEndpoint, read, run, vectors } from "./vectors.js";
import { SlowStorage } from "./slow-storage.js";

let databases = 0;

const storages = {
  "the storage in memory": () => undefined,
  MemoryStorage: () => new MemoryStorage(),
  "an asynchronous storage": () => new SlowStorage(),
  IndexedDB: () => IndexedDbStorage.open(`vectors ${(databases += 1)}`),
};

for (const [name, open] of Object.entries(storages)) {
  test(`all vectors pass with ${name}`, async () => {
    for (const vector of vectors) {
      // The emulation of IndexedDB is slow.
      if (name === "IndexedDB" && vector.wait === undefined && vectors.indexOf(vector) % 8) continue;
      const endpoint = await createEndpoint(Endpoint, vector, await open());
      const { response, early } = await run(endpoint, vector);
      assert.equal(early, false, `${vector.name}: answered at once, expected to wait`);
      assert.ok(response, `${vector.name}: waits, expected a response at once`);
      assert.equal(response.text, read(vector.response).toString(), vector.name);
      assert.deepEqual(Buffer.from(response.bytes), read(vector.response), vector.name);
      assert.equal(response.kind, vector.kind, vector.name);
      assert.equal(endpoint.pendingCount, 0, vector.name);
      endpoint.dispose();
    }
    assert.ok(vectors.length > 200);
  });
}
