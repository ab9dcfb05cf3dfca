// Why something failed: in words for the errors that people meet, and the path of types with the
// text or the members of the innermost one, which also reads errors of later versions. Words are
// added to the path, never put in its place.

import { at, integer, isObject, scalar, text, type Json } from "../exact";
import { near, plain } from "../format";

/** The path of types and members of a failure; `null` if it did not fail */
export function reason(status: Json): string | null {
  const failure = read(status);
  if (failure === null) return null;
  const { names, error } = failure;
  // The outermost variant carries no information.
  const shown = names.filter((name) => name !== "ActionError");
  return plain([...shown, text(error) ?? members(error)].filter((part) => part !== "").join(": "));
}

/** What failed and why, as a sentence about this account; `null` if it did not fail */
export function headline(status: Json, account: string | null): string | null {
  const failure = read(status);
  if (failure === null) return null;
  const { names, error } = failure;
  const who = account ?? "The account";
  const variants = [...names, ...(typeof error === "string" && /^[A-Z]\w+$/.test(error) ? [error] : [])];
  for (const name of variants.toReversed()) {
    const words = SENTENCES[name]?.(error, who);
    if (words !== undefined) return plain(words);
  }
  const last = variants.findLast((name) => !name.startsWith("action "));
  return last === undefined ? "Failed" : `Failed: ${spaced(last)}`;
}

type Sentence = (error: Json, who: string) => string;

const member = (error: Json, name: string, other: string) => text(at(error, name)) ?? other;
const amount = (error: Json, name: string) => {
  const tokens = integer(at(error, name));
  return tokens === null ? "more" : near(tokens);
};
const account = (error: Json, who: string) => member(error, "account_id", member(error, "signer_id", who));

const SENTENCES: Record<string, Sentence> = {
  // The transaction itself.
  NotEnoughBalance: (error, who) =>
    `${account(error, who)} has ${amount(error, "balance")}, and the transaction needs ${amount(error, "cost")}`,
  SignerDoesNotExist: (error, who) => `The signer ${account(error, who)} does not exist`,
  InvalidAccessKeyError: (_, who) => `The key that signed is not allowed to do this for ${who}`,
  InvalidNonce: () => "The nonce was used before: sign the transaction again with a newer one",
  NonceTooLarge: () => "The nonce is too large",
  InvalidSignature: () => "The signature is not that of the key",
  InvalidChain: () => "The transaction was signed for another chain",
  Expired: () => "The transaction has expired: the block that it names is too old",
  CostOverflow: () => "The cost of the transaction is not a possible amount",
  TransactionSizeExceeded: () => "The transaction is too large",
  ShardCongested: () => "The shard of the signer was congested: try again later",
  ShardStuck: () => "The shard of the signer was stuck: try again later",
  // One of its actions.
  LackBalanceForState: (error, who) =>
    `${account(error, who)} needs ${amount(error, "amount")} more to pay for its storage`,
  AccountDoesNotExist: (error, who) => `The account ${account(error, who)} does not exist`,
  AccountAlreadyExists: (error, who) => `The account ${account(error, who)} exists already`,
  CreateAccountNotAllowed: (error, who) =>
    `${member(error, "predecessor_id", who)} may not create the account ${account(error, "with this name")}`,
  CreateAccountOnlyByRegistrar: (error) =>
    `Only the registrar may create the account ${account(error, "with this name")}`,
  OnlyImplicitAccountCreationAllowed: (error) =>
    `Only a transfer can create the account ${account(error, "with this name")}`,
  ActorNoPermission: (error, who) =>
    `${member(error, "actor_id", "The sender")} may not do this to ${account(error, who)}`,
  AddKeyAlreadyExists: (error, who) => `${account(error, who)} has this key already`,
  DeleteKeyDoesNotExist: (error, who) => `${account(error, who)} has no such key`,
  DeleteAccountStaking: (error, who) => `${account(error, who)} has a stake and cannot be deleted`,
  DeleteAccountWithLargeState: (error, who) => `${account(error, who)} stores too much to be deleted`,
  InsufficientStake: (error, who) => `The stake of ${account(error, who)} is too small`,
  TriesToStake: (error, who) => `${account(error, who)} cannot stake more than it has`,
  TriesToUnstake: (error, who) => `${account(error, who)} has no stake`,
  DelegateActionExpired: () => "The delegated action has expired",
  DelegateActionInvalidSignature: () => "The signature of the delegated action is not that of its key",
  DelegateActionInvalidNonce: () => "The nonce of the delegated action was used before",
  // A contract.
  ExecutionError: (error, who) => executionError(text(error) ?? "", who),
  MethodNotFound: (_, who) => `The contract of ${who} has no such method`,
  CodeDoesNotExist: (error, who) => `${account(error, who)} has no contract`,
  CompilationError: (_, who) => `The contract of ${who} cannot be compiled`,
  LinkError: (_, who) => `The contract of ${who} needs a function that does not exist`,
  WasmTrap: (_, who) => `The contract of ${who} stopped at an invalid instruction`,
  FunctionCallError: (_, who) => `The contract of ${who} failed`,
};

function executionError(message: string, who: string): string {
  const panic = /^Smart contract panicked:\s*([^]*)/.exec(message)?.[1];
  if (panic !== undefined) return `The contract of ${who} panicked: ${shortened(panic)}`;
  if (/^Exceeded the (prepaid|maximum amount of) gas/.test(message)) return `The contract of ${who} ran out of gas`;
  return `The contract of ${who} failed: ${shortened(message)}`;
}

function shortened(message: string): string {
  return message.length > 240 ? `${message.slice(0, 240)}…` : message;
}

/** The names of the nested variants of an error, and the innermost value */
function read(status: Json): { names: string[]; error: Json } | null {
  let error = at(status, "Failure");
  if (error === null) return null;
  const names: string[] = [];
  while (isObject(error)) {
    if (Object.hasOwn(error, "kind")) {
      const index = at(error, "index");
      if (index !== null) names.push(`action ${scalar(index)}`);
      error = at(error, "kind");
      continue;
    }
    const [member, ...others] = Object.entries(error);
    // A member of the innermost variant has a small letter.
    if (member === undefined || others.length > 0 || !/^[A-Z]/.test(member[0])) break;
    names.push(member[0]);
    error = member[1];
  }
  return { names, error };
}

function spaced(name: string): string {
  return name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, " ").toLowerCase();
}

function members(error: Json): string {
  if (!isObject(error)) return error === null ? "" : scalar(error);
  const parts = Object.entries(error).map(([name, value]) => {
    const shown =
      typeof value === "object" && value !== null && !("text" in value) ? "…" : (text(value) ?? scalar(value));
    return `${name} ${shown}`;
  });
  return parts.join(", ");
}
