// Methods of the host, and the errors of responses as data.

import assert from "node:assert/strict";
import test from "node:test";

import { Endpoint, MemoryStorage, MethodError, UsageError } from "milepost";

const HASH = "11111111111111111111111111111112";
const unknown = {
  id: "b",
  method: "tx",
  params: { tx_hash: HASH, sender_account_id: "alice.near", wait_until: "NONE" },
};

const methods = {
  echo: (/** @type {any} */ params) => params,
  later: async (/** @type {any} */ params, /** @type {any} */ { id }) => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    return { id, sum: params.reduce((/** @type {bigint} */ a, /** @type {number} */ b) => a + BigInt(b), 2n ** 60n) };
  },
  nothing: () => undefined,
  refuse: () => {
    throw new MethodError({ name: "HANDLER_ERROR", code: -1 }, "timeout");
  },
  fail: () => {
    throw new Error("no luck");
  },
};

for (const [name, storage] of /** @type {const} */ ([
  ["the memory of the endpoint", () => undefined],
  ["a storage of the host", () => new MemoryStorage()],
])) {
  test(`host and engine answer a batch by turns over ${name}`, async () => {
    const endpoint = await Endpoint.create({ methods, storage: storage() });
    const body = [
      { id: 1, method: "echo", params: { x: [1.5, null] } },
      unknown,
      { id: [3], method: "later", params: [1, 2] },
      { id: 4, method: "gone" },
      { id: 5, method: "refuse" },
      { id: 6, method: "nothing" },
      7,
      { id: 8, method: "fail" },
    ];
    for (const response of [
      await endpoint.handleRequest(/** @type {any} */ (body)),
      await endpoint.respond(JSON.stringify(body)),
    ]) {
      assert.ok(response);
      const { text } = response;
      assert.ok(text.startsWith('[{"jsonrpc":"2.0","result":{"x":[1.5,null]},"id":1},{'), text);
      assert.ok(text.includes(`{"jsonrpc":"2.0","result":{"id":[3],"sum":${2n ** 60n + 3n}},"id":[3]}`), text);
      assert.ok(text.includes('{"jsonrpc":"2.0","error":{"name":"HANDLER_ERROR","code":-1},"id":5}'), text);
      assert.ok(text.includes('{"jsonrpc":"2.0","result":null,"id":6}'), text);
      assert.equal(response.kind, "result");
      const none = { hash: null, height: null, shardId: null, limit: null };
      assert.deepEqual(response.errors, [
        { index: 1, name: "HANDLER_ERROR", cause: "UNKNOWN_TRANSACTION", ...none, hash: HASH },
        { index: 3, name: "REQUEST_VALIDATION_ERROR", cause: "METHOD_NOT_FOUND", ...none },
        { index: 4, name: "HANDLER_ERROR", cause: null, ...none },
        { index: 6, name: "REQUEST_VALIDATION_ERROR", cause: "PARSE_ERROR", ...none },
        { index: 7, name: "INTERNAL_ERROR", cause: null, ...none },
      ]);
    }
    const refused = await endpoint.handleRequest(/** @type {any} */ ({ id: 5, method: "refuse" }));
    assert.equal(refused.kind, "timeout");
    assert.equal(endpoint.pendingCount, 0);
    endpoint.dispose();
  });
}

