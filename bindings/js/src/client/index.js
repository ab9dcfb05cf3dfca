// A client of a server: requests, and changes of transactions. Without the engine.
//
// Changes come as server-sent events, a stream for each transaction, or over one WebSocket for
// all. Both reconnect, with the state first, so nothing is lost but states in between.

import { changes, watchRequest } from "../core/changes.js";
import { ErrorCode, RequestError, StorageError, usageError } from "../core/errors.js";
import { writeJson } from "../core/json.js";
import { checkOptions, oneOf } from "../core/options.js";
import { EndpointResponse } from "../core/response.js";
import { watchByEvents } from "./events.js";
import { SocketPool } from "./socket.js";

/** @import { ClientOptions, ClientRequestOptions } from "../../client.js" */
/** @import { ConnectionState, ProofOptions } from "../../client.js" */
/** @import { RequestBody, ResponseKind, RpcTransactionResponse } from "../../index.js" */
/** @import { TransactionChange, WatchOptions } from "../../index.js" */

export { ErrorCode, MilepostError, RequestError, StorageError, UsageError } from "../core/errors.js";
export { parseJson, writeJson } from "../core/json.js";
export { EndpointResponse } from "../core/response.js";

const CLIENT_OPTIONS = ["transport", "onConnection", "fetch", "WebSocket"];
const PROOF_OPTIONS = ["block", "signal"];
const REQUEST_OPTIONS = ["signal", "timeout"];

/**
 * The kinds of responses by HTTP status
 *
 * @type {{ [status: number]: ResponseKind }}
 */
const KINDS = {
  400: "request_validation",
  408: "timeout",
  422: "skipped_block",
  500: "internal",
  503: "unavailable",
};

export class Client {
  #url;
  #fetch;
  /** @type {SocketPool | null} */
  #sockets = null;
  /** @type {(state: ConnectionState) => void} */
  #onConnection;

  /**
   * @param {string} url
   * @param {ClientOptions} [options]
   */
  constructor(url, options = {}) {
    checkOptions(options, "options", CLIENT_OPTIONS);
    const { transport = "sse", onConnection = () => {} } = options;
    oneOf(transport, "transport", ["sse", "websocket"]);
    this.#url = new URL(String(url));
    // A path of its own is kept, and relative paths are below it.
    if (!this.#url.pathname.endsWith("/")) this.#url.pathname += "/";
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
    this.#onConnection = onConnection;
    if (transport === "websocket") {
      const WebSocket = options.WebSocket ?? globalThis.WebSocket;
      if (!WebSocket) throw usageError("the platform has no WebSocket: pass one as options.WebSocket");
      const address = new URL("ws", this.#url);
      address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
      this.#sockets = new SocketPool(address.href, WebSocket, onConnection);
    }
  }

  /**
   * @param {string} hash
   * @param {WatchOptions} [options]
   * @returns {AsyncGenerator<TransactionChange, void, undefined>}
   */
  watch(hash, options) {
    const request = watchRequest(hash, options);
    return changes(request, (mailbox) => {
      if (this.#sockets) return this.#sockets.watch(request, mailbox);
      const { href } = new URL(`tx/${encodeURIComponent(hash)}/events`, this.#url);
      return watchByEvents(href, request, mailbox, this.#fetch, this.#onConnection);
    });
  }

  /**
   * @template [Result=RpcTransactionResponse]
   * @param {RequestBody} body
   * @param {ClientRequestOptions} [options]
   * @returns {Promise<EndpointResponse<Result>>}
   */
  async request(body, options = {}) {
    checkOptions(options, "options", REQUEST_OPTIONS);
    const { signal, timeout } = options;
    /** @type {Record<string, string>} */
    const headers = { "content-type": "application/json" };
    if (timeout !== undefined) headers.prefer = `wait=${Math.ceil(timeout / 1000)}`;
    const isText = typeof body === "string" || ArrayBuffer.isView(body);
    const text = /** @type {BodyInit} */ (isText ? body : writeJson(body));
    const response = await this.#fetch(this.#url.href, { method: "POST", headers, body: text, signal });
    const bytes = new Uint8Array(await response.arrayBuffer());
    try {
      const { error } = /** @type {any} */ (new EndpointResponse(bytes, "result").json());
      return new EndpointResponse(bytes, KINDS[response.status] ?? (error ? "handler" : "result"));
    } catch (cause) {
      throw new RequestError(ErrorCode.SYNTAX, `HTTP status ${response.status}: not JSON`, { cause });
    }
  }

  /**
   * @param {string} hash
   * @param {ProofOptions} [options]
   */
  async prove(hash, options = {}) {
    checkOptions(options, "options", PROOF_OPTIONS);
    const url = new URL(`tx/${encodeURIComponent(hash)}`, this.#url);
    url.searchParams.set("include", "outcomes,status,proof");
    if (options.block !== undefined) url.searchParams.set("block", options.block);
    const response = await this.#fetch(url.href, { signal: options.signal });
    const text = await response.text();
    if (response.status === 200) return text;
    const detail = `HTTP status ${response.status}: ${text.slice(0, 300)}`;
    if (response.status === 503) throw new StorageError(ErrorCode.STORAGE, detail);
    throw new RequestError(ErrorCode.VALUE, detail);
  }
}

/**
 * @param {string} url
 * @param {ClientOptions} [options]
 */
export function connect(url, options) {
  return new Client(url, options);
}
