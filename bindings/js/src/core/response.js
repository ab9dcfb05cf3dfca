// The response to a request.
//
// Holds the bytes of the body; text and objects are made from them when they are asked for.

import { defineInspect } from "./inspect.js";
import { parseJson } from "./json.js";

/** @import { Bytes, CallError, Exact, JsonOptions, ResponseKind } from "../../index.js" */
/** @import { ExactError, RpcResponse, RpcTransactionResponse } from "../../index.js" */

const decoder = new TextDecoder();

/**
 * The kinds by their numbers: see `kind_number` in `wasm/src/response_buffer.rs`
 *
 * @type {ResponseKind[]}
 */
export const KINDS = ["result", "request_validation", "timeout", "skipped_block", "handler", "internal", "unavailable"];

/** @type {readonly CallError[]} */
const NO_ERRORS = Object.freeze([]);

/**
 * The errors of a response, from what the engine says of them
 *
 * @param {string} text Empty without errors, as most are
 * @returns {readonly CallError[]}
 */
export function callErrors(text) {
  if (text === "") return NO_ERRORS;
  const errors = /** @type {any[]} */ (parseJson(text, { bigint: true }));
  const number = (/** @type {bigint | null} */ one) => (one === null ? null : Number(one));
  return errors.map(({ index, shardId, limit, ...error }) => {
    return { index: Number(index), ...error, shardId: number(shardId), limit: number(limit) };
  });
}

/**
 * The errors in the body of another program
 *
 * @param {any} body
 * @returns {readonly CallError[]}
 */
function errorsOf(body) {
  const none = { hash: null, height: null, shardId: null, limit: null };
  return [body].flat().flatMap(({ error }, index) => {
    return error ? [{ index, name: error.name, cause: error.cause?.name ?? null, ...none }] : [];
  });
}

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

  /** @type {string | undefined} */
  #errors;

  /**
   * @param {Bytes} bytes
   * @param {ResponseKind} kind
   * @param {string} [errors] What the engine says of them, as JSON text; those of another program
   *   are read from its body
   */
  constructor(bytes, kind, errors) {
    /** @readonly */
    this.bytes = bytes;
    /** @readonly */
    this.kind = kind;
    this.#errors = errors;
  }

  /** @returns {readonly CallError[]} */
  get errors() {
    return this.#errors === undefined ? errorsOf(this.json()) : callErrors(this.#errors);
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
