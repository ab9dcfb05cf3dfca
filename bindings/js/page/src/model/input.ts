// What was typed into a box: a hash, a signed transaction, or something that is neither, which is
// explained in the words of the box. Whether a signed transaction can be read, the engine says.

import type { TransactionParams } from "../rpc";

/** Sender in requests without a signer: a node that tracks all shards finds the transaction by its
 *  hash */
export const ANY_ACCOUNT = "system";
/** Lengths of base58 of 32 bytes: longer input is a signed transaction */
const HASH_LENGTHS = { min: 32, max: 44 };

/** The request for what was typed; `null` if nothing was */
export function paramsOf(transaction: string, signer: string): TransactionParams | null {
  const encoded = withoutBlanks(transaction);
  if (encoded === "") return null;
  if (encoded.length > HASH_LENGTHS.max) return { signed_tx_base64: encoded };
  return { tx_hash: encoded, sender_account_id: signer.trim() || ANY_ACCOUNT };
}

/** Why the text is no hash and no signed transaction, as far as its characters say; `null` if they
 *  do not */
export function inputProblem(transaction: string, signer: string): string | null {
  const encoded = withoutBlanks(transaction);
  if (encoded === "") return null;
  const isHash = encoded.length <= HASH_LENGTHS.max;
  if (/^\d+$/.test(encoded) && isHash)
    return "This is a number. Blocks have no page here: enter the hash of a transaction, or the id of a receipt.";
  if (isHash && /^[a-z0-9_-]+(\.[a-z0-9_-]+)+$/.test(encoded))
    return "This is an account. Accounts have no page here: enter the hash of one of its transactions.";
  if (isHash) {
    const wrong = /[^1-9A-HJ-NP-Za-km-z]/.exec(encoded);
    if (wrong !== null)
      return `“${wrong[0]}” (character ${wrong.index + 1}) cannot be in a hash: it has digits and letters, without 0, O, I and l.`;
    if (encoded.length < HASH_LENGTHS.min)
      return `This is too short for a hash: most have 43 or 44 characters, this has ${encoded.length}.`;
  } else {
    const wrong = /[^A-Za-z0-9+/=]/.exec(encoded);
    if (wrong !== null)
      return `“${wrong[0]}” (character ${wrong.index + 1}) cannot be in a signed transaction in base64, and this is too long for a hash.`;
  }
  const account = signer.trim();
  if (account !== "" && !/^(?=.{2,64}$)[a-z0-9]+([-_.][a-z0-9]+)*$/.test(account))
    return "The signer is not an account: those have small letters, digits and “.”, “-” or “_” between them.";
  return null;
}

/** An error of the engine or of the node about a request, in the words of the box */
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

/** Pasted text may have line breaks and spaces */
function withoutBlanks(text: string): string {
  return text.replace(/\s+/g, "");
}
