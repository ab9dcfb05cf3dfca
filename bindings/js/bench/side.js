// One side of the bench in JavaScript, in a process of its own: it is sent a transaction, and then numbers, and
// answers each with the nanoseconds that going its way so many times took.
//
// Nothing of another side is in its memory, so the garbage that it collects is its own.

import { experimentalTxStatus, NearRpcClient } from "@near-js/jsonrpc-client";
import { RpcTransactionResponseSchema } from "@near-js/jsonrpc-types";
import { Engine } from "milepost";
import { camelCased } from "../test/names.js";

/** Bytes of a memory in which an answer lies somewhere, as it does in an engine's */
const MEMORY = 2 ** 23;
/** Bytes that are used again for every answer */
const ROOM = 2 ** 20;

/** What is measured, by its name: each makes of a transaction the work that is done so many times */
const ways = {
  async "milepost: request to answer, into bytes used again"({ blocks, request }) {
    const engine = await filled(blocks);
    const body = new TextEncoder().encode(request);
    const into = new Uint8Array(ROOM);
    return reusing(into, () => engine.answerInto(body, into));
  },
  async "the same, of a string"({ blocks, request }) {
    const engine = await filled(blocks);
    const into = new Uint8Array(ROOM);
    return reusing(into, () => engine.answerInto(request, into));
  },
  async "milepost: request to answer, an array"({ blocks, request }) {
    const engine = await filled(blocks);
    const body = new TextEncoder().encode(request);
    return () => engine.answerSync(body).bytes;
  },
  async "milepost: request to answer, text"({ blocks, request }) {
    const engine = await filled(blocks);
    return () => engine.answerSync(request).text;
  },
  /** The least that handing out bytes can take, into bytes used again and as an array of their own */
  "a copy of the answer's bytes, into bytes used again"({ answer }) {
    const [memory, into] = [new Uint8Array(MEMORY), new Uint8Array(ROOM)];
    const { written } = new TextEncoder().encodeInto(answer, memory);
    return reusing(into, () => {
      into.set(memory.subarray(0, written));
      return { written };
    });
  },
  "a copy of the answer's bytes, an array"({ answer }) {
    const memory = new Uint8Array(MEMORY);
    const { written } = new TextEncoder().encodeInto(answer, memory);
    return () => memory.slice(0, written);
  },
  "JSON.parse of the answer"({ answer }) {
    return () => JSON.parse(answer);
  },
  /** Less than the client does: names are in camel case from the outset, and the schema is made once */
  "JSON.parse and the client's schema"({ answer }) {
    const text = JSON.stringify(camelCased(JSON.parse(answer)));
    const schema = RpcTransactionResponseSchema();
    return () => schema.parse(JSON.parse(text).result);
  },
  /** All that the client does, with an answer that is there as soon as it asks */
  "the client, without a network"({ request, answer }) {
    globalThis.fetch = async () => ({ ok: true, json: async () => JSON.parse(answer) });
    const client = new NearRpcClient("http://127.0.0.1/");
    const { tx_hash, sender_account_id, wait_until } = JSON.parse(request).params;
    const params = { txHash: tx_hash, senderAccountId: sender_account_id, waitUntil: wait_until };
    return () => experimentalTxStatus(client, params);
  },
};

export const names = Object.keys(ways);

async function filled(blocks) {
  const engine = await Engine.create();
  for (const block of blocks) engine.ingestSync(block);
  return engine;
}

/** Work whose answer is in `into` behind it, as native code's is in its buffer; shown only when asked for */
function reusing(into, work) {
  return Object.assign(work, { said: () => into.subarray(0, work().written) });
}

/** What the last time gave; it is kept so that none is left out */
let kept;

async function time(work, times) {
  const start = process.hrtime.bigint();
  for (let time = 0; time < times; time += 1) {
    kept = work();
    // Waiting for what is there already would count.
    if (kept instanceof Promise) kept = await kept;
  }
  return Number(process.hrtime.bigint() - start);
}

const name = process.argv[2];
if (process.send && name in ways) {
  let work;
  process.on("message", async (message) => {
    if (typeof message === "number") return process.send(await time(work, message));
    work = await ways[name](message);
    // What it gives is shown once, for whoever compares.
    const said = await (work.said ?? work)();
    process.send(said instanceof Uint8Array ? new TextDecoder().decode(said) : said);
  });
}
