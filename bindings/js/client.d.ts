// A client of a Milepost server, without the engine: requests, and changes of transactions.

import type {
  EndpointResponse,
  RequestBody,
  RpcTransactionResponse,
  TransactionChange,
  WatchOptions,
} from "./index.js";
import type { Platform } from "./platform.js";
import type { CryptoHash } from "./wire.js";

export type { CompactStatus, RequestBody, SubscriptionParams, TransactionChange, WatchOptions } from "./index.js";
export {
  EndpointResponse,
  ErrorCode,
  MilepostError,
  RequestError,
  StorageError,
  UsageError,
  parseJson,
  writeJson,
} from "./index.js";

/** A connection of a watch was opened, or has ended and is opened again; `cause` is why */
export interface ConnectionState {
  readonly isOpen: boolean;
  readonly cause?: unknown;
}

export interface ClientOptions {
  /** How changes come: by server-sent events (default), a connection for each transaction, or
   *  over one WebSocket for all */
  transport?: "sse" | "websocket";
  /** Is called when a connection of a watch was opened, and when it has ended */
  onConnection?: (state: ConnectionState) => void;
  /** Default that of the platform */
  fetch?: typeof globalThis extends { fetch: infer Fetch } ? Fetch : never;
  /** The class; default that of the platform, which Node.js has since version 22 */
  WebSocket?: typeof globalThis extends { WebSocket: infer Class } ? Class : never;
}

export interface ClientRequestOptions {
  /** Cancels the request */
  signal?: Platform<"AbortSignal">;
  /** Milliseconds that it may wait for its milestone; default and maximum are the server's */
  timeout?: number;
}

export interface ProofOptions {
  /** The block in which the headers of the proof end: its hash, or `final` for the newest final
   *  one; default the block that confirms the newest outcome */
  block?: CryptoHash | "final";
  /** Cancels the request */
  signal?: Platform<"AbortSignal">;
}

/** A server. It keeps no connection while nothing is watched and no request is pending. */
export class Client {
  private constructor();

  /**
   * Watches the transaction of this hash: its state comes at once, then whenever it has changed,
   * until the milestone is reached, or the server does not know it any more. Changes that were not
   * read are replaced by the newest one, except that a fork took away the block that was
   * read last. A connection that ends is opened again, for as long as the watch lasts.
   *
   * The changes end with a `RequestError` if the server refuses the watch, and with a
   * `StorageError` if it cannot read the transaction.
   */
  watch(hash: CryptoHash, options?: WatchOptions): AsyncGenerator<TransactionChange, void, undefined>;

  /**
   * Sends a request, and returns the response whatever its HTTP status is. Rejects with the error
   * of `fetch` if the server cannot be reached.
   *
   * @throws {RequestError} The response is not JSON.
   */
  request<Result = RpcTransactionResponse>(
    body: RequestBody,
    options?: ClientRequestOptions,
  ): Promise<EndpointResponse<Result>>;

  /**
   * The outcomes of the transaction of this hash with their proof, as JSON: both texts of
   * `verifyAnswer` of `milepost/verifier`. Its `proof` is null while no block confirms an outcome.
   *
   * @throws {RequestError} The transaction or the block is unknown, the block is too far away, or
   *   the server's blocks prove nothing.
   * @throws {StorageError} The server cannot read its store.
   */
  prove(hash: CryptoHash, options?: ProofOptions): Promise<string>;
}

/**
 * A client of the server at this URL. Opens no connection.
 *
 * @throws {UsageError} An option is unknown or invalid.
 */
export function connect(url: string, options?: ClientOptions): Client;
