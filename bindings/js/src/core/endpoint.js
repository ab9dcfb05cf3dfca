// The public class `Endpoint`.
//
// Checks what callers pass; its driver does everything else. The driver holds no reference to its
// endpoint, so an endpoint that is no longer referenced can be collected, and then its driver is
// disposed of.

import { watchRequest } from "./changes.js";
import { usageError } from "./errors.js";
import { hostMethods } from "./host-methods.js";
import { bytesOnly, duration, requestBody, textBytes, uint32, uint64 } from "./input.js";
import { defineInspect } from "./inspect.js";
import { parseJson } from "./json.js";
import { init } from "./load.js";
import { LocalDriver } from "./local-driver.js";
import { checkOptions, oneOf, optionalBoolean, optionalString, typeName, urlMethodOf } from "./options.js";
import { RemoteDriver } from "./remote-driver.js";
import { MemoryStorage } from "./storages.js";

/** @import { ArchiveStatus } from "../../archive.js" */
/** @import { ChainStatus, EndpointOptions, ImportSummary, RequestBody } from "../../index.js" */
/** @import { RequestOptions, RpcTransactionResponse, Settings } from "../../index.js" */
/** @import { TransactionChange, Verification, Verifier, WaitConfig } from "../../index.js" */
/** @import { WaitOptions, WatchOptions, WrittenResponse } from "../../index.js" */
/** @import { Config, Glue } from "./load.js" */
/** @import { EndpointResponse } from "./response.js" */

const DEFAULT_TIMEOUT = 10_000;

const DEFAULT_ARCHIVE_BACKLOG = 50_000;

const ENDPOINT_OPTIONS = ["storage", "archive", "verifier", "methods", "settings", "waitConfig"];
const SETTINGS = [
  "timeoutCause",
  "unknown",
  "maxReceipts",
  "maxBatch",
  "maxIdBytes",
  "finality",
  "retention",
  "archiveBacklog",
  "strictTypes",
  "trackShards",
  "verify",
];
/** As in the engine */
const MAX_SHARD_ID = 127;
const WAIT_CONFIG = ["timeout", "maxWaiting"];
const RETENTION = ["blocks", "epochs"];
const WAIT_OPTIONS = ["urlMethod", "signal", "timeout"];

/**
 * Disposes of the drivers of endpoints that were collected; some edge runtimes do not tell
 *
 * @type {FinalizationRegistry<LocalDriver | RemoteDriver> | null}
 */
const registry =
  typeof FinalizationRegistry === "function" ? new FinalizationRegistry((driver) => driver.dispose()) : null;

/** Lets only `create` call the constructor */
const CREATE = Symbol("create");

export class Endpoint {
  /** @type {LocalDriver | RemoteDriver} */
  #driver;
  #timeout;
  #verify;

  /**
   * @param {symbol} key
   * @param {LocalDriver | RemoteDriver} driver
   * @param {number} timeout
   * @param {Verify} verify
   */
  constructor(key, driver, timeout, verify) {
    if (key !== CREATE) throw usageError("endpoints are created with Endpoint.create");
    this.#driver = driver;
    this.#timeout = timeout;
    this.#verify = verify;
    registry?.register(this, driver, this);
  }

