// The screen of a transaction: its milestones, its lifecycle, the details of one step, and the
// response as JSON. Follows the transaction until FINAL; a response is drawn when the heights of
// its blocks are loaded.

import { copyButton, h, replace } from '../dom';
import { at, text, type Json } from '../exact';
import { decoded, near, plain, tera } from '../format';
import { reason } from '../model/failure';
import { layOut } from '../model/layout';
import { readLifecycle, type Lifecycle, type Step } from '../model/lifecycle';
import { BlockHeights, blocksOf, loadShards, type ShardOf } from '../model/locations';
import { next, type Milestone } from '../model/milestones';
import { watch } from '../model/watch';
import type { RpcResponse } from '../rpc';
import { Details } from './details';
import { ANY_ACCOUNT } from './find';
import { RawResponse } from './json';
import { LifecycleView } from './lifecycle';
import { Milestones } from './milestones';
import { problem } from './problem';

export function showTransaction(main: HTMLElement, route: { hash: string; signer: string | null }, signal: AbortSignal): void {
  const screen = new Screen(route.hash, signal);
  main.append(screen.element);
  const params = { tx_hash: route.hash, sender_account_id: route.signer ?? ANY_ACCOUNT };
  void watch(params, screen, signal);
}

class Screen {
  readonly element: HTMLElement;
  private readonly summary = h('div', { class: 'summary' });
  private readonly progress = h('p', { class: 'progress-text' });
  private readonly message = h('div', {});
  private readonly milestones = new Milestones();
  private readonly view: LifecycleView;
  private readonly details: Details;
  private readonly raw: RawResponse;
  private readonly content: HTMLElement;
  private readonly heights = new BlockHeights();
  private shards: ShardOf | null = null;
  private result: Json = null;
  private selected: string | null = null;
  private body = '';
  private responseCount = 0;
  private awaited: Milestone[] = [];
  private isConnected = true;

  constructor(hash: string, private readonly signal: AbortSignal) {
    this.view = new LifecycleView((step) => this.select(step), signal);
    this.details = new Details(() => this.deselect());
    this.raw = new RawResponse(copyButton('the response', () => this.body));
    this.content = h('div', { class: 'content', hidden: true }, h('div', { class: 'left' }, this.view.element, this.details.element), this.raw.element);
    this.element = h(
      'div',
      { class: 'transaction' },
      h('div', { class: 'heading' }, h('h1', {}, h('small', {}, 'Transaction'), h('code', { class: 'hash' }, plain(hash))), copyButton('the hash', () => hash)),
      this.message,
      h('div', { class: 'overview' }, h('div', { class: 'progress' }, this.milestones.element, this.progress), this.summary),
      this.content,
    );
    replace(this.progress, 'Loading…');
  }

  updated(response: RpcResponse, milestone: Milestone): void {
    replace(this.message);
    this.milestones.show(milestone);
    if (milestone !== 'FINAL') this.milestones.wait(next(milestone));
    if (response.body === this.body) return;
    this.body = response.body;
    this.raw.show(response.result);
    this.responseCount += 1;
    void this.draw(response.result, this.responseCount);
  }

  waiting(milestones: Milestone[]): void {
    this.awaited = milestones;
    this.milestones.wait(milestones);
    if (milestones.length === 0) return replace(this.progress, 'The transaction is final: its status does not change any more.');
    const names = milestones.flatMap((name, index) => [index > 0 && ' or ', h('b', {}, name)]);
    replace(this.progress, h('span', { class: 'live', 'aria-hidden': 'true' }), 'Live: waiting for ', ...names);
  }

  unknown(): void {
    this.milestones.show(null);
    this.content.hidden = true;
    this.body = '';
    const message = 'The node does not know this transaction. This page shows it when a block includes it.';
    if (this.message.childElementCount === 0) replace(this.message, h('p', { class: 'empty', role: 'status' }, message));
  }

