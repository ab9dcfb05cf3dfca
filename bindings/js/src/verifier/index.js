// The entry `milepost/verifier`: block messages are checked against their own hashes, by a module
// of its own.
//
// Each verifier is an instance of the module: it keeps what the blocks of one chain confirm, and
// after a panic it cannot be used any more.

import { glue } from "../../build/verifier/glue.js";
import { internal } from "../core/index.js";

/** @import { ErrorCode, Verification } from "../../index.js" */
/** @import { WasmSource } from "../../slim.js" */

const WHAT = "the verifier";
const HINT = internal.fileHint("verifier.wasm", "loadVerifier");
const RESULTS = /** @type {const} */ (["verified", "unverifiable", "wrong"]);

class Verifier {
  #checker;
  /** @type {unknown} */
  #panic = null;

  /** @param {InstanceType<ReturnType<typeof glue>["Verifier"]>} checker */
  constructor(checker) {
    this.#checker = checker;
  }

  /**
   * @param {string | Uint8Array} message
   * @returns {Verification}
   */
  check(message) {
    const bytes = internal.textBytes(message, "message");
    if (this.#panic) throw internal.panicError(this.#panic, WHAT);
    try {
      const checker = this.#checker;
      const result = RESULTS[checker.check(bytes)];
      const [hash, code] = [checker.hash() ?? null, checker.code()];
      if (code === undefined) return { result, hash, error: null };
      const context = { path: checker.path(), message: checker.message() };
      const error = new internal.BlockError(/** @type {ErrorCode} */ (code), checker.detail(), context);
      return { result, hash, error };
    } catch (thrown) {
      this.#panic = thrown;
      throw internal.panicError(thrown, WHAT);
    }
  }
}

/**
 * Loads a verifier
 *
 * @param {WasmSource} source
 */
export async function load(source) {
  const bindings = await internal.instantiateBeside(source, glue(), HINT, WHAT);
  return new Verifier(new bindings.Verifier());
}
