// One stop in full: what it did and at which price, its logs, its actions with their arguments read. What
// the chain says is shown as text, whole hashes included, so that they can be found elsewhere.

import { copyButton, h, replace, type Child } from '../dom';
import { at, integer, list, text, type Json } from '../exact';
import { decoded, grouped, near, plain, tera } from '../format';
import { reason } from '../model/failure';
import { actionTitle, type Stop } from '../model/road';
import { jsonTree } from './json';
import { STATUS_WORDS } from './road';

const NAMES = { transaction: 'Transaction', receipt: 'Receipt', refund: 'Refund' };

export interface Place {
  height: string | null;
  shard: string | null;
}

export class Details {
  readonly element = h('section', { class: 'details panel', 'aria-labelledby': 'details-title', hidden: true });
  private readonly title = h('h2', { id: 'details-title', tabindex: -1 });
  private readonly body = h('div', { class: 'body' });

  constructor(private readonly closed: () => void) {
    const close = h('button', { type: 'button', class: 'quiet', onclick: () => this.close() }, 'Close');
    this.element.append(h('div', { class: 'bar' }, this.title, close), this.body);
    this.element.addEventListener('keydown', (event) => event.key === 'Escape' && this.close());
  }

  /** Shows a stop; `transaction` is what the answer says of the transaction */
  show(stop: Stop, place: Place, transaction: Json): void {
    replace(this.title, NAMES[stop.kind], h('span', { class: 'subject' }, plain(stop.title)));
    replace(this.body, ...sections(stop, place, transaction));
    this.element.hidden = false;
  }

  /** Takes the reader there */
  enter(): void {
    this.title.focus({ preventScroll: true });
    const { top, bottom } = this.element.getBoundingClientRect();
    const isSmooth = !matchMedia('(prefers-reduced-motion: reduce)').matches;
    if (top > innerHeight - 160 || bottom < 0) {
      this.element.scrollIntoView({ block: 'start', behavior: isSmooth ? 'smooth' : 'auto' });
    }
  }

  private close(): void {
    this.element.hidden = true;
    this.closed();
  }
}

function sections(stop: Stop, place: Place, transaction: Json): Child[] {
  const status = at(stop.outcome, 'outcome', 'status');
  const failure = reason(status);
  const value = text(at(status, 'SuccessValue'));
  const next = text(at(status, 'SuccessReceiptId'));
  const source = stop.kind === 'transaction' || stop.receipt === null ? transaction : at(stop.receipt, 'receipt', 'Action');
  const executor = at(stop.outcome, 'outcome', 'executor_id');
  const isLocal = stop.kind === 'receipt' && stop.receipt === null;
  const facts: [string, Child[] | null][] = [
    ['Status', [h('span', { class: `badge is-${stop.status}` }, STATUS_WORDS[stop.status])]],
    ['Reason', failure === null ? null : [h('span', { class: 'reason' }, failure)]],
    ['Value', value === null ? null : [h('code', {}, decoded(value) ?? 'empty')]],
    ['Result in', next === null ? null : [h('code', {}, plain(next))]],
    [stop.kind === 'transaction' ? 'Hash' : 'Receipt id', [h('code', {}, plain(stop.id)), ' ', copyButton(stop.kind === 'transaction' ? 'hash' : 'receipt id', () => stop.id)]],
    ['From', from(stop, transaction)],
    ['To', words(at(stop.receipt, 'receiver_id') ?? (stop.kind === 'transaction' ? at(transaction, 'receiver_id') : null))],
    ['Executed by', executor === stop.account && stop.receipt !== null ? null : words(executor)],
    ['Block', stop.block === null ? null : [place.height !== null && h('span', {}, ...grouped(place.height), ' '), h('code', { class: 'soft' }, plain(stop.block))]],
    ['Shard', place.shard === null ? null : [place.shard]],
    ['Gas burnt', stop.gas === null || stop.status === 'pending' ? null : [tera(stop.gas), h('span', { class: 'exact' }, ...grouped(String(stop.gas)))]],
    ['Tokens burnt', stop.tokens === null || stop.status === 'pending' ? null : [near(stop.tokens), h('span', { class: 'exact' }, ...grouped(String(stop.tokens)))]],
  ];
  const shown = facts.filter((fact): fact is [string, Child[]] => fact[1] !== null);
  const actions = stop.kind === 'receipt' && stop.receipt === null && stop.depth !== 1 ? [] : list(at(source, 'actions'));
  return [
    h('dl', { class: 'facts' }, ...shown.flatMap(([name, children]) => [h('dt', {}, name), h('dd', {}, ...children)])),
    stop.logs.length > 0 && section(`Logs (${stop.logs.length})`, h('ol', { class: 'logs' }, stop.logs.map((log) => h('li', {}, plain(log))))),
    actions.length > 0 && section(isLocal ? 'Actions of the transaction' : 'Actions', h('ol', { class: 'actions' }, actions.map(action))),
    stop.receipt !== null && fold('Receipt as it came', stop.receipt),
    stop.outcome !== null && fold('Outcome as it came', stop.outcome),
  ];
}

function from(stop: Stop, transaction: Json): Child[] | null {
  if (stop.kind === 'transaction') return words(at(transaction, 'signer_id'));
  return words(at(stop.receipt, 'predecessor_id'));
}

function words(value: Json): Child[] | null {
  const shown = text(value);
  return shown === null ? null : [plain(shown)];
}

function section(title: string, ...children: Child[]): HTMLElement {
  return h('section', {}, h('h3', {}, title), ...children);
}

function fold(title: string, value: Json): HTMLElement {
  const details = h('details', { class: 'fold' }, h('summary', {}, title));
  details.addEventListener('toggle', () => details.childElementCount === 1 && details.append(jsonTree(value, 2)), { once: true });
  return details;
}

function action(value: Json): HTMLElement {
  const call = at(value, 'FunctionCall');
  const gas = integer(at(call, 'gas'));
  const deposit = integer(at(call, 'deposit'));
  const args = text(at(call, 'args'));
  const parts = [
    gas !== null && `up to ${tera(gas)}`,
    deposit !== null && deposit > 0n && `deposit ${near(deposit)}`,
  ].filter((part) => part !== false);
  return h(
    'li',
    {},
    h('span', { class: 'do' }, plain(actionTitle(value))),
    parts.length > 0 && h('span', { class: 'soft' }, ` ${parts.join(', ')}`),
    args !== null && args !== '' && h('pre', { tabindex: 0, 'aria-label': 'Arguments' }, pretty(decoded(args) ?? '')),
  );
}

/** JSON with room to breathe; text that is none, and JSON with numbers that would be rounded, as it is */
function pretty(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    const spaced = JSON.stringify(value, null, 2);
    return JSON.stringify(value) === text.replace(/(?<=[,:])\s+/g, '') ? spaced : text;
  } catch {
    return text;
  }
}