  /**
   * @param {EndpointOptions} [options]
   * @returns {Promise<Endpoint>}
   */
  static async create(options = {}) {
    checkOptions(options, "options", ENDPOINT_OPTIONS);
    const { storage, archive, verifier, methods, settings = {}, waitConfig = {} } = options;
    checkOptions(settings, "settings", SETTINGS);
    checkOptions(waitConfig, "waitConfig", WAIT_CONFIG);
    if (storage !== undefined) checkStorage(storage);
    if (archive !== undefined) checkArchive(archive);
    const timeout = duration(waitConfig.timeout ?? DEFAULT_TIMEOUT, "waitConfig.timeout");
    const verify = verification(settings.verify, verifier);
    const backlog = uint64(settings.archiveBacklog ?? DEFAULT_ARCHIVE_BACKLOG, "settings.archiveBacklog");
    await init();
    // The rows of an archive come from outside, so those of the storage do too.
    const hosted = storage ?? (archive === undefined ? undefined : new MemoryStorage());
    const createEndpoint = (/** @type {Glue} */ glue) => {
      const config = new glue.Config();
      configure(config, settings, waitConfig);
      if (storage?.isolation === "read-committed") config.read_committed();
      // Random, because no two writers of an archive may have one id.
      const [writer] = crypto.getRandomValues(new BigUint64Array(1));
      if (archive !== undefined) config.archive(backlog, archive.putMany && writer);
      const endpoint = new glue.Endpoint(config, hosted === undefined);
      config.free();
      return endpoint;
    };
    checkConfig(settings, waitConfig);
    const own = hostMethods(methods);
    const driver =
      hosted === undefined
        ? new LocalDriver(createEndpoint, own)
        : new RemoteDriver(createEndpoint, hosted, archive, own);
    return construct(driver, timeout, verify);
  }

