// Milepost answers NEAR's `tx_status` and `protocol_config` from the blocks you feed it.
//
// Written by hand; a test compares it with the types of the sources, which are checked against the
// generated declarations of the module. `wire.d.ts` has the types of outcomes of transactions,
// `errors.d.ts` those of failed ones, `config.d.ts` those of the protocol configuration; they are
// generated from the schemas of the engine.

import type { Archive, ArchiveStatus } from "./archive.js";
import type { ChainStatus, ImportSummary } from "./chain.js";
import type { RpcProtocolConfigResponse } from "./config.js";
import type { Bytes, DisposableBy, Platform } from "./platform.js";
import type { IndexedDbOptions, RowChange, Storage } from "./storage.js";
import type { Verifier } from "./verifier.js";
import type { TransactionChange, TxExecutionStatus, WatchOptions } from "./watch.js";
import type {
  AccountId,
  ActionView,
  Base64,
  CryptoHash,
  Exact,
  FinalExecutionOutcomeView,
  PublicKey,
  ReceiptView,
  ShardId,
  Signature,
  SignedTransactionView,
  Uint64,
} from "./wire.js";

export type * from "./chain.js";
export type * from "./config.js";
export type * from "./errors.js";
export type * from "./storage.js";
export type { Verification, Verifier } from "./verifier.js";
export type * from "./watch.js";
export type * from "./wire.js";

/** The version of the package and of its engine */
export const version: string;

/**
 * Loads the engine. In Node.js it is loaded when it is first needed. In a page, await this before
 * you call `validateRequest`, `decodeTransaction` or `methodNames`, which are synchronous;
 * `Endpoint.create` awaits it itself.
 *
 * @throws {UsageError} The `.wasm` file cannot be loaded or compiled; the message names its place
 *   and what to do, `cause` is the error of the platform.
 */
export function init(): Promise<void>;

// --- The endpoint --------------------------------------------------------------------------------

/** How the endpoint responds where the interface leaves a choice, and how it imports blocks */
export interface Settings {
  /** Whether `TIMEOUT_ERROR` has a cause and the last status; default `false`, because strict
   *  clients of the interface reject them */
  timeoutCause?: boolean;
  /** Whether a request for a milestone of a transaction that is in no block waits, or is answered
   *  with `UNKNOWN_TRANSACTION` at once; default `"wait"`, as in a node */
  unknown?: "wait" | "immediate";
  /** Maximum number of outcomes and pending receipts in a response; default 100,000 */
  maxReceipts?: number;
  /** Maximum number of requests in a batch; default 50 */
  maxBatch?: number;
  /** Maximum length of a request id in bytes, with its quotes; default 1024 */
  maxIdBytes?: number;
  /** When a block is final: when the header of a later block says so (default), or on import, for
   *  feeds of final blocks */
  finality?: "headers" | "all";
  /** The newest blocks, or the blocks of the newest epochs, that are retained; default all */
  retention?: "everything" | { blocks: number | bigint } | { epochs: number | bigint };
  /** Maximum number of blocks that the storage keeps because the archive does not have them: beyond
   *  it the oldest are forgotten; default 50,000 */
  archiveBacklog?: number | bigint;
  /** Whether a block or a configuration with a member that is not of its type is an error; default
   *  `false`: it is served as it came and counted in `typeMismatches` */
  strictTypes?: boolean;
  /** Ids of the shards that the blocks have, each at most 127; default all, which an empty array
   *  means, too. Messages need the chunks of these shards only, and a request that depends on an
   *  account of another shard is answered with `DOES_NOT_TRACK_SHARD` */
  trackShards?: number[];
  /** Whether blocks are checked against their own hashes before they are imported, by the
   *  `verifier` of the options: not (default), with the result in the summary, or so that a wrong
   *  block is refused as well; one that cannot be verified is not */
  verify?: "off" | "report" | "strict";
}

