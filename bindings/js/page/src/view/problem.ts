// Something went wrong: what the node said, and what can be done. The node's own words come first.

import { h, type Child } from '../dom';
import { plain } from '../format';
import { NodeError } from '../rpc';

const ADVICE: Record<string, string> = {
  UNKNOWN_TRANSACTION: 'Check the hash; a node also forgets what is older than what it keeps.',
  UNKNOWN_BLOCK: 'The block may be skipped, forgotten or still to come. Try another height, or “final”.',
  PARSE_ERROR: 'The request was not understood. Check what was entered.',
  UNREACHABLE: 'Is it running? This page asks again by itself.',
  STRANGE_ANSWER: 'Something else may be answering in the node’s place.',
};

/** A box with what went wrong */
export function problem(title: string, error: unknown, ...more: Child[]): HTMLElement {
  const cause = error instanceof NodeError ? error.cause : null;
  const message = error instanceof Error ? error.message : String(error);
  return h(
    'section',
    { class: 'problem', role: 'alert' },
    h('h2', {}, title),
    h('p', { class: 'words' }, cause !== null && h('code', {}, plain(cause)), plain(message)),
    cause !== null && ADVICE[cause] !== undefined && h('p', { class: 'advice' }, ADVICE[cause]),
    ...more,
  );
}
