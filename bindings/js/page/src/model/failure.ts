// The reason of a failure, as text: the names of the nested variants of an error, and the text or
// the members of the innermost one. Does not depend on any variant, so it also reads errors of
// later versions.

import { at, isObject, scalar, text, type Json } from '../exact';
import { plain } from '../format';

/** The reason in the status of an outcome or a transaction; `null` if it did not fail */
export function reason(status: Json): string | null {
  let error = at(status, 'Failure');
  if (error === null) return null;
  const names: string[] = [];
  while (isObject(error)) {
    if (Object.hasOwn(error, 'kind')) {
      const index = at(error, 'index');
      if (index !== null) names.push(`action ${scalar(index)}`);
      error = at(error, 'kind');
      continue;
    }
    const members = Object.entries(error);
    const [member] = members;
    if (member === undefined || members.length > 1) break;
    // The outermost variant carries no information.
    if (member[0] !== 'ActionError') names.push(member[0]);
    error = member[1];
  }
  return plain([...names, text(error) ?? members(error)].filter((part) => part !== '').join(': '));
}

function members(error: Json): string {
  if (!isObject(error)) return error === null ? '' : scalar(error);
  const parts = Object.entries(error).map(([name, value]) => {
    const shown = typeof value === 'object' && value !== null && !('text' in value) ? '…' : text(value) ?? scalar(value);
    return `${name} ${shown}`;
  });
  return parts.join(', ');
}
