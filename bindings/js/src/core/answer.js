// A finished answer.
//
// The bytes are the answer; text and objects are made of them when they are asked for.

import { parseJson } from "./json.js";

/** @import { AnswerClass, Exact, JsonOptions, RpcResponse, RpcTransactionResponse } from "../../index.js" */

const decoder = new TextDecoder();

/**
 * The classes by their numbers: see `wasm/src/given.rs`
 *
 * @type {AnswerClass[]}
 */
export const CLASSES = [
  "result",
  "request_validation",
  "timeout",
  "skipped_block",
  "handler",
  "internal",
  "unavailable",
];

export class Answer {
  /** @type {string | undefined} */
  #text;

  /**
   * @param {Uint8Array} bytes
   * @param {AnswerClass} kind
   */
  constructor(bytes, kind) {
    /** @readonly */
    this.bytes = bytes;
    /** @readonly */
    this.class = kind;
  }

  get text() {
    this.#text ??= decoder.decode(this.bytes);
    return this.#text;
  }

  /**
   * @template [T=RpcResponse<RpcTransactionResponse>]
   * @overload
   * @param {{ bigint?: false }} [options]
   * @returns {T}
   */
  /**
   * @template [T=RpcResponse<RpcTransactionResponse>]
   * @overload
   * @param {{ bigint: true }} options
   * @returns {Exact<T>}
   */
  /**
   * @template [T=RpcResponse<RpcTransactionResponse>]
   * @overload
   * @param {JsonOptions} [options]
   * @returns {T | Exact<T>}
   */
  /**
   * @param {JsonOptions} [options]
   * @returns {any}
   */
  json(options) {
    return parseJson(this.text, options);
  }
}
