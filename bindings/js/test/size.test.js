// The size of the package, and the imports of its module.

import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { test } from "node:test";
import { importedModules, parts, sizes } from "../tools/size.js";

const dist = new URL("../dist/", import.meta.url);
const wasm = readFileSync(new URL("milepost.wasm", dist));

/** Maximum size of the module after gzip, in bytes: 176,078 at the last change */
const BUDGET = 178_000;

test("the module is within its size budget", () => {
  const { raw, gzip, brotli } = sizes(wasm);
  console.log(`raw ${raw}, gzip ${gzip}, brotli ${brotli} bytes`);
  assert.ok(gzip <= BUDGET, `${gzip} bytes, the budget is ${BUDGET}; see node tools/size.js`);
});

test("the largest functions are listed by name", () => {
  const largest = parts(readFileSync(new URL("../build/names.wasm", import.meta.url))).slice(0, 20);
  assert.ok(largest.some(({ name }) => name.includes("milepost")));
  for (const { name, size } of largest) console.log(`${String(size).padStart(8)}  ${name}`);
});

test("the module imports only its glue", () => {
  const modules = importedModules(wasm);
  assert.ok(!modules.includes("env"));
  assert.equal(modules.length, 1);
});

/** Maximum size of the entry that follows feeds after gzip, in bytes: 6,470 at the last change */
const FOLLOW_BUDGET = 8_000;

test("the entry that follows feeds is within its size budget", () => {
  const { gzip } = sizes(readFileSync(new URL("follow.js", dist)));
  console.log(`gzip ${gzip} bytes`);
  assert.ok(gzip <= FOLLOW_BUDGET, `${gzip} bytes, the budget is ${FOLLOW_BUDGET}`);
  // Only who follows a feed loads it.
  for (const name of ["core.js", "web.js", "slim.js"]) {
    assert.ok(!readFileSync(new URL(name, dist), "utf8").includes("last_block"), name);
  }
});

test("there is one module and the entries are small", () => {
  const files = readdirSync(dist);
  assert.deepEqual(files.filter((name) => name.endsWith(".wasm")), ["milepost.wasm"]);
  for (const name of ["node.cjs", "node.js", "slim.cjs", "slim.js", "slim-node.js", "web.js", "follow-node.js"]) {
    assert.ok(statSync(new URL(name, dist)).size < 1_000, name);
  }
  // Paths of the machine that built it.
  for (const directory of ["root", "home", "Users"]) assert.ok(!wasm.includes(`/${directory}/`), directory);
});
