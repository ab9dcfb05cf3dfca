// The discovery documents of the server are valid, and say what the engine does.
//
// Published validators accept both documents: the meta-schema of OpenRPC, and a validator of
// OpenAPI. The response of every shared vector is valid by the schema of its method, except those
// with members of another type, which are served as they came. Needs the server's program in
// `SERVER_PROGRAM`.

import assert from "node:assert/strict";
import { test } from "node:test";
import metaSchema from "@open-rpc/meta-schema";
import { Validator } from "@seriousme/openapi-schema-validator";
import Ajv from "ajv";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { program, startServer } from "./server.js";
import { read, vectors } from "./vectors.js";

if (!program) throw new Error("SERVER_PROGRAM names no program");
const server = await startServer("--follow", "practice");
const documentAt = async (path) => (await fetch(server.url + path)).json();
const [openrpc, openapi] = await Promise.all(["/openrpc.json", "/openapi.json"].map(documentAt));
server.stop();

/** A validator of the components of a document, by their names */
function components(Validator, document) {
  const ajv = new Validator.default({ strict: false, allErrors: false });
  addFormats.default(ajv);
  ajv.addFormat("uint64", true);
  ajv.addSchema({ $id: "milepost", components: document.components });
  return (name) => ajv.getSchema(`milepost#/components/schemas/${name}`);
}

test("the OpenRPC document is valid by the published meta-schema", () => {
  const { default: schema } = metaSchema;
  const ajv = new Ajv.default({ strict: false });
  addFormats.default(ajv);
  // The meta-schema refers to that of JSON Schema by two spellings of an address, and by a name of
  // its own.
  const draft7 = ajv.getSchema("http://json-schema.org/draft-07/schema").schema;
  const JSONSchemaObject = { properties: { $ref: draft7.properties.$ref } };
  const definitions = { ...draft7.definitions, JSONSchemaObject };
  for (const $id of ["https://meta.json-schema.tools", "https://meta.json-schema.tools/"]) {
    ajv.addSchema({ ...draft7, definitions, $id });
  }
  const validate = ajv.compile(schema);
  assert.ok(validate(openrpc), JSON.stringify(validate.errors));
  assert.ok(!validate({ ...openrpc, methods: [{ name: "a" }] }));
});

test("the OpenAPI document is valid by a published validator", async () => {
  const validate = (document) => new Validator().validate(structuredClone(document));
  const { valid, errors } = await validate(openapi);
  assert.ok(valid, JSON.stringify(errors));
  assert.ok(!(await validate({ ...openapi, paths: { "/tx": { get: { responses: 5 } } } })).valid);
});

test("every reference leads to a component", () => {
  for (const document of [openrpc, openapi]) {
    const references = JSON.stringify(document).match(/(?<="\$ref":")[^"]*/g);
    assert.ok(references.length > 200);
    for (const reference of new Set(references)) {
      const parts = reference.split("/").slice(1);
      assert.ok(
        parts.reduce((value, part) => value?.[part], document),
        reference,
      );
    }
  }
});

/** Members of another type than the interface has, which are served as they came in the block */
const RETYPED = ["retyped-members"];

for (const [name, document, Validator] of [
  ["OpenRPC", openrpc, Ajv],
  ["OpenAPI", openapi, Ajv2020],
]) {
  const schema = components(Validator, document);
  const method = (name) => document.methods?.find((method) => method.name === name);

  test(`every response is valid by the ${name} document`, () => {
    let [results, errors] = [0, 0];
    const rejected = [];
    for (const vector of vectors) {
      const body = JSON.parse(read(vector.response));
      for (const response of Array.isArray(body) ? body : [body]) {
        const isConfig = response.result?.chain_id !== undefined;
        const type = isConfig ? "RpcProtocolConfigResponse" : "RpcTransactionResponse";
        const validate = schema("error" in response ? "RpcError" : type);
        if (!validate(response.error ?? response.result)) rejected.push(vector.name);
        "error" in response ? errors++ : results++;
        if (name === "OpenAPI") {
          assert.equal(schema("RpcResponse")(response), !rejected.includes(vector.name), vector.name);
        }
      }
    }
    assert.ok(results > 70 && errors > 100);
    assert.deepEqual(rejected, RETYPED);
  });

  test(`the ${name} document rejects what differs from it`, () => {
    const { result } = JSON.parse(read("responses/milestone-final.json"));
    const validate = schema("RpcTransactionResponse");
    const changed = (change) => {
      const copy = structuredClone(result);
      change(copy);
      return validate(copy);
    };
    assert.ok(changed(() => {}));
    assert.ok(changed((copy) => (copy.transaction.newer = { any: 1 })));
    assert.ok(changed((copy) => (copy.transaction_outcome.outcome.status = { Newer: {} })));
    assert.ok(changed((copy) => (copy.transaction.actions = ["Newer"])));
    assert.ok(!changed((copy) => (copy.final_execution_status = "SOON")));
    assert.ok(!changed((copy) => delete copy.transaction.hash));
    assert.ok(!changed((copy) => delete copy.status));
    assert.ok(!changed((copy) => (copy.transaction.nonce = "7")));
    assert.ok(!changed((copy) => (copy.transaction_outcome.outcome.status = { SuccessValue: 5 })));
    assert.ok(!changed((copy) => (copy.transaction.actions = [{ Transfer: {} }])));
    assert.ok(!changed((copy) => (copy.transaction.actions = ["Transfer"])));
    const { error } = JSON.parse(read("responses/unknown-transaction.json"));
    assert.ok(schema("RpcError")(error));
    assert.ok(!schema("RpcError")({ ...error, code: -32601 }));
    assert.ok(!schema("RpcError")({ ...error, cause: { name: "UNKNOWN_TRANSACTION" } }));
  });

  if (document !== openrpc) continue;
  test("the examples of every method are valid by its params and its result", () => {
    for (const { name, examples = [] } of openrpc.methods) {
      const type = method(name).result.schema.$ref?.split("/").at(-1);
      for (const example of examples) {
        assert.ok(schema(type)(example.result.value), example.name);
        for (const { name: param, value } of example.params) {
          const declared = method(name).params.find((it) => it.name === param);
          const ajv = new Ajv.default({ strict: false });
          ajv.addFormat("uint64", true);
          const root = { ...declared.schema, components: openrpc.components };
          assert.ok(ajv.validate(root, value), `${example.name}: ${param}`);
        }
      }
    }
    const names = openrpc.methods.filter((method) => method.examples).map((method) => method.name);
    assert.deepEqual(names, ["EXPERIMENTAL_tx_status", "tx_status", "tx", "EXPERIMENTAL_protocol_config"]);
  });
}
