// The response to a request.
//
// Holds the bytes of the body; text and objects are made from them when they are asked for.

import { defineInspect } from "./inspect.js";
import { parseJson } from "./json.js";

/** @import { Bytes, Exact, JsonOptions, ResponseKind } from "../../index.js" */
/** @import { ExactError, RpcResponse, RpcTransactionResponse } from "../../index.js" */

const decoder = new TextDecoder();

/**
 * The kinds by their numbers: see `kind_number` in `wasm/src/response_buffer.rs`
 *
 * @type {ResponseKind[]}
 */
export const KINDS = ["result", "request_validation", "timeout", "skipped_block", "handler", "internal", "unavailable"];

/** @template [Result=RpcTransactionResponse] */
export class EndpointResponse {
  /** @type {string | undefined} */
  #text;
  /**
   * The parsed body
   *
   * @type {any}
   */
  #body;

  /**
   * @param {Bytes} bytes
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

  get ok() {
    return this.kind === "result";
  }

  /** @returns {Exact<Result> | undefined} */
  get result() {
    return this.#parse().result;
  }

  /** @returns {ExactError | undefined} */
  get error() {
    return this.#parse().error;
  }

  #parse() {
    if (this.#body === undefined) {
      /** @type {any} */
      const body = this.json({ bigint: true });
      // It has 32 bits.
      if (body.error) body.error.code = Number(body.error.code);
      this.#body = body;
    }
    return this.#body;
  }

  get [Symbol.toStringTag]() {
    return /** @type {const} */ ("EndpointResponse");
  }

  /**
   * @template [T=RpcResponse<Result>]
   * @overload
   * @param {{ bigint?: false }} [options]
   * @returns {T}
   */
  /**
   * @template [T=RpcResponse<Result>]
   * @overload
   * @param {{ bigint: true }} options
   * @returns {Exact<T>}
   */
  /**
   * @template [T=RpcResponse<Result>]
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

defineInspect(EndpointResponse, ({ kind, text }) => ({ kind, text }));
