// Following a transaction along the road: asks where it stands, then waits for the milestones that come
// next, until FINAL or until nobody looks any more. A wait costs the node nothing while it lasts; the
// tree grows between milestones, too, so beside the waits it is asked once in a while how it stands.

import { at } from '../exact';
import { NodeError, transactionStatus, type Answer, type TransactionParams } from '../rpc';
import { isMilestone, next, type Milestone } from './milestones';

/** What happens on the way */
export interface Watcher {
  /** An answer came; it reports this milestone */
  answered(answer: Answer, milestone: Milestone): void;
  /** From now on it waits for one of these; none when the road is done */
  waiting(milestones: Milestone[]): void;
  /** The node knows nothing of the transaction; it is waited for */
  unknown(error: NodeError): void;
  /** Something went wrong; it is tried again if `goesOn` */
  failed(error: unknown, goesOn: boolean): void;
}

/** From one look to the next while it waits: about a block of the chain and a half */
const LOOK_EVERY = 1_000;
/** How long after a failure it is tried again */
const RETRY_AFTER = 2_500;

/** Follows a transaction until FINAL, or until `signal` ends it */
export async function watch(params: TransactionParams, watcher: Watcher, signal: AbortSignal): Promise<void> {
  let reached: Milestone | null = null;
  while (!signal.aborted && reached !== 'FINAL') {
    try {
      reached = await step(params, reached, watcher, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (isUnknown(error)) {
        // Not seen yet by a node that does not wait for it, or a fork took it away.
        watcher.unknown(error);
        reached = null;
        await pause(RETRY_AFTER, signal).catch(() => undefined);
        continue;
      }
      const goesOn = error instanceof NodeError && ['UNREACHABLE', 'INTERNAL_ERROR', 'REFUSED'].includes(error.cause);
      watcher.failed(error, goesOn);
      if (!goesOn) return;
      await pause(RETRY_AFTER, signal).catch(() => undefined);
    }
  }
}

async function step(
  params: TransactionParams,
  reached: Milestone | null,
  watcher: Watcher,
  signal: AbortSignal,
): Promise<Milestone | null> {
  if (reached !== null) return follow(params, reached, watcher, signal);
  try {
    return deliver(await transactionStatus({ ...params, wait_until: 'NONE' }, signal), watcher);
  } catch (error) {
    if (!isUnknown(error)) throw error;
    watcher.unknown(error);
  }
  watcher.waiting(['INCLUDED']);
  try {
    return deliver(await transactionStatus({ ...params, wait_until: 'INCLUDED' }, signal), watcher);
  } catch (error) {
    if (!isPatience(error)) throw error;
    return null;
  }
}

/** Waits for whatever comes next, and looks how it stands meanwhile */
async function follow(
  params: TransactionParams,
  reached: Milestone,
  watcher: Watcher,
  signal: AbortSignal,
): Promise<Milestone> {
  const milestones = next(reached);
  watcher.waiting(milestones);
  const round = new AbortController();
  const stop = () => round.abort();
  signal.addEventListener('abort', stop, { once: true });
  try {
    const waits = milestones.map((wait_until) => transactionStatus({ ...params, wait_until }, round.signal));
    return deliver(await Promise.race([...waits, look(params, reached, watcher, round.signal)]), watcher);
  } catch (error) {
    // The node's patience is shorter than ours: ask again.
    if (!isPatience(error)) throw error;
    return reached;
  } finally {
    round.abort();
    signal.removeEventListener('abort', stop);
  }
}

/** Looks how it stands, again and again; ends when the milestone is another one */
async function look(
  params: TransactionParams,
  reached: Milestone,
  watcher: Watcher,
  signal: AbortSignal,
): Promise<Answer> {
  for (;;) {
    await pause(LOOK_EVERY, signal);
    const answer = await transactionStatus({ ...params, wait_until: 'NONE' }, signal);
    if (milestoneOf(answer) !== reached) return answer;
    watcher.answered(answer, reached);
  }
}

function deliver(answer: Answer, watcher: Watcher): Milestone {
  const milestone = milestoneOf(answer);
  watcher.answered(answer, milestone);
  if (milestone === 'FINAL') watcher.waiting([]);
  return milestone;
}

function milestoneOf(answer: Answer): Milestone {
  const name = at(answer.result, 'final_execution_status');
  if (!isMilestone(name)) throw new NodeError('STRANGE_ANSWER', 'the answer reports no milestone');
  return name;
}

function isUnknown(error: unknown): error is NodeError {
  return error instanceof NodeError && error.cause === 'UNKNOWN_TRANSACTION';
}

/** Whether the node's time was up, which ends nothing */
function isPatience(error: unknown): boolean {
  return error instanceof NodeError && error.cause === 'TIMEOUT_ERROR';
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', () => (clearTimeout(timer), reject(signal.reason)), { once: true });
  });
}
