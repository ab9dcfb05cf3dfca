// The size of the package, and the imports of its module.

import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { test } from "node:test";
import { importedModules, parts, sizes } from "../tools/size.js";

const dist = new URL("../dist/", import.meta.url);
const wasm = readFileSync(new URL("milepost.wasm", dist));
const verifier = readFileSync(new URL("verifier.wasm", dist));

/** Maximum size of the module after gzip, in bytes: 179,630 at the last change, 2.4 kB of it for
 *  tracked shards, which every surface has */
const BUDGET = 181_000;

test("the module is within its size budget", () => {
  const { raw, gzip, brotli } = sizes(wasm);
  console.log(`raw ${raw}, gzip ${gzip}, brotli ${brotli} bytes`);
  assert.ok(gzip <= BUDGET, `${gzip} bytes, the budget is ${BUDGET}; see node tools/size.js`);
});

/** Maximum size of the module that has archives after gzip, in bytes: 245,951 at the last change,
 *  53 kB of it the checks of storages and archives */
const ARCHIVE_BUDGET = 248_000;

test("the module that has archives is within its size budget", () => {
  const { raw, gzip, brotli } = sizes(readFileSync(new URL("archive.wasm", dist)));
  console.log(`raw ${raw}, gzip ${gzip}, brotli ${brotli} bytes`);
  assert.ok(gzip <= ARCHIVE_BUDGET, `${gzip} bytes, the budget is ${ARCHIVE_BUDGET}`);
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

/** Maximum size of the module that checks blocks after gzip, in bytes: 38,442 at the last change */
const VERIFIER_BUDGET = 40_000;

test("the module that checks blocks is within its size budget, and imports only its glue", () => {
  const { raw, gzip, brotli } = sizes(verifier);
  console.log(`raw ${raw}, gzip ${gzip}, brotli ${brotli} bytes`);
  assert.ok(gzip <= VERIFIER_BUDGET, `${gzip} bytes, the budget is ${VERIFIER_BUDGET}`);
  const modules = importedModules(verifier);
  assert.ok(!modules.includes("env"));
  assert.equal(modules.length, 1);
});

/** Maximum size of what checks answers after gzip, in bytes, its scripts too: 39,952 at the last
 *  change */
const PROOF_BUDGET = 40_000;

test("the entry that checks answers is within its size budget, and loads no engine", () => {
  const scripts = ["proof.js"];
  for (const name of scripts) {
    const imports = readFileSync(new URL(name, dist), "utf8").matchAll(/from"\.\/([^"]+)"/g);
    for (const [, imported] of imports) if (!scripts.includes(imported)) scripts.push(imported);
  }
  assert.ok(scripts.length > 1 && !scripts.includes("core.js"), scripts.join(" "));
  const files = ["proof.wasm", "proof-web.js", ...scripts].map((name) => readFileSync(new URL(name, dist)));
  const total = files.reduce((sum, bytes) => sum + sizes(bytes).gzip, 0);
  console.log(`gzip ${total} bytes, ${sizes(files[0]).gzip} of them the module`);
  assert.ok(total <= PROOF_BUDGET, `${total} bytes, the budget is ${PROOF_BUDGET}`);
  assert.equal(importedModules(files[0]).length, 1);
});

test("the engine is one module, and another one with archives, each check another, and the entries are small", () => {
  const files = readdirSync(dist);
  assert.deepEqual(files.filter((name) => name.endsWith(".wasm")).sort(), [
    "archive.wasm",
    "milepost.wasm",
    "proof.wasm",
    "verifier.wasm",
  ]);
  // The engine's entries load the engine's module only.
  for (const name of ["core.js", "core.cjs", "node.cjs", "node.js", "web.js", "workerd.js"]) {
    const text = readFileSync(new URL(name, dist), "utf8").replaceAll('fileHint("proof.wasm"', "");
    for (const module of ["archive.wasm", "verifier.wasm", "proof.wasm"]) assert.ok(!text.includes(module), name);
  }
  for (const name of [
    "node.cjs",
    "node.js",
    "slim.cjs",
    "slim.js",
    "slim-node.js",
    "web.js",
    "follow-node.js",
    ...["archive", "verifier", "proof"].flatMap((name) =>
      ["node.cjs", "node.js", "web.js", "workerd.js"].map((end) => `${name}-${end}`),
    ),
  ]) {
    assert.ok(statSync(new URL(name, dist)).size < 1_000, name);
  }
  // Paths of the machine that built it.
  for (const directory of ["root", "home", "Users"]) {
    for (const bytes of [wasm, verifier]) assert.ok(!bytes.includes(`/${directory}/`), directory);
  }
});