/** How long requests may wait, and how many of them */
export interface WaitConfig {
  /** Milliseconds from a request to its `TIMEOUT_ERROR`; default 10,000, as in a node */
  timeout?: number;
  /** Maximum number of pending requests; default 100,000, which take some 25 MiB */
  maxWaiting?: number;
}

export interface EndpointOptions {
  /** Where rows are stored; default the memory of the endpoint itself, which is the fastest */
  storage?: Storage;
  /** Where finalized transactions are kept, behind the storage. The default storage is then
   *  a `MemoryStorage` */
  archive?: Archive;
  /** What checks blocks if `settings.verify` says so: of `loadVerifier` of `milepost/verifier`, one
   *  for each endpoint */
  verifier?: Verifier;
  /** Methods beside those of the engine, by their names: `handleRequest` and `respond` call them, in
   *  batches too, before the engine answers the other calls */
  methods?: Record<string, HostMethod>;
  settings?: Settings;
  waitConfig?: WaitConfig;
}

/** Answers a call of a method of the host: with its result, which is written as JSON, or by throwing
 *  a `MethodError`. Any other error is answered as `INTERNAL_ERROR`. Integers of `params` and `id`
 *  that a number would round are `bigint`. */
export type HostMethod = (
  params: any,
  call: { readonly id: RequestId; readonly signal: Platform<"AbortSignal"> | undefined },
) => unknown;

export interface RequestOptions {
  /** The method that the URL of the request names, if it names one: a body that names another is an
   *  invalid request */
  urlMethod?: string;
}

export interface WaitOptions extends RequestOptions {
  /** Cancels the request: the promise is rejected with the signal's reason */
  signal?: Platform<"AbortSignal">;
  /** Milliseconds until `TIMEOUT_ERROR`; default that of `waitConfig`. `Infinity` waits for
   *  ever. */
  timeout?: number;
}

/** The body of a request: JSON text, its bytes, or an object (whose `bigint`s are written as
 *  integers) */
export type RequestBody = string | Uint8Array | RpcRequest | readonly RpcRequest[];

/**
 * Imports blocks and answers requests.
 *
 * Each endpoint is a WebAssembly instance of its own. After a panic (a `PanicError`) it cannot be
 * used any more; other endpoints, also those over the same storage, are not affected.
 */
export class Endpoint {
  private constructor();

  static create(options?: EndpointOptions): Promise<Endpoint>;

  /**
   * Imports a block message in one commit, and answers the pending requests whose milestone it
   * reaches. Messages are imported one at a time, in the order of the calls.
   *
   * @throws {BlockError} The message is malformed or contradicts the chain; nothing is changed.
   * @throws {StorageError} The storage failed; `cause` is its error.
   */
  handleBlock(message: string | Uint8Array): Promise<ImportSummary>;

  /**
   * Puts a protocol configuration in force in an epoch, or from a height on, and replaces the one of
   * this epoch or height.
   *
   * A host that has asked a node about a block names `epoch_id` of its header, as text; this changes
   * no other epoch. A height counts in epochs that have no configuration of their own.
   *
   * @throws {ConfigError} The configuration is malformed, or belongs to another chain.
   * @throws {StorageError} The storage failed; `cause` is its error.
   */
  putConfig(scope: string | number | bigint, config: string | Uint8Array): Promise<void>;

  /** Answers a request when its milestone is reached, or with `TIMEOUT_ERROR` after the timeout;
   *  for a configuration: `handleRequest<RpcProtocolConfigResponse>(…)` */
  handleRequest<Result = RpcTransactionResponse>(
    body: RequestBody,
    options?: WaitOptions,
  ): Promise<EndpointResponse<Result>>;

  /** Answers a request from the rows as they are now; `null` if it would have to wait */
  respond<Result = RpcTransactionResponse>(
    body: RequestBody,
    options?: RequestOptions,
  ): Promise<EndpointResponse<Result> | null>;

  /**
   * The same as `respond`, synchronously.
   *
   * @throws {UsageError} The endpoint has a storage of the host, which may be asynchronous.
   */
  respondSync<Result = RpcTransactionResponse>(
    body: RequestBody,
    options?: RequestOptions,
  ): EndpointResponse<Result> | null;

