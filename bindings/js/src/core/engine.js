// The engine, as the package shows it.
//
// A thin front: what callers pass is checked here, and everything else is done by the desk behind it. The
// desk knows nothing of its front, so an engine that is forgotten can be collected; then the desk is closed as
// if it had been disposed of.

import { usage } from "./errors.js";
import {
  bytesOnly,
  duration,
  maybeString,
  requestBody,
  textBytes,
  uint32,
  uint64,
  word,
} from "./input.js";
import { parseJson } from "./json.js";
import { init } from "./load.js";
import { LocalDesk } from "./local.js";
import { RemoteDesk } from "./remote.js";

/** @import { CallOptions, ChainStatus, EngineOptions, Ingested, Patience, RequestBody, Settings, WaitOptions, WrittenAnswer } from "../../index.js" */
/** @import { Answer } from "./answer.js" */
/** @import { Glue, Setup } from "./load.js" */

const DEFAULT_TIMEOUT = 10_000;

/**
 * Closes the desks of engines that were forgotten
 *
 * @type {FinalizationRegistry<LocalDesk | RemoteDesk>}
 */
const forgotten = new FinalizationRegistry((desk) => desk.dispose());

/** For `create` alone */
const CREATE = Symbol("create");

export class Engine {
  /** @type {LocalDesk | RemoteDesk} */
  #desk;
  #timeout;

  /**
   * @param {symbol} key
   * @param {LocalDesk | RemoteDesk} desk
   * @param {number} timeout
   */
  constructor(key, desk, timeout) {
    if (key !== CREATE) throw usage("engines are made by Engine.create");
    this.#desk = desk;
    this.#timeout = timeout;
    forgotten.register(this, desk, this);
  }

  /**
   * @param {EngineOptions} [options]
   * @returns {Promise<Engine>}
   */
  static async create({ storage, settings = {}, patience = {} } = {}) {
    if (storage !== undefined) checkStorage(storage);
    const timeout = duration(patience.timeout ?? DEFAULT_TIMEOUT, "patience.timeout");
    await init();
    const setUp = (/** @type {Glue} */ glue) => {
      const setup = new glue.Setup();
      apply(setup, settings, patience);
      const host = new glue.Host(setup);
      setup.free();
      return host;
    };
    checkSettings(settings, patience);
    const desk = storage === undefined ? new LocalDesk(setUp) : new RemoteDesk(setUp, storage);
    return new Engine(CREATE, desk, timeout);
  }

