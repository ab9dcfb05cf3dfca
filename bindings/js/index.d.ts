// Milepost: how far along the road a NEAR transaction is.
//
// Written by hand, and compared by the tests with what the sources do, which are checked against the
// generated declarations of the module. The shapes of requests and answers are in `wire.d.ts`, those of the protocol configuration in `config.d.ts`.

import type { RpcProtocolConfigResponse } from "./config.js";
import type {
  AccountId,
  ActionView,
  Base64,
  CryptoHash,
  Exact,
  Finality,
  PublicKey,
  RequestId,
  RpcRequest,
  RpcResponse,
  RpcTransactionResponse,
  Signature,
  SignedTransactionView,
  SyncCheckpoint,
  TxExecutionStatus,
} from "./wire.js";

export type * from "./config.js";
export type * from "./failures.js";
export type * from "./wire.js";

/** The version of the package and of the engine in it */
export const version: string;

/**
 * Loads the engine. In Node.js it is loaded by itself when it is first needed; in a page wait for this
 * before `validateRequest`, `decodeTransaction` or `methodNames`, which answer at once. `Engine.create` waits by itself.
 *
 * @throws {UsageError} The `.wasm` file cannot be loaded; the message says from where, and what helps.
 */
export function init(): Promise<void>;

// --- The engine -----------------------------------------------------------------------------------

/** How the engine answers where the interface leaves a choice */
export interface Settings {
  /** `TIMEOUT_ERROR` says why and shows the last status; default `false`, because strict clients of the
   *  interface refuse it */
  timeoutCause?: boolean;
  /** What becomes of a request for a milestone of a transaction that is in no block: it waits, or it is
   *  answered with `UNKNOWN_TRANSACTION` at once; default `"wait"`, as a node does */
  unknown?: "wait" | "immediate";
  /** The most outcomes and pending receipts of one answer; default 100,000 */
  maxReceipts?: number;
  /** The most requests in one batch; default 50 */
  maxBatch?: number;
  /** When a block is final: when a later header says so (default), or as it comes in, for feeds that
   *  carry final blocks only */
  finality?: "headers" | "all";
  /** How many of the newest blocks, or blocks of how many of the newest epochs, are kept; default all */
  retention?: "everything" | { blocks: number | bigint } | { epochs: number | bigint };
}

/** How long requests may wait, and how many of them */
export interface Patience {
  /** Milliseconds from a request to its `TIMEOUT_ERROR`; default 10,000, as in a node */
  timeout?: number;
  /** The most requests that wait at a time; default 100,000, which take some 25 MiB */
  limit?: number;
}

export interface EngineOptions {
  /** Where facts are kept; default in the memory of the engine itself, which is the quickest */
  storage?: Storage;
  settings?: Settings;
  patience?: Patience;
}

export interface CallOptions {
  /** The method that the address of the request names, if it names one: a body that names another is
   *  refused */
  pathMethod?: string;
}

export interface WaitOptions extends CallOptions {
  /** Ends the wait: the promise is rejected with the signal's reason, and the place is free */
  signal?: AbortSignal;
  /** Milliseconds until `TIMEOUT_ERROR`; default that of `patience`. `Infinity` waits for ever. */
  timeout?: number;
}

/** The body of a request: JSON text, its bytes, or an object (whose `bigint`s are written as integers) */
export type RequestBody = string | Uint8Array | RpcRequest | readonly RpcRequest[];

/**
 * The engine: blocks in, answers out.
 *
 * Each engine is a WebAssembly instance of its own. Should it fail in a way that it must not (a
 * `PanicError`), it alone is out of order; other engines, also over the same storage, live on.
 */
export class Engine {
  private constructor();

  static create(options?: EngineOptions): Promise<Engine>;

  /**
   * Takes in a block message, in one commit, and answers those whose milestone it reaches. Messages that
   * come while one is taken in have to wait their turn.
   *
   * @throws {BlockError} The message is malformed or contradicts the chain; nothing is changed.
   * @throws {StorageError} The storage failed; `cause` is its error.
   */
  ingest(message: string | Uint8Array): Promise<Ingested>;

