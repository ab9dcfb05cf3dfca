// The public class `Endpoint`.
//
// Checks what callers pass; its driver does everything else. The driver holds no reference to its
// endpoint, so an endpoint that is no longer referenced can be collected, and then its driver is
// disposed of.

import { usageError } from "./errors.js";
import {
  bytesOnly,
  duration,
  oneOf,
  optionalString,
  requestBody,
  textBytes,
  uint32,
  uint64,
} from "./input.js";
import { parseJson } from "./json.js";
import { init } from "./load.js";
import { LocalDriver } from "./local-driver.js";
import { RemoteDriver } from "./remote-driver.js";

/** @import { ChainStatus, EndpointOptions, ImportSummary, RequestBody } from "../../index.js" */
/** @import { RequestOptions, Settings, WaitConfig, WaitOptions } from "../../index.js" */
/** @import { WrittenResponse } from "../../index.js" */
/** @import { Config, Glue } from "./load.js" */
/** @import { EndpointResponse } from "./response.js" */

const DEFAULT_TIMEOUT = 10_000;

/**
 * Disposes of the drivers of endpoints that were collected
 *
 * @type {FinalizationRegistry<LocalDriver | RemoteDriver>}
 */
const registry = new FinalizationRegistry((driver) => driver.dispose());

/** Lets only `create` call the constructor */
const CREATE = Symbol("create");

export class Endpoint {
  /** @type {LocalDriver | RemoteDriver} */
  #driver;
  #timeout;

  /**
   * @param {symbol} key
   * @param {LocalDriver | RemoteDriver} driver
   * @param {number} timeout
   */
  constructor(key, driver, timeout) {
    if (key !== CREATE) throw usageError("endpoints are created with Endpoint.create");
    this.#driver = driver;
    this.#timeout = timeout;
    registry.register(this, driver, this);
  }

  /**
   * @param {EndpointOptions} [options]
   * @returns {Promise<Endpoint>}
   */
  static async create({ storage, settings = {}, waitConfig = {} } = {}) {
    if (storage !== undefined) checkStorage(storage);
    const timeout = duration(waitConfig.timeout ?? DEFAULT_TIMEOUT, "waitConfig.timeout");
    await init();
    const createEndpoint = (/** @type {Glue} */ glue) => {
      const config = new glue.Config();
      configure(config, settings, waitConfig);
      const endpoint = new glue.Endpoint(config, storage === undefined);
      config.free();
      return endpoint;
    };
    checkConfig(settings, waitConfig);
    const driver =
      storage === undefined
        ? new LocalDriver(createEndpoint)
        : new RemoteDriver(createEndpoint, storage);
    return new Endpoint(CREATE, driver, timeout);
  }

