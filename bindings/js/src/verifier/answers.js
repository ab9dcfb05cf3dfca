// The check of answers by their proofs, by a module that has it.
//
// A verifier keeps nothing from one check to the next, but after a panic it cannot be used any
// more.

import { fileHint, instantiateBeside, panicError } from "../core/compile.js";
import { ErrorCode, MilepostError } from "../core/errors.js";
import { textBytes } from "../core/input.js";
import { parseJson } from "../core/json.js";
import { checkOptions } from "../core/options.js";
import { errorOf } from "./error-text.js";

/** @import { AnswerVerification, KnownHashes, ProvenAnswer } from "../../verifier.js" */

/** @import { WasmSource } from "../../slim.js" */

/**
 * @typedef {object} Glue
 * @property {(...texts: [Uint8Array, Uint8Array, Uint8Array, Uint8Array]) => string} verify_answer
 * @property {(input: { module: WebAssembly.Module }) => unknown} initSync
 * @property {() => string} version
 */

const WHAT = "the answer verifier";
const HINT = fileHint("verifier.wasm", "loadAnswerVerifier");
const KNOWN = /** @type {const} */ (["transactionHash", "blockHash"]);

class AnswerVerifier {
  #glue;
  /** @type {unknown} */
  #panic = null;

  /** @param {Glue} bindings */
  constructor(bindings) {
    this.#glue = bindings;
  }

  /**
   * @param {string | Uint8Array} answer
   * @param {string | Uint8Array} proof
   * @param {KnownHashes} known
   * @returns {AnswerVerification}
   */
  verifyAnswer(answer, proof, known) {
    const answerBytes = textBytes(answer, "answer");
    const proofBytes = textBytes(proof, "proof");
    checkOptions(known ?? null, "known", KNOWN);
    const [transaction, block] = KNOWN.map((name) => textBytes(known[name], `known.${name}`));
    if (this.#panic) throw panicError(this.#panic, WHAT);
    try {
      const text = this.#glue.verify_answer(answerBytes, proofBytes, transaction, block);
      if (text.startsWith("{")) {
        const proven = /** @type {ProvenAnswer} */ (parseJson(text, { bigint: true }));
        return { result: "verified", proven, error: null };
      }
      const error = errorOf(text, MilepostError);
      const result = error.code === ErrorCode.CHAIN ? "wrong" : "unverifiable";
      return { result, proven: null, error };
    } catch (thrown) {
      this.#panic = thrown;
      throw panicError(thrown, WHAT);
    }
  }
}

/**
 * Loads a verifier of answers by the glue of its module
 *
 * @param {WasmSource} source
 * @param {Glue} bindings
 */
export async function loadAnswers(source, bindings) {
  return new AnswerVerifier(await instantiateBeside(source, bindings, HINT, WHAT));
}
