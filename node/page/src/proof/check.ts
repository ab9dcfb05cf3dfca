// The check of the answer that the page shows, by its proof and the hash of a trusted block. An
// outcome that is wrong is left out and the rest is checked again, so each one has a verdict.

import { glue } from "../../../../bindings/js/build/page/glue.js";
import moduleUrl from "../../../../bindings/js/build/page/verifier.wasm?url";
import { loadAnswers } from "../../../../bindings/js/src/verifier/answers.js";
import type { AnswerVerifier, ProvenAnswer, ProvenOutcome } from "../../../../bindings/js/verifier";
import { at, isObject, list, scalar, text, type Json } from "../exact";
import { document } from "../rpc";

export type VerificationResult = "verified" | "unverifiable" | "wrong";

export interface CheckedOutcome {
  id: string;
  account: string;
  verdict: VerificationResult;
  /** Why it is not verified */
  why: string | null;
  path: ProofPath | null;
}

export interface Check {
  verdict: VerificationResult;
  /** Why the whole answer is not verified */
  why: string | null;
  /** The height of the trusted block, if anything is proven */
  height: bigint | null;
  outcomes: CheckedOutcome[];
  /** Names of what no block proves, and how often the answer has each */
  unprovable: Map<string, number>;
}

/** A sibling on the path of a Merkle tree */
export interface Sibling {
  hash: string;
  isRight: boolean;
}

/** What leads from the trusted block down to an outcome */
export interface ProofPath {
  trusted: { hash: string; height: number };
  block: { hash: string; height: number };
  /** Number of headers from the one block to the other */
  headers: number;
  outcomeRoot: string;
  /** The root to which the outcome leads, if it is another one */
  foundRoot: string | null;
  /** From the root downwards */
  toShard: Sibling[];
  shardRoot: string | null;
  toLeaf: Sibling[];
  leaf: string | null;
}

/** The members of a proof that the page reads; the verifier reads all of them by itself */
interface Proof {
  block_hash: string;
  outcomes: { id: string; block_hash: string; outcome_root_proof: { direction: string; hash: string }[] }[];
  headers: { prev_block_hash: string; inner_lite: { height: number; outcome_root: string } }[];
}

let loading: Promise<AnswerVerifier> | undefined;

function verifier(): Promise<AnswerVerifier> {
  loading ??= loadAnswers(moduleUrl, glue());
  // It is loaded again after a failure.
  loading.catch(() => (loading = undefined));
  return loading;
}

/** Asks for the proof of a transaction, and checks the result that the page shows */
export async function check(hash: string, result: Json, trusted: string, signal: AbortSignal): Promise<Check> {
  const loaded = await verifier();
  const query = `include=outcomes,proof&block=${encodeURIComponent(trusted)}`;
  const { status, body } = await document(`/tx/${encodeURIComponent(hash)}?${query}`, signal);
  if (status !== 200) return nothing(result, "unverifiable", `The node returned no proof: ${messageOf(body)}`);
  let proof: Proof | null;
  try {
    // No integer of a proof is rounded: its times are strings.
    proof = (JSON.parse(body) as { proof: Proof | null }).proof;
  } catch {
    return nothing(result, "unverifiable", "The proof is not JSON.");
  }
  if (!proof) return nothing(result, "unverifiable", "No block up to the trusted one confirms an outcome yet.");
  return checkAll(loaded, hash, result, trusted, proof);
}

function checkAll(loaded: AnswerVerifier, hash: string, result: Json, trusted: string, proof: Proof): Check {
  const known = { transactionHash: hash, blockHash: trusted };
  const wrong = new Map<string, string>();
  let answer = result;
  let given = proof;
  let why: string | null = null;
  for (;;) {
    const found = loaded.verifyAnswer(write(answer), JSON.stringify(given), known);
    if (found.result === "verified") return collect(result, proof, found.proven, wrong, why);
    const { path, detail, message } = found.error;
    const id = /^outcome (\w+)$/.exec(path)?.[1];
    if (found.result === "unverifiable") return nothing(result, "unverifiable", message);
    if (id !== undefined && given.outcomes.some((outcome) => outcome.id === id)) {
      wrong.set(id, detail);
      given = { ...given, outcomes: given.outcomes.filter((outcome) => outcome.id !== id) };
    } else if (path === "answer.status" && isObject(answer) && "status" in answer) {
      why = `The status of the answer is ${detail}.`;
      const { status: _, ...rest } = answer;
      answer = rest;
    } else {
      return nothing(result, "wrong", message);
    }
  }
}

