// Checks block messages against their own hashes, and answers about transactions by their proofs:
// `milepost/verifier`. In an entry of its own, with a module of its own and without the engine, for
// clients of a server that they do not trust.

import type { BlockError, CryptoHash, MilepostError } from "./index.js";
import type { WasmSource } from "./slim.js";

/**
 * Loads a verifier for the blocks of one chain: for the option `verifier` of `Endpoint.create`, or
 * for hosts that call `check` themselves.
 *
 * @param source The module, where the package cannot find it itself: the package has it as
 *   `milepost/verifier.wasm`.
 * @throws {UsageError} The module cannot be loaded; `cause` is the error of the platform.
 */
export function loadVerifier(source?: WasmSource): Promise<Verifier>;

/** Checks the blocks of one chain against their own hashes; signatures of validators are not
 *  checked. What blocks confirm of those before them is kept in memory: pass each after its parent.
 *  After a restart, check the newest imported block again: only then is the next one `wrong` if it
 *  lacks a member of its parent. */
export interface Verifier {
  /** Checks a block message, at a cost of some tens of milliseconds for one of mainnet; does not
   *  import it */
  check(message: string | Uint8Array): Verification;
}

/** What the check of a block found */
export interface Verification {
  /** Its members agree with its hash; a member that is needed is missing or of a form that is not
   *  known; or they do not agree */
  result: "verified" | "unverifiable" | "wrong";
  /** The hash that its header states; `null` if the header cannot be read */
  hash: CryptoHash | null;
  /** Which member is missing or wrong (`path`), and why; `null` if it is verified */
  error: BlockError | null;
}

/**
 * Loads a verifier of answers.
 *
 * @param source The module, where the package cannot find it itself: the package has it as
 *   `milepost/verifier.wasm`.
 * @throws {UsageError} The module cannot be loaded; `cause` is the error of the platform.
 */
export function loadAnswerVerifier(source?: WasmSource): Promise<AnswerVerifier>;

/** Checks answers by their proofs; signatures of validators are not checked. Keeps nothing from one
 *  check to the next. */
export interface AnswerVerifier {
  /**
   * Checks an answer about a transaction by its proof, at a cost of some microseconds for each
   * outcome and header.
   *
   * Nothing that the answer or the proof says about itself is believed: `known` has the hash that
   * was asked about, and that of a block which the caller trusts, from elsewhere.
   *
   * @param answer The response to `EXPERIMENTAL_tx_status`, its result, or what `Client.prove` of
   *   `milepost/client` returns
   * @param proof What `Client.prove` returns, or its member `proof`; its headers end in the trusted
   *   block
   * @throws {UsageError} A text or a hash has another type.
   */
  verifyAnswer(answer: string | Uint8Array, proof: string | Uint8Array, known: KnownHashes): AnswerVerification;
}

/** What a client knows before it reads an answer, from where it trusts */
export interface KnownHashes {
  /** The transaction that was asked about */
  readonly transactionHash: CryptoHash;
  /** A block that is trusted, in which the headers of the proof have to end */
  readonly blockHash: CryptoHash;
}

/**
 * What the check of an answer found. Values are in `proven` and nowhere else: whatever the answer
 * says beside them may be made up.
 */
export type AnswerVerification =
  | {
      /** The values in `proven` are those of the chain that ends in the trusted block */
      readonly result: "verified";
      readonly proven: ProvenAnswer;
      readonly error: null;
    }
  | {
      /** `wrong`: the texts contradict each other or the known hashes; `unverifiable`: they cannot
       *  be read, so nothing is known */
      readonly result: "wrong" | "unverifiable";
      readonly proven: null;
      /** Which statement (`path`), and why */
      readonly error: MilepostError;
    };

/**
 * What is proven about a transaction
 *
 * The last three members name what is not: `pending_receipts` and `unproven_outcomes`, which a
 * later proof may prove, and `unprovable`, which none can.
 */
export interface ProvenAnswer {
  readonly transaction_hash: CryptoHash;
  /** The trusted block */
  readonly block_hash: CryptoHash;
  readonly block_height: bigint;
  /** Whether these are the outcomes of all receipts of the transaction */
  readonly is_complete: boolean;
  /** The final status; `null` until the outcome that determines it is proven */
  readonly status: ProvenStatus | null;
  readonly outcomes: readonly ProvenOutcome[];
  /** Not proven here: receipts that proven outcomes created, without an outcome that is proven */
  readonly pending_receipts: readonly CryptoHash[];
  /** Not proven here: outcomes of the answer of which nothing may be believed */
  readonly unproven_outcomes: readonly CryptoHash[];
  /** Never proven: members of the answer that no hash of the chain covers */
  readonly unprovable: readonly UnprovableMember[];
}

/** An outcome that is proven, with the members that are covered by its hash */
export interface ProvenOutcome {
  /** The transaction's hash, or the id of a receipt */
  readonly id: CryptoHash;
  /** The block that confirms it, which is later than the one that executed it */
  readonly confirmed_by: CryptoHash;
  readonly confirmed_at: bigint;
  /** The root of the outcomes that its shard executed with it */
  readonly shard_root: CryptoHash;
  /** Its leaf in the tree of that root, which covers all members below */
  readonly leaf: CryptoHash;
  /** All receipts that it created, in their order */
  readonly receipt_ids: readonly CryptoHash[];
  readonly gas_burnt: bigint;
  /** In yoctoNEAR */
  readonly tokens_burnt: string;
  readonly executor_id: string;
  readonly status: ProvenStatus;
  readonly logs: readonly string[];
}

/** A status as far as it can be proven: that of a failure has no error */
export type ProvenStatus =
  | "Unknown"
  | "Failure"
  | { readonly SuccessValue: string }
  | { readonly SuccessReceiptId: CryptoHash };

/** The name of something that an answer has and no block proves, without its value */
export interface UnprovableMember {
  readonly member:
    | "error"
    | "metadata"
    | "execution_block"
    | "receipt_bodies"
    | "transaction_body"
    | "final_execution_status";
  /** The outcome that has it, if it is of one */
  readonly id?: CryptoHash;
}
