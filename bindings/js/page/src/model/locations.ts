// Where steps were executed: the heights of their blocks and the shards of their accounts. The node
// returns heights by block hash; they never change. Shards follow from the shard layout in the
// protocol configuration at the transaction's block; from protocol version 85 on the network's
// layout may differ from it, and a layout by hash (V0) does not determine shards.

import { at, integer, isObject, list, text, type Json } from '../exact';
import { get, protocolConfig } from '../rpc';
import type { Lifecycle } from './lifecycle';

/** The node takes this number of hashes in one request */
const MAX_HASHES = 100;

/** The heights of blocks by hash; `null` if the node does not know a block */
export class BlockHeights {
  private readonly heights = new Map<string, bigint | null>();

  /** The height of a block, if it was loaded */
  get(hash: string): bigint | null {
    return this.heights.get(hash) ?? null;
  }

  /** Requests the heights that were not loaded before */
  async load(hashes: Iterable<string>, signal: AbortSignal): Promise<void> {
    const missing = [...new Set(hashes)].filter((hash) => !this.heights.has(hash));
    for (let start = 0; start < missing.length; start += MAX_HASHES) {
      const requested = missing.slice(start, start + MAX_HASHES);
      const heights = await get(`/blocks/${requested.join(',')}`, signal);
      for (const hash of requested) this.heights.set(hash, integer(at(heights, hash)));
    }
  }
}

/** The shard of an account; `null` if it is not known */
export type ShardOf = (account: string) => string | null;

/** Requests the shard layout in force at a block */
export async function loadShards(block: string, signal: AbortSignal): Promise<ShardOf> {
  const { result } = await protocolConfig({ block_id: block }, signal);
  return shardsOf(at(result, 'shard_layout'));
}

/** The shards of a layout: the shard of an account is the one after the last boundary up to its
 *  id */
export function shardsOf(layout: Json): ShardOf {
  const inner = isObject(layout) ? Object.values(layout)[0] : null;
  const hasOneShard = integer(at(inner, 'num_shards')) === 1n;
  const boundaries = at(inner, 'boundary_accounts');
  if (!Array.isArray(boundaries)) return () => (hasOneShard ? '0' : null);
  const names = boundaries.map((name) => text(name) ?? '');
  const ids = list(at(inner, 'shard_ids'));
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
