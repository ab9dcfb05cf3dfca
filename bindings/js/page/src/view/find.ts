// The form that finds a transaction: a hash with its signer, or a signed transaction in base64. The
// engine in the page reads it as the node would and says what is wrong, and where; without the engine
// the node says so a moment later.

import { h, replace } from '../dom';
import { engine, type Asked } from '../engine';
import { at, text } from '../exact';
import { plain } from '../format';
import { words } from '../model/road';
import { NodeError, request, transactionStatus, type TransactionParams } from '../rpc';
import { transactionAddress } from '../route';

/** Hashes are looked for by any account on a node that keeps every shard */
export const SOME_ACCOUNT = 'system';
/** The longest base58 of 32 bytes: anything longer is a signed transaction */
const LONGEST_HASH = 44;

export function findForm(signal: AbortSignal): HTMLElement {
  const what = h('textarea', {
    id: 'what', name: 'what', rows: 1, required: true, spellcheck: 'false', autocapitalize: 'off',
    autocomplete: 'off', placeholder: 'G5XjCXwhNqd2QN8S…', 'aria-describedby': 'found',
  });
  const signer = h('input', {
    id: 'signer', name: 'signer', type: 'text', spellcheck: 'false', autocapitalize: 'off',
    autocomplete: 'off', placeholder: 'alice.near',
  });
  const found = h('p', { id: 'found', class: 'found', role: 'status' });
  const form = h(
    'form',
    { class: 'find', novalidate: true },
    h('div', { class: 'field wide' }, h('label', { for: 'what' }, 'Hash, or signed transaction in base64'), what),
    h('div', { class: 'field' }, h('label', { for: 'signer' }, 'Signer ', h('small', {}, 'optional')), signer),
    h('button', { type: 'submit', class: 'primary' }, 'Follow'),
    found,
  );
  const say = (words: string, isWrong: boolean) => {
    found.classList.toggle('is-wrong', isWrong);
    what.setAttribute('aria-invalid', String(isWrong));
    replace(found, words);
  };
  const check = async () => {
    const params = paramsOf(what.value, signer.value);
    if (params === null) return say('', false);
    const loaded = await engine();
    if (loaded === null || signal.aborted) return say('', false);
    try {
      const asked = loaded.read(request('EXPERIMENTAL_tx_status', params));
      say(asked.signed === null ? '' : describe(asked), asked.signed?.signatureValid === false);
    } catch (error) {
      say(plain((error as Error).message), true);
    }
  };
  for (const input of [what, signer]) input.addEventListener('input', () => void check());
  what.addEventListener('keydown', (event) => {
    // One line as far as anyone can see, so Enter means what it means there.
    if (event.key !== 'Enter' || event.shiftKey) return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void submit(paramsOf(what.value, signer.value), say, signal);
  });
  return form;
}

async function submit(
  params: TransactionParams | null,
  say: (words: string, isWrong: boolean) => void,
  signal: AbortSignal,
): Promise<void> {
  if (params === null) return say('Enter a hash or a signed transaction.', true);
  const loaded = await engine();
  try {
    const asked = loaded === null
      ? await askNode(params, signal)
      : loaded.read(request('EXPERIMENTAL_tx_status', params));
    const isGuess = asked.signer === SOME_ACCOUNT && params.signed_tx_base64 === undefined;
    location.hash = transactionAddress(asked.hash, isGuess ? null : asked.signer);
  } catch (error) {
    if (!signal.aborted) say(plain((error as Error).message), true);
  }
}

/** Without the engine the node tells what a signed transaction is, if it has seen it */
async function askNode(params: TransactionParams, signal: AbortSignal): Promise<Pick<Asked, 'hash' | 'signer'>> {
  try {
    const { result } = await transactionStatus({ ...params, wait_until: 'NONE' }, signal);
    const transaction = at(result, 'transaction');
    const hash = text(at(transaction, 'hash')) ?? params.tx_hash;
    if (hash === undefined) throw new Error('the node does not tell its hash');
    return { hash, signer: text(at(transaction, 'signer_id')) ?? SOME_ACCOUNT };
  } catch (error) {
    const { tx_hash: hash, sender_account_id: signer } = params;
    const isUnknown = error instanceof NodeError && error.cause === 'UNKNOWN_TRANSACTION';
    if (!isUnknown || hash === undefined) throw error;
    return { hash, signer: signer ?? SOME_ACCOUNT };
  }
}

function paramsOf(what: string, signer: string): TransactionParams | null {
  // Pasted lines come with breaks and spaces, which neither base58 nor base64 has.
  const bare = what.replace(/\s+/g, '');
  if (bare === '') return null;
  if (bare.length > LONGEST_HASH) return { signed_tx_base64: bare };
  return { tx_hash: bare, sender_account_id: signer.trim() || SOME_ACCOUNT };
}

function describe({ hash, signer, signed }: Asked): string {
  if (signed === null) return '';
  const names = signed.actions.slice(0, 4).map(words).join(', ');
  const actions = signed.actions.length > 4 ? `${names} and ${signed.actions.length - 4} more` : names;
  const signature = signed.signatureValid === false ? '; its signature is not that of its key' : '';
  return `${hash}: ${signer} to ${signed.receiver}: ${actions}${signature}`;
}
