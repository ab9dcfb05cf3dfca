// The line in the header: the chain and the height of its head, polled while the page is visible.
// If the node does not respond the line says so, and polling continues.

import { h, replace } from '../dom';
import { at, integer, text } from '../exact';
import { plain } from '../format';
import { get } from '../rpc';

/** Milliseconds between polls */
const POLL_INTERVAL = 3_000;

export function showChain(line: HTMLElement): void {
  const poll = async () => {
    if (document.visibilityState === 'visible') await update(line);
    setTimeout(poll, POLL_INTERVAL);
  };
  void poll();
}

async function update(line: HTMLElement): Promise<void> {
  try {
    const status = await get('/status');
    const name = text(at(status, 'chain_id')) ?? 'no chain yet';
    const head = integer(at(status, 'head', 'height'));
    line.classList.remove('is-unreachable');
    replace(line, h('span', { class: 'name' }, plain(name)), head !== null && h('span', { class: 'height', title: 'Height of the newest block' }, String(head)));
  } catch {
    line.classList.add('is-unreachable');
    replace(line, 'the node does not respond');
  }
}