for (const [name, storage] of /** @type {const} */ ([
  ["the memory of the endpoint", () => undefined],
  ["a storage of the host", () => new MemoryStorage()],
])) {
  test(`requests at the same time get their own responses over ${name}`, async () => {
    const shared = new Promise((resolve) => setTimeout(resolve, 1, "shared"));
    const endpoint = await Endpoint.create({
      methods: { ...methods, shared: async (/** @type {any} */ [own]) => [own, await shared] },
      storage: storage(),
    });
    const hashes = [...Array(8).keys()].map((id) => HASH.replace(/2$/, String(id + 1)));
    for (const call of /** @type {const} */ (["handleRequest", "respond"])) {
      const responses = await Promise.all(
        hashes.flatMap((hash, id) => [
          endpoint[call](/** @type {any} */ ({ id, method: "echo", params: ["x".repeat(id)] })),
          endpoint[call](/** @type {any} */ ({ id, method: "shared", params: ["y".repeat(id)] })),
          endpoint[call](/** @type {any} */ ({ ...unknown, id, params: { ...unknown.params, tx_hash: hash } })),
        ]),
      );
      for (const [id, hash] of hashes.entries()) {
        const [echo, answer, status] = responses.slice(3 * id, 3 * id + 3);
        assert.equal(echo?.text, `{"jsonrpc":"2.0","result":["${"x".repeat(id)}"],"id":${id}}`);
        assert.equal(answer?.text, `{"jsonrpc":"2.0","result":["${"y".repeat(id)}","shared"],"id":${id}}`);
        assert.equal(status?.errors[0]?.hash, hash);
        assert.ok(status?.text.endsWith(`"id":${id}}`), status?.text);
      }
    }
    endpoint.dispose();
  });

  test(`requests that wait at the same time each end over ${name}`, async () => {
    const endpoint = await Endpoint.create({ methods, storage: storage() });
    const wait = (/** @type {number} */ id, /** @type {object} */ options) =>
      endpoint.handleRequest(
        /** @type {any} */ ({ ...unknown, id, params: { ...unknown.params, wait_until: "FINAL" } }),
        options,
      );
    const abort = new AbortController();
    const aborted = wait(1, { timeout: 60_000, signal: abort.signal });
    const others = [wait(2, { timeout: 20 }), wait(3, { timeout: 20 })];
    await new Promise((resolve) => setTimeout(resolve, 1));
    assert.equal(endpoint.pendingCount, 3);
    abort.abort(new Error("enough"));
    await assert.rejects(aborted, /enough/);
    for (const [index, response] of (await Promise.all(others)).entries()) {
      assert.equal(response.kind, "timeout");
      assert.ok(response.text.endsWith(`"id":${index + 2}}`), response.text);
    }
    assert.equal(endpoint.pendingCount, 0);
    endpoint.dispose();
  });
}

test("an abort and the end of the endpoint reject a request that the host does not answer", async () => {
  const abort = new AbortController();
  const endpoint = await Endpoint.create({ methods: { never: () => new Promise(() => {}) } });
  const request = /** @type {any} */ ({ method: "never" });
  const aborted = endpoint.handleRequest(request, { signal: abort.signal });
  const disposed = endpoint.handleRequest(request);
  abort.abort(new Error("enough"));
  await assert.rejects(aborted, /enough/);
  endpoint.dispose();
  await assert.rejects(disposed, UsageError);
});

test("an error that cannot be written is an internal error, and large integers are exact", async () => {
  const cyclic = { self: {} };
  cyclic.self = cyclic;
  const endpoint = await Endpoint.create({
    methods: {
      ...methods,
      bare: () => {
        throw Object.create(null);
      },
      cyclic: () => {
        throw new MethodError(cyclic);
      },
    },
  });
  const body = `[{"id":18446744073709551615,"method":"echo","params":[18446744073709551615,7,1.5]},
    {"id":2,"method":"bare"},{"id":3,"method":"cyclic"}]`;
  const response = await endpoint.handleRequest(body);
  assert.ok(response.text.includes('"result":[18446744073709551615,7,1.5],"id":18446744073709551615}'), response.text);
  const causes = response.errors.map(({ index, name }) => [index, name]);
  assert.deepEqual(causes, [
    [1, "INTERNAL_ERROR"],
    [2, "INTERNAL_ERROR"],
  ]);
  endpoint.dispose();
});

test("a request that is aborted while the host answers is not handled", async () => {
  const abort = new AbortController();
  const endpoint = await Endpoint.create({
    methods: {
      stop: (_, { signal }) => {
        assert.equal(signal, abort.signal);
        abort.abort(new Error("enough"));
      },
    },
  });
  const request = endpoint.handleRequest(/** @type {any} */ ({ method: "stop" }), { signal: abort.signal });
  await assert.rejects(request, /enough/);
  assert.equal(endpoint.pendingCount, 0);
});

test("errors name the height, and what is no function is refused", async () => {
  const endpoint = await Endpoint.create();
  const config = { method: "EXPERIMENTAL_protocol_config", params: { block_id: 7 } };
  const response = endpoint.respondSync(/** @type {any} */ (config));
  assert.equal(response?.errors[0]?.height, 7n);
  const into = endpoint.respondInto(JSON.stringify(config), new Uint8Array(1000));
  assert.equal(into?.errors[0]?.cause, "UNKNOWN_BLOCK");
  // @ts-expect-error
  await assert.rejects(Endpoint.create({ methods: { echo: 7 } }), UsageError);
});
