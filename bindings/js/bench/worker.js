// A process for one operation in JavaScript: receives a transaction, and then numbers of
// iterations, and replies to each number with the nanoseconds that these iterations took.
//
// A process of its own, so that the garbage it collects is its own.

import { experimentalTxStatus, NearRpcClient } from "@near-js/jsonrpc-client";
import { RpcTransactionResponseSchema } from "@near-js/jsonrpc-types";
import { Endpoint } from "milepost";
import { camelCased } from "../test/camel-case.js";

/** Size of the memory that a response is copied out of, about that of an engine's */
const MEMORY_SIZE = 2 ** 23;
/** Size of the array that is reused for every response */
const BUFFER_SIZE = 2 ** 20;

/** Creates the operation to measure, by its name, for a transaction */
const operations = {
  async "milepost: request to response, reused array"({ blocks, request }) {
    const endpoint = await endpointWith(blocks);
    const body = new TextEncoder().encode(request);
    const into = new Uint8Array(BUFFER_SIZE);
    return reusing(into, () => endpoint.respondInto(body, into));
  },
  async "milepost: string to response, reused array"({ blocks, request }) {
    const endpoint = await endpointWith(blocks);
    const into = new Uint8Array(BUFFER_SIZE);
    return reusing(into, () => endpoint.respondInto(request, into));
  },
  async "milepost: request to response, new array"({ blocks, request }) {
    const endpoint = await endpointWith(blocks);
    const body = new TextEncoder().encode(request);
    return () => endpoint.respondSync(body).bytes;
  },
  async "milepost: string to response, text"({ blocks, request }) {
    const endpoint = await endpointWith(blocks);
    return () => endpoint.respondSync(request).text;
  },
  /** The lower bound for returning bytes, in a reused and in a new array */
  "copy of the response, reused array"({ answer }) {
    const [memory, into] = [new Uint8Array(MEMORY_SIZE), new Uint8Array(BUFFER_SIZE)];
    const { written } = new TextEncoder().encodeInto(answer, memory);
    return reusing(into, () => {
      into.set(memory.subarray(0, written));
      return { written };
    });
  },
  "copy of the response, new array"({ answer }) {
    const memory = new Uint8Array(MEMORY_SIZE);
    const { written } = new TextEncoder().encodeInto(answer, memory);
    return () => memory.slice(0, written);
  },
  "JSON.parse of the response"({ answer }) {
    return () => JSON.parse(answer);
  },
  /** Less than the client does: names are in camel case already, and the schema is created once */
  "JSON.parse and the client's schema"({ answer }) {
    const text = JSON.stringify(camelCased(JSON.parse(answer)));
    const schema = RpcTransactionResponseSchema();
    return () => schema.parse(JSON.parse(text).result);
  },
  /** All that the client does, with a response that is available at once */
  "the client, without a network"({ request, answer }) {
    globalThis.fetch = async () => ({ ok: true, json: async () => JSON.parse(answer) });
    const client = new NearRpcClient("http://127.0.0.1/");
    const { tx_hash, sender_account_id, wait_until } = JSON.parse(request).params;
    const params = { txHash: tx_hash, senderAccountId: sender_account_id, waitUntil: wait_until };
    return () => experimentalTxStatus(client, params);
  },
};

export const names = Object.keys(operations);

async function endpointWith(blocks) {
  const endpoint = await Endpoint.create();
  for (const block of blocks) endpoint.handleBlockSync(block);
  return endpoint;
}

/** An operation that leaves its response in `into`; `result` returns it, for the comparison only */
function reusing(into, operation) {
  return Object.assign(operation, { result: () => into.subarray(0, operation().written) });
}

/** The last result; kept so that the operation is not optimized away */
let lastResult;

async function time(operation, iterations) {
  const start = process.hrtime.bigint();
  for (let iteration = 0; iteration < iterations; iteration += 1) {
    lastResult = operation();
    // Only promises are awaited, because an `await` would be measured.
    if (lastResult instanceof Promise) lastResult = await lastResult;
  }
  return Number(process.hrtime.bigint() - start);
}

const name = process.argv[2];
if (process.send && name in operations) {
  let operation;
  process.on("message", async (message) => {
    if (typeof message === "number") return process.send(await time(operation, message));
    operation = await operations[name](message);
    // The result is sent once, for the comparison.
    const result = await (operation.result ?? operation)();
    process.send(result instanceof Uint8Array ? new TextDecoder().decode(result) : result);
  });
}
