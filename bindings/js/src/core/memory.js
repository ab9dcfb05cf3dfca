// The memory of an instance: requests are put in there, answers are copied out of it.
//
// Nothing here calls code of the host, so between a call into the instance and the copy of what came of it
// nothing can happen to it. Memory that grows is another array: each use looks for itself.

import { Answer, CLASSES } from "./answer.js";
import { byteLength } from "./input.js";

/** @import { Host } from "./load.js" */

const encoder = new TextEncoder();
const { set } = Uint8Array.prototype;

/** UTF-8 of a code unit of a string has three bytes at most */
const WIDEST = 3;
/** The longest string that gets room for the widest */
const SHORT_TEXT = 16_384;
/** Below so many bytes a copy by hand is quicker than a view of them */
const SHORT_PIECE = 64;
/** An answer is told by its class, and by place and length of each of its pieces */
const ENTRIES = 1 + 2 * 4;

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
   * Puts the body of a request where `host` has room for it; how many bytes it has
   *
   * @param {Host} host
   * @param {string | Uint8Array} body
   * @returns {number}
   */
  put(host, body) {
    const request = typeof body === "string" && body.length > SHORT_TEXT ? encoder.encode(body) : body;
    if (typeof request !== "string") {
      const length = byteLength(request);
      const start = host.room(length);
      // Bytes that were given away are none, and cannot be copied either.
      if (length > 0) set.call(this.#current(), request, start);
      return length;
    }
    const room = request.length * WIDEST;
    const start = host.room(room);
    return encoder.encodeInto(request, this.#current().subarray(start, start + room)).written;
  }

  /**
   * The class of the answer that was given out last; `table` is the place where that is told
   *
   * @param {number} table
   */
  classOf(table) {
    this.#current();
    return CLASSES[this.#words[table >>> 2]];
  }

  /**
   * A copy of the answer that was given out last, which has so many bytes
   *
   * @param {number} table
   * @param {number} length
   */
  answer(table, length) {
    const bytes = new Uint8Array(length);
    this.copy(table, bytes);
    return new Answer(bytes, this.classOf(table));
  }

  /**
   * Copies the answer that was given out last; there has to be room for it
   *
   * @param {number} table
   * @param {Uint8Array} into
   */
  copy(table, into) {
    const bytes = this.#current();
    const first = (table >>> 2) + 1;
    let written = 0;
    for (let entry = first; entry < first - 1 + ENTRIES; entry += 2) {
      const start = this.#words[entry];
      const length = this.#words[entry + 1];
      if (length < SHORT_PIECE) {
        for (let at = 0; at < length; at += 1) into[written + at] = bytes[start + at];
      } else {
        set.call(into, bytes.subarray(start, start + length), written);
      }
      written += length;
    }
  }

  #current() {
    // An array over memory that has grown since is empty.
    if (this.#bytes.length === 0) {
      this.#bytes = new Uint8Array(this.#memory.buffer);
      this.#words = new Uint32Array(this.#memory.buffer);
    }
    return this.#bytes;
  }
}
