// Where stops happened: at which heights their blocks stand, and in which shards their accounts live.
// Heights are asked of the node by hash and never change. Shards follow from the layout in the protocol
// configuration at the transaction's block; from version 85 on a network's layout may differ from it,
// and a layout by hash (V0) tells no shard at all.

import { at, integer, isObject, list, text, type Json } from '../exact';
import { get, protocolConfig } from '../rpc';
import type { Road } from './road';

/** The heights of blocks by hash; `null` where the node does not know */
export class Heights {
  private readonly known = new Map<string, bigint | null>();

  /** The height of a block that was learnt */
  of(hash: string): bigint | null {
    return this.known.get(hash) ?? null;
  }

  /** Asks for those that are not known; the node takes up to 100 at a time */
  async learn(hashes: Iterable<string>, signal: AbortSignal): Promise<void> {
    const missing = [...new Set(hashes)].filter((hash) => !this.known.has(hash));
    for (let start = 0; start < missing.length; start += 100) {
      const asked = missing.slice(start, start + 100);
      const heights = await get(`/blocks/${asked.join(',')}`, signal);
      for (const hash of asked) this.known.set(hash, integer(at(heights, hash)));
    }
  }
}

/** Which shard an account lives in; `null` when that is not known */
export type ShardOf = (account: string) => string | null;

/** Learns the layout of shards in force at a block */
export async function learnShards(block: string, signal: AbortSignal): Promise<ShardOf> {
  const { result } = await protocolConfig({ block_id: block }, signal);
  return shardsOf(at(result, 'shard_layout'));
}

/** The shards of a layout: an account goes to the shard after the last boundary that is not above it */
export function shardsOf(layout: Json): ShardOf {
  const inner = isObject(layout) ? Object.values(layout)[0] : null;
  const only = integer(at(inner, 'num_shards')) === 1n;
  const boundaries = at(inner, 'boundary_accounts');
  if (!Array.isArray(boundaries)) return () => (only ? '0' : null);
  const names = boundaries.map((name) => text(name) ?? '');
  const ids = list(at(inner, 'shard_ids'));
  return (account) => {
    // Account ids are ASCII, so the order of their letters is that of their bytes.
    const index = names.filter((boundary) => boundary <= account).length;
    const id = integer(ids[index] ?? null);
    return String(id ?? index);
  };
}

/** The blocks that a road passes */
export function blocksOf(road: Road): string[] {
  return road.stops.map((stop) => stop.block).filter((block) => block !== null);
}
