// JSON without loss: a number that a `number` would round is kept as its text. Reads by the platform's
// own parser, which hands out the source of each number; where it does not (Safari before 18.4), the
// engine's reader takes its place. Leaves out writing: what came in is shown as it came in.

import { engine } from './engine';

/** A number whose text says more than a `number` can hold */
export class Numeral {
  constructor(readonly text: string) {}

  toString(): string {
    return this.text;
  }
}

export type Json = null | boolean | number | string | Numeral | Json[] | JsonObject;
export interface JsonObject {
  [name: string]: Json;
}

type Reviver = (this: unknown, name: string, value: unknown, context?: { source?: string }) => unknown;

const keepSource: Reviver = (_name, value, context) => {
  if (typeof value !== 'number' || context?.source === undefined) return value;
  return String(value) === context.source ? value : new Numeral(context.source);
};

const hasSource = (() => {
  let seen = false;
  const look: Reviver = (_name, value, context) => {
    seen ||= context?.source === '1';
    return value;
  };
  JSON.parse('[1]', look as never);
  return seen;
})();

/** Reads JSON; throws what `JSON.parse` throws */
export async function parse(text: string): Promise<Json> {
  if (hasSource) return JSON.parse(text, keepSource as never) as Json;
  const loaded = await engine();
  return loaded === null ? (JSON.parse(text) as Json) : fromEngine(loaded.parse(text));
}

/** The engine's values with its big integers as numerals */
function fromEngine(value: unknown): Json {
  if (typeof value === 'bigint') return new Numeral(String(value));
  if (Array.isArray(value)) return value.map(fromEngine);
  if (typeof value !== 'object' || value === null) return value as Json;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, fromEngine(inner)]));
}

/** The member of an object; of anything else `null` */
export function at(value: Json | undefined, ...path: string[]): Json {
  let inner: Json = value ?? null;
  for (const name of path) {
    if (!isObject(inner) || !Object.hasOwn(inner, name)) return null;
    inner = inner[name] ?? null;
  }
  return inner;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Numeral);
}

export function list(value: Json): Json[] {
  return Array.isArray(value) ? value : [];
}

export function text(value: Json): string | null {
  return typeof value === 'string' ? value : null;
}

/** A whole number, on the wire a number or a string of digits */
export function integer(value: Json): bigint | null {
  const digits = value instanceof Numeral ? value.text : String(value);
  return (typeof value !== 'object' || value instanceof Numeral) && /^\d+$/.test(digits) ? BigInt(digits) : null;
}

/** What stands in the text of JSON for this value, if it is no array and no object */
export function scalar(value: Json): string {
  return value instanceof Numeral ? value.text : JSON.stringify(value);
}
