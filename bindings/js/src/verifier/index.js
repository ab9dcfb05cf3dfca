// The entry `milepost/verifier`: block messages are checked against their own hashes, and answers
// by their proofs, by a module of its own. Without the engine.
//
// Each verifier of blocks is an instance of the module: it keeps what the blocks of one chain
// confirm, and after a panic it cannot be used any more.

import { glue } from "../../build/verifier/glue.js";
import { fileHint, instantiateBeside, panicError } from "../core/compile.js";
import { BlockError } from "../core/errors.js";
import { textBytes } from "../core/input.js";
import { loadAnswers } from "./answers.js";
import { errorOf } from "./error-text.js";

/** @import { Verification } from "../../verifier.js" */
/** @import { WasmSource } from "../../slim.js" */

const WHAT = "the verifier";
const HINT = fileHint("verifier.wasm", "loadVerifier");

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
    const bytes = textBytes(message, "message");
    if (this.#panic) throw panicError(this.#panic, WHAT);
    try {
      const text = this.#checker.check(bytes);
      const [result, hash] = text.split(" ", 2);
      const error = text.slice(result.length + hash.length + 2);
      return {
        result: /** @type {Verification["result"]} */ (result),
        hash: hash || null,
        error: error ? errorOf(error, BlockError) : null,
      };
    } catch (thrown) {
      this.#panic = thrown;
      throw panicError(thrown, WHAT);
    }
  }
}

/**
 * Loads a verifier of blocks
 *
 * @param {WasmSource} source
 */
export async function loadVerifier(source) {
  const bindings = await instantiateBeside(source, glue(), HINT, WHAT);
  return new Verifier(new bindings.Verifier());
}

/**
 * Loads a verifier of answers
 *
 * @param {WasmSource} source
 */
export const loadAnswerVerifier = (source) => loadAnswers(source, glue());
