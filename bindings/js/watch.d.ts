// The changes of a watched transaction, of an endpoint or of a server.

import type { RpcTransactionResponse } from "./index.js";
import type { Platform } from "./platform.js";
import type { CryptoHash, Exact } from "./wire.js";

/** The milestones of a transaction: a partial order, in which `EXECUTED_OPTIMISTIC` and
 *  `INCLUDED_FINAL` are incomparable */
export type TxExecutionStatus = "NONE" | "INCLUDED" | "EXECUTED_OPTIMISTIC" | "INCLUDED_FINAL" | "EXECUTED" | "FINAL";

/** A compact status of a transaction, as an endpoint or a server reports it */
export interface CompactStatus {
  transaction_hash: CryptoHash;
  /** `NONE` if it is in no block; then the other members are missing */
  final_execution_status: TxExecutionStatus;
  /** The kind of the final status */
  status?: "NotStarted" | "Started" | "Failure" | "SuccessValue";
  /** The block that includes the transaction */
  block?: { height: bigint; hash: CryptoHash | null };
  /** Number of receipts that were generated, refunds included */
  receipts_known?: number;
  receipts_executed?: number;
  /** Number of receipts that failed: `status` is that of one receipt alone */
  receipts_failed?: number;
  /** Whether nothing about it can change any more */
  finalized?: boolean;
  /** The whole result, in the last change if it was asked for */
  result?: Exact<RpcTransactionResponse>;
}

/** A change of a watched transaction; equal states have equal ids, of servers and endpoints alike */
export type TransactionChange =
  | {
      /** Another status, or the first one; a fork took away its block; or the milestone is reached,
       *  which is the last change */
      readonly event: "status" | "un-included" | "reached";
      readonly id: string;
      readonly status: CompactStatus;
    }
  | {
      /** Retention removed the transaction, and no archive has it; or the server to which a client
       *  has connected again stayed below the block of the last change: the last change, too */
      readonly event: "forgotten" | "timeout";
      /** That of the last state */
      readonly id: string;
      readonly status: UnknownStatus;
    };

/** The hash alone, of a transaction whose state is not known */
export type UnknownStatus = Pick<CompactStatus, "transaction_hash"> & {
  [Name in Exclude<keyof CompactStatus, "transaction_hash">]?: undefined;
};

export interface WatchOptions {
  /** The milestone that ends the watch; default `FINAL` */
  waitUntil?: TxExecutionStatus;
  /** `status`: the last change has the whole result */
  include?: "status";
  /** Ends the watch: its next change is rejected with the signal's reason */
  signal?: Platform<"AbortSignal">;
}

/** The params of `subscribe_tx_status` over a WebSocket of a server */
export interface SubscriptionParams {
  /** At most 256 */
  tx_hashes: CryptoHash[];
  /** The milestone that ends the events of a transaction; default `FINAL` */
  wait_until?: TxExecutionStatus;
  /** `status`: the last event has the whole result */
  include?: "status";
  /** The id of the last event of a transaction, by its hash, which decides what follows */
  last_event_ids?: { [hash: CryptoHash]: string };
  /** The height that the head has to have before the first event */
  min_height?: number;
}