  /**
   * Puts a protocol configuration in force from this height on, in place of the one that may be there.
   *
   * @throws {ConfigError} The configuration lacks something, or is of another chain.
   * @throws {StorageError} The storage failed; `cause` is its error.
   */
  putConfig(height: number | bigint, config: string | Uint8Array): Promise<void>;

  /** Answers a request when its milestone is reached, or with `TIMEOUT_ERROR` when its time is up */
  call(body: RequestBody, options?: WaitOptions): Promise<Answer>;

  /** Answers a request from what is known now; `null` if it would have to wait */
  answer(body: RequestBody, options?: CallOptions): Promise<Answer | null>;

  /**
   * As `answer`, at once.
   *
   * @throws {UsageError} The engine has a storage of the host, which may take its time.
   */
  answerSync(body: RequestBody, options?: CallOptions): Answer | null;

  /**
   * As `answerSync`, into bytes of the caller's, from the first on: the quickest way to an answer, for
   * who answers many requests and uses the same bytes again. Where they are too few, they stay as
   * they are, and the answer is in `overflow`. What lies behind the answer is left alone.
   *
   * `into` may be a part of a larger buffer, also of a `SharedArrayBuffer`; one whose buffer was
   * transferred has no bytes, so nothing fits into it.
   *
   * @throws {UsageError} The engine has a storage of the host, which may take its time.
   */
  answerInto(body: RequestBody, into: Uint8Array, options?: CallOptions): WrittenAnswer | null;

  /**
   * As `ingest`, at once.
   *
   * @throws {UsageError} The engine has a storage of the host, which may take its time.
   */
  ingestSync(message: string | Uint8Array): Ingested;

  /** What is known about the chain as a whole */
  chain(): Promise<ChainStatus>;

  /** How many requests wait */
  readonly open: number;

  /** Ends all waiting: open requests are looked at once more and then answered with an error, as are
   *  those that come later and would have to wait */
  stop(): void;

  /** Frees the engine; whatever is open is rejected with a `UsageError`, and nothing can be asked any more */
  dispose(): void;
  [Symbol.dispose](): void;
}

/** What kind of answer it is: what a host needs to choose an HTTP status without reading the body */
export type AnswerClass =
  | "result"
  | "request_validation"
  | "timeout"
  | "skipped_block"
  | "handler"
  | "internal"
  | "unavailable";

export interface JsonOptions {
  /** Every integer is a `bigint`, and so exact; by default they are numbers, which round above 2^53 */
  bigint?: boolean;
}

/** A finished answer: the body of a JSON-RPC response */
export class Answer {
  private constructor();
  /** Compact JSON in UTF-8 */
  readonly bytes: Uint8Array;
  readonly text: string;
  /** A batch is a `result`, whatever is in it */
  readonly class: AnswerClass;
  /** The body as objects. For a configuration say so: `answer.json<ProtocolConfigRpcResponse>()` */
  json<T = RpcResponse<RpcTransactionResponse>>(options?: { bigint?: false }): T;
  json<T = RpcResponse<RpcTransactionResponse>>(options: { bigint: true }): Exact<T>;
  json<T = RpcResponse<RpcTransactionResponse>>(options?: JsonOptions): T | Exact<T>;
}

/** An answer in bytes of the caller's */
export interface WrittenAnswer {
  readonly class: AnswerClass;
  /** How many bytes of the caller's it takes; 0 if they are too few */
  readonly written: number;
  /** The answer in bytes of its own, if the caller's are too few: `overflow.bytes.length` is what it takes */
  readonly overflow: Answer | null;
}

/** A block: its height and its hash */
export interface BlockPoint {
  height: bigint;
  hash: CryptoHash;
}

/** What became of a block message */
export interface Ingested {
  block: BlockPoint;
  /** It is the new head, it was in before, or it is on a fork that is not canonical */
  place: "head" | "known" | "aside";
  /** Blocks that left the canonical chain because of it, newest first */
  undone: BlockPoint[];
  /** Blocks of a fork that joined the canonical chain with it, oldest first */
  redone: BlockPoint[];
  /** The newest final block, as of now */
  lastFinal: BlockPoint | null;
  transactions: number;
  /** Those of transactions included */
  outcomes: number;
  receipts: number;
}

