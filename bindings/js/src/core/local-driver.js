// Drives an endpoint with the storage in its own memory: everything but waiting completes at once.

import { Driver } from "./driver.js";
import { byteLength } from "./input.js";
import { callErrors } from "./response.js";

/** @import { WrittenResponse } from "../../index.js" */
/** @import { EndpointResponse } from "./response.js" */

export class LocalDriver extends Driver {
  /**
   * @param {Uint8Array} message
   * @returns {string}
   */
  handleBlockSync(message) {
    let summary = "";
    /** @type {unknown} */
    let failure;
    const resolve = (/** @type {string} */ json) => void (summary = json);
    const reject = (/** @type {unknown} */ error) => void (failure = error);
    this.startImport(message, { resolve, reject });
    if (failure) throw failure;
    return summary;
  }

  /**
   * @param {string | Uint8Array} body
   * @param {string | undefined} urlMethod
   * @returns {EndpointResponse<any> | null}
   */
  respondSync(body, urlMethod) {
    const length = this.startRequest(body, urlMethod);
    return length > 0 ? this.lastResponse(length) : null;
  }

  /**
   * @param {string | Uint8Array} body
   * @param {string | undefined} urlMethod
   */
  async respond(body, urlMethod) {
    if (!this.methods) return this.respondSync(body, urlMethod);
    const start = await this.answerCallsOfHost(body, urlMethod, undefined);
    const length = start();
    return length > 0 ? this.lastResponse(length) : null;
  }

  /**
   * @param {string | Uint8Array} body
   * @param {Uint8Array} into
   * @param {string | undefined} urlMethod
   * @returns {WrittenResponse | null}
   */
  respondInto(body, into, urlMethod) {
    const capacity = byteLength(into);
    const length = this.startRequest(body, urlMethod);
    if (length === 0) return null;
    const { memory } = this.instance;
    const kind = memory.kind(this.table);
    const errors = callErrors(this.lastErrors());
    if (length > capacity) return { kind, errors, written: 0, overflow: this.lastResponse(length) };
    memory.copyResponse(this.table, into);
    return { kind, errors, written: length, overflow: null };
  }
}
