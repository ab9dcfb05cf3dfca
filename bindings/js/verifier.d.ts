// Checks block messages against their own hashes: `milepost/verifier`. In an entry of its own, with
// a module of its own, so that only who uses it loads it.

import type { BlockError, CryptoHash } from "./index.js";
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
 *  checked. What blocks confirm of those before them is kept: pass each after its parent. */
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