  /**
   * The same as `respondSync`, but writes the response to the start of `into`: the fastest way to
   * answer many requests with one array. If `into` is too small it is not changed, and the response
   * is in `overflow`. Bytes after the response are not changed.
   *
   * `into` may be a part of a larger buffer, also of a `SharedArrayBuffer`. If its buffer is
   * detached it has no bytes, so nothing fits into it.
   *
   * @throws {UsageError} The endpoint has a storage of the host, which may be asynchronous.
   */
  respondInto(body: RequestBody, into: Uint8Array, options?: RequestOptions): WrittenResponse | null;

  /**
   * The same as `handleBlock`, synchronously.
   *
   * @throws {UsageError} The endpoint has a storage of the host, which may be asynchronous.
   */
  handleBlockSync(message: string | Uint8Array): ImportSummary;

  /**
   * Watches the transaction of this hash: its state comes at once, then whenever it has changed,
   * until the milestone is reached, or the storage has forgotten the transaction. Changes that were
   * not read are replaced by the newest one, except that a fork took away the block that
   * was read last. Each block that this endpoint imports costs one response for each watch.
   *
   * The changes end with a `StorageError` if the storage failed, and with a `UsageError` when the
   * endpoint is shut down or disposed of.
   */
  watch(hash: CryptoHash, options?: WatchOptions): AsyncGenerator<TransactionChange, void, undefined>;

  /** What the storage holds of the chain */
  chainStatus(): Promise<ChainStatus>;

  /** What was put into the archive; `null` without one */
  readonly archiveStatus: ArchiveStatus | null;

  /** Number of pending requests; each request of a batch counts */
  readonly pendingCount: number;

  /** Ends all waiting: pending requests are checked once more and then answered with an error, as
   *  are later requests that would have to wait */
  shutdown(): void;

  /** Frees the endpoint and rejects pending requests with a `UsageError`; every later call is an
   *  error */
  dispose(): void;
  readonly [Symbol.toStringTag]: "Endpoint";
}
export interface Endpoint extends DisposableBy<SymbolConstructor> {}

/** The kind of a response, for hosts that choose an HTTP status without parsing the body */
export type ResponseKind =
  | "result"
  | "request_validation"
  | "timeout"
  | "skipped_block"
  | "handler"
  | "internal"
  | "unavailable";

export interface JsonOptions {
  /** Whether every integer becomes a `bigint`, which is exact; default `false`: numbers, which
   *  round above 2^53 */
  bigint?: boolean;
}

/** The body of a JSON-RPC response */
export class EndpointResponse<Result = RpcTransactionResponse> {
  private constructor();
  /** Compact JSON in UTF-8 */
  readonly bytes: Bytes;
  readonly text: string;
  /** What the errors are about, of all calls of a batch; the body is not parsed for it */
  readonly errors: readonly CallError[];
  /** `result` for every batch, whatever its responses are */
  readonly kind: ResponseKind;
  /** Whether `kind` is `result`; the body is not parsed for it */
  readonly ok: boolean;
  /** The member `result` of the body, parsed at the first access, with every integer as a `bigint`;
   *  a batch has none */
  readonly result: Exact<Result> | undefined;
  /** The member `error` of the body, like `result`; its `code` is a number */
  readonly error: ExactError | undefined;
  /** The parsed body. For a configuration: `response.json<ProtocolConfigRpcResponse>()` */
  json<T = RpcResponse<Result>>(options?: { bigint?: false }): T;
  json<T = RpcResponse<Result>>(options: { bigint: true }): Exact<T>;
  json<T = RpcResponse<Result>>(options?: JsonOptions): T | Exact<T>;
  readonly [Symbol.toStringTag]: "EndpointResponse";
}

