// The errors of the package.
//
// The class says what the error is about, `code` says of which kind it is; the codes are those of
// the Rust and C libraries.

/** @import { ErrorCode as Code, ResponseKind } from "../../index.js" */
/** @import { EngineError } from "./load.js" */

/**
 * @typedef {object} ErrorContext
 * @property {string} [path]
 * @property {number | null} [offset]
 * @property {string} [message]
 * @property {unknown} [cause]
 */

/**
 * @typedef {new (code: Code, detail: string, context?: ErrorContext) => MilepostError} ErrorClass
 */

export const ErrorCode = Object.freeze({
  PANIC: 0,
  SYNTAX: 1,
  SCHEMA: 2,
  VALUE: 3,
  LIMIT: 4,
  CHAIN: 5,
  STORAGE: 6,
  CORRUPT: 7,
  USAGE: 8,
  VERSION: 9,
  CONFLICT: 10,
});

export class MilepostError extends Error {
  /**
   * @param {Code} code
   * @param {string} detail
   * @param {ErrorContext} [context]
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

  // On the prototype, as for the errors of the language; a minifier changes `constructor.name`.
  get name() {
    return "MilepostError";
  }
}

export class MethodError extends Error {
  /**
   * @param {object} error
   * @param {Exclude<ResponseKind, "result">} [kind]
   */
  constructor(error, kind = "handler") {
    super("a method of the host refused a call");
    /** @readonly */
    this.error = error;
    /** @readonly */
    this.kind = kind;
  }

  get name() {
    return "MethodError";
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
 * An error of a caller that passed an invalid value or broke the order of calls
 *
 * @param {string} detail
 * @param {{ cause?: unknown }} [options]
 */
export function usageError(detail, options) {
  return new UsageError(ErrorCode.USAGE, detail, options);
}

/**
 * The error of a host's storage or archive that returned something else than rows
 *
 * @param {string} detail
 */
export function invalidRows(detail) {
  return new StorageError(ErrorCode.STORAGE, detail);
}

/**
 * The error of a call of a host's storage or archive that failed; names the call and the first key
 *
 * @param {unknown} cause
 * @param {string} method Such as `storage.getMany`
 * @param {readonly Uint8Array[]} [keys]
 */
export function failedCall(cause, method, keys = []) {
  const detail = cause instanceof Error ? cause.message : String(cause);
  const [first = [], ...more] = keys;
  const hex = Array.from(first, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const key = more.length > 0 ? `${hex}, ${more.length} more` : hex;
  const path = key ? `${method}(${key})` : method;
  return new StorageError(ErrorCode.STORAGE, detail, { path, message: `${path}: ${detail}`, cause });
}

/**
 * Converts the engine's error to one of class `ErrorClass`; errors of the storage and of the order
 * of calls have classes of their own. Frees the engine's error.
 *
 * @param {EngineError} error
 * @param {ErrorClass} ErrorClass
 * @returns {MilepostError}
 */
export function toMilepostError(error, ErrorClass) {
  const code = /** @type {Code} */ (error.code());
  const context = { path: error.path(), offset: error.offset() ?? null, message: error.message() };
  const Class =
    code === ErrorCode.USAGE
      ? UsageError
      : code === ErrorCode.STORAGE || code === ErrorCode.CORRUPT || code === ErrorCode.VERSION
        ? StorageError
        : ErrorClass;
  const converted = new Class(code, error.detail(), context);
  error.free();
  return converted;
}
