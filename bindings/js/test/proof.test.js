// Answers that are checked by their proofs: the shared vectors, and what is particular here.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ErrorCode, MilepostError, UsageError } from "milepost";
import { loadAnswerVerifier } from "milepost/verifier";
import { proofs, read, verify } from "./vectors.js";

const verifier = await loadAnswerVerifier();

/** The texts and the known hashes of a vector */
function parts(name) {
  const vector = proofs.find((proof) => proof.name === name);
  const known = { transactionHash: vector.transaction_hash, blockHash: vector.block_hash };
  return [read(vector.answer).toString(), read(vector.proof).toString(), known];
}

test("the check of every proof finds what is declared", async () => {
  const found = await Promise.all(proofs.map((vector) => verify(verifier, vector)));
  assert.deepEqual(
    found.filter((difference) => difference !== null),
    [],
  );
  assert.ok(found.length > 60);
});

test("integers that are proven are exact, and amounts of tokens are strings", () => {
  const { proven } = verifier.verifyAnswer(...parts("complete"));
  const [own, receipt] = proven.outcomes;
  assert.deepEqual([own.gas_burnt, own.tokens_burnt], [2n ** 64n - 1n, String(2n ** 128n - 1n)]);
  assert.deepEqual([proven.block_height, receipt.confirmed_at], [24n, 21n]);
});

test("no changed bit of a proof is verified", () => {
  const [answer, proof, known] = parts("complete");
  const bytes = Buffer.from(proof);
  let rounded = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    bytes[index] ^= 1 << index % 8;
    const { result, proven, error } = verifier.verifyAnswer(answer, bytes, known);
    if (result === "verified") {
      // The time that nodes round, which no hash covers.
      assert.match(proof.slice(Math.max(0, index - 35), index + 30), /"timestamp":/);
      rounded += 1;
    } else assert.ok(proven === null && error instanceof MilepostError);
    bytes[index] ^= 1 << index % 8;
  }
  assert.ok(rounded < 80, `${rounded} bits of the rounded times`);
});

test("errors have a code, a place and both values", () => {
  const { error } = verifier.verifyAnswer(...parts("wrong-gas"));
  assert.equal(error.code, ErrorCode.CHAIN);
  assert.match(error.detail, /^expected the outcome root \w{43,44} of block \w{43,44}, found \w{43,44}$/);
  assert.equal(error.message, `${error.path}: ${error.detail}`);
  const [answer, proof, known] = parts("complete");
  const syntax = verifier.verifyAnswer(`${answer}\u{1f600}`, proof, known);
  assert.deepEqual([syntax.result, syntax.error.code], ["unverifiable", ErrorCode.SYNTAX]);
  assert.match(syntax.error.message, /\(byte \d+\)$/);
});

test("hashes that are none, and arguments of other types, are refused", () => {
  const [answer, proof, known] = parts("complete");
  for (const name of ["transactionHash", "blockHash"]) {
    for (const text of ["", "0", "\ud800", `${known[name]}1`]) {
      const { result, error } = verifier.verifyAnswer(answer, proof, { ...known, [name]: text });
      assert.deepEqual([result, error.path, error.code], ["unverifiable", `known.${name}`, ErrorCode.VALUE]);
    }
    assert.throws(() => verifier.verifyAnswer(answer, proof, { ...known, [name]: 1 }), UsageError);
  }
  assert.throws(() => verifier.verifyAnswer(answer, {}, known), UsageError);
  assert.throws(() => verifier.verifyAnswer(null, proof, known), UsageError);
  assert.throws(() => verifier.verifyAnswer(answer, proof), UsageError);
  assert.throws(() => verifier.verifyAnswer(answer, proof, { ...known, hash: "" }), UsageError);
});

test("texts of any depth and size are refused in bounded time", () => {
  const [answer, proof, known] = parts("complete");
  for (const text of [
    "[".repeat(1e6),
    `{"proof":${"[".repeat(1e5)}`,
    "\0".repeat(1e6),
    `{"headers":[${"{},".repeat(1e5)}`,
  ]) {
    assert.equal(verifier.verifyAnswer(text, proof, known).result, "unverifiable");
    assert.equal(verifier.verifyAnswer(answer, text, known).result, "unverifiable");
  }
  assert.equal(verifier.verifyAnswer(answer, proof, known).result, "verified");
});

test("a source that is another module is refused", async () => {
  await assert.rejects(loadAnswerVerifier(new Uint8Array(8)), /not WebAssembly; copy dist\/verifier\.wasm/);
  for (const name of ["milepost", "kit"]) {
    const bytes = readFileSync(new URL(`../dist/${name}.wasm`, import.meta.url));
    await assert.rejects(loadAnswerVerifier(bytes), (error) => error instanceof UsageError);
  }
});