/** An error of a call, with the values that it names */
export interface CallError {
  /** The place of the call in its batch; 0 without one */
  readonly index: number;
  /** `name` of the error, such as `HANDLER_ERROR` */
  readonly name: string;
  /** `name` of its cause, such as `UNKNOWN_TRANSACTION`; `null` if a method of the host gave it */
  readonly cause: string | null;
  /** The transaction or the block */
  readonly hash: CryptoHash | null;
  readonly height: bigint | null;
  /** The shard that is not tracked */
  readonly shardId: number | null;
  /** The limit that is reached */
  readonly limit: number | null;
}

/** A response in an array of the caller */
export interface WrittenResponse {
  readonly kind: ResponseKind;
  readonly errors: readonly CallError[];
  /** Number of bytes written; 0 if the array is too small */
  readonly written: number;
  /** The response in an array of its own if the caller's is too small */
  readonly overflow: EndpointResponse | null;
}

// --- Requests ------------------------------------------------------------------------------------

/** The id that the response repeats; `dontcare` if the request has none */
export type RequestId = string | number | bigint | null;

/** A transaction, and the milestone to wait for */
export type RpcTransactionStatusRequest = (
  | { signed_tx_base64: Base64 }
  | { tx_hash: CryptoHash; sender_account_id: AccountId }
) & {
  /** Default `EXECUTED_OPTIMISTIC` */
  wait_until?: TxExecutionStatus;
};

export type Finality = "optimistic" | "near-final" | "final";
export type SyncCheckpoint = "genesis" | "earliest_available";

/** The block whose configuration is requested */
export type RpcProtocolConfigRequest =
  | { block_id: Uint64 | bigint | CryptoHash }
  | { finality: Finality }
  | { sync_checkpoint: SyncCheckpoint };

interface RequestEnvelope {
  jsonrpc?: "2.0";
  id?: RequestId;
}

export interface TransactionStatusRpcRequest extends RequestEnvelope {
  /** `tx` omits the receipts from the response */
  method: "EXPERIMENTAL_tx_status" | "tx_status" | "tx";
  params: RpcTransactionStatusRequest | [Base64] | [CryptoHash, AccountId];
}

export interface ProtocolConfigRpcRequest extends RequestEnvelope {
  method: "EXPERIMENTAL_protocol_config";
  params: RpcProtocolConfigRequest;
}

export type RpcRequest = TransactionStatusRpcRequest | ProtocolConfigRpcRequest;

// --- Responses -----------------------------------------------------------------------------------

export interface RpcSuccessResponse<Result> {
  jsonrpc: "2.0";
  result: Result;
  error?: undefined;
  id: RequestId;
}

export interface RpcErrorResponse<Cause = RpcErrorCause> {
  jsonrpc: "2.0";
  result?: undefined;
  error: RpcError<Cause>;
  id: RequestId;
}

export type RpcResponse<Result, Cause = RpcErrorCause> = RpcSuccessResponse<Result> | RpcErrorResponse<Cause>;
export type TransactionStatusRpcResponse = RpcResponse<RpcTransactionResponse, RpcTransactionError>;
export type ProtocolConfigRpcResponse = RpcResponse<RpcProtocolConfigResponse, RpcProtocolConfigError>;

interface RpcErrorFields {
  /** -32700 parse error, -32601 method not found, -32000 any other */
  code: number;
  message: string;
  data?: unknown;
}

export type RpcError<Cause = RpcErrorCause> = RpcErrorFields &
  (
    | { name: "REQUEST_VALIDATION_ERROR"; cause: RpcRequestValidationError }
    | { name: "HANDLER_ERROR"; cause: Cause }
    | { name: "INTERNAL_ERROR"; cause: RpcInternalError }
  );

/** An error with every integer as a `bigint`, except its `code` */
export type ExactError<E = RpcError> = E extends unknown ? Exact<Omit<E, "code">> & { code: number } : never;

export type RpcRequestValidationError =
  | { name: "METHOD_NOT_FOUND"; info: { method_name: string } }
  | { name: "PARSE_ERROR"; info: { error_message: string } };

export interface RpcInternalError {
  name: "INTERNAL_ERROR";
  info: { error_message: string };
}

