// Drives an endpoint with the storage in its own memory: everything completes at once.

import { Driver } from "./driver.js";
import { BlockError, ConfigError } from "./errors.js";
import { byteLength } from "./input.js";
import { now } from "./waiting.js";

/** @import { WrittenResponse } from "../../index.js" */
/** @import { EndpointResponse } from "./response.js" */
/** @import { CallOptions } from "./waiting.js" */

export class LocalDriver extends Driver {
  /** Address of the table that describes the last response */
  #table = this.run((endpoint) => endpoint.response_table());

  /** @param {Uint8Array} message */
  handleBlockSync(message) {
    const summary = this.run((endpoint) => endpoint.handle_block(message), BlockError);
    this.pump();
    return summary;
  }

  /** @param {Uint8Array} message */
  async handleBlock(message) {
    return this.handleBlockSync(message);
  }

  /**
   * @param {bigint} height
   * @param {Uint8Array} config
   */
  async putConfig(height, config) {
    this.run((endpoint) => endpoint.put_config(height, config), ConfigError);
  }

  async chainStatus() {
    return this.run((endpoint) => endpoint.chain_status());
  }

  /**
   * @param {string | Uint8Array} body
   * @param {string | undefined} urlMethod
   * @returns {EndpointResponse | null}
   */
  respondSync(body, urlMethod) {
    const length = this.#respond(body, urlMethod);
    return length > 0 ? this.instance.memory.response(this.#table, length) : null;
  }

  /**
   * @param {string | Uint8Array} body
   * @param {string | undefined} urlMethod
   */
  async respond(body, urlMethod) {
    return this.respondSync(body, urlMethod);
  }

  /**
   * @param {string | Uint8Array} body
   * @param {Uint8Array} into
   * @param {string | undefined} urlMethod
   * @returns {WrittenResponse | null}
   */
  respondInto(body, into, urlMethod) {
    const capacity = byteLength(into);
    const length = this.#respond(body, urlMethod);
    if (length === 0) return null;
    const { memory } = this.instance;
    const kind = memory.kind(this.#table);
    if (length > capacity) return { kind, written: 0, overflow: memory.response(this.#table, length) };
    memory.copyResponse(this.#table, into);
    return { kind, written: length, overflow: null };
  }

  /**
   * @param {string | Uint8Array} body
   * @param {string | undefined} urlMethod
   */
  #respond(body, urlMethod) {
    return this.run((endpoint) => {
      const length = this.instance.memory.writeRequest(endpoint, body);
      return endpoint.respond(length, urlMethod);
    });
  }

  /**
   * @param {string | Uint8Array} body
   * @param {CallOptions} options
   * @returns {Promise<EndpointResponse>}
   */
  async handleRequest(body, { urlMethod, timeout, signal }) {
    signal?.throwIfAborted();
    const responseLength = this.run((endpoint) => {
      const length = this.instance.memory.writeRequest(endpoint, body);
      return endpoint.handle_request(now() + timeout, length, urlMethod);
    });
    if (responseLength > 0) return this.instance.memory.response(this.#table, responseLength);
    const call = this.addCall(signal);
    this.calls.suspend(call, this.run((endpoint) => endpoint.handle()));
    this.setTimer();
    return call.promise;
  }

  /** Passes on the responses to pending requests that are ready */
  pump() {
    for (let length; (length = this.run((endpoint) => endpoint.poll_response())); ) {
      const response = this.instance.memory.response(this.#table, length);
      this.calls.resolveHandle(this.run((endpoint) => endpoint.handle()), response);
    }
    this.setTimer();
  }
}
