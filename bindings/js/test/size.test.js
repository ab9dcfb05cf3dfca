// The size of the package, and the imports of its module.

import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { test } from "node:test";
import { importedModules, namedParts, sizes } from "../tools/size.js";

const dist = new URL("../dist/", import.meta.url);
const wasm = readFileSync(new URL("milepost.wasm", dist));
const verifier = readFileSync(new URL("verifier.wasm", dist));
const follower = readFileSync(new URL("follow.wasm", dist));

/** Maximum size of the module after gzip, in bytes */
const BUDGET = 210_000;

test("the module is within its size budget", () => {
  const { raw, gzip, brotli } = sizes(wasm);
  console.log(`raw ${raw}, gzip ${gzip}, brotli ${brotli} bytes`);
  assert.ok(gzip <= BUDGET, `${gzip} bytes, the budget is ${BUDGET}; see node tools/size.js`);
});

test("the largest functions are listed by name", async () => {
  const largest = (await namedParts()).slice(0, 20);
  assert.ok(largest.some(({ name }) => name.includes("milepost")));
  for (const { name, size } of largest) console.log(`${String(size).padStart(8)}  ${name}`);
});

test("the module imports only its glue", () => {
  const modules = importedModules(wasm);
  assert.ok(!modules.includes("env"));
  assert.equal(modules.length, 1);
});

/** Maximum sizes of the module that follows feeds and of its script after gzip, in bytes: 62,812 and
 *  5,938 at the last change */
const FOLLOW_BUDGET = 64_000;
const FOLLOW_SCRIPT_BUDGET = 8_000;

test("the module that follows feeds and its script are within their size budgets", () => {
  const { raw, gzip, brotli } = sizes(follower);
  const { gzip: script } = sizes(readFileSync(new URL("follow.js", dist)));
  console.log(`raw ${raw}, gzip ${gzip}, brotli ${brotli} bytes; the script gzip ${script} bytes`);
  assert.ok(gzip <= FOLLOW_BUDGET, `${gzip} bytes, the budget is ${FOLLOW_BUDGET}`);
  assert.ok(script <= FOLLOW_SCRIPT_BUDGET, `${script} bytes, the budget is ${FOLLOW_SCRIPT_BUDGET}`);
  assert.equal(importedModules(follower).length, 1);
});

/** Maximum size of the module that checks blocks and answers after gzip, in bytes: 54,327 at the
 *  last change */
const VERIFIER_BUDGET = 55_000;

test("the entry that checks blocks and answers is within its size budget, and loads no engine", () => {
  const scripts = ["verifier.js"];
  for (const name of scripts) {
    const imports = readFileSync(new URL(name, dist), "utf8").matchAll(/from"\.\/([^"]+)"/g);
    for (const [, imported] of imports) if (!scripts.includes(imported)) scripts.push(imported);
  }
  assert.ok(scripts.length > 1 && !scripts.includes("core.js"), scripts.join(" "));
  const { raw, gzip, brotli } = sizes(verifier);
  console.log(`raw ${raw}, gzip ${gzip}, brotli ${brotli} bytes`);
  assert.ok(gzip <= VERIFIER_BUDGET, `${gzip} bytes, the budget is ${VERIFIER_BUDGET}`);
  assert.equal(importedModules(verifier).length, 1);
});

test("the engine, the verifier, the follower and the kit are a module each, and the entries are small", () => {
  const files = readdirSync(dist);
  assert.deepEqual(files.filter((name) => name.endsWith(".wasm")).sort(), [
    "follow.wasm",
    "kit.wasm",
    "milepost.wasm",
    "verifier.wasm",
  ]);
  // The engine's entries load the engine's module only.
  for (const name of ["core.js", "core.cjs", "node.cjs", "node.js", "web.js", "workerd.js"]) {
    const text = readFileSync(new URL(name, dist), "utf8").replaceAll('fileHint("verifier.wasm"', "");
    for (const module of ["follow.wasm", "kit.wasm", "verifier.wasm"]) assert.ok(!text.includes(module), name);
  }
  for (const name of [
    "node.cjs",
    "node.js",
    "slim.cjs",
    "slim.js",
    "slim-node.js",
    "web.js",
    "archive-node.js",
    ...["node.cjs", "node.js", "web.js"].flatMap((end) => [`follow-${end}`, `kit-${end}`, `verifier-${end}`]),
    "follow-workerd.js",
    "verifier-workerd.js",
  ]) {
    assert.ok(statSync(new URL(name, dist)).size < 1_000, name);
  }
  // Paths of the machine that built it.
  for (const directory of ["root", "home", "Users"]) {
    for (const bytes of [wasm, verifier, follower]) assert.ok(!bytes.includes(`/${directory}/`), directory);
  }
});
