// The schemas of `@near-js/jsonrpc-types` accept all responses except those that are listed here,
// each with the reason.
//
// The responses are those of the shared vectors; `vectors.test.js` shows that the package's are the
// same bytes. Protocol configurations are left out: version 1.4.0 requires members that nodes no
// longer send, such as `avg_hidden_validator_seats_per_shard`, so it rejects those of nodes, too.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ActionViewSchema,
  EXPERIMENTALTxStatusResponseSchema,
  RpcErrorSchema,
  RpcTransactionResponseSchema,
  TxExecutionStatusSchema,
} from "@near-js/jsonrpc-types";
import { camelCased } from "./camel-case.js";
import { read, vectors } from "./vectors.js";

const [result, error, response] = [
  RpcTransactionResponseSchema(),
  RpcErrorSchema(),
  EXPERIMENTALTxStatusResponseSchema(),
];
const accepts = (schema, value) => schema.safeParse(value).success;

const KNOWN_ERROR = { AccountDoesNotExist: { accountId: "a.test.near" } };

/** Checks by name of vector, for the results that are rejected: that there is no other reason */
const REJECTED = {
  "included-only": milestoneOnly,
  "included-only-reached": milestoneOnly,
  "kept-as-it-came": unknownActions,
  "node-state-init": unknownActions,
  "node-use-missing-global": unknownError,
  "node-withdraw-gas-key": unknownActions,
  "node-withdraw-too-much": (rejected) => unknownActions(withKnownErrors(rejected)),
  "retyped-members": retypedMembers,
};

/** The result has only the milestone, which the interface allows and the schemas do not */
function milestoneOnly(rejected) {
  assert.deepEqual(Object.keys(rejected), ["finalExecutionStatus"]);
  assert.ok(accepts(TxExecutionStatusSchema(), rejected.finalExecutionStatus));
}

/** The result has actions that are newer than the schemas; without them it is accepted */
function unknownActions(rejected) {
  let unknown = 0;
  const without = (value) => {
    if (Array.isArray(value)) return value.map(without);
    if (value === null || typeof value !== "object") return value;
    const members = Object.entries(value).map(([name, member]) => {
      if (name !== "actions") return [name, without(member)];
      const known = member.filter((action) => accepts(ActionViewSchema(), action));
      unknown += member.length - known.length;
      return [name, known];
    });
    return Object.fromEntries(members);
  };
  assert.ok(accepts(result, without(rejected)));
  assert.ok(unknown > 0);
}

/** The result has an error that is newer than the schemas; with a known one it is accepted */
function unknownError(rejected) {
  assert.ok(accepts(result, withKnownErrors(rejected)));
}

/** A copy in which every failed action has the same known error */
function withKnownErrors(result) {
  const replace = (name, member) => (name === "ActionError" ? { ...member, kind: KNOWN_ERROR } : member);
  return JSON.parse(JSON.stringify(result, replace));
}

/** The result has two members of another type, as they came in the block, and newer actions */
function retypedMembers(rejected) {
  const changed = structuredClone(rejected);
  const came = { kept: ["as", "it", "came"] };
  assert.deepEqual([changed.transaction.priorityFee, changed.receiptsOutcome[0].proof], [came, came]);
  changed.transaction.priorityFee = 0;
  changed.receiptsOutcome[0].proof = [];
  unknownActions(changed);
}

/** All responses except protocol configurations; errors of all methods have one schema */
const responses = vectors.flatMap(({ name, response }) => {
  const body = JSON.parse(read(response));
  const each = (Array.isArray(body) ? body : [body]).map(camelCased);
  return each.filter((body) => body.result?.chainId === undefined).map((body) => ({ name, body }));
});

test("every result of a transaction is accepted unless it is listed", () => {
  const results = responses.filter(({ body }) => "result" in body);
  assert.ok(results.length > 70);
  const rejected = results.filter(({ body }) => !accepts(result, body.result));
  assert.deepEqual(rejected.map(({ name }) => name).sort(), Object.keys(REJECTED).sort());
  for (const { name, body } of rejected) REJECTED[name](body.result);
});

test("every error is accepted", () => {
  const errors = responses.filter(({ body }) => "error" in body);
  assert.ok(errors.length > 100);
  for (const { name, body } of errors) assert.ok(accepts(error, body.error), name);
});

test("a whole response is accepted if its id is a string, as the schemas require", () => {
  for (const { name, body } of responses) {
    const expected = typeof body.id === "string" && !(name in REJECTED);
    assert.equal(accepts(response, body), expected, name);
  }
});

test("the schemas reject an unknown milestone and an outcome without a status", () => {
  const { body } = responses.find(({ name }) => name === "milestone-final");
  assert.ok(accepts(result, body.result));
  assert.ok(!accepts(result, { ...body.result, finalExecutionStatus: "SOON" }));
  const changed = structuredClone(body.result);
  delete changed.transactionOutcome.outcome.status;
  assert.ok(!accepts(result, changed));
});
