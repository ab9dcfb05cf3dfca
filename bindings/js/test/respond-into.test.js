// `respondInto` writes the same responses as `respondSync` returns, or returns them in `overflow`.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { Endpoint, MemoryStorage, UsageError } from "milepost";
import { block, HEIGHTS, request } from "./happy-path.js";
import { createEndpoint, read, vectors } from "./vectors.js";

const FILL = 0xee;
const filled = (length) => new Uint8Array(length).fill(FILL);
const text = (bytes) => new TextDecoder().decode(bytes);

let endpoint;
/** The response to `finalRequest`: some 3 KiB, in the chunks of a finalized transaction */
let expected;
const finalRequest = request("FINAL");

before(async () => {
  endpoint = await Endpoint.create();
  for (const height of HEIGHTS) endpoint.handleBlockSync(block(height));
  expected = endpoint.respondSync(finalRequest).bytes;
  assert.match(text(expected), /"final_execution_status":"FINAL"/);
});

/** Asserts that `into` starts with the expected response, and that the bytes after it were not
 *  changed */
function assertWritten(into, result) {
  assert.deepEqual(result, { kind: "result", errors: [], written: expected.length, overflow: null });
  assert.equal(text(into.slice(0, result.written)), text(expected));
  assert.ok(into.subarray(result.written).every((byte) => byte === FILL));
}

test("every response is the same as that of respondSync", async () => {
  const into = new Uint8Array(1 << 20);
  const endpoints = new Map();
  let responses = 0;
  for (const vector of vectors) {
    const name = JSON.stringify([vector.fixture, vector.settings]);
    if (!endpoints.has(name)) endpoints.set(name, await createEndpoint(Endpoint, vector));
    const other = endpoints.get(name);
    const options = { urlMethod: vector.url_method };
    const body = read(vector.request);
    const response = other.respondSync(body, options);
    const result = other.respondInto(body, into, options);
    assert.equal(result === null, response === null, vector.name);
    if (!result) continue;
    responses += 1;
    assert.equal(result.kind, response.kind, vector.name);
    assert.deepEqual(Buffer.from(into.buffer, 0, result.written), Buffer.from(response.bytes), vector.name);
  }
  assert.ok(responses > 150, `${responses}`);
  for (const other of endpoints.values()) other.dispose();
});

test("any kind of byte array is written to: a Buffer, a part of one, a shared one", () => {
  const body = new TextEncoder().encode(JSON.stringify(finalRequest));
  for (const into of [
    filled(expected.length + 9),
    Buffer.alloc(100_000, FILL),
    new Uint8Array(new SharedArrayBuffer(50_000)).fill(FILL),
  ]) {
    for (const form of [finalRequest, JSON.stringify(finalRequest), body, Buffer.from(body)]) {
      assertWritten(into, endpoint.respondInto(form, into));
      into.fill(FILL);
    }
  }
  const whole = filled(expected.length + 20);
  assertWritten(whole.subarray(7), endpoint.respondInto(body, whole.subarray(7)));
  assert.ok(whole.subarray(0, 7).every((byte) => byte === FILL));
});

test("an array that is too small is not changed, and the response is in overflow", () => {
  const exact = filled(expected.length);
  assertWritten(exact, endpoint.respondInto(finalRequest, exact));
  for (const length of [expected.length - 1, 63, 1, 0]) {
    const into = filled(length);
    const { kind, written, overflow } = endpoint.respondInto(finalRequest, into);
    assert.deepEqual([kind, written, overflow.kind], ["result", 0, "result"]);
    assert.deepEqual(overflow.bytes, expected);
    assert.ok(
      into.every((byte) => byte === FILL),
      `${length}`,
    );
    // A later request does not change it.
    endpoint.respondInto("{}", filled(10_000));
    assert.deepEqual(overflow.bytes, expected);
  }
});

test("a detached array has no bytes, as a request and as the target", () => {
  const into = filled(expected.length);
  structuredClone(into, { transfer: [into.buffer] });
  assert.deepEqual(endpoint.respondInto(finalRequest, into).overflow.bytes, expected);
  const body = new TextEncoder().encode(JSON.stringify(finalRequest));
  structuredClone(body, { transfer: [body.buffer] });
  assert.equal(endpoint.respondInto(body, filled(1_000)).kind, "request_validation");
  assert.equal(endpoint.respondSync(body).text, endpoint.respondSync("").text);
});

