// Following feeds with the URLs of neardata, such as the public ones, from Node.js, a page or a
// worker: `milepost/follow`.

import type { CryptoHash, Endpoint, ImportSummary } from "./index.js";
import type { Platform } from "./platform.js";
import type { WasmSource } from "./slim.js";

/** `mainnet` or `testnet`, or the URL of a server with the same paths, such as
 *  `https://host/path`; plain `http` for this machine only */
export type FeedUrl = "mainnet" | "testnet" | (string & {}) | Platform<"URL">;

/** Where to follow a chain, from where on, and how */
export interface FollowOptions {
  /** The feed, or several feeds of one chain, the preferred one first: the others are asked where
   *  those before them fail, are behind or lack a block */
  url: FeedUrl | readonly FeedUrl[];
  /** Where to start: after the head of the endpoint's chain (`resume`, default), with the last
   *  final block of the feed, which leaves a gap, or with the first final block at or above a
   *  height. With `resume`, an empty endpoint starts `startMargin` heights before the last final
   *  block. */
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
  /** A height whose block no feed has, such as the last one below all feeds: the next block is
   *  imported without it, with a gap; default none */
  skip?: number;
  /** A token, sent as `Authorization: Bearer` to the first feed; the platform sends it to the host
   *  of the feed only, and not along a redirect to another one */
  token?: string;
  /** Maximum number of requests to each feed in any minute; default 170, as the public feeds allow
   *  180 for an address */
  requestsPerMinute?: number;
  /** Milliseconds for which a feed is left alone after a failure, which double with each further one
   *  up to `maxRetry`, less a random part; default 250 */
  retry?: number;
  /** Default 30,000 milliseconds */
  maxRetry?: number;
  /** Milliseconds without a new block after which the feeds count as frozen, and all are asked for
   *  the next block; default 30,000 */
  frozenAfter?: number;
  /** What requests are sent with; default the `fetch` of the platform */
  fetch?: typeof globalThis extends { fetch: infer Fetch } ? Fetch : never;
  /** Ends the following: the promise is rejected with the signal's reason */
  signal?: Platform<"AbortSignal">;
  /** Called with what happens; an error that it throws ends the following */
  onEvent?: (event: FollowEvent) => void;
  /** The module with the rules, where the package cannot find it itself: the package has it as
   *  `milepost/follow.wasm` */
  source?: WasmSource;
}

/** What happens while feeds are followed; `feed` is the index of a feed in `url` */
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
      feed: number;
    }
  | {
      /** A request failed, and is repeated at this feed or another one; this one is left alone for
       *  `delay` milliseconds */
      type: "failed";
      /** `null` if there was no whole response, or a malformed message */
      status: number | null;
      delay: number;
      detail: string;
      feed: number;
    }
  | {
      /** Another feed is asked first from now on: the one before is silent or behind, or its
       *  requests fail, or one that comes earlier in `url` has recovered */
      type: "feedChanged";
      feed: number;
      from: number;
      reason: "silent" | "behind" | "failed" | "returned";
    }
  | {
      /** A feed has another chain; it is compared again every minute */
      type: "otherChain";
      feed: number;
      /** The predicate of a sentence about the feed */
      detail: string;
    }
  | {
      /** No feed has had a block for half a minute that others build on */
      type: "missing";
      height: number;
      hash: CryptoHash;
    }
  | {
      /** A block that no feed has was given up, by the option `skip` */
      type: "givenUp";
      height: number;
    }
  | {
      /** The feed does not have the blocks before its last final one that were asked for: the chain
       *  begins with the first that it has */
      type: "startsLater";
      asked: number;
      first: number;
    }
  | {
      /** Heights without a block, proven by the next block */
      type: "skipped";
      count: number;
    }
  | {
      /** A block that comes next makes another branch canonical */
      type: "reorg";
      /** Number of blocks that leave the canonical chain */
      depth: number;
    }
  | {
      /** The parent of a block was not imported, and is asked for */
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
      /** No feed has had a new block for this number of milliseconds; once until there is one */
      type: "frozen";
      silence: number;
    }
  | {
      /** There is a new block after the feeds were frozen */
      type: "thawed";
    };

/**
 * Imports the blocks of feeds into an endpoint, each after its parent, until `until` is reached or
 * the signal is aborted. Only one run may import into an endpoint at a time.
 *
 * What a feed says is not believed before the chain confirms it: a height has no block when the
 * next block names its parent below it, a block is final when the headers above it say so, and a
 * message that is cut off, malformed or incomplete is fetched again, past caches. A block whose
 * parent is unknown waits for it, and a block that the endpoint refuses is asked for again. Feeds
 * that fail are asked again, with growing waits, for as long as it takes.
 *
 * Reading a message of mainnet takes some tens of milliseconds: a page stays responsive if it follows
 * in a worker.
 *
 * @throws {FollowError} No feed can serve the first block, for a reason that only a person can
 *   repair.
 * @throws {BlockError} The endpoint refuses the first block of its chain.
 * @throws {StorageError} The storage of the endpoint failed.
 * @throws {UsageError} An option is wrong, or the module cannot be loaded.
 */
export function follow(endpoint: Pick<Endpoint, "chainStatus" | "handleBlock">, options: FollowOptions): Promise<void>;

/** Each feed has another chain than the endpoint or than the first, lacks a block, refuses this
 *  client, or keeps sending bad messages */
export type FollowErrorKind = "other-chain" | "missing" | "permission-denied" | "message";

/** Why following ended before its first block; to repeat it does not help */
export class FollowError extends Error {
  private constructor();
  readonly name: string;
  readonly kind: FollowErrorKind;
}