export type RpcTransactionError =
  | { name: "INVALID_TRANSACTION"; info: Record<string, unknown> }
  | { name: "DOES_NOT_TRACK_SHARD"; info?: undefined }
  | { name: "REQUEST_ROUTED"; info: { transaction_hash: CryptoHash } }
  | { name: "UNKNOWN_TRANSACTION"; info: { requested_transaction_hash: CryptoHash } }
  | { name: "INTERNAL_ERROR"; info: { debug_info: string } }
  | { name: "TIMEOUT_ERROR"; info?: TimeoutErrorCause | null };

export type TimeoutErrorCause =
  | { cause: "NOT_OBSERVED" }
  | { cause: "PENDING"; status: RpcTransactionResponse }
  | { cause: "DOES_NOT_TRACK_SHARD"; shard_id: ShardId }
  | { cause: "ERROR"; debug_info: string };

export type RpcProtocolConfigError = { name: "UNKNOWN_BLOCK"; info: Record<string, unknown> } | RpcInternalError;

export type RpcErrorCause = RpcTransactionError | RpcProtocolConfigError;

/** The outcome with the receipts, which `tx` omits */
export interface FinalExecutionOutcomeWithReceiptView extends FinalExecutionOutcomeView {
  receipts: ReceiptView[];
}

/** No outcome is known yet */
export type NoOutcome = { [Name in keyof FinalExecutionOutcomeView]?: undefined };

export type RpcTransactionResponse = {
  /** What the blocks prove so far, never more */
  final_execution_status: TxExecutionStatus;
} & (FinalExecutionOutcomeView | NoOutcome);

// --- Without an endpoint -------------------------------------------------------------------------

/** What a request asks for */
export type RequestSummary = StatusSummary | ConfigSummary;

export interface StatusSummary {
  method: "transaction_status";
  id: RequestId;
  /** The transaction's hash, computed if the request has the signed transaction */
  hash: CryptoHash;
  /** The sender in the request, or the signer of the signed transaction */
  senderId: AccountId;
  waitUntil: TxExecutionStatus;
  /** Whether the response lists the receipts */
  receipts: boolean;
  /** The signed transaction, if the request has it */
  signed: DecodedTransaction | null;
}

export interface ConfigSummary {
  method: "protocol_config";
  id: RequestId;
  block: { height: bigint } | { hash: CryptoHash } | { finality: Finality } | { syncCheckpoint: SyncCheckpoint };
}

/**
 * Checks a request as the endpoint does, and returns what it asks for.
 *
 * @throws {RequestError} What is wrong with it, and where.
 */
export function validateRequest(body: string | Uint8Array | RpcRequest, options?: RequestOptions): RequestSummary;

/** A signed transaction, decoded */
export interface DecodedTransaction {
  hash: CryptoHash;
  signerId: AccountId;
  publicKey: PublicKey;
  nonce: bigint;
  /** Index of the nonce of a gas key */
  nonceIndex: number | null;
  nonceMode: "monotonic" | "strict";
  receiverId: AccountId;
  /** A recent block: the transaction expires about a day after it */
  blockHash: CryptoHash;
  /** As in responses, with integers as `bigint` */
  actions: Exact<ActionView>[];
  signature: Signature;
  /** Whether the signature is valid; `null` if the scheme is not ed25519, which is the only one
   *  that this build verifies */
  signatureValid: boolean | null;
  /** The transaction as in responses: compact JSON text of a {@link SignedTransactionView} */
  json: string;
}

/**
 * Decodes a signed transaction from its borsh encoding, in base64 or as bytes.
 *
 * @throws {TransactionError} What is wrong with it, at which field and byte.
 */
export function decodeTransaction(transaction: Base64 | Uint8Array): DecodedTransaction;

/** The names of the methods that are served */
export function methodNames(): string[];

/**
 * Parses JSON; with `bigint: true` every integer becomes a `bigint`, which is exact, and fractions
 * stay numbers.
 *
 * @throws {SyntaxError} The text is not JSON.
 */
