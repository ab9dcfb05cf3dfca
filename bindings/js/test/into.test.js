// Answers in bytes of the caller's: the same answers, and nothing lost where the bytes are too few.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { Engine, MemoryStorage, UsageError } from "milepost";
import { block, request } from "./road.js";
import { read, setScene, vectors } from "./vectors.js";

const FILL = 0xee;
const room = (length) => new Uint8Array(length).fill(FILL);
const text = (bytes) => new TextDecoder().decode(bytes);

let engine;
/** The answer of the request that most tests ask: some 3 KiB, in the pieces of a settled transaction */
let expected;
const asked = request("FINAL");

before(async () => {
  engine = await Engine.create();
  for (const height of [100, 101, 102, 103, 104, 105, 106, 108, 109, 110]) engine.ingestSync(block(height));
  expected = engine.answerSync(asked).bytes;
  assert.match(text(expected), /"final_execution_status":"FINAL"/);
});

/** What lies in `into` is the answer, and nothing behind it was touched */
function holds(into, told, answer = expected) {
  assert.deepEqual(told, { class: "result", written: answer.length, overflow: null });
  assert.equal(text(into.slice(0, told.written)), text(answer));
  assert.ok(into.subarray(told.written).every((byte) => byte === FILL));
}

test("every answer at once is the same in bytes of the caller's", async () => {
  const into = new Uint8Array(1 << 20);
  const engines = new Map();
  let answered = 0;
  for (const vector of vectors) {
    const name = JSON.stringify([vector.scene, vector.settings]);
    if (!engines.has(name)) engines.set(name, await setScene(Engine, vector));
    const other = engines.get(name);
    const options = { pathMethod: vector.path_method };
    const body = read(vector.request);
    const answer = other.answerSync(body, options);
    const told = other.answerInto(body, into, options);
    assert.equal(told === null, answer === null, vector.name);
    if (!told) continue;
    answered += 1;
    assert.equal(told.class, answer.class, vector.name);
    assert.deepEqual(Buffer.from(into.buffer, 0, told.written), Buffer.from(answer.bytes), vector.name);
  }
  assert.ok(answered > 150, `${answered}`);
  for (const other of engines.values()) other.dispose();
});

test("into any kind of bytes: of Node.js, a part, shared", () => {
  const body = new TextEncoder().encode(JSON.stringify(asked));
  for (const into of [room(expected.length + 9), Buffer.alloc(100_000, FILL), new Uint8Array(new SharedArrayBuffer(50_000)).fill(FILL)]) {
    for (const form of [asked, JSON.stringify(asked), body, Buffer.from(body)]) {
      holds(into, engine.answerInto(form, into));
      into.fill(FILL);
    }
  }
  const whole = room(expected.length + 20);
  holds(whole.subarray(7), engine.answerInto(body, whole.subarray(7)));
  assert.ok(whole.subarray(0, 7).every((byte) => byte === FILL));
});

test("where the bytes are too few they stay as they are, and the answer is whole", () => {
  const exact = room(expected.length);
  holds(exact, engine.answerInto(asked, exact));
  for (const length of [expected.length - 1, 63, 1, 0]) {
    const into = room(length);
    const { class: kind, written, overflow } = engine.answerInto(asked, into);
    assert.deepEqual([kind, written, overflow.class], ["result", 0, "result"]);
    assert.deepEqual(overflow.bytes, expected);
    assert.ok(into.every((byte) => byte === FILL), `${length}`);
    // It is the caller's: what is asked later does not change it.
    engine.answerInto("{}", room(10_000));
    assert.deepEqual(overflow.bytes, expected);
  }
});

test("bytes that were transferred are none, of an answer and of a request", () => {
  const into = room(expected.length);
  structuredClone(into, { transfer: [into.buffer] });
  assert.deepEqual(engine.answerInto(asked, into).overflow.bytes, expected);
  const body = new TextEncoder().encode(JSON.stringify(asked));
  structuredClone(body, { transfer: [body.buffer] });
  assert.equal(engine.answerInto(body, room(1_000)).class, "request_validation");
  assert.equal(engine.answerSync(body).text, engine.answerSync("").text);
});