  /**
   * @param {string | Uint8Array} message
   * @returns {Promise<ImportSummary>}
   */
  async handleBlock(message) {
    const bytes = textBytes(message, "message");
    const verification = this.#verify(bytes);
    return importSummary(await this.#driver.handleBlock(bytes), verification);
  }

  /**
   * @param {string | Uint8Array} message
   * @returns {ImportSummary}
   */
  handleBlockSync(message) {
    const driver = this.#localDriver();
    const bytes = textBytes(message, "message");
    const verification = this.#verify(bytes);
    return importSummary(driver.handleBlockSync(bytes), verification);
  }

  /**
   * @param {string | number | bigint} scope
   * @param {string | Uint8Array} config
   */
  async putConfig(scope, config) {
    const checked = typeof scope === "string" ? scope : uint64(scope, "scope");
    await this.#driver.putConfig(checked, textBytes(config, "config"));
  }

  /**
   * @template [Result=RpcTransactionResponse]
   * @param {RequestBody} body
   * @param {WaitOptions} [options]
   * @returns {Promise<EndpointResponse<Result>>}
   */
  async handleRequest(body, options = {}) {
    checkOptions(options, "options", WAIT_OPTIONS);
    const { urlMethod, signal, timeout = this.#timeout } = options;
    duration(timeout, "timeout");
    optionalString(urlMethod, "urlMethod");
    if (signal !== undefined) checkSignal(signal);
    const response = this.#driver.handleRequest(requestBody(body), { urlMethod, signal, timeout });
    // With a timeout it is never `null`.
    return keepAlive(this, /** @type {Promise<EndpointResponse<any>>} */ (response));
  }

  /**
   * @template [Result=RpcTransactionResponse]
   * @param {RequestBody} body
   * @param {RequestOptions} [options]
   * @returns {Promise<EndpointResponse<Result> | null>}
   */
  async respond(body, options) {
    return this.#driver.respond(requestBody(body), urlMethodOf(options));
  }

  /**
   * @template [Result=RpcTransactionResponse]
   * @param {RequestBody} body
   * @param {RequestOptions} [options]
   * @returns {EndpointResponse<Result> | null}
   */
  respondSync(body, options) {
    const driver = this.#localDriver();
    return driver.respondSync(requestBody(body), urlMethodOf(options));
  }

  /**
   * @param {RequestBody} body
   * @param {Uint8Array} into
   * @param {RequestOptions} [options]
   * @returns {WrittenResponse | null}
   */
  respondInto(body, into, options) {
    const driver = this.#localDriver();
    // Before `into` is checked: the `toJSON` of an object may change `into`.
    const request = requestBody(body);
    const urlMethod = urlMethodOf(options);
    return driver.respondInto(request, bytesOnly(into, "into"), urlMethod);
  }

  /**
   * @param {string} hash
   * @param {WatchOptions} [options]
   * @returns {AsyncGenerator<TransactionChange, void, undefined>}
   */
  watch(hash, options) {
    const request = watchRequest(hash, options);
    if (request.signal !== undefined) checkSignal(request.signal);
    return watchOf(this, this.#driver.watches.watch(request));
  }

  /** @returns {Promise<ChainStatus>} */
  async chainStatus() {
    /** @type {any} */
    const chain = parseJson(await this.#driver.chainStatus(), { bigint: true });
    const { latestProtocolVersion: latest } = chain;
    return { ...chain, latestProtocolVersion: latest === null ? null : Number(latest) };
  }

  /** @returns {ArchiveStatus | null} */
  get archiveStatus() {
    return this.#driver instanceof RemoteDriver ? this.#driver.archiveStatus : null;
  }

  get pendingCount() {
    return this.#driver.pendingCount;
  }

  shutdown() {
    this.#driver.shutdown();
  }

  dispose() {
    registry?.unregister(this);
    this.#driver.dispose();
  }

  get [Symbol.toStringTag]() {
    return /** @type {const} */ ("Endpoint");
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

defineInspect(Endpoint, ({ pendingCount }) => ({ pendingCount }));

/**
 * Outside of the class: a class that names itself would get another name from the bundler
 *
 * @param {LocalDriver | RemoteDriver} driver
 * @param {number} timeout
 * @param {Verify} verify
 */
function construct(driver, timeout, verify) {
  return new Endpoint(CREATE, driver, timeout, verify);
}

/** @typedef {(message: Uint8Array) => Verification | null} Verify What is found of a message */

/**
 * Checks the setting, and returns what is done with each message before it is imported
 *
 * @param {Settings["verify"]} mode
 * @param {Verifier | undefined} verifier
 * @returns {Verify}
 */
function verification(mode = "off", verifier) {
  oneOf(mode, "settings.verify", ["off", "report", "strict"]);
  if (mode === "off") return () => null;
  if (typeof verifier?.check !== "function") {
    throw usageError(`verifier: settings.verify is ${mode}, which needs one of milepost/verifier`);
  }
  return (message) => {
    const verification = verifier.check(message);
    if (mode === "strict" && verification.result === "wrong") throw verification.error;
    return verification;
  };
}

/**
 * The changes of a watch, which keep `endpoint` from being collected
 *
 * @param {Endpoint} endpoint
 * @param {AsyncGenerator<TransactionChange, void, undefined>} changes
 * @returns {AsyncGenerator<TransactionChange, void, undefined>}
 */
async function* watchOf(endpoint, changes) {
  inProgress.set(changes, endpoint);
  try {
    yield* changes;
  } finally {
    inProgress.delete(changes);
  }
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

/**
 * @param {string} text
 * @param {Verification | null} verification
 */
function importSummary(text, verification) {
  /** @type {any} */
  const summary = parseJson(text, { bigint: true });
  for (const count of ["transactions", "outcomes", "receipts", "typeMismatches"]) {
    summary[count] = Number(summary[count]);
  }
  return { ...summary, verification };
}

/** @param {any} signal */
export function checkSignal(signal) {
  if (typeof signal?.throwIfAborted === "function") return;
  throw usageError(`signal: ${typeName(signal)}, expected an AbortSignal`);
}

/** The parameters of a storage's methods */
const STORAGE_PARAMETERS = { get: ["key"], getMany: ["keys"], commit: ["changes"] };
/** Those of an archive's methods; it has both or none of the last two */
const ARCHIVE_PARAMETERS = { getMany: ["keys"], scan: ["table", "after", "limit"] };
const ARCHIVE_WRITE_PARAMETERS = { putMany: ["rows"], replaceMany: ["rows"] };

/**
 * Refuses an object whose methods are missing or take other parameters, which would fail, or read
 * the wrong rows, with the first block. One that declares none may take any, as a mock does.
 *
 * @param {string} object
 * @param {any} value
 * @param {Record<string, string[]>} methods
 * @param {string} [optional] The method that may be missing
 */
function checkMethods(object, value, methods, optional) {
  for (const [name, parameters] of Object.entries(methods)) {
    const method = value?.[name];
    if (name === optional && method === undefined) continue;
    if (typeof method !== "function") throw usageError(`${object}: has no method ${name}`);
    if (method.length === 0 || method.length === parameters.length) continue;
    const expected = `${name}(${parameters.join(", ")})`;
    const count = method.length === 1 ? "1 parameter" : `${method.length} parameters`;
    throw usageError(`${object}.${name}: declares ${count}, expected ${expected}`);
  }
}

/** @param {any} archive */
function checkArchive(archive) {
  const { putMany, replaceMany } = archive ?? {};
  const writes = putMany === undefined && replaceMany === undefined ? {} : ARCHIVE_WRITE_PARAMETERS;
  checkMethods("archive", archive, { ...ARCHIVE_PARAMETERS, ...writes });
}

/** @param {any} storage */
function checkStorage(storage) {
  checkMethods("storage", storage, STORAGE_PARAMETERS, "getMany");
  const { isolation } = storage;
  if (isolation !== undefined) oneOf(isolation, "storage.isolation", ["snapshot", "read-committed"]);
}

/**
 * Checks what `configure` does not
 *
 * @param {Settings} settings
 * @param {WaitConfig} waitConfig
 */
function checkConfig(settings, waitConfig) {
  const { timeoutCause, unknown, finality, retention } = settings;
  optionalBoolean(timeoutCause, "settings.timeoutCause");
  optionalBoolean(settings.strictTypes, "settings.strictTypes");
  if (unknown !== undefined) oneOf(unknown, "settings.unknown", ["wait", "immediate"]);
  if (finality !== undefined) oneOf(finality, "settings.finality", ["headers", "all"]);
  // With 0 no request could be answered.
  for (const limit of /** @type {const} */ (["maxReceipts", "maxBatch", "maxIdBytes"])) {
    if (settings[limit] !== undefined) uint32(settings[limit], `settings.${limit}`, 1);
  }
  const { trackShards } = settings;
  if (trackShards !== undefined) {
    if (!Array.isArray(trackShards)) throw usageError("settings.trackShards: expected an array");
    trackShards.forEach((id, index) => {
      const path = `settings.trackShards[${index}]`;
      if (uint32(id, path) > MAX_SHARD_ID) throw usageError(`${path}: expected at most ${MAX_SHARD_ID}`);
    });
  }
  if (waitConfig.maxWaiting !== undefined) uint32(waitConfig.maxWaiting, "waitConfig.maxWaiting");
  if (retention === undefined || retention === "everything") return;
  const { blocks, epochs } = retentionCounts(retention);
  if (typeof retention === "object") checkOptions(retention, "settings.retention", RETENTION);
  if ((blocks === undefined) === (epochs === undefined)) {
    throw usageError("settings.retention: expected everything, or a number of blocks or of epochs");
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
  const { timeoutCause, unknown, finality, retention, strictTypes } = settings;
  const { maxReceipts, maxBatch, maxIdBytes, trackShards = [] } = settings;
  if (timeoutCause) config.timeout_cause(true);
  if (unknown === "immediate") config.unknown_immediate();
  if (finality === "all") config.all_final();
  if (strictTypes) config.strict_types(true);
  const shards = trackShards.reduce((bits, id) => bits | (1n << BigInt(id)), 0n);
  config.track_shards(BigInt.asUintN(64, shards), shards >> 64n);
  if (maxReceipts !== undefined) config.max_receipts(maxReceipts);
  if (maxBatch !== undefined) config.max_batch(maxBatch);
  if (maxIdBytes !== undefined) config.max_id_bytes(maxIdBytes);
  const { blocks, epochs } = retentionCounts(retention);
  if (blocks !== undefined) config.retain_blocks(BigInt(blocks));
  else if (epochs !== undefined) config.retain_epochs(BigInt(epochs));
  if (waitConfig.maxWaiting !== undefined) config.max_waiting(waitConfig.maxWaiting);
  config.hash_seed(crypto.getRandomValues(new BigUint64Array(1))[0]);
}
