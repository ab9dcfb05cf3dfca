// The answers of a real node to all requests of its chains, from the folder in `NODE_VECTORS`.

import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { Endpoint } from "milepost";
import { SlowStorage } from "./slow-storage.js";
import { load } from "./vectors.js";

const folder = process.env.NODE_VECTORS ?? "";
const chains = existsSync(folder) ? readdirSync(folder) : [];

test("there are chains, or no shared folder", (context) => {
  if (chains.length === 0) context.diagnostic("left out: no shared folder");
  assert.ok(chains.length === 2 || process.env.MILEPOST_REQUIRE_SHARED !== "1");
});

for (const chain of chains) {
  for (const open of [() => undefined, () => new SlowStorage()]) {
    const { createEndpoint, read, run, vectors } = load(pathToFileURL(`${folder}/${chain}/`));
    test(`every answer of the chain ${chain} over ${open() ? "a slow storage" : "memory"}`, async () => {
      const endpoint = await createEndpoint(Endpoint, vectors[0], open());
      for (const vector of vectors) {
        const { response } = await run(endpoint, vector);
        // Not `assert.equal`: the difference of two texts of megabytes takes minutes.
        assert.ok(response.text === read(vector.response).toString(), vector.name);
      }
      endpoint.dispose();
    });
  }
}