export function parseJson<T = unknown>(text: string, options?: { bigint?: false }): T;
export function parseJson<T = unknown>(text: string, options: { bigint: true }): Exact<T>;
export function parseJson<T = unknown>(text: string, options?: JsonOptions): T | Exact<T>;

/** Writes JSON as `JSON.stringify` does, and a `bigint` as an integer */
export function writeJson(value: unknown): string;

// --- Errors --------------------------------------------------------------------------------------

/** The kinds of errors; the numbers are those of the Rust and C libraries */
export const ErrorCode: {
  /** The engine panicked; in JavaScript only */
  readonly PANIC: 0;
  /** Not JSON, or not borsh */
  readonly SYNTAX: 1;
  /** The JSON lacks a member, has an extra one, or has one of the wrong type */
  readonly SCHEMA: 2;
  /** A scalar is invalid */
  readonly VALUE: 3;
  /** A limit is exceeded */
  readonly LIMIT: 4;
  /** A block contradicts the chain that is known */
  readonly CHAIN: 5;
  /** The storage failed */
  readonly STORAGE: 6;
  /** A row in the storage is not what the engine wrote */
  readonly CORRUPT: 7;
  /** The caller broke the order of calls, or passed an invalid value */
  readonly USAGE: 8;
  /** A row in the storage has a format version that this release does not read */
  readonly VERSION: 9;
  /** An archive holds two rows of one key whose content differs */
  readonly CONFLICT: 10;
};
export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];

/** The base class of all errors of the package */
export class MilepostError extends Error {
  protected constructor();
  /** The name of the class, also after a minifier changed that */
  readonly name: string;
  /** One of `ErrorCode` */
  readonly code: ErrorCode;
  /** Path in the input, such as `params.tx_hash`; empty if the error is about the whole input */
  readonly path: string;
  /** Offset in bytes into the input */
  readonly offset: number | null;
  /** The message without path and offset */
  readonly detail: string;
}

/** A request is invalid */
export class RequestError extends MilepostError {}
/** A signed transaction is invalid */
export class TransactionError extends MilepostError {}
/** A block message cannot be imported */
export class BlockError extends MilepostError {}
/** A protocol configuration cannot be put in force */
export class ConfigError extends MilepostError {}
/** The storage failed, or holds rows that the engine did not write; `path` names the call and the
 *  first key, in hex, and `cause` is the storage's own error */
export class StorageError extends MilepostError {}
/** What a method of the host throws to answer a call with this error object */
export class MethodError extends Error {
  /** `kind` is that of the response, unless it is one of a batch; default `handler` */
  constructor(error: object, kind?: Exclude<ResponseKind, "result">);
  readonly error: object;
  readonly kind: Exclude<ResponseKind, "result">;
  readonly name: string;
}
/** The caller broke the order of calls, or passed an invalid value */
export class UsageError extends MilepostError {}
/** The engine panicked, and the endpoint cannot be used any more; other endpoints are not
 *  affected */
export class PanicError extends MilepostError {}

// --- Storages ------------------------------------------------------------------------------------

/** A storage in a `Map`, for tests and for endpoints that share their rows */
export class MemoryStorage implements Storage {
  constructor();
  /** Number of rows */
  readonly size: number;
  get(key: Uint8Array): Uint8Array | undefined;
  getMany(keys: readonly Uint8Array[]): (Uint8Array | undefined)[];
  commit(changes: readonly RowChange[]): void;
}

/** A storage in an IndexedDB database */
export class IndexedDbStorage implements Storage {
  private constructor();
  /** Opens the database of this name; creates it if it does not exist */
  static open(name: string, options?: IndexedDbOptions): Promise<IndexedDbStorage>;
  get(key: Uint8Array): Promise<Uint8Array | undefined>;
  getMany(keys: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]>;
  commit(changes: readonly RowChange[]): Promise<void>;
  /** Closes the connection after the transactions in progress */
  close(): void;
}

export type { Bytes, RpcProtocolConfigResponse, SignedTransactionView };
