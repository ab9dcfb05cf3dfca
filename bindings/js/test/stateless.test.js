// Requests, transactions and numbers, without an endpoint.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  decodeTransaction,
  Endpoint,
  ErrorCode,
  methodNames,
  parseJson,
  RequestError,
  TransactionError,
  UsageError,
  validateRequest,
  version,
  writeJson,
} from "milepost";
import { readFileSync } from "node:fs";
import { read, vectors } from "./vectors.js";

const SIGNED = JSON.parse(read("requests/lookup-signed.json")).params.signed_tx_base64;

test("the version is the same everywhere", () => {
  const text = (path) => readFileSync(new URL(path, import.meta.url), "utf8");
  assert.equal(version, JSON.parse(text("../package.json")).version);
  assert.ok(text("../../../Cargo.toml").includes(`\nversion = "${version}"\n`));
});

test("validateRequest returns a summary of the request", () => {
  const summary = validateRequest(read("requests/lookup-signed.json"));
  assert.equal(summary.method, "transaction_status");
  assert.equal(summary.senderId, summary.signed.signerId);
  assert.equal(summary.hash, summary.signed.hash);
  const byHash = validateRequest({
    id: 2n ** 64n,
    method: "tx",
    params: ["11111111111111111111111111111111", "alice.near"],
  });
  assert.deepEqual(byHash, {
    method: "transaction_status",
    id: 2n ** 64n,
    hash: "11111111111111111111111111111111",
    senderId: "alice.near",
    waitUntil: "EXECUTED_OPTIMISTIC",
    receipts: false,
    signed: null,
  });
  const method = "EXPERIMENTAL_protocol_config";
  const block = (params) => validateRequest({ id: 7, method, params }).block;
  assert.deepEqual(block({ block_id: 2n ** 64n - 1n }), { height: 2n ** 64n - 1n });
  assert.deepEqual(block({ finality: "near-final" }), { finality: "near-final" });
  assert.deepEqual(block({ sync_checkpoint: "genesis" }), { syncCheckpoint: "genesis" });
  assert.equal(validateRequest({ id: 7, method, params: { finality: "final" } }).id, 7);
  assert.ok(methodNames().includes(method));
});

test("validateRequest accepts exactly the requests that an endpoint does not reject as invalid", async () => {
  const endpoint = await Endpoint.create();
  let rejected = 0;
  for (const vector of vectors) {
    const body = new Uint8Array(read(vector.request));
    const options = { urlMethod: vector.url_method };
    const response = await endpoint.handleRequest(body, { ...options, timeout: 1 });
    if (response.text.startsWith("[") || vector.settings?.max_batch) continue;
    const check = () => validateRequest(body, options);
    if (response.kind !== "request_validation") {
      check();
      continue;
    }
    rejected += 1;
    assert.throws(check, (error) => {
      assert.ok(error instanceof RequestError, vector.name);
      assert.ok(error.code >= ErrorCode.SYNTAX && error.code <= ErrorCode.LIMIT, vector.name);
      assert.match(error.path, /^(request|params)/, vector.name);
      const { error: rpcError } = response.json();
      if (rpcError.cause.name === "PARSE_ERROR") {
        assert.ok(rpcError.cause.info.error_message.endsWith(error.message), vector.name);
      }
      return true;
    });
  }
  assert.ok(rejected > 50, `${rejected}`);
  endpoint.dispose();
});

test("transactions are decoded from base64 and from bytes", () => {
  const decoded = decodeTransaction(SIGNED);
  assert.deepEqual(decodeTransaction(Buffer.from(SIGNED, "base64")), decoded);
  assert.equal(decoded.signatureValid, true);
  assert.equal(typeof decoded.nonce, "bigint");
  const view = JSON.parse(decoded.json);
  assert.equal(view.hash, decoded.hash);
  assert.equal(view.signature, decoded.signature);
  assert.equal(view.actions.length, decoded.actions.length);
  assert.ok(decoded.blockHash.length >= 32);
  const broken = Buffer.from(SIGNED, "base64");
  broken[broken.length - 1] ^= 1;
  assert.equal(decodeTransaction(broken).signatureValid, false);
});

