// What the schemas of `@near-js/jsonrpc-types` say about answers: they take them all, but for those that are
// listed here with the schemas' own reason.
//
// The answers are those of the shared vectors, which `vectors.test.js` shows to be the package's, byte for byte.
// Protocol configurations are left out: version 1.4.0 asks for members that nodes do not have any more
// (`avg_hidden_validator_seats_per_shard`, say), so it refuses those of nodes as well.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ActionViewSchema,
  EXPERIMENTALTxStatusResponseSchema,
  RpcErrorSchema,
  RpcTransactionResponseSchema,
  TxExecutionStatusSchema,
} from "@near-js/jsonrpc-types";
import { camelCased } from "./names.js";
import { read, vectors } from "./vectors.js";

const [result, error, response] = [
  RpcTransactionResponseSchema(),
  RpcErrorSchema(),
  EXPERIMENTALTxStatusResponseSchema(),
];
const takes = (schema, value) => schema.safeParse(value).success;

/** The results that are refused, by their vectors; each is shown to be refused for its reason alone */
const REFUSED = {
  "included-only": milestoneAlone,
  "included-only-reached": milestoneAlone,
  "kept-as-it-came": unknownActions,
};

/** The third kind of result that the interface has, and the schemas have not: nothing but the milestone */
function milestoneAlone(refused) {
  assert.deepEqual(Object.keys(refused), ["finalExecutionStatus"]);
  assert.ok(takes(TxExecutionStatusSchema(), refused.finalExecutionStatus));
}

/** Actions newer than the schemas: an answer shows what is on the chain, and without them it is taken */
function unknownActions(refused) {
  let unknown = 0;
  const without = (value) => {
    if (Array.isArray(value)) return value.map(without);
    if (value === null || typeof value !== "object") return value;
    const members = Object.entries(value).map(([name, member]) => {
      if (name !== "actions") return [name, without(member)];
      const known = member.filter((action) => takes(ActionViewSchema(), action));
      unknown += member.length - known.length;
      return [name, known];
    });
    return Object.fromEntries(members);
  };
  assert.ok(takes(result, without(refused)));
  assert.ok(unknown > 0);
}

/** All responses but protocol configurations; errors have one schema, whatever was asked */
const responses = vectors.flatMap(({ name, answer }) => {
  const body = JSON.parse(read(answer));
  const each = (Array.isArray(body) ? body : [body]).map(camelCased);
  return each.filter((body) => body.result?.chainId === undefined).map((body) => ({ name, body }));
});

test("every result about a transaction is taken, but for those that are listed", () => {
  const results = responses.filter(({ body }) => "result" in body);
  assert.ok(results.length > 70);
  const refused = results.filter(({ body }) => !takes(result, body.result));
  assert.deepEqual(refused.map(({ name }) => name).sort(), Object.keys(REFUSED).sort());
  for (const { name, body } of refused) REFUSED[name](body.result);
});

test("every error is taken", () => {
  const errors = responses.filter(({ body }) => "error" in body);
  assert.ok(errors.length > 100);
  for (const { name, body } of errors) assert.ok(takes(error, body.error), name);
});

test("a response is taken whole if its id is a string, which the schemas want it to be", () => {
  for (const { name, body } of responses) {
    const expected = typeof body.id === "string" && !(name in REFUSED);
    assert.equal(takes(response, body), expected, name);
  }
});

test("the schemas would refuse a milestone that is none, and an outcome without its status", () => {
  const { body } = responses.find(({ name }) => name === "milestone-final");
  assert.ok(takes(result, body.result));
  assert.ok(!takes(result, { ...body.result, finalExecutionStatus: "SOON" }));
  const changed = structuredClone(body.result);
  delete changed.transactionOutcome.outcome.status;
  assert.ok(!takes(result, changed));
});
