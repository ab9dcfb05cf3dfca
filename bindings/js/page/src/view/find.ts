// The form that finds a transaction, by its hash and signer or by the signed transaction in base64.
// The engine in the page validates the input and shows errors at once; without the engine the node
// does so when the form is submitted.

import { h, replace } from '../dom';
import { engine, type RequestedTransaction } from '../engine';
import { at, text } from '../exact';
import { plain } from '../format';
import { spacedWords } from '../model/lifecycle';
import { NodeError, request, transactionStatus, type TransactionParams } from '../rpc';
import { transactionFragment } from '../route';

/** Sender in requests without a signer: a node that tracks all shards finds the transaction by its
 *  hash */
export const ANY_ACCOUNT = 'system';
/** Length of the longest base58 of 32 bytes: longer input is a signed transaction */
const MAX_HASH_LENGTH = 44;

export function findForm(signal: AbortSignal): HTMLElement {
  const input = h('textarea', {
    id: 'transaction', name: 'transaction', rows: 1, required: true, spellcheck: 'false', autocapitalize: 'off',
    autocomplete: 'off', placeholder: 'G5XjCXwhNqd2QN8S…', 'aria-describedby': 'input-message',
  });
  const signer = h('input', {
    id: 'signer', name: 'signer', type: 'text', spellcheck: 'false', autocapitalize: 'off',
    autocomplete: 'off', placeholder: 'alice.near',
  });
  const message = h('p', { id: 'input-message', class: 'message', role: 'status' });
  const form = h(
    'form',
    { class: 'find', novalidate: true },
    h('div', { class: 'field wide' }, h('label', { for: 'transaction' }, 'Hash, or signed transaction in base64'), input),
    h('div', { class: 'field' }, h('label', { for: 'signer' }, 'Signer ', h('small', {}, 'optional')), signer),
    h('button', { type: 'submit', class: 'primary' }, 'Follow'),
    message,
  );
  const showMessage = (text: string, isError: boolean) => {
    message.classList.toggle('is-error', isError);
    input.setAttribute('aria-invalid', String(isError));
    replace(message, text);
  };
  const check = async () => {
    const params = paramsOf(input.value, signer.value);
    if (params === null) return showMessage('', false);
    const loaded = await engine();
    if (loaded === null || signal.aborted) return showMessage('', false);
    try {
      const requested = loaded.readTransactionRequest(request('EXPERIMENTAL_tx_status', params));
      showMessage(requested.signed === null ? '' : describe(requested), requested.signed?.signatureValid === false);
    } catch (error) {
      showMessage(plain((error as Error).message), true);
    }
  };
  for (const field of [input, signer]) field.addEventListener('input', () => void check());
  input.addEventListener('keydown', (event) => {
    // Enter submits the form, as in an input of one line.
    if (event.key !== 'Enter' || event.shiftKey) return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void submit(paramsOf(input.value, signer.value), showMessage, signal);
  });
  return form;
}

async function submit(
  params: TransactionParams | null,
  showMessage: (text: string, isError: boolean) => void,
  signal: AbortSignal,
): Promise<void> {
  if (params === null) return showMessage('Enter a hash or a signed transaction.', true);
  const loaded = await engine();
  try {
    const requested = loaded === null
      ? await requestFromNode(params, signal)
      : loaded.readTransactionRequest(request('EXPERIMENTAL_tx_status', params));
    const isAnySigner = requested.signer === ANY_ACCOUNT && params.signed_tx_base64 === undefined;
    location.hash = transactionFragment(requested.hash, isAnySigner ? null : requested.signer);
  } catch (error) {
    if (!signal.aborted) showMessage(plain((error as Error).message), true);
  }
}

/** Without the engine: takes hash and signer from the node, if it knows the transaction */
async function requestFromNode(params: TransactionParams, signal: AbortSignal): Promise<Pick<RequestedTransaction, 'hash' | 'signer'>> {
  try {
    const { result } = await transactionStatus({ ...params, wait_until: 'NONE' }, signal);
    const transaction = at(result, 'transaction');
    const hash = text(at(transaction, 'hash')) ?? params.tx_hash;
    if (hash === undefined) throw new Error('the response has no transaction hash');
    return { hash, signer: text(at(transaction, 'signer_id')) ?? ANY_ACCOUNT };
  } catch (error) {
    const { tx_hash: hash, sender_account_id: signer } = params;
    const isUnknown = error instanceof NodeError && error.cause === 'UNKNOWN_TRANSACTION';
    if (!isUnknown || hash === undefined) throw error;
    return { hash, signer: signer ?? ANY_ACCOUNT };
  }
}

function paramsOf(transaction: string, signer: string): TransactionParams | null {
  // Pasted text may have line breaks and spaces.
  const encoded = transaction.replace(/\s+/g, '');
  if (encoded === '') return null;
  if (encoded.length > MAX_HASH_LENGTH) return { signed_tx_base64: encoded };
  return { tx_hash: encoded, sender_account_id: signer.trim() || ANY_ACCOUNT };
}

function describe({ hash, signer, signed }: RequestedTransaction): string {
  if (signed === null) return '';
  const names = signed.actions.slice(0, 4).map(spacedWords).join(', ');
  const actions = signed.actions.length > 4 ? `${names} and ${signed.actions.length - 4} more` : names;
  const signature = signed.signatureValid === false ? '; the signature is invalid' : '';
  return `${hash}: ${signer} to ${signed.receiver}: ${actions}${signature}`;
}
