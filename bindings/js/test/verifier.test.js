// Blocks that are checked against their own hashes, by the verifier and by an endpoint.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { BlockError, Endpoint, MemoryStorage, UsageError } from "milepost";
import { loadVerifier } from "milepost/verifier";
import { startFeed } from "./feed-server.js";

/** Consecutive blocks of the practice chain, whose hashes, roots and paths are real */
const messages = [];

before(async () => {
  const feed = await startFeed("--quiet", "--interval", 20, "--age", 2_000);
  for (let height = feed.first; messages.length < 12; height += 1) {
    const text = await (await fetch(`${feed.url}/v0/block/${height}`)).text();
    if (text !== "null") messages.push(text);
  }
  feed.stop();
});
after(() => messages.splice(0));

/** A message with one member changed */
function changed(message, change) {
  const parsed = JSON.parse(message);
  change(parsed);
  return JSON.stringify(parsed);
}

test("blocks of a sound chain are verified, each after its parent", async () => {
  const verifier = await loadVerifier();
  for (const message of messages) {
    const { result, hash, error } = verifier.check(message);
    assert.deepEqual([result, error], ["verified", null]);
    assert.equal(hash, JSON.parse(message).block.header.hash);
  }
  assert.equal(verifier.check(Buffer.from(messages[0])).result, "verified");
});

test("what is wrong and what is missing is named", async () => {
  const verifier = await loadVerifier();
  const cases = [
    [changed(messages[3], ({ block }) => (block.header.gas_price = "7")), "wrong", /^block\.header\.hash$/],
    [
      changed(messages[3], ({ block }) => (block.header.chunk_tx_root = block.header.hash)),
      "wrong",
      /^block\.header\.chunk_tx_root$/,
    ],
    [changed(messages[3], ({ block }) => delete block.header.epoch_id), "unverifiable", /^block\.header/],
    [changed(messages[3], (message) => delete message.shards), "unverifiable", /^shards|^$/],
    ["{", "unverifiable", /^/],
    ["[".repeat(1e6), "unverifiable", /^/],
    ["", "unverifiable", /^/],
    [new Uint8Array([0xff, 0xfe]), "unverifiable", /^/],
  ];
  for (const [message, result, path] of cases) {
    const found = verifier.check(message);
    assert.equal(found.result, result, found.error?.message);
    assert.ok(found.error instanceof BlockError);
    assert.match(found.error.path, path);
    assert.ok(found.error.message.length > 10, found.error.message);
  }
  const wrong = verifier.check(cases[0][0]);
  assert.ok(wrong.error.message.includes(wrong.hash), wrong.error.message);
  // One wrong block does not spoil the next.
  assert.equal(verifier.check(messages[4]).result, "verified");
});

test("a member that the parent has is missed after a restart, if the parent is checked again", async () => {
  const lacking = changed(messages[4], ({ block }) => delete block.header.block_body_hash);
  const verifier = await loadVerifier();
  assert.equal(verifier.check(lacking).result, "unverifiable");
  const restarted = await loadVerifier();
  assert.equal(restarted.check(messages[3]).result, "verified");
  const { result, error } = restarted.check(lacking);
  assert.deepEqual([result, error.path], ["wrong", "block.header"]);
  assert.match(error.message, /missing field `block_body_hash`, which the parent has/);
});

test("an outcome that is wrong is found when a later header confirms the root", async () => {
  const verifier = await loadVerifier();
  const index = messages.findIndex((message) => message.includes('"gas_burnt":'));
  const wrong = messages[index].replace(/"gas_burnt":\d+/, '"gas_burnt":5');
  const results = [wrong, ...messages.slice(index + 1)].map((message) => verifier.check(message));
  const found = results.find(({ result }) => result === "wrong");
  assert.match(found.error.path, /^block\.chunks$|^shards\[/);
});

test("an endpoint reports or refuses by its setting", async () => {
  const wrong = changed(messages[1], ({ block }) => (block.header.gas_price = "7"));
  for (const isLocal of [true, false]) {
    for (const verify of ["off", "report", "strict"]) {
      const storage = isLocal ? undefined : new MemoryStorage();
      const verifier = verify === "off" ? undefined : await loadVerifier();
      const endpoint = await Endpoint.create({ storage, verifier, settings: { verify } });
      const { verification } = await endpoint.handleBlock(messages[0]);
      assert.equal(verification?.result, verify === "off" ? undefined : "verified");
      const imported = endpoint.handleBlock(wrong);
      if (verify === "strict") {
        await assert.rejects(imported, (error) => error instanceof BlockError && error.path === "block.header.hash");
        assert.equal((await endpoint.chainStatus()).head.height, BigInt(JSON.parse(messages[0]).block.header.height));
        assert.equal((await endpoint.handleBlock(messages[1])).verification.result, "verified");
      } else {
        const { verification: found } = await imported;
        assert.equal(found?.result ?? null, verify === "off" ? null : "wrong");
        if (isLocal)
          assert.equal(endpoint.handleBlockSync(messages[2]).verification?.result, found?.result && "verified");
      }
      endpoint.dispose();
    }
  }
});

test("blocks without the members that their hashes cover are not verified, and are imported", async () => {
  const lacking = changed(messages[0], ({ block }) => delete block.header.block_merkle_root);
  for (const verify of ["report", "strict"]) {
    const endpoint = await Endpoint.create({ verifier: await loadVerifier(), settings: { verify } });
    const { verification } = endpoint.handleBlockSync(lacking);
    assert.equal(verification.result, "unverifiable");
    assert.match(verification.error.path, /^block\.header/);
    assert.match(verification.error.message, /missing/);
    endpoint.dispose();
  }
});

test("a setting without a verifier, and a source that is none, are refused", async () => {
  const refused = (promise, pattern) =>
    assert.rejects(promise, (error) => error instanceof UsageError && pattern.test(error.message));
  await refused(Endpoint.create({ settings: { verify: "strict" } }), /^verifier: settings\.verify is strict/);
  await refused(
    Endpoint.create({ settings: { verify: "always" } }),
    /^settings\.verify: always, expected one of off, report, strict/,
  );
  await refused(loadVerifier(new Uint8Array(8)), /not WebAssembly; copy dist\/verifier\.wasm/);
  await refused(
    loadVerifier(readFileSync(new URL("../dist/milepost.wasm", import.meta.url))),
    /^the verifier cannot be loaded|another/,
  );
  const verifier = await loadVerifier();
  assert.throws(() => verifier.check(5), UsageError);
});