test("errors of decodeTransaction have a path and an offset", () => {
  assert.throws(
    () => decodeTransaction(Buffer.from(SIGNED, "base64").subarray(0, 100)),
    (error) => {
      assert.ok(error instanceof TransactionError);
      assert.ok(error.offset > 0 && error.path.length > 0, error.message);
      return true;
    },
  );
  assert.throws(() => decodeTransaction("*"), { name: "TransactionError", code: ErrorCode.VALUE });
  assert.throws(() => decodeTransaction(7), UsageError);
  assert.throws(() => validateRequest(null), UsageError);
  assert.throws(() => validateRequest("[]"), RequestError);
});

test("signatureValid is null for a scheme that this build does not verify", () => {
  // Version 1, secp256k1, signed with the node's crates.
  const text =
    "AQoAAABhbGljZS5uZWFyAcUzHsQaFwBOzqTGQaRhU+Utz0YezaNXk11QAEtaDy3FIL+kTLq48lZ9dOZ2BZMiyGx6" +
    "etfzmOzVZAl1OLKU5OkBBwAAAAAAAAADAAgAAABib2IubmVhcklqyoDk2PKfuOjNgWw6+0jT8QOXCzou4WAMCMpn" +
    "Mm3uAQAAAAMBAAAAAAAAAAAAAAAAAAAAAQGYrZSBIAzRHScIGvdDkGQOG3Tp8NaW0hENCzHP2cmyDjqmeQ9B17iK" +
    "sidj9i4rB/HXnYdjWxKh1LYaYJvwQBukAQ==";
  const decoded = decodeTransaction(text);
  assert.equal(decoded.signatureValid, null);
  assert.deepEqual([decoded.nonceIndex, decoded.nonceMode], [3, "strict"]);
});

test("integers of any size are exact with bigint", () => {
  const text =
    '{"a":18446744073709551615,"b":[-1,0,1.5,1e-3,true,null],"123":"s1","i5":"i5",' +
    '"q":"\\"7\\\\","u":"\\u0069\\u0031","":{"x" : 9007199254740993}}';
  const value = parseJson(text, { bigint: true });
  assert.deepEqual(value, {
    a: 18446744073709551615n,
    b: [-1n, 0n, 1.5, 0.001, true, null],
    123: "s1",
    i5: "i5",
    q: '"7\\',
    u: "i1",
    "": { x: 9007199254740993n },
  });
  assert.deepEqual(parseJson(writeJson(value), { bigint: true }), value);
  assert.equal(parseJson(" 7 ", { bigint: true }), 7n);
  assert.equal(parseJson("1e3", { bigint: true }), 1000);
  assert.equal(parseJson('"7"', { bigint: true }), "7");
  assert.deepEqual(parseJson(text), JSON.parse(text));
  assert.equal(
    writeJson({ a: [undefined, 1n], b: undefined, c: new Date(0) }),
    '{"a":[null,1],"c":"1970-01-01T00:00:00.000Z"}',
  );
  for (const value of [[, 1], new Array(2)]) assert.equal(writeJson(value), JSON.stringify(value));
});

test("invalid JSON is rejected with bigint, too", () => {
  for (const text of [
    "",
    "{",
    "{1:2}",
    "[01]",
    "[1-2]",
    "[- 1]",
    '{"a":1}1',
    '"a"1',
    "[1,]",
    "tru1",
    '"',
    '{"a" 1}',
    "1 2",
  ]) {
    assert.throws(() => parseJson(text, { bigint: true }), SyntaxError, text);
  }
});

test("every response is the same with bigint as without, except rounding", () => {
  for (const vector of vectors) {
    const text = read(vector.response).toString();
    const exact = parseJson(text, { bigint: true });
    const rounded = (value) =>
      typeof value === "bigint"
        ? Number(value)
        : Array.isArray(value)
          ? value.map(rounded)
          : value !== null && typeof value === "object"
            ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, rounded(member)]))
            : value;
    assert.deepEqual(rounded(exact), JSON.parse(text), vector.name);
  }
});
