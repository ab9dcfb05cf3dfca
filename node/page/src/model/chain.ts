// What the page knows of the chain of its node: its name, its newest block, and whether blocks come
// in. Polled while the page is visible. A screen that draws a newer block says so, so that the
// header never shows an older one.

import { at, integer, isObject, text } from "../exact";
import { get } from "../rpc";

/** Milliseconds between polls */
const POLL_INTERVAL = 3_000;

/** Whether blocks come in; `unreachable` if the node does not respond */
export type Feed = "followed" | "behind" | "practice" | "none" | "unreachable";

export interface Chain {
  feed: Feed;
  /** `null` without a configuration */
  name: string | null;
  height: bigint | null;
  /** The oldest block that the node has */
  earliest: bigint | null;
}

let chain: Chain | null = null;
const listeners = new Set<(chain: Chain) => void>();

/** Calls `listener` now, if the node was asked before, and after each change; until `signal` */
export function onChain(listener: (chain: Chain) => void, signal?: AbortSignal): void {
  listeners.add(listener);
  signal?.addEventListener("abort", () => listeners.delete(listener));
  if (chain !== null) listener(chain);
}

/** What is known of the chain, once the node was asked */
export function knownChain(): Promise<Chain> {
  if (chain !== null) return Promise.resolve(chain);
  return new Promise((resolve) => {
    const listener = (known: Chain) => (listeners.delete(listener), resolve(known));
    listeners.add(listener);
  });
}

/** Whether blocks come in, so that what is shown may change */
export function isLive(feed: Feed): boolean {
  return feed === "followed" || feed === "practice";
}

/** A block of this height is drawn */
export function noteHeight(height: bigint | null): void {
  if (chain === null || height === null || (chain.height !== null && chain.height >= height)) return;
  change({ ...chain, height });
}

/** Polls the node */
export function watchChain(): void {
  const poll = async () => {
    if (document.visibilityState === "visible") await update();
    setTimeout(poll, POLL_INTERVAL);
  };
  void poll();
}

/** Asks the node now */
export async function update(): Promise<void> {
  try {
    const status = await get("/status");
    if (!isObject(status)) throw new Error("not a status");
    const height = integer(at(status, "head", "height"));
    // A block may have been drawn while the response was on its way.
    const drawn = chain?.height ?? null;
    const isOlder = height !== null && drawn !== null && drawn > height;
    change({
      feed: (text(at(status, "feed")) as Feed | null) ?? "none",
      name: text(at(status, "chain_id")),
      height: isOlder ? drawn : height,
      earliest: integer(at(status, "earliest", "height")),
    });
  } catch {
    change({ ...(chain ?? { name: null, height: null, earliest: null }), feed: "unreachable" });
  }
}

function change(next: Chain): void {
  chain = next;
  for (const listener of listeners) listener(next);
}