function collect(
  result: Json,
  proof: Proof,
  proven: ProvenAnswer,
  wrong: Map<string, string>,
  statusProblem: string | null,
): Check {
  const outcomes = outcomesOf(result).map((outcome): CheckedOutcome => {
    const id = text(at(outcome, "id")) ?? "";
    const account = text(at(outcome, "outcome", "executor_id")) ?? "";
    const values = proven.outcomes.find((other) => other.id === id);
    const error = wrong.get(id) ?? null;
    const path = pathOf(outcome, id, proof, values, error);
    if (error !== null) return { id, account, verdict: "wrong", why: error, path };
    if (values !== undefined) return { id, account, verdict: "verified", why: null, path };
    const isConfirmed = proof.outcomes.some((other) => other.id === id);
    const why = isConfirmed
      ? "The outcome that created it is not verified."
      : "No block up to the trusted one confirms it yet.";
    return { id, account, verdict: "unverifiable", why, path: null };
  });
  const rest = outcomes.filter(({ verdict }) => verdict === "unverifiable").length;
  const [verdict, why]: [VerificationResult, string | null] =
    wrong.size > 0
      ? ["wrong", `The chain has other values for ${wrong.size} of ${outcomes.length} outcomes.`]
      : statusProblem !== null
        ? ["wrong", statusProblem]
        : rest > 0
          ? ["unverifiable", `Not proven yet: ${rest} of ${outcomes.length} outcomes.`]
          : !proven.is_complete
            ? ["unverifiable", `Receipts without an outcome: ${proven.pending_receipts.length}.`]
            : ["verified", null];
  const unprovable = new Map<string, number>();
  for (const { member } of proven.unprovable) unprovable.set(member, (unprovable.get(member) ?? 0) + 1);
  return { verdict, why, height: proven.block_height, outcomes, unprovable };
}

/** The path of an outcome; `null` if the proof does not have all of it */
function pathOf(
  outcome: Json,
  id: string,
  proof: Proof,
  values: ProvenOutcome | undefined,
  error: string | null,
): ProofPath | null {
  const confirmation = proof.outcomes.find((other) => other.id === id);
  // The hash of a header is what the next one names as its parent.
  const hashes = [...proof.headers.slice(1).map((header) => header.prev_block_hash), proof.block_hash];
  const index = hashes.indexOf(confirmation?.block_hash ?? "");
  const [header, last] = [proof.headers[index], proof.headers.at(-1)];
  if (confirmation === undefined || header === undefined || last === undefined) return null;
  const sibling = (step: Json): Sibling => ({
    hash: text(at(step, "hash")) ?? "",
    isRight: at(step, "direction") === "Right",
  });
  return {
    trusted: { hash: proof.block_hash, height: last.inner_lite.height },
    block: { hash: confirmation.block_hash, height: header.inner_lite.height },
    headers: hashes.length - 1 - index,
    outcomeRoot: header.inner_lite.outcome_root,
    foundRoot: /, found (\w+)$/.exec(error ?? "")?.[1] ?? null,
    toShard: confirmation.outcome_root_proof.map(sibling).reverse(),
    shardRoot: values?.shard_root ?? null,
    toLeaf: list(at(outcome, "proof")).map(sibling).reverse(),
    leaf: values?.leaf ?? null,
  };
}

/** A check in which no outcome has a verdict of its own */
function nothing(result: Json, verdict: VerificationResult, why: string): Check {
  const outcomes = outcomesOf(result).map(
    (outcome): CheckedOutcome => ({
      id: text(at(outcome, "id")) ?? "",
      account: text(at(outcome, "outcome", "executor_id")) ?? "",
      verdict: "unverifiable",
      why: verdict === "wrong" ? "The proof or the answer as a whole is wrong." : "There is no proof that can be read.",
      path: null,
    }),
  );
  return { verdict, why, height: null, outcomes, unprovable: new Map() };
}

function outcomesOf(result: Json): Json[] {
  return [at(result, "transaction_outcome"), ...list(at(result, "receipts_outcome"))].filter(isObject);
}

function messageOf(body: string): string {
  try {
    const { error } = JSON.parse(body) as { error?: unknown };
    if (typeof error === "string") return error;
  } catch {
    // Not JSON: as it is.
  }
  return body.slice(0, 300) || "it has none.";
}

/** The JSON of a value, with every digit */
function write(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(write).join()}]`;
  if (!isObject(value)) return scalar(value);
  return `{${Object.entries(value)
    .map(([name, inner]) => `${JSON.stringify(name)}:${write(inner)}`)
    .join()}}`;
}