  /**
   * @param {string | Uint8Array} message
   * @returns {Promise<Ingested>}
   */
  async ingest(message) {
    return ingested(await this.#desk.ingest(textBytes(message, "message")));
  }

  /**
   * @param {string | Uint8Array} message
   * @returns {Ingested}
   */
  ingestSync(message) {
    return ingested(this.#local().ingestSync(textBytes(message, "message")));
  }

  /**
   * @param {number | bigint} height
   * @param {string | Uint8Array} config
   */
  async putConfig(height, config) {
    await this.#desk.putConfig(uint64(height, "height"), textBytes(config, "config"));
  }

  /**
   * @param {RequestBody} body
   * @param {WaitOptions} [options]
   * @returns {Promise<Answer>}
   */
  async call(body, { pathMethod, signal, timeout = this.#timeout } = {}) {
    duration(timeout, "timeout");
    maybeString(pathMethod, "pathMethod");
    // Keeps this engine from being forgotten while the call is open.
    return held(this, this.#desk.call(requestBody(body), { pathMethod, signal, timeout }));
  }

  /**
   * @param {RequestBody} body
   * @param {CallOptions} [options]
   * @returns {Promise<Answer | null>}
   */
  async answer(body, { pathMethod } = {}) {
    return this.#desk.answer(requestBody(body), maybeString(pathMethod, "pathMethod"));
  }

  /**
   * @param {RequestBody} body
   * @param {CallOptions} [options]
   * @returns {Answer | null}
   */
  answerSync(body, { pathMethod } = {}) {
    return this.#local().answerSync(requestBody(body), maybeString(pathMethod, "pathMethod"));
  }

  /**
   * @param {RequestBody} body
   * @param {Uint8Array} into
   * @param {CallOptions} [options]
   * @returns {WrittenAnswer | null}
   */
  answerInto(body, into, { pathMethod } = {}) {
    const desk = this.#local();
    // Made before the room is looked at: an object may have a say in how it is written.
    const request = requestBody(body);
    return desk.answerInto(request, bytesOnly(into, "into"), maybeString(pathMethod, "pathMethod"));
  }

  /** @returns {Promise<ChainStatus>} */
  async chain() {
    /** @type {any} */
    const chain = parseJson(await this.#desk.chain(), { bigint: true });
    const { protocolVersion } = chain;
    return { ...chain, protocolVersion: protocolVersion === null ? null : Number(protocolVersion) };
  }

  get open() {
    return this.#desk.places;
  }

  stop() {
    this.#desk.stop();
  }

  dispose() {
    forgotten.unregister(this);
    this.#desk.dispose();
  }

  #local() {
    if (this.#desk instanceof LocalDesk) return this.#desk;
    throw usage("the engine has a storage of the host, which may take its time");
  }
}

// Where the language does not have it yet, those who use it bring a symbol of their own.
if (Symbol.dispose) {
  Object.defineProperty(Engine.prototype, Symbol.dispose, {
    value: Engine.prototype.dispose,
    configurable: true,
    writable: true,
  });
}

const open = new Map();

/**
 * A promise that keeps `engine` alive until it is settled
 *
 * @template T
 * @param {Engine} engine
 * @param {Promise<T>} promise
 * @returns {Promise<T>}
 */
async function held(engine, promise) {
  open.set(promise, engine);
  try {
    return await promise;
  } finally {
    open.delete(promise);
  }
}

/** @param {string} text */
function ingested(text) {
  /** @type {any} */
  const told = parseJson(text, { bigint: true });
  for (const count of ["transactions", "outcomes", "receipts"]) told[count] = Number(told[count]);
  return told;
}

/** @param {any} storage */
function checkStorage(storage) {
  for (const method of ["get", "commit"]) {
    if (typeof storage?.[method] !== "function") throw usage(`storage: has no method ${method}`);
  }
}

/**
 * Refuses what `apply` would misunderstand
 *
 * @param {Settings} settings
 * @param {Patience} patience
 */
function checkSettings(settings, patience) {
  const { unknown, finality, retention, maxReceipts, maxBatch } = settings;
  if (unknown !== undefined) word(unknown, "settings.unknown", ["wait", "immediate"]);
  if (finality !== undefined) word(finality, "settings.finality", ["headers", "all"]);
  if (maxReceipts !== undefined) uint32(maxReceipts, "settings.maxReceipts");
  if (maxBatch !== undefined) uint32(maxBatch, "settings.maxBatch");
  if (patience.limit !== undefined) uint32(patience.limit, "patience.limit");
  if (retention === undefined || retention === "everything") return;
  const { blocks, epochs } = counts(retention);
  if ((blocks ?? epochs) === undefined) {
    throw usage("settings.retention: expected everything, or a number of blocks or epochs");
  }
  uint64(blocks ?? epochs, "settings.retention");
}

/**
 * What is kept, if that is a number of blocks or epochs
 *
 * @param {Settings["retention"]} retention
 * @returns {{ blocks?: number | bigint, epochs?: number | bigint }}
 */
function counts(retention) {
  return typeof retention === "object" && retention !== null ? retention : {};
}

/**
 * @param {Setup} setup
 * @param {Settings} settings
 * @param {Patience} patience
 */
function apply(setup, settings, patience) {
  const { timeoutCause, unknown, finality, retention, maxReceipts, maxBatch } = settings;
  if (timeoutCause) setup.timeout_cause(true);
  if (unknown === "immediate") setup.unknown_immediate();
  if (finality === "all") setup.all_final();
  if (maxReceipts !== undefined) setup.max_receipts(maxReceipts);
  if (maxBatch !== undefined) setup.max_batch(maxBatch);
  const { blocks, epochs } = counts(retention);
  if (blocks !== undefined) setup.retain_blocks(BigInt(blocks));
  else if (epochs !== undefined) setup.retain_epochs(BigInt(epochs));
  if (patience.limit !== undefined) setup.max_waiting(patience.limit);
  setup.seed(crypto.getRandomValues(new BigUint64Array(1))[0]);
}