test("toJSON of a request may call the endpoint, detach the target or throw", async () => {
  const other = await Endpoint.create();
  const into = filled(expected.length);
  const nested = filled(10_000);
  const nesting = {
    ...finalRequest,
    toJSON() {
      assert.equal(endpoint.respondInto({ ...finalRequest, method: "tx" }, nested).kind, "result");
      assert.equal(other.respondInto({}, nested).kind, "request_validation");
      assert.equal(endpoint.respondSync("[").kind, "request_validation");
      return finalRequest;
    },
  };
  assertWritten(into, endpoint.respondInto(nesting, into));
  const detaching = { toJSON: () => (structuredClone(into, { transfer: [into.buffer] }), finalRequest) };
  assert.deepEqual(endpoint.respondInto(detaching, into).overflow.bytes, expected);
  const failing = {
    toJSON: () => {
      throw new RangeError("not now");
    },
  };
  assert.throws(() => endpoint.respondInto(failing, nested), { name: "RangeError" });
  other.dispose();
});

test("overridden members of a byte array are not used", () => {
  class Misleading extends Uint8Array {
    get length() {
      endpoint.respondSync("{}");
      return 1 << 30;
    }
    set() {
      throw new Error("not called");
    }
    static get [Symbol.species]() {
      throw new Error("not called");
    }
  }
  const small = new Misleading(10);
  assert.deepEqual(endpoint.respondInto(finalRequest, small).overflow.bytes, expected);
  const large = new Misleading(expected.length);
  assert.equal(endpoint.respondInto(finalRequest, large).written, expected.length);
  assert.equal(text(new Uint8Array(large.buffer)), text(expected));
  const body = new Misleading(new TextEncoder().encode(JSON.stringify(finalRequest)).buffer);
  assert.deepEqual(endpoint.respondSync(body).bytes, expected);
  const fake = { [Symbol.toStringTag]: "Uint8Array", length: 100_000, set() {}, buffer: new ArrayBuffer(100_000) };
  for (const into of [
    fake,
    new Uint16Array(9_000),
    new ArrayBuffer(9_000),
    new DataView(new ArrayBuffer(9)),
    [],
    "into",
    null,
    undefined,
  ]) {
    assert.throws(() => endpoint.respondInto(finalRequest, into), UsageError);
  }
  assert.throws(() => endpoint.respondInto(new Uint16Array(9), filled(9)), UsageError);
});

test("memory may grow while a request is written or answered", async () => {
  const fresh = await Endpoint.create({ settings: { maxBatch: 3_000 } });
  for (const height of HEIGHTS) fresh.handleBlockSync(block(height));
  const into = filled(1 << 24);
  // Each is larger than the memory so far: bytes, a long string, characters of three bytes.
  const padded = (padding) => JSON.stringify({ ...finalRequest, params: { ...finalRequest.params, note: padding } });
  for (const body of [
    new TextEncoder().encode(padded("x".repeat(4 << 20))),
    padded("y".repeat(8 << 20)),
    padded("\u20ac".repeat(16_000)),
    padded("\u20ac".repeat(8 << 20)),
  ]) {
    assertWritten(into, fresh.respondInto(body, into));
    into.fill(FILL, 0, expected.length);
    assert.deepEqual(fresh.respondSync(finalRequest).bytes, expected);
  }
  // The response is larger than the memory so far.
  const batch = fresh.respondInto(new Array(3_000).fill(finalRequest), into);
  assert.deepEqual([batch.kind, batch.overflow], ["result", null]);
  assert.equal(batch.written, 3_000 * (expected.length + 1) + 1);
  assert.equal(text(into.slice(1, 1 + expected.length)), text(expected));
  assert.equal(text(into.slice(batch.written - 1 - expected.length, batch.written - 1)), text(expected));
  fresh.dispose();
});

test("text that is not ASCII is encoded as UTF-8", () => {
  for (const id of ["\u00e9", "\u20ac".repeat(20), "\u{1f6a9}", "\ud800"]) {
    const body = `{"id":"${id}","method":"block"}`;
    const [bytes, into] = [new TextEncoder().encode(body), filled(1_000)];
    const { written } = endpoint.respondInto(body, into);
    assert.equal(text(into.slice(0, written)), endpoint.respondSync(bytes).text);
    assert.ok(text(into.slice(0, written)).includes(text(new TextEncoder().encode(id))));
  }
});

test("a request that would have to wait returns null, and other storages are an error", async () => {
  const into = filled(100);
  assert.equal(endpoint.respondInto(request("FINAL", "11111111111111111111111111111111"), into), null);
  assert.ok(into.every((byte) => byte === FILL));
  const remote = await Endpoint.create({ storage: new MemoryStorage() });
  assert.throws(() => remote.respondInto(finalRequest, into), UsageError);
  remote.dispose();
  const disposed = await Endpoint.create();
  disposed.dispose();
  assert.throws(() => disposed.respondInto(finalRequest, into), UsageError);
});
