// The entry `milepost/proof`: answers are checked by their proofs, by a module of its own. Without
// the engine.
//
// A verifier keeps nothing from one check to the next, but after a panic it cannot be used any
// more.

import { glue } from "../../build/proof/glue.js";
import { fileHint, instantiateBeside, panicError } from "../core/compile.js";
import { ErrorCode, MilepostError } from "../core/errors.js";
import { textBytes } from "../core/input.js";
import { parseJson } from "../core/json.js";
import { checkOptions } from "../core/options.js";

/** @import { ErrorCode as Code } from "../../index.js" */
/** @import { AnswerVerification, KnownHashes, ProvenAnswer } from "../../proof.js" */
/** @import { WasmSource } from "../../slim.js" */

const WHAT = "the answer verifier";
const HINT = fileHint("proof.wasm", "loadAnswerVerifier");
const KNOWN = /** @type {const} */ (["transactionHash", "blockHash"]);

class AnswerVerifier {
  #glue;
  /** @type {unknown} */
  #panic = null;

  /** @param {ReturnType<typeof glue>} bindings */
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
      const error = errorOf(text);
      const result = error.code === ErrorCode.CHAIN ? "wrong" : "unverifiable";
      return { result, proven: null, error };
    } catch (thrown) {
      this.#panic = thrown;
      throw panicError(thrown, WHAT);
    }
  }
}

/**
 * The error in a result of the module: `<code> <length of path> <length of detail> `, then path,
 * detail and message
 *
 * @param {string} text
 */
function errorOf(text) {
  const numbers = text.split(" ", 3);
  const [code, pathLength, detailLength] = numbers.map(Number);
  const start = numbers.join(" ").length + 1;
  const middle = start + pathLength;
  const end = middle + detailLength;
  const [path, detail, message] = [text.slice(start, middle), text.slice(middle, end), text.slice(end)];
  return new MilepostError(/** @type {Code} */ (code), detail, { path, message });
}

/**
 * Loads a verifier
 *
 * @param {WasmSource} source
 */
export async function load(source) {
  return new AnswerVerifier(await instantiateBeside(source, glue(), HINT, WHAT));
}
