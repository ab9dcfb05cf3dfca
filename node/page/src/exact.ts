// Parses JSON without loss: a number that a `number` would round is kept as its text. Uses
// `JSON.parse` with the source text of each number, and the parser of the npm package in browsers
// that do not pass it (Safari before 18.4).

/** A number that a `number` would round */
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
  if (typeof value !== "number" || context?.source === undefined) return value;
  return String(value) === context.source ? value : new Numeral(context.source);
};

const hasSource = (() => {
  let isSupported = false;
  const reviver: Reviver = (_name, value, context) => {
    isSupported ||= context?.source === "1";
    return value;
  };
  JSON.parse("[1]", reviver as never);
  return isSupported;
})();

/** Parses JSON; throws the errors of `JSON.parse` */
export async function parse(text: string): Promise<Json> {
  if (hasSource) return JSON.parse(text, keepSource as never) as Json;
  const { parseJson } = await import("../../../bindings/js/src/core/json.js");
  return withNumerals(parseJson(text, { bigint: true }));
}

/** The same value with each `bigint` as a number, or as a numeral if that would round it */
function withNumerals(value: unknown): Json {
  if (typeof value === "bigint")
    return Number.isSafeInteger(Number(value)) ? Number(value) : new Numeral(String(value));
  if (Array.isArray(value)) return value.map(withNumerals);
  if (typeof value !== "object" || value === null) return value as Json;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withNumerals(inner)]));
}

/** The member at this path; `null` if there is none */
export function at(value: Json | undefined, ...path: string[]): Json {
  let inner: Json = value ?? null;
  for (const name of path) {
    if (!isObject(inner) || !Object.hasOwn(inner, name)) return null;
    inner = inner[name] ?? null;
  }
  return inner;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Numeral);
}

export function list(value: Json): Json[] {
  return Array.isArray(value) ? value : [];
}

export function text(value: Json): string | null {
  return typeof value === "string" ? value : null;
}

/** An unsigned integer, which is a number or a string of digits in JSON; else `null` */
export function integer(value: Json): bigint | null {
  const digits = value instanceof Numeral ? value.text : String(value);
  return (typeof value !== "object" || value instanceof Numeral) && /^\d+$/.test(digits) ? BigInt(digits) : null;
}

/** The JSON text of a value that is no array and no object */
export function scalar(value: Json): string {
  return value instanceof Numeral ? value.text : JSON.stringify(value);
}