  /**
   * @param {string | Uint8Array} message
   * @returns {Promise<ImportSummary>}
   */
  async handleBlock(message) {
    return importSummary(await this.#driver.handleBlock(textBytes(message, "message")));
  }

  /**
   * @param {string | Uint8Array} message
   * @returns {ImportSummary}
   */
  handleBlockSync(message) {
    return importSummary(this.#localDriver().handleBlockSync(textBytes(message, "message")));
  }

  /**
   * @param {number | bigint} height
   * @param {string | Uint8Array} config
   */
  async putConfig(height, config) {
    await this.#driver.putConfig(uint64(height, "height"), textBytes(config, "config"));
  }

  /**
   * @param {RequestBody} body
   * @param {WaitOptions} [options]
   * @returns {Promise<EndpointResponse>}
   */
  async handleRequest(body, { urlMethod, signal, timeout = this.#timeout } = {}) {
    duration(timeout, "timeout");
    optionalString(urlMethod, "urlMethod");
    const response = this.#driver.handleRequest(requestBody(body), { urlMethod, signal, timeout });
    // With a timeout it is never `null`.
    return keepAlive(this, /** @type {Promise<EndpointResponse>} */ (response));
  }

  /**
   * @param {RequestBody} body
   * @param {RequestOptions} [options]
   * @returns {Promise<EndpointResponse | null>}
   */
  async respond(body, { urlMethod } = {}) {
    return this.#driver.respond(requestBody(body), optionalString(urlMethod, "urlMethod"));
  }

  /**
   * @param {RequestBody} body
   * @param {RequestOptions} [options]
   * @returns {EndpointResponse | null}
   */
  respondSync(body, { urlMethod } = {}) {
    const driver = this.#localDriver();
    return driver.respondSync(requestBody(body), optionalString(urlMethod, "urlMethod"));
  }

  /**
   * @param {RequestBody} body
   * @param {Uint8Array} into
   * @param {RequestOptions} [options]
   * @returns {WrittenResponse | null}
   */
  respondInto(body, into, { urlMethod } = {}) {
    const driver = this.#localDriver();
    // Before `into` is checked: the `toJSON` of an object may change `into`.
    const request = requestBody(body);
    const method = optionalString(urlMethod, "urlMethod");
    return driver.respondInto(request, bytesOnly(into, "into"), method);
  }

  /** @returns {Promise<ChainStatus>} */
  async chainStatus() {
    /** @type {any} */
    const chain = parseJson(await this.#driver.chainStatus(), { bigint: true });
    const { protocolVersion } = chain;
    return { ...chain, protocolVersion: protocolVersion === null ? null : Number(protocolVersion) };
  }

  get pendingCount() {
    return this.#driver.pendingCount;
  }

  shutdown() {
    this.#driver.shutdown();
  }

  dispose() {
    registry.unregister(this);
    this.#driver.dispose();
  }

  #localDriver() {
    if (this.#driver instanceof LocalDriver) return this.#driver;
    throw usageError("not available over a storage of the host, which may be asynchronous");
  }
}

// Users of older engines bring a `Symbol.dispose` of their own.
if (Symbol.dispose) {
  Object.defineProperty(Endpoint.prototype, Symbol.dispose, {
    value: Endpoint.prototype.dispose,
    configurable: true,
    writable: true,
  });
}

const inProgress = new Map();

/**
 * A promise that keeps `endpoint` from being collected until it is fulfilled or rejected
 *
 * @template T
 * @param {Endpoint} endpoint
 * @param {Promise<T>} promise
 * @returns {Promise<T>}
 */
async function keepAlive(endpoint, promise) {
  inProgress.set(promise, endpoint);
  try {
    return await promise;
  } finally {
    inProgress.delete(promise);
  }
}

/** @param {string} text */
function importSummary(text) {
  /** @type {any} */
  const summary = parseJson(text, { bigint: true });
  for (const count of ["transactions", "outcomes", "receipts", "deviations"]) {
    summary[count] = Number(summary[count]);
  }
  return summary;
}

/** @param {any} storage */
function checkStorage(storage) {
  for (const method of ["get", "commit"]) {
    if (typeof storage?.[method] !== "function") throw usageError(`storage: has no method ${method}`);
  }
}

/**
 * Checks what `configure` does not
 *
 * @param {Settings} settings
 * @param {WaitConfig} waitConfig
 */
function checkConfig(settings, waitConfig) {
  const { unknown, finality, retention, maxReceipts, maxBatch } = settings;
  if (unknown !== undefined) oneOf(unknown, "settings.unknown", ["wait", "immediate"]);
  if (finality !== undefined) oneOf(finality, "settings.finality", ["headers", "all"]);
  if (maxReceipts !== undefined) uint32(maxReceipts, "settings.maxReceipts");
  if (maxBatch !== undefined) uint32(maxBatch, "settings.maxBatch");
  if (waitConfig.maxWaiting !== undefined) uint32(waitConfig.maxWaiting, "waitConfig.maxWaiting");
  if (retention === undefined || retention === "everything") return;
  const { blocks, epochs } = retentionCounts(retention);
  if ((blocks ?? epochs) === undefined) {
    throw usageError("settings.retention: expected everything, or a number of blocks or epochs");
  }
  uint64(blocks ?? epochs, "settings.retention");
}

/**
 * The number of blocks or epochs to retain, if it is limited
 *
 * @param {Settings["retention"]} retention
 * @returns {{ blocks?: number | bigint, epochs?: number | bigint }}
 */
function retentionCounts(retention) {
  return typeof retention === "object" && retention !== null ? retention : {};
}

/**
 * @param {Config} config
 * @param {Settings} settings
 * @param {WaitConfig} waitConfig
 */
function configure(config, settings, waitConfig) {
  const { timeoutCause, unknown, finality, retention, maxReceipts, maxBatch, strictTypes } = settings;
  if (timeoutCause) config.timeout_cause(true);
  if (unknown === "immediate") config.unknown_immediate();
  if (finality === "all") config.all_final();
  if (strictTypes) config.strict_types(true);
  if (maxReceipts !== undefined) config.max_receipts(maxReceipts);
  if (maxBatch !== undefined) config.max_batch(maxBatch);
  const { blocks, epochs } = retentionCounts(retention);
  if (blocks !== undefined) config.retain_blocks(BigInt(blocks));
  else if (epochs !== undefined) config.retain_epochs(BigInt(epochs));
  if (waitConfig.maxWaiting !== undefined) config.max_waiting(waitConfig.maxWaiting);
  config.hash_seed(crypto.getRandomValues(new BigUint64Array(1))[0]);
}
