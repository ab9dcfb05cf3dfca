// Following a feed with the URLs of neardata, such as the public ones, from Node.js, a page or a
// worker: `milepost/follow`.

import type { Endpoint, ImportSummary } from "./index.js";
import type { Platform } from "./platform.js";

/** Where to follow a chain, from where on, and how */
export interface FollowOptions {
  /** `mainnet` or `testnet`, or the URL of a server with the same paths, such as
   *  `https://host/path`; plain `http` for this machine only */
  url: "mainnet" | "testnet" | (string & {}) | Platform<"URL">;
  /** Where to start: after the head of the endpoint's chain (`resume`, default), with the last
   *  final block of the feed, which leaves a gap, or with the first final block at or above a
   *  height. An empty endpoint starts `startMargin` heights before the last final block. */
  from?: "resume" | "final" | number;
  /** Imports no block above this height, and is done with it; default none */
  until?: number;
  /** Where an empty endpoint starts, before the last final block: a transaction in flight is whole
   *  if its first block is imported; default 250 heights. A feed that has fewer blocks starts with
   *  what it has. */
  startMargin?: number;
  /** The number of heights behind the feed from which on a chain is not resumed but started anew,
   *  with a gap; default `Infinity`. Catching up takes single blocks, which is less than twice as
   *  fast as the chain. */
  maxCatchUp?: number;
  /** A token, sent as `Authorization: Bearer`; the platform sends it to the host of the feed only,
   *  and not along a redirect to another one */
  token?: string;
  /** Maximum number of requests in any minute; default 170, as the public feeds allow 180 for an
   *  address */
  requestsPerMinute?: number;
  /** Milliseconds before the first repetition of a failed request, which double with each further
   *  one up to `maxRetry`, less a random part; default 500 */
  retry?: number;
  /** Default 30,000 milliseconds */
  maxRetry?: number;
  /** Milliseconds without a new block after which the feed counts as frozen; default 30,000 */
  frozenAfter?: number;
  /** Maximum number of blocks from the last final one on; default 1000 */
  maxUnfinalized?: number;
  /** What requests are sent with; default the `fetch` of the platform */
  fetch?: typeof globalThis extends { fetch: infer Fetch } ? Fetch : never;
  /** Ends the following: the promise is rejected with the signal's reason */
  signal?: Platform<"AbortSignal">;
  /** Called with what happens; an error that it throws ends the following */
  onEvent?: (event: FollowEvent) => void;
}

/** What happens while a feed is followed */
export type FollowEvent =
  | {
      /** The endpoint has imported a block */
      type: "imported";
      height: number;
      /** When it was produced, in milliseconds since 1970, if its header says so */
      timestamp: number | null;
      summary: ImportSummary;
    }
  | {
      /** A message was fetched; it may be imported later, or not at all */
      type: "fetched";
      height: number;
      /** Its length after decompression */
      bytes: number;
      timestamp: number | null;
    }
  | {
      /** A request failed, and is repeated after `delay` milliseconds */
      type: "retry";
      /** `null` if there was no whole response, or a malformed message */
      status: number | null;
      delay: number;
      detail: string;
    }
  | {
      /** The parent of a block was not imported: the final chain is taken instead, from the last
       *  final block to this height */
      type: "linkBroken";
      height: number;
    }
  | {
      /** The final chain is taken to catch up, which is far */
      type: "catchUp";
      first: number;
      until: number;
    }
  | {
      /** The feed has had no new block for this number of milliseconds; once until there is one */
      type: "frozen";
      silence: number;
    }
  | {
      /** There is a new block after the feed was frozen */
      type: "thawed";
    };

/**
 * Imports the blocks of a feed into an endpoint, each after its parent, until `until` is reached or
 * the signal is aborted. Only one run may import into an endpoint at a time.
 *
 * What the feed says is not believed before the chain confirms it: a height has no block when the
 * next block names its parent below it, a block is final when the headers above it say so, and a
 * message that is cut off, malformed or incomplete is fetched again, past caches. A block whose
 * parent is unknown is left aside, and the final chain is taken instead. Other failures are
 * repeated, with growing waits.
 *
 * Reading a message of mainnet takes some tens of milliseconds: a page stays fluent if it follows
 * in a worker.
 *
 * @throws {FollowError} Only a person can repair it.
 * @throws {BlockError} The endpoint refuses a block.
 * @throws {StorageError} The storage of the endpoint failed.
 */
export function follow(endpoint: Pick<Endpoint, "chainStatus" | "handleBlock">, options: FollowOptions): Promise<void>;

/** The feed contradicts what was final or is of another chain, lacks a block, refuses this client,
 *  keeps sending bad messages, or has more blocks without a final one than a sound chain */
export type FollowErrorKind = "contradiction" | "missing" | "permission-denied" | "message" | "unfinalized";

/** Why following ended; to repeat it does not help */
export class FollowError extends Error {
  private constructor();
  readonly name: string;
  readonly kind: FollowErrorKind;
}
