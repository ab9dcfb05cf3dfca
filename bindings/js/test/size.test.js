// What the package weighs, and what its module wants from outside.

import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { test } from "node:test";
import { importedModules, parts, weigh } from "../tools/size.js";

const dist = new URL("../dist/", import.meta.url);
const wasm = readFileSync(new URL("milepost.wasm", dist));

/** Bytes of the module behind gzip: what a page can afford */
const BUDGET = 178_000;

test("the module keeps to its budget", () => {
  const { raw, gzip, brotli } = weigh(wasm);
  console.log(`raw ${raw}, gzip ${gzip}, brotli ${brotli} bytes`);
  assert.ok(gzip <= BUDGET, `${gzip} bytes, the budget is ${BUDGET}; see node tools/size.js`);
});

test("what is heavy can be said by its name", () => {
  const heaviest = parts(readFileSync(new URL("../build/names.wasm", import.meta.url))).slice(0, 20);
  assert.ok(heaviest.some(({ name }) => name.includes("milepost")));
  for (const { name, size } of heaviest) console.log(`${String(size).padStart(8)}  ${name}`);
});

test("the module wants nothing but its glue", () => {
  const modules = importedModules(wasm);
  assert.ok(!modules.includes("env"));
  assert.equal(modules.length, 1);
});

test("there is one module, and the loaders are tiny", () => {
  const files = readdirSync(dist);
  assert.deepEqual(files.filter((name) => name.endsWith(".wasm")), ["milepost.wasm"]);
  for (const name of ["node.cjs", "node.js", "slim.cjs", "slim.js", "slim-node.js", "web.js"]) {
    assert.ok(statSync(new URL(name, dist)).size < 1_000, name);
  }
  // Nor does it say where it was made.
  for (const place of ["root", "home", "Users"]) assert.ok(!wasm.includes(`/${place}/`), place);
});
