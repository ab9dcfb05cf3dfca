// Protocol configurations: which block is meant by what a person types, all values with their paths, and
// what differs between two of them. Values are compared by their text, so no digit is lost.

import { isObject, scalar, type Json } from '../exact';
import type { ConfigParams } from '../rpc';

/** Words for blocks that need no number */
export const NAMED = ['final', 'optimistic', 'near-final', 'genesis', 'earliest_available'] as const;

/** The request for what was typed: a word, a height or a hash */
export function paramsOf(block: string): ConfigParams {
  const word = block.trim();
  if (word === 'genesis' || word === 'earliest_available') return { sync_checkpoint: word };
  if ((NAMED as readonly string[]).includes(word)) return { finality: word };
  // No hash is all digits: it has 32 bytes, and base58 of those at least 32 symbols.
  const height = Number(word);
  return /^\d{1,16}$/.test(word) && Number.isSafeInteger(height) ? { block_id: height } : { block_id: word };
}

export interface Leaf {
  path: string;
  value: Json;
}

/** The values of a configuration by their paths, in its order */
export function leaves(config: Json): Leaf[] {
  const found: Leaf[] = [];
  const open: Leaf[] = [{ path: '', value: config }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { path, value } = next;
    const members = branch(value);
    if (members.length === 0) {
      found.push(next);
      continue;
    }
    const below = members.map(([name, inner]) => ({ path: join(path, name), value: inner }));
    open.push(...below.toReversed());
  }
  return found;
}

/** Members of an object; a list of numbers or words is one value, such as a fraction */
function branch(value: Json): [string, Json][] {
  if (isObject(value)) return Object.entries(value);
  if (!Array.isArray(value) || value.every((item) => !Array.isArray(item) && !isObject(item))) return [];
  return value.map((item, index) => [String(index), item]);
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

export interface Change {
  path: string;
  /** `null` where there is none */
  before: Leaf | null;
  after: Leaf | null;
}

/** What differs between two configurations, in the order of the first */
export function changes(before: Json, after: Json): Change[] {
  const old = new Map(leaves(before).map((leaf) => [leaf.path, leaf]));
  const now = new Map(leaves(after).map((leaf) => [leaf.path, leaf]));
  const paths = new Set([...old.keys(), ...now.keys()]);
  const found: Change[] = [];
  for (const path of paths) {
    const [a, b] = [old.get(path) ?? null, now.get(path) ?? null];
    if (a === null || b === null || words(a.value) !== words(b.value)) found.push({ path, before: a, after: b });
  }
  return found;
}

/** A value as text: that of JSON, with its digits */
export function words(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(words).join(', ')}]`;
  return isObject(value) ? '{}' : scalar(value);
}
