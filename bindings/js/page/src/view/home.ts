// The home screen: the form to find a transaction, and the newest transactions of the practice
// chain, one of each kind, because the lifecycles of the kinds differ.

import { h, replace } from '../dom';
import { at, list, text, type Json } from '../exact';
import { plain, short } from '../format';
import { get } from '../rpc';
import { transactionFragment } from '../route';
import { findForm } from './find';
import { problem } from './problem';

interface RecentTransaction {
  hash: string;
  signer: string;
  receiver: string;
  kind: string;
  label: string;
  height: string;
}

export function showHome(main: HTMLElement, signal: AbortSignal): void {
  const recent = h('div', { class: 'recent' });
  replace(
    main,
    h(
      'section',
      { class: 'intro' },
      h('h1', {}, 'Follow a NEAR transaction'),
      h('p', { class: 'lead' }, 'See its milestones and receipts, live, from its block to the last receipt.'),
      findForm(signal),
    ),
    recent,
  );
  void showRecent(recent, signal);
}

async function showRecent(container: HTMLElement, signal: AbortSignal): Promise<void> {
  replace(container, h('p', { class: 'loading', role: 'status' }, 'Loading recent transactions…'));
  try {
    const response = await get('/practice/recent', signal);
    if (response === null) return replace(container, noPracticeChain());
    const transactions = list(response).map(read);
    if (transactions.length === 0) return void setTimeout(() => void showRecent(container, signal), 500);
    replace(container, recentTransactions(container, transactions, signal));
  } catch (error) {
    if (signal.aborted) return;
    const retry = h('button', { type: 'button', onclick: () => void showRecent(container, signal) }, 'Try again');
    replace(container, problem('Recent transactions cannot be loaded', error, retry));
  }
}

function recentTransactions(container: HTMLElement, transactions: RecentTransaction[], signal: AbortSignal): HTMLElement {
  const byKind = new Map<string, RecentTransaction>();
  for (const transaction of transactions) {
    if (!byKind.has(transaction.kind)) byKind.set(transaction.kind, transaction);
  }
  const followNewest = async () => {
    // Requested again, because transactions become final within seconds.
    const newest = list(await get('/practice/recent', signal))[0];
    if (newest !== undefined) location.hash = fragment(read(newest));
  };
  const refresh = h('button', { type: 'button', class: 'quiet', onclick: () => void showRecent(container, signal) }, 'Refresh');
  return h(
    'section',
    { 'aria-labelledby': 'recent-title' },
    h(
      'div',
      { class: 'heading' },
      h('h2', { id: 'recent-title' }, 'Recent transactions'),
      h('p', {}, 'The newest transactions of the practice chain, one of each kind.'),
      h('div', { class: 'buttons' }, h('button', { type: 'button', class: 'primary', onclick: () => void followNewest() }, 'Watch the newest'), refresh),
    ),
    h('ul', { class: 'cards' }, [...byKind.values()].map(card)),
  );
}

function card(transaction: RecentTransaction): HTMLElement {
  return h(
    'li',
    {},
    h(
      'a',
      { href: fragment(transaction) },
      h('span', { class: 'kind' }, transaction.kind),
      h('span', { class: 'label' }, plain(transaction.label)),
      h('span', { class: 'accounts' }, `${plain(transaction.signer)} → ${plain(transaction.receiver)}`),
      h('span', { class: 'block' }, `block ${transaction.height}`, h('code', {}, short(transaction.hash))),
    ),
  );
}

function noPracticeChain(): HTMLElement {
  return h(
    'p',
    { class: 'empty' },
    'This node has no practice chain, so there is no list of recent transactions. Enter the hash of any transaction in its blocks.',
  );
}

function fragment(transaction: RecentTransaction): string {
  return transactionFragment(transaction.hash, transaction.signer);
}

function read(item: Json): RecentTransaction {
  const member = (name: string) => text(at(item, name)) ?? '';
  return {
    hash: member('tx_hash'),
    signer: member('signer_id'),
    receiver: member('receiver_id'),
    kind: member('kind'),
    label: member('label'),
    height: String(at(item, 'height')),
  };
}
