// The errors of the package: what was refused, where, and which kind of refusal it is.
//
// A class says what was refused, `code` says why; the codes are those of the Rust and C libraries.

/** @import { ErrorCode as Code } from "../../index.js" */
/** @import { Refusal } from "./load.js" */

/** @typedef {new (code: Code, detail: string, place?: object) => MilepostError} Refused A class of errors */

export const ErrorCode = Object.freeze({
  PANIC: 0,
  SYNTAX: 1,
  SHAPE: 2,
  VALUE: 3,
  LIMIT: 4,
  CHAIN: 5,
  STORAGE: 6,
  CORRUPT: 7,
  USAGE: 8,
});

export class MilepostError extends Error {
  /**
   * @param {Code} code
   * @param {string} detail
   * @param {{ path?: string, offset?: number | null, message?: string, cause?: unknown }} [place]
   */
  constructor(code, detail, { path = "", offset = null, message = detail, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    /** @readonly */
    this.code = code;
    /** @readonly */
    this.path = path;
    /** @readonly */
    this.offset = offset;
    /** @readonly */
    this.detail = detail;
  }

  // On the prototype, as for the errors of the language; `constructor.name` would not outlive a minifier.
  get name() {
    return "MilepostError";
  }
}

export class RequestError extends MilepostError {
  get name() {
    return "RequestError";
  }
}

export class TransactionError extends MilepostError {
  get name() {
    return "TransactionError";
  }
}

export class BlockError extends MilepostError {
  get name() {
    return "BlockError";
  }
}

export class ConfigError extends MilepostError {
  get name() {
    return "ConfigError";
  }
}

export class StorageError extends MilepostError {
  get name() {
    return "StorageError";
  }
}

export class UsageError extends MilepostError {
  get name() {
    return "UsageError";
  }
}

export class PanicError extends MilepostError {
  get name() {
    return "PanicError";
  }
}

/**
 * The caller did what cannot be
 *
 * @param {string} detail
 * @param {{ cause?: unknown }} [options]
 */
export function usage(detail, options) {
  return new UsageError(ErrorCode.USAGE, detail, options);
}

/**
 * The storage of the host threw, or gave what is no row
 *
 * @param {unknown} cause
 */
export function storageFailed(cause) {
  const said = cause instanceof Error ? cause.message : String(cause);
  return new StorageError(ErrorCode.STORAGE, `the storage failed: ${said}`, { cause });
}

/**
 * The engine's refusal, as an error of the class that the caller asked for; what is the fault of the
 * storage or of the order of calls keeps the class of that.
 *
 * @param {Refusal} refusal
 * @param {Refused} Wanted
 * @returns {MilepostError}
 */
export function refused(refusal, Wanted) {
  const code = /** @type {Code} */ (refusal.code());
  const place = { path: refusal.path(), offset: refusal.offset() ?? null, message: refusal.message() };
  const Refused =
    code === ErrorCode.USAGE
      ? UsageError
      : code === ErrorCode.STORAGE || code === ErrorCode.CORRUPT
        ? StorageError
        : Wanted;
  const error = new Refused(code, refusal.detail(), place);
  refusal.free();
  return error;
}
