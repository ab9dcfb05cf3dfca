// The memory of an instance: request bodies are written to it, response bodies are copied out of
// it.
//
// Nothing here calls code of the host, so the instance does not change between a call into it and
// the copy of the result. Memory that grows gets a new buffer; each use checks for that.

import { byteLength } from "./input.js";
import { EndpointResponse, KINDS } from "./response.js";

/** @import { EngineEndpoint } from "./load.js" */

const encoder = new TextEncoder();
const { set } = Uint8Array.prototype;

/** Maximum bytes of UTF-8 for one code unit of a string */
const MAX_UTF8_LENGTH = 3;
/** Length of the longest string for which the maximum of bytes is reserved */
const MAX_SHORT_STRING = 16_384;
/** Below this number of bytes a loop is faster than a view and `set` */
const MAX_LOOP_LENGTH = 64;
/** The table has the kind of a response, address and length of each of its chunks, and a count */
const ERROR_COUNT = 1 + 2 * 4;

export class Memory {
  #memory;
  /** @type {Uint8Array} */
  #bytes;
  /** @type {Uint32Array} */
  #words;

  /** @param {WebAssembly.Memory} memory */
  constructor(memory) {
    this.#memory = memory;
    this.#bytes = new Uint8Array(memory.buffer);
    this.#words = new Uint32Array(memory.buffer);
  }

  /**
   * Writes a request body to the request buffer of `endpoint`, and returns its length in bytes
   *
   * @param {EngineEndpoint} endpoint
   * @param {string | Uint8Array} body
   * @returns {number}
   */
  writeRequest(endpoint, body) {
    const request = typeof body === "string" && body.length > MAX_SHORT_STRING ? encoder.encode(body) : body;
    if (typeof request !== "string") {
      const length = byteLength(request);
      const start = endpoint.reserve_request(length);
      // `set` throws if the buffer is detached, and then the length is 0.
      if (length > 0) set.call(this.#current(), request, start);
      return length;
    }
    const capacity = request.length * MAX_UTF8_LENGTH;
    const start = endpoint.reserve_request(capacity);
    return encoder.encodeInto(request, this.#current().subarray(start, start + capacity)).written;
  }

  /**
   * The kind of the last response; `table` is the address of the table that describes it
   *
   * @param {number} table
   */
  kind(table) {
    this.#current();
    return KINDS[this.#words[table >>> 2]];
  }

  /**
   * The number of errors in the last response
   *
   * @param {number} table
   */
  errorCount(table) {
    this.#current();
    return this.#words[(table >>> 2) + ERROR_COUNT];
  }

  /**
   * The length of the last response in bytes
   *
   * @param {number} table
   */
  length(table) {
    this.#current();
    const first = table >>> 2;
    let length = 0;
    for (let entry = first + 2; entry < first + ERROR_COUNT; entry += 2) length += this.#words[entry];
    return length;
  }

  /**
   * A copy of the last response
   *
   * @param {number} table
   * @param {string} errors The errors in it, as JSON text
   * @param {number} [length] Its length in bytes
   */
  response(table, errors, length = this.length(table)) {
    const bytes = new Uint8Array(length);
    this.copyResponse(table, bytes);
    return new EndpointResponse(bytes, this.kind(table), errors);
  }

  /**
   * Copies the last response to the start of `into`, which has to be large enough
   *
   * @param {number} table
   * @param {Uint8Array} into
   */
  copyResponse(table, into) {
    const bytes = this.#current();
    const first = table >>> 2;
    let written = 0;
    for (let entry = first + 1; entry < first + ERROR_COUNT; entry += 2) {
      const start = this.#words[entry];
      const length = this.#words[entry + 1];
      if (length < MAX_LOOP_LENGTH) {
        for (let index = 0; index < length; index += 1) into[written + index] = bytes[start + index];
      } else {
        set.call(into, bytes.subarray(start, start + length), written);
      }
      written += length;
    }
  }

  #current() {
    // A view of memory that has grown since is empty.
    if (this.#bytes.length === 0) {
      this.#bytes = new Uint8Array(this.#memory.buffer);
      this.#words = new Uint32Array(this.#memory.buffer);
    }
    return this.#bytes;
  }
}
