// Follows a transaction until FINAL: requests its status, then waits for the next milestones. The
// tree of receipts also grows between milestones, so the status is polled while requests wait.

import { at } from '../exact';
import { NodeError, transactionStatus, type RpcResponse, type TransactionParams } from '../rpc';
import { isMilestone, next, type Milestone } from './milestones';

/** Receives the events of a followed transaction */
export interface Watcher {
  /** A response arrived; it reports this milestone */
  updated(response: RpcResponse, milestone: Milestone): void;
  /** Requests now wait for one of these milestones; none after FINAL */
  waiting(milestones: Milestone[]): void;
  /** The node does not know the transaction; a request waits for it */
  unknown(error: NodeError): void;
  /** A request failed; it is repeated if `willRetry` */
  failed(error: unknown, willRetry: boolean): void;
}

/** Milliseconds between polls: about one and a half blocks of the chain */
const POLL_INTERVAL = 1_000;
/** Milliseconds from a failure to the next request */
const RETRY_DELAY = 2_500;

/** Follows a transaction until FINAL, or until `signal` is aborted */
export async function watch(params: TransactionParams, watcher: Watcher, signal: AbortSignal): Promise<void> {
  let reached: Milestone | null = null;
  while (!signal.aborted && reached !== 'FINAL') {
    try {
      reached = await advance(params, reached, watcher, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (isUnknown(error)) {
        // The node does not wait for unknown transactions, or a fork removed this one.
        watcher.unknown(error);
        reached = null;
        await pause(RETRY_DELAY, signal).catch(() => undefined);
        continue;
      }
      const willRetry = error instanceof NodeError && ['UNREACHABLE', 'INTERNAL_ERROR', 'HTTP_ERROR'].includes(error.cause);
      watcher.failed(error, willRetry);
      if (!willRetry) return;
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
    return report(await transactionStatus({ ...params, wait_until: 'NONE' }, signal), watcher);
  } catch (error) {
    if (!isUnknown(error)) throw error;
    watcher.unknown(error);
  }
  watcher.waiting(['INCLUDED']);
  try {
    return report(await transactionStatus({ ...params, wait_until: 'INCLUDED' }, signal), watcher);
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
  signal.addEventListener('abort', abort, { once: true });
  try {
    const waits = milestones.map((wait_until) => transactionStatus({ ...params, wait_until }, requests.signal));
    return report(await Promise.race([...waits, poll(params, reached, watcher, requests.signal)]), watcher);
  } catch (error) {
    // The node's timeout passed: the caller repeats the requests.
    if (!isTimeout(error)) throw error;
    return reached;
  } finally {
    requests.abort();
    signal.removeEventListener('abort', abort);
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
    const response = await transactionStatus({ ...params, wait_until: 'NONE' }, signal);
    if (milestoneOf(response) !== reached) return response;
    watcher.updated(response, reached);
  }
}

function report(response: RpcResponse, watcher: Watcher): Milestone {
  const milestone = milestoneOf(response);
  watcher.updated(response, milestone);
  if (milestone === 'FINAL') watcher.waiting([]);
  return milestone;
}

function milestoneOf(response: RpcResponse): Milestone {
  const name = at(response.result, 'final_execution_status');
  if (!isMilestone(name)) throw new NodeError('INVALID_RESPONSE', 'the response reports no milestone');
  return name;
}

function isUnknown(error: unknown): error is NodeError {
  return error instanceof NodeError && error.cause === 'UNKNOWN_TRANSACTION';
}

function isTimeout(error: unknown): boolean {
  return error instanceof NodeError && error.cause === 'TIMEOUT_ERROR';
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', () => (clearTimeout(timer), reject(signal.reason)), { once: true });
  });
}
