// The road of one transaction, block by block, for tests that wait for it.

import { read } from "./vectors.js";

const HASH = "9UCiVdMHwQs61JgVvwhR7jT4siJ5SremUY391XRohx3f";

/** The message of the block at this height */
export const block = (height) => read(`blocks/road-${height}.json`);

/** A request for the transaction that the road is of */
export function request(milestone, hash = HASH) {
  return {
    method: "EXPERIMENTAL_tx_status",
    params: { tx_hash: hash, sender_account_id: "alice.near", wait_until: milestone },
  };
}

/** What the answer says about the milestone, or the name of its error */
export function milestone(answer) {
  const { result, error } = answer.json();
  return result ? result.final_execution_status : error.cause.name;
}

/** Lets everything run that is ready to */
export const settle = () => new Promise((resolve) => setTimeout(resolve, 5));
