// The line in the header: which chain this is and where its head stands. Asked for every few seconds
// while the page is looked at; when the node is gone it says so, and goes on asking.

import { h, replace } from '../dom';
import { at, integer, text } from '../exact';
import { plain } from '../format';
import { get } from '../rpc';

const EVERY = 3_000;

export function showChain(line: HTMLElement): void {
  const look = async () => {
    if (document.visibilityState === 'visible') await tell(line);
    setTimeout(look, EVERY);
  };
  void look();
}

async function tell(line: HTMLElement): Promise<void> {
  try {
    const status = await get('/status');
    const name = text(at(status, 'chain_id')) ?? 'no chain yet';
    const head = integer(at(status, 'head', 'height'));
    line.classList.remove('is-away');
    replace(line, h('span', { class: 'name' }, plain(name)), head !== null && h('span', { class: 'height', title: 'Height of the newest block' }, String(head)));
  } catch {
    line.classList.add('is-away');
    replace(line, 'the node does not answer');
  }
}
