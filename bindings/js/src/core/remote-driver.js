// Drives an endpoint over a storage of the host, which may be asynchronous.
//
// Runs queries: the engine returns the keys that it needs, the rows are fetched, the engine goes
// on. In between the engine is not borrowed, so blocks are imported and other queries run
// meanwhile; the engine has a request run again that a block overtook.

import { Driver } from "./driver.js";
import { BlockError, ConfigError, StorageError } from "./errors.js";
import { bodyBytes } from "./input.js";
import { keyName, unpackChanges, unpackKeys } from "./packed-rows.js";
import { EndpointResponse, KINDS } from "./response.js";
import { VersionedStorage } from "./versioned-storage.js";
import { now } from "./waiting.js";

/** @import { Storage } from "../../index.js" */
/** @import { ErrorClass } from "./errors.js" */
/** @import { EngineEndpoint, Glue, Query } from "./load.js" */
/** @import { RowMap } from "./versioned-storage.js" */
/** @import { CallOptions, PendingCall } from "./waiting.js" */

export class RemoteDriver extends Driver {
  #storage;
  /**
   * Fulfilled when the last import that was started is over
   *
   * @type {Promise<unknown>}
   */
  #lastImport = Promise.resolve();

  /**
   * @param {(glue: Glue) => EngineEndpoint} createEndpoint
   * @param {Storage} storage
   */
  constructor(createEndpoint, storage) {
    super(createEndpoint);
    this.#storage = new VersionedStorage(storage);
  }

  /**
   * @param {Uint8Array} message
   * @returns {Promise<string>}
   */
  async handleBlock(message) {
    // Read at once: a malformed message is rejected early, and the caller may reuse the bytes.
    const query = this.run((endpoint) => endpoint.block_import(message), BlockError);
    return this.#import(query, BlockError);
  }

  /**
   * @param {bigint} height
   * @param {Uint8Array} config
   */
  async putConfig(height, config) {
    const query = this.run((endpoint) => endpoint.config_import(height, config), ConfigError);
    await this.#import(query, ConfigError);
  }

  /** @returns {Promise<string>} */
  async chainStatus() {
    const query = this.run((endpoint) => endpoint.chain_query());
    return this.#using(query, async () => {
      await this.#run(query);
      return this.run(() => query.json());
    });
  }

  /**
   * @param {string | Uint8Array} body
   * @param {string | undefined} urlMethod
   * @returns {Promise<EndpointResponse | null>}
   */
  async respond(body, urlMethod) {
    const query = this.run((endpoint) => endpoint.request_query(bodyBytes(body), urlMethod));
    return this.#using(query, async () => {
      await this.#runRequest(query);
      return this.#takeResponse(query);
    });
  }

  /**
   * @param {string | Uint8Array} body
   * @param {CallOptions} options
   * @returns {Promise<EndpointResponse>}
   */
  async handleRequest(body, { urlMethod, timeout, signal }) {
    const deadline = now() + timeout;
    const call = this.addCall(signal);
    if (!call.isDone) {
      const query = this.run((endpoint) => endpoint.request_query(bodyBytes(body), urlMethod));
      this.#using(query, () => this.#runUntilPending(query, call, deadline)).catch((error) =>
        this.calls.reject(call, error),
      );
    }
    return call.promise;
  }

  /**
   * Runs a request until it is answered or pending
   *
   * @param {Query} query
   * @param {PendingCall} call
   * @param {number} deadline
   * @returns {Promise<void>}
   */
  async #runUntilPending(query, call, deadline) {
    for (;;) {
      await this.#runRequest(query);
      if (call.isDone) return;
      const response = this.#takeResponse(query);
      if (response) return this.calls.resolve(call, response);
      if (this.run((endpoint) => endpoint.suspend(deadline, query))) {
        this.calls.suspend(call, this.run((endpoint) => endpoint.handle()));
        return this.setTimer();
      }
    }
  }

  /** Runs the requests again that were woken */
  pump() {
    for (let query; (query = this.run((endpoint) => endpoint.poll_request())); ) {
      const woken = query;
      // Only a panic can happen, and that rejects all pending calls.
      this.#using(woken, () => this.#runAgain(woken)).catch(() => {});
    }
    this.setTimer();
  }

  /**
   * @param {Query} query
   * @returns {Promise<void>}
   */
  async #runAgain(query) {
    const { handle, Resumption } = this.run((_, glue) => ({
      handle: query.handle(),
      Resumption: glue.Resumption,
    }));
    for (;;) {
      await this.#runRequest(query);
      const resumption = this.run((endpoint) => endpoint.resume(query));
      if (resumption === Resumption.Retry) continue;
      if (resumption === Resumption.Ready) {
        const response = this.#takeResponse(query);
        if (response) this.calls.resolveHandle(handle, response);
      }
      return this.setTimer();
    }
  }

  /**
   * Runs an import after those before it, commits its changes, and wakes the requests that it
   * affects
   *
   * @param {Query} query
   * @param {ErrorClass} errorClass
   * @returns {Promise<string>}
   */
  async #import(query, errorClass) {
    const previous = this.#lastImport;
    const work = this.#using(query, async () => {
      await previous;
      const readRows = new Map();
      await this.#run(query, { errorClass, readRows });
      const [changes, json] = this.run(() => [query.take_changes(), query.json()]);
      if (changes) await this.#storage.commit(unpackChanges(changes), readRows);
      this.run((endpoint) => endpoint.handle_chain_update(query));
      this.pump();
      return json;
    });
    this.#lastImport = work.catch(() => {});
    return work;
  }

  /**
   * Runs a request until it is answered or has to wait; answers it with an error if the storage
   * fails
   *
   * @param {Query} query
   */
  async #runRequest(query) {
    try {
      await this.#run(query);
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      this.run(() => query.fail(error.message));
    }
  }

  /**
   * Runs a query until it has its result; adds the rows that it reads to `readRows`
   *
   * @param {Query} query
   * @param {{ errorClass?: ErrorClass, readRows?: RowMap }} [options]
   */
  async #run(query, { errorClass, readRows } = {}) {
    const snapshot = this.#storage.snapshot();
    try {
      for (let packed; (packed = this.run(() => query.poll(), errorClass)); ) {
        const keys = unpackKeys(packed);
        const rows = await snapshot.getMany(keys);
        if (readRows) keys.forEach((key, index) => readRows.set(keyName(key), rows[index]));
        this.run(() => {
          for (const row of rows) query.push(row);
          query.supply_rows();
        }, errorClass);
      }
    } finally {
      snapshot.close();
    }
  }

  /**
   * @param {Query} query
   * @returns {EndpointResponse | null}
   */
  #takeResponse(query) {
    return this.run(() => {
      const kind = query.kind();
      if (kind === undefined) return null;
      return new EndpointResponse(/** @type {Uint8Array} */ (query.take_response()), KINDS[kind]);
    });
  }

  /**
   * Frees a query after `work`, unless the instance is gone
   *
   * @template T
   * @param {Query} query
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  async #using(query, work) {
    try {
      return await work();
    } finally {
      if (this.instance && !this.instance.hasPanicked) query.free();
    }
  }
}
