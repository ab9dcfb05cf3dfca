// Names as TypeScript clients of a node have them: `receipts_outcome` is `receiptsOutcome`.

/** A JSON value whose members are called in camel case, at every level */
export function camelCased(value) {
  if (Array.isArray(value)) return value.map(camelCased);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [camelName(name), camelCased(member)]));
}

const camelName = (name) => name.replaceAll(/_([a-z])/g, (_, letter) => letter.toUpperCase());
