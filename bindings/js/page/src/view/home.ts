// The start: find a transaction, or pick one of the practice chain. One of each kind is offered, because
// each kind's road looks different; the newest one has its road still before it.

import { h, replace } from '../dom';
import { at, list, text, type Json } from '../exact';
import { plain, short } from '../format';
import { get } from '../rpc';
import { transactionAddress } from '../route';
import { findForm } from './find';
import { problem } from './problem';

interface Listed {
  hash: string;
  signer: string;
  receiver: string;
  kind: string;
  label: string;
  height: string;
}

export function showHome(main: HTMLElement, signal: AbortSignal): void {
  const offers = h('div', { class: 'offers' });
  replace(
    main,
    h(
      'section',
      { class: 'hero' },
      h('h1', {}, 'How far along the road is it?'),
      h('p', { class: 'lead' }, 'Follow a NEAR transaction from its block through every receipt to the end, live.'),
      findForm(signal),
    ),
    offers,
  );
  void offer(offers, signal);
}

async function offer(offers: HTMLElement, signal: AbortSignal): Promise<void> {
  replace(offers, h('p', { class: 'loading', role: 'status' }, 'Asking what there is to pick…'));
  try {
    const recent = await get('/practice/recent', signal);
    if (recent === null) return replace(offers, elsewhere());
    const listed = list(recent).map(read);
    if (listed.length === 0) return void setTimeout(() => void offer(offers, signal), 500);
    replace(offers, picks(offers, listed, signal));
  } catch (error) {
    if (signal.aborted) return;
    const again = h('button', { type: 'button', onclick: () => void offer(offers, signal) }, 'Try again');
    replace(offers, problem('There is nothing to pick', error, again));
  }
}

function picks(offers: HTMLElement, listed: Listed[], signal: AbortSignal): HTMLElement {
  const kinds = new Map<string, Listed>();
  for (const one of listed) if (!kinds.has(one.kind)) kinds.set(one.kind, one);
  const watchNew = async () => {
    // The list is some seconds old, and a road is not much longer than that.
    const newest = list(await get('/practice/recent', signal))[0];
    if (newest !== undefined) location.hash = address(read(newest));
  };
  const newer = h('button', { type: 'button', class: 'quiet', onclick: () => void offer(offers, signal) }, 'Show newer');
  return h(
    'section',
    { 'aria-labelledby': 'pick' },
    h(
      'div',
      { class: 'heading' },
      h('h2', { id: 'pick' }, 'Or pick one'),
      h('p', {}, 'A practice chain runs here. These are its newest transactions, one of each kind.'),
      h('div', { class: 'buttons' }, h('button', { type: 'button', class: 'primary', onclick: () => void watchNew() }, 'Watch a new one live'), newer),
    ),
    h('ul', { class: 'picks' }, [...kinds.values()].map(card)),
  );
}

function card(one: Listed): HTMLElement {
  return h(
    'li',
    {},
    h(
      'a',
      { href: address(one) },
      h('span', { class: 'kind' }, one.kind),
      h('span', { class: 'label' }, plain(one.label)),
      h('span', { class: 'who' }, `${plain(one.signer)} → ${plain(one.receiver)}`),
      h('span', { class: 'where' }, `block ${one.height}`, h('code', {}, short(one.hash))),
    ),
  );
}

function elsewhere(): HTMLElement {
  return h(
    'p',
    { class: 'empty' },
    'This node serves blocks that it was given, so there is no list to pick from: any transaction in them can be followed by its hash.',
  );
}

function address(one: Listed): string {
  return transactionAddress(one.hash, one.signer);
}

function read(item: Json): Listed {
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
