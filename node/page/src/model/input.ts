// The input of a box: a hash, a link that contains one, a signed transaction, or another text,
// which is refused with a reason in the words of the box. The node decodes signed transactions.

import type { TransactionParams } from "../rpc";

/** Sender in requests without a signer: a node that tracks all shards finds the transaction by its
 *  hash */
export const ANY_ACCOUNT = "system";
/** Lengths of base58 of 32 bytes: longer input is a signed transaction */
const HASH_LENGTHS = { min: 32, max: 44 };
/** A hash in a link, where shorter words may be anything: one of 3 million hashes is shorter
 *  (58^40 / 2^256) */
const HASH_IN_LINK = /^[1-9A-HJ-NP-Za-km-z]{41,44}$/;
/** With or without a scheme; neither a hash nor base64 has a dot or a colon */
const LINK = /^(https?:\/\/\S+|[\w-]+([.:][\w-]+)+[/?#]\S*)$/i;
const ACCOUNT = /^(?=.{2,64}$)[a-z0-9]+([-_.][a-z0-9]+)*$/;

/** The request, or the reason why there is none; `null` for an empty box */
export type Input = { params: TransactionParams } | { problem: string } | null;

/** Reads the boxes for a transaction and its signer */
export function readInput(transaction: string, signer: string): Input {
  const typed = transaction.trim();
  if (typed === "") return null;
  const account = signer.trim();
  if (account !== "" && !ACCOUNT.test(account))
    return {
      problem:
        "The signer is not an account. Accounts have small letters and digits, with “.”, “-” or “_” between them.",
    };
  if (LINK.test(typed)) {
    const hash = typed.split(/[/?#&=]/).find((word) => HASH_IN_LINK.test(word));
    if (hash === undefined) return { problem: "This link contains no hash of a transaction." };
    return { params: { tx_hash: hash, sender_account_id: account || ANY_ACCOUNT } };
  }
  // Pasted text may have line breaks.
  const encoded = typed.replace(/\s+/g, "");
  const problem =
    encoded.length > HASH_LENGTHS.max ? signedProblem(encoded) : hashProblem(typed.replace(/[\r\n]+/g, ""));
  if (problem !== null) return { problem };
  if (encoded.length > HASH_LENGTHS.max) return { params: { signed_tx_base64: encoded } };
  return { params: { tx_hash: encoded, sender_account_id: account || ANY_ACCOUNT } };
}

/** Why a text is no hash, as far as its characters say */
function hashProblem(typed: string): string | null {
  const blank = typed.search(/\s/);
  if (blank >= 0) return `A hash has no blanks. Character ${blank + 1} is one.`;
  if (/^\d+$/.test(typed) && typed.length < HASH_LENGTHS.min)
    return "This is a number. This page does not show blocks. Enter the hash of a transaction or the id of a receipt.";
  if (/^[a-z0-9_-]+(\.[a-z0-9_-]+)+$/.test(typed))
    return "This is an account. This page does not show accounts. Enter the hash of one of its transactions.";
  const wrong = /[^1-9A-HJ-NP-Za-km-z]/.exec(typed);
  if (wrong !== null)
    return `“${wrong[0]}” (character ${wrong.index + 1}) cannot be in a hash. A hash has digits and letters, without 0, O, I and l.`;
  if (typed.length < HASH_LENGTHS.min)
    return `This is too short for a hash. Most have 43 or 44 characters; this has ${typed.length}.`;
  return null;
}

/** Why a text is no signed transaction, as far as its characters say */
function signedProblem(encoded: string): string | null {
  const wrong = /[^A-Za-z0-9+/=]/.exec(encoded);
  if (wrong === null) return null;
  return `This is too long for a hash. “${wrong[0]}” (character ${wrong.index + 1}) cannot be in a signed transaction in base64.`;
}

/** An error of the node about a request, in the words of the box */
export function inWords(message: string): string {
  const [, member, path = "", rest] =
    /^(?:Failed parsing args: )?params\.(\w+)(?:\.(\S+))?: ([^]*)$/.exec(message) ?? [];
  const names: Record<string, string> = {
    tx_hash: "This is not a hash",
    signed_tx_base64: "This is too long for a hash, and it is not a signed transaction that can be read",
    sender_account_id: "The signer is not an account",
    block_id: "This is not a block",
  };
  return member === undefined ? message : [names[member] ?? member, ...(path === "" ? [] : [path]), rest].join(": ");
}
