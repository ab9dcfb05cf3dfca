// What an endpoint says of the blocks that it imports, and of the chain.

import type { Verification } from "./verifier.js";
import type { CryptoHash } from "./wire.js";

/** The height and the hash of a block */
export interface BlockPoint {
  height: bigint;
  hash: CryptoHash;
}

/** The result of importing a block message */
export interface ImportSummary {
  block: BlockPoint;
  /** It is the new head, it was imported before, or it is on a fork */
  position: "head" | "known" | "fork";
  /** Blocks that left the canonical chain because of it, newest first */
  reverted: BlockPoint[];
  /** Blocks of a fork that joined the canonical chain with it, oldest first */
  reapplied: BlockPoint[];
  /** The newest final block after the import */
  lastFinal: BlockPoint | null;
  transactions: number;
  /** Including those of transactions */
  outcomes: number;
  receipts: number;
  /** Number of members that are not of their type and are served as they came; 0 with
   *  `strictTypes` */
  typeMismatches: number;
  /** The place of the first of them in the message, such as
   *  `shards[1].chunk.receipts[0].priority` */
  firstTypeMismatch: string | null;
  /** Whether the block agrees with its hash; `null` if `settings.verify` is `off` */
  verification: Verification | null;
}

export interface ChainStatus {
  /** The newest canonical block */
  head: BlockPoint | null;
  /** The newest final block */
  lastFinal: BlockPoint | null;
  /** The oldest canonical block that is retained */
  earliest: BlockPoint | null;
  /** The height from which on every canonical block up to the head was imported and is retained;
   *  0n without a head */
  completeFrom: bigint;
  /** Chain id of the protocol configurations */
  chainId: string | null;
  /** The newest protocol version that the producer of the head supports; the one in force is
   *  `protocol_version` of the configuration in force at the head */
  latestProtocolVersion: number | null;
  /** Number of canonical blocks that are retained */
  blocks: bigint;
  /** Number of changes of the canonical chain so far */
  generation: bigint;
}
