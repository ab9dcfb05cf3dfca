// A transaction: where it stands, its road, one stop of it in full, and the answer as it came. Follows it
// live until FINAL; every answer is drawn as soon as the heights of its blocks are known.

import { copyButton, h, replace } from '../dom';
import { at, text, type Json } from '../exact';
import { decoded, near, plain, tera } from '../format';
import { reason } from '../model/failure';
import { next, type Milestone } from '../model/milestones';
import { blocksOf, Heights, learnShards, type ShardOf } from '../model/places';
import { plan, type Plan } from '../model/plan';
import { readRoad, type Road, type Stop } from '../model/road';
import { watch } from '../model/watch';
import type { Answer } from '../rpc';
import { Details } from './details';
import { SOME_ACCOUNT } from './find';
import { RawAnswer } from './json';
import { Milestones } from './milestones';
import { problem } from './problem';
import { RoadView } from './road';

export function showTransaction(main: HTMLElement, route: { hash: string; signer: string | null }, signal: AbortSignal): void {
  const screen = new Screen(route.hash, signal);
  main.append(screen.element);
  const params = { tx_hash: route.hash, sender_account_id: route.signer ?? SOME_ACCOUNT };
  void watch(params, screen, signal);
}

class Screen {
  readonly element: HTMLElement;
  private readonly summary = h('div', { class: 'summary' });
  private readonly state = h('p', { class: 'state' });
  private readonly trouble = h('div', {});
  private readonly milestones = new Milestones();
  private readonly view: RoadView;
  private readonly details: Details;
  private readonly raw: RawAnswer;
  private readonly content: HTMLElement;
  private readonly heights = new Heights();
  private shards: ShardOf | null = null;
  private drawn: { road: Road; plan: Plan; result: Json } | null = null;
  private opened: string | null = null;
  private body = '';
  private count = 0;

  constructor(hash: string, private readonly signal: AbortSignal) {
    this.view = new RoadView((stop) => this.openStop(stop), signal);
    this.details = new Details(() => this.closeStop());
    this.raw = new RawAnswer(copyButton('the answer', () => this.body));
    this.content = h('div', { class: 'content', hidden: true }, h('div', { class: 'left' }, this.view.element, this.details.element), this.raw.element);
    this.element = h(
      'div',
      { class: 'transaction' },
      h('div', { class: 'heading' }, h('h1', {}, h('small', {}, 'Transaction'), h('code', { class: 'hash' }, plain(hash))), copyButton('the hash', () => hash)),
      this.trouble,
      h('div', { class: 'overview' }, h('div', { class: 'progress' }, this.milestones.element, this.state), this.summary),
      this.content,
    );
    replace(this.state, 'Asking the node…');
  }

  answered(answer: Answer, milestone: Milestone): void {
    replace(this.trouble);
    this.milestones.show(milestone);
    if (milestone !== 'FINAL') this.milestones.wait(next(milestone));
    if (answer.body === this.body) return;
    this.body = answer.body;
    this.raw.show(answer.result);
    this.count += 1;
    void this.draw(answer.result, this.count);
  }

  waiting(milestones: Milestone[]): void {
    this.milestones.wait(milestones);
    if (milestones.length === 0) return replace(this.state, 'The road is done: nothing about it changes any more.');
    const names = milestones.flatMap((name, place) => [place > 0 && ' or ', h('b', {}, name)]);
    replace(this.state, h('span', { class: 'live', 'aria-hidden': 'true' }), 'Live: waiting for ', ...names);
  }

  unknown(): void {
    this.milestones.show(null);
    this.content.hidden = true;
    this.body = '';
    const words = 'The node knows no such transaction. Should it come in, this page shows it at once.';
    if (this.trouble.childElementCount === 0) replace(this.trouble, h('p', { class: 'empty', role: 'status' }, words));
  }

  failed(error: unknown, goesOn: boolean): void {
    const title = goesOn ? 'Not now' : 'This cannot be followed';
    const back = h('a', { class: 'button', href: '#/' }, 'Look for another');
    replace(this.trouble, problem(title, error, !goesOn && back));
    replace(this.state, goesOn ? 'Trying again…' : '');
  }

  private async draw(result: Json, count: number): Promise<void> {
    const road = readRoad(result);
    if (road === null) return;
    replace(this.summary, ...summary(result, road));
    await this.learn(road);
    // A later answer may have been quicker.
    if (this.signal.aborted || count !== this.count) return;
    const layout = plan(road, (block) => this.heights.of(block), this.shards ?? (() => null));
    this.drawn = { road, plan: layout, result };
    this.content.hidden = false;
    this.view.show(road, layout);
    const opened = road.stops.find((stop) => stop.id === this.opened);
    if (opened !== undefined) this.tell(opened);
  }

  /** Heights and shards; without them the road is drawn by its steps alone */
  private async learn(road: Road): Promise<void> {
    const blocks = blocksOf(road);
    const [first] = blocks;
    const heights = this.heights.learn(blocks, this.signal).catch(() => undefined);
    if (this.shards === null && first !== undefined) {
      this.shards = await learnShards(first, this.signal).catch(() => null);
    }
    await heights;
  }

  private openStop(stop: Stop): void {
    this.opened = stop.id;
    this.view.select(stop.id);
    this.tell(stop);
    this.details.enter();
  }

  private tell(stop: Stop): void {
    if (this.drawn === null) return;
    const height = stop.block === null ? null : this.heights.of(stop.block);
    const shard = stop.account === null ? null : (this.shards?.(stop.account) ?? null);
    this.details.show(stop, { height: height === null ? null : String(height), shard }, at(this.drawn.result, 'transaction'));
  }

  private closeStop(): void {
    this.opened = null;
    this.view.select(null);
    this.view.focus();
  }
}

/** What is most asked about a transaction, in one line */
function summary(result: Json, road: Road): HTMLElement[] {
  const status = at(result, 'status');
  const failure = reason(status);
  const value = text(at(status, 'SuccessValue'));
  const total = (amounts: (bigint | null)[]) => amounts.reduce<bigint>((sum, amount) => sum + (amount ?? 0n), 0n);
  const receipts = road.stops.length - 1 + road.omitted;
  const [kind, words] =
    failure !== null ? ['failure', `Failed: ${failure}`]
    : value !== null ? ['value', returned(value)]
    : ['pending', text(status) === 'NotStarted' ? 'Not started' : 'Under way'];
  const fact = (name: string, ...children: (Node | string)[]) => h('div', {}, h('dt', {}, name), h('dd', {}, ...children));
  return [
    h('p', { class: `verdict is-${kind}` }, words),
    h(
      'dl',
      {},
      fact('From', plain(road.root.account ?? '?')),
      fact('To', plain(text(at(result, 'transaction', 'receiver_id')) ?? '?')),
      fact('Does', plain(road.root.title)),
      fact('Receipts', String(receipts), ...(road.omitted > 0 ? [` (${road.omitted} not drawn)`] : [])),
      fact('Gas burnt', tera(total(road.stops.map((stop) => stop.gas)))),
      fact('Tokens burnt', near(total(road.stops.map((stop) => stop.tokens)))),
    ),
  ];
}

function returned(base64: string): string {
  const value = decoded(base64);
  return value === null ? 'Succeeded' : `Succeeded: ${value.length > 80 ? `${value.slice(0, 80)}…` : value}`;
}
