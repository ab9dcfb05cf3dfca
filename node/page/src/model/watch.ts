// Follows a transaction until FINAL by the events of the node, and requests its status after each.
// A node at its limit of watches refuses events. Then requests wait for the next milestones, and
// the status is polled meanwhile, because the tree of receipts also grows between milestones.

import { at } from "../exact";
import { NodeError, transactionStatus, type RpcResponse, type TransactionParams } from "../rpc";
import { watchEvents } from "./events";
import { isMilestone, next, type Milestone } from "./milestones";

/** Receives the events of a followed transaction */
export interface Watcher {
  /** A response arrived; it reports this milestone */
  updated(response: RpcResponse, milestone: Milestone): void;
  /** Requests now wait for one of these milestones; none after FINAL */
  waiting(milestones: Milestone[]): void;
  /** The node does not know the transaction, and waits for it */
  unknown(): void;
  /** The connection over which events come was lost, and is open again */
  connected(isOpen: boolean): void;
  /** A request failed; it is repeated if `willRetry` */
  failed(error: unknown, willRetry: boolean): void;
}

/** Milliseconds between polls: about one and a half blocks of the chain */
const POLL_INTERVAL = 1_000;
/** Milliseconds from a failure to the next request */
const RETRY_DELAY = 2_500;

/** Follows a transaction until FINAL, or until `signal` is aborted */
export async function watch(
  params: TransactionParams & { tx_hash: string },
  watcher: Watcher,
  signal: AbortSignal,
): Promise<void> {
  const requestStatus = async () => {
    const milestone = report(await transactionStatus({ ...params, wait_until: "NONE" }, signal), watcher);
    if (milestone !== "FINAL") watcher.waiting(next(milestone));
    return milestone === "FINAL";
  };
  const change = (isKnown: boolean) => retried(isKnown ? requestStatus : async () => unknown(watcher), watcher, signal);
  const hasEvents = await watchEvents(params.tx_hash, change, (isOpen) => watcher.connected(isOpen), signal);
  if (!hasEvents) await watchByRequests(params, watcher, signal);
}

/** What is shown of a transaction that is in no block; it is not final */
function unknown(watcher: Watcher): false {
  watcher.unknown();
  watcher.waiting(["INCLUDED"]);
  return false;
}

/** The result of a request, which is repeated while the node does not respond; or `true` */
async function retried(request: () => Promise<boolean>, watcher: Watcher, signal: AbortSignal): Promise<boolean> {
  for (;;) {
    try {
      return await request();
    } catch (error) {
      if (signal.aborted) return true;
      // A fork removed it since the event.
      if (isUnknown(error)) return unknown(watcher);
      watcher.failed(error, canRetry(error));
      if (!canRetry(error)) return true;
      await pause(RETRY_DELAY, signal).catch(() => undefined);
    }
  }
}

function canRetry(error: unknown): boolean {
  return error instanceof NodeError && ["UNREACHABLE", "INTERNAL_ERROR", "HTTP_ERROR"].includes(error.cause);
}

async function watchByRequests(params: TransactionParams, watcher: Watcher, signal: AbortSignal): Promise<void> {
  let reached: Milestone | null = null;
  while (!signal.aborted && reached !== "FINAL") {
    try {
      reached = await advance(params, reached, watcher, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (isUnknown(error)) {
        // The node does not wait for unknown transactions, or a fork removed this one.
        watcher.unknown();
        reached = null;
        await pause(RETRY_DELAY, signal).catch(() => undefined);
        continue;
      }
      watcher.failed(error, canRetry(error));
      if (!canRetry(error)) return;
      await pause(RETRY_DELAY, signal).catch(() => undefined);
    }
  }
}

async function advance(
  params: TransactionParams,
  reached: Milestone | null,
  watcher: Watcher,
  signal: AbortSignal,
): Promise<Milestone | null> {
  if (reached !== null) return waitForNext(params, reached, watcher, signal);
  try {
    return report(await transactionStatus({ ...params, wait_until: "NONE" }, signal), watcher);
  } catch (error) {
    if (!isUnknown(error)) throw error;
  }
  unknown(watcher);
  try {
    return report(await transactionStatus({ ...params, wait_until: "INCLUDED" }, signal), watcher);
  } catch (error) {
    if (!isTimeout(error)) throw error;
    return null;
  }
}

/** Waits for the next milestones, and polls meanwhile */
async function waitForNext(
  params: TransactionParams,
  reached: Milestone,
  watcher: Watcher,
  signal: AbortSignal,
): Promise<Milestone> {
  const milestones = next(reached);
  watcher.waiting(milestones);
  const requests = new AbortController();
  const abort = () => requests.abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    const waits = milestones.map((wait_until) => transactionStatus({ ...params, wait_until }, requests.signal));
    return report(await Promise.race([...waits, poll(params, reached, watcher, requests.signal)]), watcher);
  } catch (error) {
    // The node's timeout passed: the caller repeats the requests.
    if (!isTimeout(error)) throw error;
    return reached;
  } finally {
    requests.abort();
    signal.removeEventListener("abort", abort);
  }
}

/** Polls the status until it reports another milestone */
async function poll(
  params: TransactionParams,
  reached: Milestone,
  watcher: Watcher,
  signal: AbortSignal,
): Promise<RpcResponse> {
  for (;;) {
    await pause(POLL_INTERVAL, signal);
    const response = await transactionStatus({ ...params, wait_until: "NONE" }, signal);
    if (milestoneOf(response) !== reached) return response;
    watcher.updated(response, reached);
  }
}

function report(response: RpcResponse, watcher: Watcher): Milestone {
  const milestone = milestoneOf(response);
  watcher.updated(response, milestone);
  if (milestone === "FINAL") watcher.waiting([]);
  return milestone;
}

function milestoneOf(response: RpcResponse): Milestone {
  const name = at(response.result, "final_execution_status");
  if (!isMilestone(name)) throw new NodeError("INVALID_RESPONSE", "the response reports no milestone");
  return name;
}

function isUnknown(error: unknown): error is NodeError {
  return error instanceof NodeError && error.cause === "UNKNOWN_TRANSACTION";
}

function isTimeout(error: unknown): boolean {
  return error instanceof NodeError && error.cause === "TIMEOUT_ERROR";
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => (clearTimeout(timer), reject(signal.reason)), { once: true });
  });
}