export interface ChainStatus {
  /** The newest canonical block */
  head: BlockPoint | null;
  /** The newest final block */
  lastFinal: BlockPoint | null;
  /** The oldest canonical block that is kept */
  earliest: BlockPoint | null;
  /** Of the protocol configurations */
  chainId: string | null;
  /** The latest that the head's producer supports */
  protocolVersion: number | null;
  /** Canonical blocks that are kept */
  blocks: bigint;
  /** How often the chain was changed */
  generation: bigint;
}

// --- Without an engine ----------------------------------------------------------------------------

/** What a request asks for */
export type RequestSummary = StatusSummary | ConfigSummary;

export interface StatusSummary {
  operation: "transaction_status";
  id: RequestId;
  /** The transaction's hash; of a signed transaction it is computed */
  hash: CryptoHash;
  /** The account that was named or that signed */
  senderId: AccountId;
  waitUntil: TxExecutionStatus;
  /** Whether the answer will list the receipts */
  receipts: boolean;
  /** The transaction, if it was given whole */
  signed: DecodedTransaction | null;
}

export interface ConfigSummary {
  operation: "protocol_config";
  id: RequestId;
  block:
    | { height: bigint }
    | { hash: CryptoHash }
    | { finality: Finality }
    | { syncCheckpoint: SyncCheckpoint };
}

/**
 * Checks a request as the engine would, and says what it asks for.
 *
 * @throws {RequestError} What is wrong with it, and where.
 */
export function validateRequest(
  body: string | Uint8Array | RpcRequest,
  options?: CallOptions,
): RequestSummary;

/** A signed transaction from its bytes */
export interface DecodedTransaction {
  hash: CryptoHash;
  signerId: AccountId;
  publicKey: PublicKey;
  nonce: bigint;
  /** Which nonce of a gas key */
  nonceIndex: number | null;
  nonceMode: "monotonic" | "strict";
  receiverId: AccountId;
  /** A recent block: the transaction is void a day or so after it */
  blockHash: CryptoHash;
  /** As answers show them, with integers as `bigint` */
  actions: Exact<ActionView>[];
  signature: Signature;
  /** Whether it is the key's signature; `null` if this build does not know the scheme: a page can check
   *  ed25519 only */
  signatureValid: boolean | null;
  /** The transaction as answers show it: compact JSON, parsed a {@link SignedTransactionView} */
  json: string;
}

/**
 * Reads a signed transaction from its borsh encoding, in base64 or as bytes.
 *
 * @throws {TransactionError} What is wrong with it, at which field and byte.
 */
export function decodeTransaction(transaction: Base64 | Uint8Array): DecodedTransaction;

/** The names of the methods that are served */
export function methodNames(): string[];

/**
 * Parses JSON; with `bigint: true` every integer becomes a `bigint` and stays exact, fractions stay
 * numbers.
 *
 * @throws {SyntaxError} The text is not JSON.
 */
export function parseJson<T = unknown>(text: string, options?: { bigint?: false }): T;
export function parseJson<T = unknown>(text: string, options: { bigint: true }): Exact<T>;
export function parseJson<T = unknown>(text: string, options?: JsonOptions): T | Exact<T>;

/** Writes JSON as `JSON.stringify` does, and a `bigint` as an integer */
export function writeJson(value: unknown): string;

// --- Errors ---------------------------------------------------------------------------------------

/** What kind of refusal it is; the numbers are those of the Rust and C libraries */
export const ErrorCode: {
  /** The engine failed as it must not; of JavaScript only */
  readonly PANIC: 0;
  /** Not JSON, or not borsh */
  readonly SYNTAX: 1;
  /** A member is missing, is one too many, or has the wrong type */
  readonly SHAPE: 2;
  /** A scalar breaks its rules */
  readonly VALUE: 3;
  /** A limit would be exceeded */
  readonly LIMIT: 4;
  /** A block contradicts the chain that is known */
  readonly CHAIN: 5;
  /** The storage failed */
  readonly STORAGE: 6;
  /** A row in the storage is not what the engine wrote */
  readonly CORRUPT: 7;
  /** The caller broke the order of calls */
  readonly USAGE: 8;
};
export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];