test("a request may ask the engine while it is written, and take the bytes away", async () => {
  const other = await Engine.create();
  const into = room(expected.length);
  const nested = room(10_000);
  const meddling = {
    ...asked,
    toJSON() {
      assert.equal(engine.answerInto({ ...asked, method: "tx" }, nested).class, "result");
      assert.equal(other.answerInto({}, nested).class, "request_validation");
      assert.equal(engine.answerSync("[").class, "request_validation");
      return asked;
    },
  };
  holds(into, engine.answerInto(meddling, into));
  const taking = { toJSON: () => (structuredClone(into, { transfer: [into.buffer] }), asked) };
  assert.deepEqual(engine.answerInto(taking, into).overflow.bytes, expected);
  const failing = { toJSON: () => { throw new RangeError("not now"); } };
  assert.throws(() => engine.answerInto(failing, nested), { name: "RangeError" });
  other.dispose();
});

test("what bytes say of themselves is not believed", () => {
  class Boasting extends Uint8Array {
    get length() {
      engine.answerSync("{}");
      return 1 << 30;
    }
    set() {
      throw new Error("not asked for");
    }
    static get [Symbol.species]() {
      throw new Error("not asked for");
    }
  }
  const few = new Boasting(10);
  assert.deepEqual(engine.answerInto(asked, few).overflow.bytes, expected);
  const enough = new Boasting(expected.length);
  assert.equal(engine.answerInto(asked, enough).written, expected.length);
  assert.equal(text(new Uint8Array(enough.buffer)), text(expected));
  const body = new Boasting(new TextEncoder().encode(JSON.stringify(asked)).buffer);
  assert.deepEqual(engine.answerSync(body).bytes, expected);
  const posing = { [Symbol.toStringTag]: "Uint8Array", length: 100_000, set() {}, buffer: new ArrayBuffer(100_000) };
  for (const into of [posing, new Uint16Array(9_000), new ArrayBuffer(9_000), new DataView(new ArrayBuffer(9)), [], "into", null, undefined]) {
    assert.throws(() => engine.answerInto(asked, into), UsageError);
  }
  assert.throws(() => engine.answerInto(new Uint16Array(9), room(9)), UsageError);
});

test("memory that grows while a request is put in or an answer is made is found again", async () => {
  const fresh = await Engine.create({ settings: { maxBatch: 3_000 } });
  for (const height of [100, 101, 102, 103, 104, 105, 106, 108, 109, 110]) fresh.ingestSync(block(height));
  const into = room(1 << 24);
  // Each is larger than all memory before: as bytes, as a long text, in letters of three bytes.
  const padded = (padding) => JSON.stringify({ ...asked, params: { ...asked.params, note: padding } });
  for (const body of [
    new TextEncoder().encode(padded("x".repeat(4 << 20))),
    padded("y".repeat(8 << 20)),
    padded("\u20ac".repeat(16_000)),
    padded("\u20ac".repeat(8 << 20)),
  ]) {
    holds(into, fresh.answerInto(body, into));
    into.fill(FILL, 0, expected.length);
    assert.deepEqual(fresh.answerSync(asked).bytes, expected);
  }
  // The answer is larger than all memory before.
  const all = fresh.answerInto(new Array(3_000).fill(asked), into);
  assert.deepEqual([all.class, all.overflow], ["result", null]);
  assert.equal(all.written, 3_000 * (expected.length + 1) + 1);
  assert.equal(text(into.slice(1, 1 + expected.length)), text(expected));
  assert.equal(text(into.slice(all.written - 1 - expected.length, all.written - 1)), text(expected));
  fresh.dispose();
});

test("text that is not ASCII comes in whole", () => {
  for (const id of ["\u00e9", "\u20ac".repeat(20), "\u{1f6a9}", "\ud800"]) {
    const body = `{"id":"${id}","method":"block"}`;
    const [bytes, into] = [new TextEncoder().encode(body), room(1_000)];
    const { written } = engine.answerInto(body, into);
    assert.equal(text(into.slice(0, written)), engine.answerSync(bytes).text);
    assert.ok(text(into.slice(0, written)).includes(text(new TextEncoder().encode(id))));
  }
});

test("a request that would have to wait gets nothing, and one without an engine neither", async () => {
  const into = room(100);
  assert.equal(engine.answerInto(request("FINAL", "11111111111111111111111111111111"), into), null);
  assert.ok(into.every((byte) => byte === FILL));
  const remote = await Engine.create({ storage: new MemoryStorage() });
  assert.throws(() => remote.answerInto(asked, into), UsageError);
  remote.dispose();
  const gone = await Engine.create();
  gone.dispose();
  assert.throws(() => gone.answerInto(asked, into), UsageError);
});