  connected(isOpen: boolean): void {
    if (isOpen === this.isConnected) return;
    this.isConnected = isOpen;
    if (isOpen) this.waiting(this.awaited);
    else replace(this.progress, 'The connection to the node was lost. Connecting again…');
  }

  failed(error: unknown, willRetry: boolean): void {
    const title = willRetry ? 'The request failed' : 'This transaction cannot be followed';
    const back = h('a', { class: 'button', href: '#/' }, 'Find another transaction');
    replace(this.message, problem(title, error, !willRetry && back));
    replace(this.progress, willRetry ? 'Trying again…' : '');
  }

  private async draw(result: Json, responseNumber: number): Promise<void> {
    const lifecycle = readLifecycle(result);
    if (lifecycle === null) return;
    replace(this.summary, ...summary(result, lifecycle));
    await this.loadLocations(lifecycle);
    // A later response may have been drawn in the meantime.
    if (this.signal.aborted || responseNumber !== this.responseCount) return;
    const layout = layOut(lifecycle, (block) => this.heights.get(block), this.shards ?? (() => null));
    this.result = result;
    this.content.hidden = false;
    this.view.show(lifecycle, layout);
    const selected = lifecycle.steps.find((step) => step.id === this.selected);
    if (selected !== undefined) this.showDetails(selected);
  }

  /** Loads heights and shards; without heights the lifecycle is drawn by levels */
  private async loadLocations(lifecycle: Lifecycle): Promise<void> {
    const blocks = blocksOf(lifecycle);
    const [first] = blocks;
    const heights = this.heights.load(blocks, this.signal).catch(() => undefined);
    if (this.shards === null && first !== undefined) {
      this.shards = await loadShards(first, this.signal).catch(() => null);
    }
    await heights;
  }

  private select(step: Step): void {
    this.selected = step.id;
    this.view.select(step.id);
    this.showDetails(step);
    this.details.focus();
  }

  private showDetails(step: Step): void {
    const height = step.block === null ? null : this.heights.get(step.block);
    const shard = step.account === null ? null : (this.shards?.(step.account) ?? null);
    this.details.show(step, { height: height === null ? null : String(height), shard }, at(this.result, 'transaction'));
  }

  private deselect(): void {
    this.selected = null;
    this.view.select(null);
    this.view.focus();
  }
}

/** Status, accounts, number of receipts, gas and tokens */
function summary(result: Json, lifecycle: Lifecycle): HTMLElement[] {
  const { root, steps, omitted } = lifecycle;
  const status = at(result, 'status');
  const failure = reason(status);
  const value = text(at(status, 'SuccessValue'));
  const total = (amounts: (bigint | null)[]) => amounts.reduce<bigint>((sum, amount) => sum + (amount ?? 0n), 0n);
  const [kind, statusText] =
    failure !== null ? ['failure', `Failed: ${failure}`]
    : value !== null ? ['value', successText(value)]
    : ['pending', text(status) === 'NotStarted' ? 'Not started' : 'In progress'];
  const entry = (name: string, ...children: (Node | string)[]) => h('div', {}, h('dt', {}, name), h('dd', {}, ...children));
  return [
    h('p', { class: `status is-${kind}` }, statusText),
    h(
      'dl',
      {},
      entry('From', plain(root.account ?? '?')),
      entry('To', plain(text(at(result, 'transaction', 'receiver_id')) ?? '?')),
      entry('Actions', plain(root.title)),
      entry('Receipts', String(steps.length - 1 + omitted), ...(omitted > 0 ? [` (${omitted} not drawn)`] : [])),
      entry('Gas burnt', tera(total(steps.map((step) => step.gas)))),
      entry('Tokens burnt', near(total(steps.map((step) => step.tokens)))),
    ),
  ];
}

function successText(base64: string): string {
  const value = decoded(base64);
  return value === null ? 'Succeeded' : `Succeeded: ${value.length > 80 ? `${value.slice(0, 80)}…` : value}`;
}
