// Drives an endpoint: hands in what callers pass, and completes their calls by its outputs.
//
// All outputs are handled whenever something was handed in. Subclasses add what depends on where
// the storage is.

import { BlockError, ConfigError, RequestError, usageError } from "./errors.js";
import { answerCalls, parsedCalls } from "./host-methods.js";
import { Instance } from "./load.js";
import { KINDS } from "./response.js";
import { PendingCalls, Timer, now } from "./waiting.js";
import { Watches } from "./watching.js";

/** @import { ErrorClass, PanicError } from "./errors.js" */
/** @import { WatchRequest } from "./changes.js" */
/** @import { Answer, Methods } from "./host-methods.js" */
/** @import { EngineEndpoint, Glue } from "./load.js" */
/** @import { EndpointResponse } from "./response.js" */
/** @import { CallOptions, PendingCall } from "./waiting.js" */

export class Driver {
  #isDisposed = false;
  /** The key of the last request whose calls the host answers, below the handles of the engine */
  #lastKey = 0n;
  /** @type {{ handle?: bigint, completed?: Promise<unknown> }} */
  #lastExport = {};

  /**
   * @param {(glue: Glue) => EngineEndpoint} createEndpoint
   * @param {Methods | null} methods Those of the host
   */
  constructor(createEndpoint, methods) {
    this.methods = methods;
    this.calls = new PendingCalls();
    this.watches = new Watches(this);
    this.timer = new Timer(() => this.#handleTimeout());
    this.instance = new Instance((error) => this.#handlePanic(error));
    this.endpoint = this.instance.run((glue) => createEndpoint(glue));
    /** Address of the table that describes the last response */
    this.table = this.instance.run(() => this.endpoint.response_table());
  }

  /**
   * Calls `work` with the endpoint in the instance
   *
   * @template T
   * @param {(endpoint: EngineEndpoint, glue: Glue) => T} work
   * @param {ErrorClass} [errorClass]
   * @returns {T}
   */
  run(work, errorClass) {
    if (this.#isDisposed) throw usageError("the endpoint was disposed of");
    return this.instance.run((glue) => work(this.endpoint, glue), errorClass);
  }

  /**
   * @param {Uint8Array} message
   * @returns {Promise<string>}
   */
  async handleBlock(message) {
    return new Promise((resolve, reject) => this.startImport(message, { resolve, reject }));
  }

  /**
   * Starts the import of a block message, whose result completes `call`
   *
   * @param {Uint8Array} message
   * @param {PendingCall} call
   */
  startImport(message, call) {
    const handle = this.run((endpoint) => endpoint.handle_block(message), BlockError);
    this.#start(handle, { ...call, errorClass: BlockError, readRows: new Map() });
  }

  /**
   * @param {string | bigint} scope
   * @param {Uint8Array} config
   */
  async putConfig(scope, config) {
    const [epochId, height] = typeof scope === "string" ? [scope, 0n] : [undefined, scope];
    const handle = this.run((endpoint) => endpoint.handle_config(epochId, height, config), ConfigError);
    return new Promise((resolve, reject) => {
      this.#start(handle, { resolve, reject, errorClass: ConfigError, readRows: new Map() });
    });
  }

  /**
   * Answers a request from the rows as they are now; `null` if it would have to wait
   *
   * @param {string | Uint8Array} body
   * @param {string | undefined} urlMethod
   * @returns {Promise<EndpointResponse<any> | null>}
   */
  async respond(body, urlMethod) {
    return this.handleRequest(body, { urlMethod });
  }

  /** @returns {Promise<string>} */
  async chainStatus() {
    const handle = this.run((endpoint) => endpoint.handle_chain_query());
    return new Promise((resolve, reject) => this.#start(handle, { resolve, reject }));
  }

  /**
   * Exports final blocks to the archive; calls share an export that waits to start
   *
   * @returns {Promise<unknown>}
   */
  async exportFinal() {
    const handle = this.run((endpoint) => endpoint.handle_export());
    if (this.#lastExport.handle !== handle) {
      const completed = new Promise((resolve, reject) => this.#start(handle, { resolve, reject }));
      this.#lastExport = { handle, completed };
    }
    return this.#lastExport.completed;
  }

  /**
   * The next event of a watch after the event of this id, as JSON text; empty if there is none yet
   *
   * @param {WatchRequest} request
   * @param {string} lastId
   * @returns {Promise<string>}
   */
  async observe({ hash, waitUntil, withResult }, lastId) {
    const handle = this.run((endpoint) => endpoint.handle_observation_query(hash, lastId), RequestError);
    /** @param {EngineEndpoint} endpoint */
    const take = (endpoint) => endpoint.take_event(lastId, waitUntil, withResult);
    return new Promise((resolve, reject) => this.#start(handle, { resolve, reject, take }));
  }

  /**
   * Answers a request, or lets it wait; without a timeout it does not wait, and if it would have to
   * the result is `null`
   *
   * @param {string | Uint8Array} body
   * @param {CallOptions} options
   * @returns {Promise<EndpointResponse<any> | null>}
   */
  async handleRequest(body, { urlMethod, timeout, signal }) {
    signal?.throwIfAborted();
    const start = this.methods && (await this.answerCallsOfHost(body, urlMethod, signal));
    // Nothing is awaited from here on: the response and the handle are those of the last request.
    const length = start ? start(timeout) : this.startRequest(body, urlMethod, timeout);
    if (length > 0) return this.lastResponse(length);
    const handle = this.run((endpoint) => endpoint.handle());
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.calls.remove(handle);
        // First, so that the request is no longer pending when the promise is rejected.
        this.pump((endpoint) => endpoint.cancel(handle));
        reject(signal?.reason);
      };
      this.#start(handle, { resolve, reject, signal, onAbort, waits: timeout !== undefined });
    });
  }

  /**
   * Hands in a request; returns the length of its response if there is one at once, or else 0
   *
   * @param {string | Uint8Array} body
   * @param {string | undefined} urlMethod
   * @param {number} [timeout]
   */
  startRequest(body, urlMethod, timeout) {
    return this.run((endpoint) => {
      const length = this.instance.memory.writeRequest(endpoint, body);
      return endpoint.handle_request(length, urlMethod, timeout === undefined ? 0 : now(), timeout);
    });
  }

  /**
   * Has the host answer the calls of its own methods; the function then hands in the request, as
   * `startRequest` does
   *
   * @param {string | Uint8Array} body
   * @param {string | undefined} urlMethod
   * @param {AbortSignal | undefined} signal
   * @returns {Promise<(timeout?: number) => number>}
   */
  async answerCallsOfHost(body, urlMethod, signal) {
    const text = this.run((endpoint) => {
      const length = this.instance.memory.writeRequest(endpoint, body);
      return endpoint.parse_request(length, urlMethod);
    });
    const { slot, calls } = parsedCalls(text);
    const received = now();
    const drop = () => this.pump((endpoint) => endpoint.handle_parsed(slot));
    // A call that waits meanwhile, so that an abort and the end of the endpoint reject it.
    const key = (this.#lastKey -= 1n);
    const answered = new Promise((resolve, reject) => {
      this.calls.add(key, { resolve, reject, signal, onAbort: () => reject(signal?.reason) });
      answerCalls(/** @type {Methods} */ (this.methods), calls, signal).then(resolve, reject);
    });
    /** @type {Answer[]} */
    let answers;
    try {
      answers = await answered;
    } catch (error) {
      drop();
      throw error;
    } finally {
      this.calls.remove(key);
    }
    return (timeout) => {
      if (signal?.aborted) {
        drop();
        throw signal.reason;
      }
      return this.run((endpoint) => {
        for (const { index, json, kind } of answers) endpoint.answer_call(slot, index, json, KINDS.indexOf(kind));
        return endpoint.handle_parsed(slot, received, timeout);
      });
    };
  }

  /**
   * A copy of the last response
   *
   * @param {number} [length] Its length in bytes
   */
  lastResponse(length) {
    return this.instance.memory.response(this.table, this.lastErrors(), length);
  }

  /** The errors in the last response, as JSON text; nothing if there are none */
  lastErrors() {
    const isError = this.instance.memory.errorCount(this.table) > 0;
    return isError ? this.run((endpoint) => endpoint.response_errors()) : "";
  }

  /**
   * Adds the call of an operation that was handed in
   *
   * @param {bigint} handle
   * @param {PendingCall} call
   */
  #start(handle, call) {
    this.calls.add(handle, call);
    this.pump();
  }

  /**
   * Hands something in, handles all outputs, and sets the timer; does nothing after a panic or a
   * `dispose`, which reject all calls
   *
   * @param {(endpoint: EngineEndpoint) => void} [handIn]
   */
  pump(handIn = () => {}) {
    try {
      this.run(handIn);
      while (this.#handleOutput());
      this.timer.set(this.run((endpoint) => endpoint.next_timeout()) ?? null);
    } catch (error) {
      if (!this.#isDisposed && !this.instance.hasPanicked) throw error;
    }
  }

  /** Handles the next output; returns whether there was one */
  #handleOutput() {
    const { OutputKind, kind, handle } = this.run((endpoint, { OutputKind }) => {
      const kind = endpoint.poll_output();
      return { OutputKind, kind, handle: endpoint.handle() };
    });
    if (kind === OutputKind.Timeout) return false;
    const call = this.calls.get(handle);
    // Without a call the operation was cancelled.
    if (!call) return true;
    if (kind === OutputKind.Response) {
      this.calls.remove(handle);
      call.resolve(this.lastResponse());
    } else if (kind === OutputKind.Pending) {
      call.snapshot?.close();
      if (!call.waits) {
        this.calls.remove(handle);
        call.resolve(null);
      }
    } else if (kind === OutputKind.Completed) {
      this.calls.remove(handle);
      try {
        const { take = (endpoint) => endpoint.take_completion(), errorClass } = call;
        call.resolve(this.run(take, errorClass));
        if (call.readRows) this.watches.handleBlock();
      } catch (error) {
        call.reject(call.storageError ?? error);
      }
    } else {
      const packed = this.run((endpoint) => endpoint.packed_rows());
      if (kind === OutputKind.Commit) this.commit(call, handle, packed);
      else if (kind === OutputKind.Put) this.write(call, handle, packed, "putMany");
      else if (kind === OutputKind.Replace) this.write(call, handle, packed, "replaceMany");
      else if (kind === OutputKind.Scan) this.scan(call, handle, packed);
      else this.supplyRows(call, handle, packed, kind === OutputKind.NeedFirstRows);
    }
    return true;
  }

  /**
   * Supplies rows of a storage of the host, all rows of an evaluation from one snapshot
   *
   * @param {PendingCall} call
   * @param {bigint} handle
   * @param {Uint8Array} packed The keys
   * @param {boolean} isFirst Whether an evaluation starts
   */
  async supplyRows(call, handle, packed, isFirst) {}

  /**
   * Commits changes to a storage of the host
   *
   * @param {PendingCall} call
   * @param {bigint} handle
   * @param {Uint8Array} packed The changes
   */
  async commit(call, handle, packed) {}

  /**
   * Writes rows to an archive of the host
   *
   * @param {PendingCall} call
   * @param {bigint} handle
   * @param {Uint8Array} packed The rows
   * @param {"putMany" | "replaceMany"} method
   */
  async write(call, handle, packed, method) {}

  /**
   * Supplies a page of an archive of the host
   *
   * @param {PendingCall} call
   * @param {bigint} handle
   * @param {Uint8Array} after The last key of the page before, or the number of the table
   */
  async scan(call, handle, after) {}

  #handleTimeout() {
    this.pump((endpoint) => endpoint.handle_timeout(now()));
  }

  get pendingCount() {
    return this.run((endpoint) => endpoint.pending_count());
  }

  shutdown() {
    this.run((endpoint) => endpoint.shutdown());
    this.pump();
    this.watches.fail(usageError("the endpoint was shut down"));
  }

  dispose() {
    if (this.#isDisposed) return;
    if (!this.instance.hasPanicked) this.instance.run(() => this.endpoint.free());
    this.#isDisposed = true;
    this.timer.clear();
    // Lets their memory be collected.
    this.endpoint = /** @type {any} */ (null);
    this.instance = /** @type {any} */ (null);
    const error = usageError("the endpoint was disposed of");
    this.calls.rejectAll(error);
    this.watches.fail(error);
  }

  /** @param {PanicError} error */
  #handlePanic(error) {
    this.timer.clear();
    this.calls.rejectAll(error);
    this.watches.fail(error);
  }
}
