// Member names as in TypeScript clients of a node: `receipts_outcome` is `receiptsOutcome`.

/** A JSON value with all member names in camel case */
export function camelCased(value) {
  if (Array.isArray(value)) return value.map(camelCased);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [camelName(name), camelCased(member)]));
}

const camelName = (name) => name.replaceAll(/_([a-z])/g, (_, letter) => letter.toUpperCase());
