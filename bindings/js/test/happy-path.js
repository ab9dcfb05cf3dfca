// The blocks of one transaction's lifecycle, and requests for it.

import { read } from "./vectors.js";

const HASH = "9UCiVdMHwQs61JgVvwhR7jT4siJ5SremUY391XRohx3f";

/** The heights of the blocks that make the transaction final */
export const HEIGHTS = [100, 101, 102, 103, 104, 105, 106, 108, 109, 110];

/** The message of the block at this height */
export const block = (height) => read(`blocks/road-${height}.json`);

/** A request for the transaction */
export function request(milestone, hash = HASH) {
  return {
    method: "EXPERIMENTAL_tx_status",
    params: { tx_hash: hash, sender_account_id: "alice.near", wait_until: milestone },
  };
}

/** The milestone that a response reports, or the name of its error */
export function milestone(response) {
  const { result, error } = response.json();
  return result ? result.final_execution_status : error.cause.name;
}

/** Lets the event loop run everything that is ready */
export const idle = () => new Promise((resolve) => setTimeout(resolve, 5));

/** Waits until this number of requests is pending */
export async function untilPending(endpoint, count) {
  while (endpoint.pendingCount !== count) await idle();
}
