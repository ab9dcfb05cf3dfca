// The changes of many transactions over WebSockets: a subscription for each.
//
// A socket is open while something is watched, and carries as many subscriptions as a server
// allows; only beyond is another one opened. After a connection ended, all are subscribed again,
// each with the id of its last event, which decides what follows.

import { changeOf } from "../core/changes.js";
import { ErrorCode, RequestError, StorageError } from "../core/errors.js";
import { parseJson } from "../core/json.js";
import { Retry } from "./retry.js";

/** @import { ConnectionState, SubscriptionParams } from "../../client.js" */
/** @import { Mailbox, WatchRequest } from "../core/changes.js" */

/** Number of subscriptions that a server allows on a connection */
const MAX_SUBSCRIPTIONS = 64;

/**
 * @typedef {object} Subscription
 * @property {WatchRequest} request
 * @property {Mailbox} mailbox
 * @property {number} [number] That of the server, once it has responded
 * @property {string} [lastId] The id of the last event
 */

export class SocketPool {
  #url;
  #WebSocket;
  #onConnection;
  /** @type {Set<Socket>} */
  #sockets = new Set();

  /**
   * @param {string} url
   * @param {typeof globalThis.WebSocket} WebSocket
   * @param {(state: ConnectionState) => void} onConnection
   */
  constructor(url, WebSocket, onConnection) {
    this.#url = url;
    this.#WebSocket = WebSocket;
    this.#onConnection = onConnection;
  }

  /**
   * Puts the changes of a transaction into a mailbox, until the returned function is called
   *
   * @param {WatchRequest} request
   * @param {Mailbox} mailbox
   */
  watch(request, mailbox) {
    let socket = [...this.#sockets].find((one) => one.size < MAX_SUBSCRIPTIONS);
    if (!socket) {
      socket = new Socket(this.#url, this.#WebSocket, this.#onConnection);
      this.#sockets.add(socket);
    }
    const own = socket;
    const end = own.subscribe({ request, mailbox });
    return () => {
      end();
      if (own.size === 0) this.#sockets.delete(own);
    };
  }
}

class Socket {
  #url;
  #WebSocket;
  #onConnection;
  #retry = new Retry();
  #control = new AbortController();
  /** @type {WebSocket | null} */
  #socket = null;
  #isOpen = false;
  #lastId = 0;
  /**
   * By the id of the request that subscribes
   *
   * @type {Map<number, Subscription>}
   */
  #subscriptions = new Map();

  /**
   * @param {string} url
   * @param {typeof globalThis.WebSocket} WebSocket
   * @param {(state: ConnectionState) => void} onConnection
   */
  constructor(url, WebSocket, onConnection) {
    this.#url = url;
    this.#WebSocket = WebSocket;
    this.#onConnection = onConnection;
    this.#connect();
  }

  get size() {
    return this.#subscriptions.size;
  }

  /** @param {Subscription} subscription */
  subscribe(subscription) {
    const id = ++this.#lastId;
    this.#subscriptions.set(id, subscription);
    if (this.#isOpen) this.#sendSubscribe(id, subscription);
    return () => this.#unsubscribe(id);
  }

  /** @param {number} id */
  #unsubscribe(id) {
    const number = this.#subscriptions.get(id)?.number;
    if (!this.#subscriptions.delete(id)) return;
    if (this.#subscriptions.size === 0) {
      this.#control.abort();
      this.#socket?.close();
    } else if (this.#isOpen && number !== undefined) {
      this.#send(0, "unsubscribe", [number]);
    }
  }

  #connect() {
    const socket = new this.#WebSocket(this.#url);
    this.#socket = socket;
    socket.onopen = () => {
      this.#isOpen = true;
      this.#onConnection({ isOpen: true });
      for (const [id, subscription] of this.#subscriptions) this.#sendSubscribe(id, subscription);
    };
    socket.onmessage = ({ data }) => this.#receive(String(data));
    // An error is followed by a close.
    socket.onerror = () => {};
    socket.onclose = async ({ code, reason }) => {
      this.#isOpen = false;
      const { signal } = this.#control;
      if (signal.aborted) return;
      const cause = new Error(`the WebSocket was closed: ${code} ${reason}`);
      this.#onConnection({ isOpen: false, cause });
      await this.#retry.pause(signal);
      if (!signal.aborted) this.#connect();
    };
  }

  /**
   * @param {number} id
   * @param {string} method
   * @param {unknown} params
   */
  #send(id, method, params) {
    this.#socket?.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
  }

  /**
   * @param {number} id
   * @param {Subscription} subscription
   */
  #sendSubscribe(id, subscription) {
    const { request, lastId } = subscription;
    const { hash, waitUntil, withResult } = request;
    subscription.number = undefined;
    /** @type {SubscriptionParams} */
    const params = { tx_hashes: [hash], wait_until: waitUntil };
    if (withResult) params.include = "status";
    if (lastId) params.last_event_ids = { [hash]: lastId };
    this.#send(id, "subscribe_tx_status", params);
  }

  /** @param {string} text */
  #receive(text) {
    const message = parseJson(text, { bigint: true });
    const { id, result, error, params } = /** @type {any} */ (message);
    if (id !== undefined) {
      const subscription = this.#subscriptions.get(Number(id));
      if (!subscription) {
        // The watch ended before its subscription was known.
        if (id !== 0n && typeof result === "bigint") this.#send(0, "unsubscribe", [Number(result)]);
      } else if (error) {
        const detail = error.data ?? error.message;
        subscription.mailbox.fail(new RequestError(ErrorCode.VALUE, String(detail)));
      } else {
        subscription.number = Number(result);
      }
      return;
    }
    this.#retry.reset();
    const number = Number(params.subscription);
    for (const subscription of this.#subscriptions.values()) {
      if (subscription.number === number) notify(subscription, params.result);
    }
  }
}

/**
 * @param {Subscription} subscription
 * @param {any} event
 */
function notify(subscription, { event, id, status }) {
  if (event === "end") return;
  const { mailbox } = subscription;
  if (event === "failed") return mailbox.fail(new StorageError(ErrorCode.STORAGE, status.error));
  subscription.lastId = id;
  mailbox.put(changeOf(event, id, status));
}
