// An engine over the storage in its own memory: everything is done at once.

import { Desk } from "./desk.js";
import { BlockError, ConfigError } from "./errors.js";
import { byteLength } from "./input.js";
import { now } from "./waiting.js";

/** @import { WrittenAnswer } from "../../index.js" */
/** @import { Answer } from "./answer.js" */
/** @import { Asked } from "./waiting.js" */

export class LocalDesk extends Desk {
  /** Where the engine tells what answer it gave out */
  #table = this.run((host) => host.table());

  /** @param {Uint8Array} message */
  ingestSync(message) {
    const text = this.run((host) => host.ingest(message), BlockError);
    this.pump();
    return text;
  }

  /** @param {Uint8Array} message */
  async ingest(message) {
    return this.ingestSync(message);
  }

  /**
   * @param {bigint} height
   * @param {Uint8Array} config
   */
  async putConfig(height, config) {
    this.run((host) => host.put_config(height, config), ConfigError);
  }

  async chain() {
    return this.run((host) => host.chain());
  }

  /**
   * @param {string | Uint8Array} body
   * @param {string | undefined} pathMethod
   * @returns {Answer | null}
   */
  answerSync(body, pathMethod) {
    const length = this.#answer(body, pathMethod);
    return length > 0 ? this.instance.memory.answer(this.#table, length) : null;
  }

  /**
   * @param {string | Uint8Array} body
   * @param {string | undefined} pathMethod
   */
  async answer(body, pathMethod) {
    return this.answerSync(body, pathMethod);
  }

  /**
   * @param {string | Uint8Array} body
   * @param {Uint8Array} into
   * @param {string | undefined} pathMethod
   * @returns {WrittenAnswer | null}
   */
  answerInto(body, into, pathMethod) {
    const room = byteLength(into);
    const length = this.#answer(body, pathMethod);
    if (length === 0) return null;
    const { memory } = this.instance;
    if (length > room) return { class: memory.classOf(this.#table), written: 0, overflow: memory.answer(this.#table, length) };
    memory.copy(this.#table, into);
    return { class: memory.classOf(this.#table), written: length, overflow: null };
  }

  /**
   * @param {string | Uint8Array} body
   * @param {string | undefined} pathMethod
   */
  #answer(body, pathMethod) {
    return this.run((host) => host.answer(this.instance.memory.put(host, body), pathMethod));
  }

  /**
   * @param {string | Uint8Array} body
   * @param {Asked} asked
   * @returns {Promise<Answer>}
   */
  async call(body, { pathMethod, timeout, signal }) {
    signal?.throwIfAborted();
    const length = this.run((host) => {
      const length = this.instance.memory.put(host, body);
      return host.call(now() + timeout, length, pathMethod);
    });
    if (length > 0) return this.instance.memory.answer(this.#table, length);
    const call = this.open(signal);
    this.waiting.wait(call, this.run((host) => host.ticket()));
    this.arm();
    return call.promise;
  }

  /** Hands out the answers that are there now */
  pump() {
    for (let length; (length = this.run((host) => host.poll_answer())); ) {
      const answer = this.instance.memory.answer(this.#table, length);
      this.waiting.answerTicket(this.run((host) => host.ticket()), answer);
    }
    this.arm();
  }
}
