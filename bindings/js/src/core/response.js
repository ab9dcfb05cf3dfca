// The response to a request.
//
// Holds the bytes of the body; text and objects are made from them when they are asked for.

import { parseJson } from "./json.js";

/** @import { Exact, JsonOptions, ResponseKind } from "../../index.js" */
/** @import { RpcResponse, RpcTransactionResponse } from "../../index.js" */

const decoder = new TextDecoder();

/**
 * The kinds by their numbers: see `kind_number` in `wasm/src/response_buffer.rs`
 *
 * @type {ResponseKind[]}
 */
export const KINDS = [
  "result",
  "request_validation",
  "timeout",
  "skipped_block",
  "handler",
  "internal",
  "unavailable",
];

export class EndpointResponse {
  /** @type {string | undefined} */
  #text;

  /**
   * @param {Uint8Array} bytes
   * @param {ResponseKind} kind
   */
  constructor(bytes, kind) {
    /** @readonly */
    this.bytes = bytes;
    /** @readonly */
    this.kind = kind;
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
