// Protocol configurations: the request for a block that was typed in, all values with their paths,
// and the differences between two configurations. Values are compared as text, so every digit
// counts.

import { isObject, scalar, type Json } from "../exact";
import type { ConfigParams } from "../rpc";

/** Names of blocks, besides heights and hashes */
export const NAMED = ["final", "optimistic", "near-final", "genesis", "earliest_available"] as const;

/** The params for a block that was typed in: a name, a height or a hash */
export function paramsOf(block: string): ConfigParams {
  const name = block.trim();
  if (name === "genesis" || name === "earliest_available") return { sync_checkpoint: name };
  if ((NAMED as readonly string[]).includes(name)) return { finality: name };
  // A hash has at least 32 characters: base58 of 32 bytes.
  const height = Number(name);
  return /^\d{1,16}$/.test(name) && Number.isSafeInteger(height) ? { block_id: height } : { block_id: name };
}

export interface Leaf {
  path: string;
  value: Json;
}

/** The values of a configuration with their paths, in its order */
export function leaves(config: Json): Leaf[] {
  const found: Leaf[] = [];
  const stack: Leaf[] = [{ path: "", value: config }];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { path, value } = next;
    const members = membersOf(value);
    if (members.length === 0) {
      found.push(next);
      continue;
    }
    const inner = members.map(([name, value]) => ({ path: join(path, name), value }));
    stack.push(...inner.toReversed());
  }
  return found;
}

/** Members of an object or an array; an array of scalars, such as a fraction, is one value */
function membersOf(value: Json): [string, Json][] {
  if (isObject(value)) return Object.entries(value);
  if (!Array.isArray(value) || value.every((item) => !Array.isArray(item) && !isObject(item))) return [];
  return value.map((item, index) => [String(index), item]);
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

export interface Change {
  path: string;
  /** `null` if there is no value */
  before: Leaf | null;
  after: Leaf | null;
}

/** The differences between two configurations, in the order of the first */
export function changes(before: Json, after: Json): Change[] {
  const oldLeaves = new Map(leaves(before).map((leaf) => [leaf.path, leaf]));
  const newLeaves = new Map(leaves(after).map((leaf) => [leaf.path, leaf]));
  const paths = new Set([...oldLeaves.keys(), ...newLeaves.keys()]);
  const found: Change[] = [];
  for (const path of paths) {
    const [a, b] = [oldLeaves.get(path) ?? null, newLeaves.get(path) ?? null];
    if (a === null || b === null || valueText(a.value) !== valueText(b.value))
      found.push({ path, before: a, after: b });
  }
  return found;
}

/** The JSON text of a value, with all digits */
export function valueText(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(valueText).join(", ")}]`;
  return isObject(value) ? "{}" : scalar(value);
}
