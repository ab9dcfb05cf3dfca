// Where and when steps were executed: the heights and times of their blocks, and the shards of
// their accounts. The node returns both by block hash; they never change. Shards follow from the
// shard layout in the protocol configuration at the transaction's block; from protocol version 85
// on the network's layout may differ from it, and a layout by hash (V0) does not determine shards.

import { at, integer, isObject, list, text, type Json } from "../exact";
import { get, protocolConfig } from "../rpc";
import { knownChain } from "./chain";
import type { Lifecycle } from "./lifecycle";

/** The node takes this number of hashes in one request */
const MAX_HASHES = 100;

/** Heights and times of blocks by hash; `null` if the node does not know a block */
export class Blocks {
  private readonly blocks = new Map<string, { height: bigint; time: Date | null } | null>();

  /** The height of a block, if it was loaded */
  height(hash: string | null): bigint | null {
    return this.blocks.get(hash ?? "")?.height ?? null;
  }

  /** The time of a block by its own header, if the node has that */
  time(hash: string | null): Date | null {
    return this.blocks.get(hash ?? "")?.time ?? null;
  }

  /** Requests the blocks that were not loaded before */
  async load(hashes: Iterable<string>, signal: AbortSignal): Promise<void> {
    const missing = [...new Set(hashes)].filter((hash) => !this.blocks.has(hash));
    for (let start = 0; start < missing.length; start += MAX_HASHES) {
      const requested = missing.slice(start, start + MAX_HASHES);
      const blocks = await get(`/blocks/${requested.join(",")}?include=timestamp`, signal);
      for (const hash of requested) {
        const height = integer(at(blocks, hash, "height"));
        this.blocks.set(hash, height === null ? null : { height, time: timeOf(at(blocks, hash, "timestamp_nanosec")) });
      }
    }
  }
}

/** The time of a number of nanoseconds since 1970 */
export function timeOf(nanoseconds: Json): Date | null {
  const number = integer(nanoseconds);
  return number === null ? null : new Date(Number(number / 1_000_000n));
}

/** The shard of an account; `null` if it is not known */
export type ShardOf = (account: string) => string | null;

/** Requests the shard layout in force at a block; without configurations no shard is known */
export async function loadShards(block: string, signal: AbortSignal): Promise<ShardOf> {
  if ((await knownChain()).name === null) return () => null;
  const { result } = await protocolConfig({ block_id: block }, signal);
  return shardsOf(at(result, "shard_layout"));
}

/** The shards of a layout: the shard of an account is the one after the last boundary up to its
 *  id */
export function shardsOf(layout: Json): ShardOf {
  const inner = isObject(layout) ? Object.values(layout)[0] : null;
  const hasOneShard = integer(at(inner, "num_shards")) === 1n;
  const boundaries = at(inner, "boundary_accounts");
  if (!Array.isArray(boundaries)) return () => (hasOneShard ? "0" : null);
  const names = boundaries.map((name) => text(name) ?? "");
  const ids = list(at(inner, "shard_ids"));
  return (account) => {
    // Account ids are ASCII, so the order of strings is that of their bytes.
    const index = names.filter((boundary) => boundary <= account).length;
    const id = integer(ids[index] ?? null);
    return String(id ?? index);
  };
}

/** The blocks in which steps of a lifecycle were executed */
export function blocksOf(lifecycle: Lifecycle): string[] {
  return lifecycle.steps.map((step) => step.block).filter((block) => block !== null);
}