/** A refusal: what, where, and the kind */
export class MilepostError extends Error {
  protected constructor();
  /** The name of its class, also where a minifier changed that */
  readonly name: string;
  /** One of `ErrorCode` */
  readonly code: ErrorCode;
  /** Where in the input, as in `params.tx_hash`; empty when the input as a whole is refused */
  readonly path: string;
  /** The byte of the input at which it was found */
  readonly offset: number | null;
  /** The sentence alone, without path and offset */
  readonly detail: string;
}

/** A request cannot be read */
export class RequestError extends MilepostError {}
/** A signed transaction cannot be read */
export class TransactionError extends MilepostError {}
/** A block message cannot be taken in */
export class BlockError extends MilepostError {}
/** A protocol configuration cannot be put in force */
export class ConfigError extends MilepostError {}
/** The storage failed, or holds what the engine did not write; `cause` is the storage's own error */
export class StorageError extends MilepostError {}
/** The caller broke the order of calls, or passed what cannot be */
export class UsageError extends MilepostError {}
/** The engine failed as it must not, and is out of order from now on; other engines live on */
export class PanicError extends MilepostError {}

// --- Storages -------------------------------------------------------------------------------------

/** A value, or a promise of it */
export type MaybePromise<T> = T | PromiseLike<T>;

/** The address of a row: a table (0 to 255) and 1 to 32 bytes */
export interface RowKey {
  readonly table: number;
  readonly key: Uint8Array;
}

/** A row to be written, or to be removed if `row` is `null` */
export interface RowChange extends RowKey {
  readonly row: Uint8Array | null;
}

/** A row, or nothing if there is none */
export type MaybeRow = Uint8Array | null | undefined;

/**
 * Where facts are kept: a map from table and key to bytes.
 *
 * Duties of the storage: `commit` happens whole or not at all, and every read that begins after its
 * promise is fulfilled sees it. What throws or rejects means that the storage cannot say; a missing row is no error.
 * Duties of the engine: one commit at a time, keys and rows that it never changes, and questions that
 * see one state of the storage, whatever is committed meanwhile. Only one engine may commit to a storage
 * at a time. A storage may ask its engine from within its methods, but must not wait there for
 * `ingest` or `putConfig`, which wait for the storage.
 */
export interface Storage {
  get(table: number, key: Uint8Array): MaybePromise<MaybeRow>;
  /** The rows of these keys in their order, in one go; without it each is asked for by `get` */
  getMany?(keys: readonly RowKey[]): MaybePromise<readonly MaybeRow[]>;
  commit(changes: readonly RowChange[]): MaybePromise<void>;
}

/** A storage in a `Map`, for tests and for engines that share their rows */
export class MemoryStorage implements Storage {
  constructor();
  /** How many rows there are */
  readonly size: number;
  get(table: number, key: Uint8Array): Uint8Array | undefined;
  getMany(keys: readonly RowKey[]): (Uint8Array | undefined)[];
  commit(changes: readonly RowChange[]): void;
}

export interface IndexedDbOptions {
  /** Default `globalThis.indexedDB` */
  factory?: IDBFactory;
  /** How sure a commit is when it reports: `strict` (default) outlives the machine, `relaxed` the page */
  durability?: "strict" | "relaxed";
}

/** A storage in a database of the browser */
export class IndexedDbStorage implements Storage {
  private constructor();
  /** Opens the database of this name, and makes it if it is not there */
  static open(name: string, options?: IndexedDbOptions): Promise<IndexedDbStorage>;
  get(table: number, key: Uint8Array): Promise<Uint8Array | undefined>;
  getMany(keys: readonly RowKey[]): Promise<(Uint8Array | undefined)[]>;
  commit(changes: readonly RowChange[]): Promise<void>;
  /** Closes the connection; what is under way is finished */
  close(): void;
}

export type { RpcProtocolConfigResponse, SignedTransactionView };
