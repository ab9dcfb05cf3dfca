// A transaction's road as a tree of stops: the transaction, the receipts it made, those they made. Read
// from an answer without trusting it: what is missing or strange is left out, a receipt that is named
// twice stands once, and the walk has a stack and a limit of its own.

import { at, integer, isObject, list, text, type Json } from '../exact';
import { near } from '../format';

export type Status = 'value' | 'receipt' | 'failure' | 'pending';

export interface Stop {
  id: string;
  kind: 'transaction' | 'receipt' | 'refund';
  parent: Stop | null;
  children: Stop[];
  depth: number;
  status: Status;
  /** What it does, in a few words */
  title: string;
  /** Where it is executed */
  account: string | null;
  /** The block in which it was executed */
  block: string | null;
  gas: bigint | null;
  tokens: bigint | null;
  logs: string[];
  /** On the way from the transaction to its result */
  isResult: boolean;
  outcome: Json;
  receipt: Json;
}

export interface Road {
  root: Stop;
  /** Depth first, as they are named */
  stops: Stop[];
  /** Results that travelled from one receipt to another that waited for them */
  data: [from: Stop, to: Stop][];
  /** Stops that were left out because there are too many to draw */
  omitted: number;
}

/** The most stops that are drawn: more than a screen can tell apart */
const MOST = 600;

/** The road in the result of an answer; `null` when it tells of no transaction */
export function readRoad(result: Json): Road | null {
  const transaction = at(result, 'transaction');
  if (!isObject(transaction)) return null;
  const outcomes = byId(at(result, 'receipts_outcome'), 'id');
  const receipts = byId(at(result, 'receipts'), 'receipt_id');
  const rootOutcome = at(result, 'transaction_outcome');
  const root = stop(text(at(transaction, 'hash')) ?? '', null, rootOutcome, null);
  root.account = text(at(transaction, 'signer_id')) ?? root.account;
  root.title = actionsTitle(at(transaction, 'actions'));
  const stops: Stop[] = [];
  const seen = new Set([root.id]);
  let omitted = 0;
  const open = [root];
  for (let current = open.pop(); current !== undefined; current = open.pop()) {
    stops.push(current);
    const ids = list(at(current.outcome, 'outcome', 'receipt_ids')).map(text).filter((id) => id !== null);
    for (const id of ids) {
      if (seen.has(id)) continue;
      if (seen.size >= MOST) {
        omitted += 1;
        continue;
      }
      seen.add(id);
      const child = stop(id, current, outcomes.get(id) ?? null, receipts.get(id) ?? null);
      if (child.receipt === null) local(child, transaction);
      current.children.push(child);
    }
    open.push(...current.children.toReversed());
  }
  markResult(stops);
  return { root, stops, data: dataLinks(stops), omitted };
}

function byId(items: Json, name: string): Map<string, Json> {
  return new Map(list(items).map((item) => [text(at(item, name)) ?? '', item]));
}

function stop(id: string, parent: Stop | null, outcome: Json, receipt: Json): Stop {
  const done = at(outcome, 'outcome');
  const status = statusOf(at(done, 'status'));
  const isRefund = text(at(receipt, 'predecessor_id')) === 'system';
  return {
    id,
    kind: parent === null ? 'transaction' : isRefund ? 'refund' : 'receipt',
    parent,
    children: [],
    depth: parent === null ? 0 : parent.depth + 1,
    status,
    title: isRefund ? 'refund' : receiptTitle(receipt),
    account: text(at(receipt, 'receiver_id')) ?? text(at(done, 'executor_id')),
    // An outcome that is not known yet is shown with the hash of no block.
    block: status === 'pending' ? null : text(at(outcome, 'block_hash')),
    gas: integer(at(done, 'gas_burnt')),
    tokens: integer(at(done, 'tokens_burnt')),
    logs: list(at(done, 'logs')).map((log) => text(log) ?? String(log)),
    isResult: false,
    outcome,
    receipt,
  };
}

/** A local receipt has no body of its own in the answer: it is what the transaction says */
function local(stop: Stop, transaction: Json): void {
  const isFirst = stop.depth === 1 && stop.parent?.children.length === 0;
  if (isFirst && at(transaction, 'signer_id') === at(transaction, 'receiver_id')) {
    stop.title = actionsTitle(at(transaction, 'actions'));
    stop.account ??= text(at(transaction, 'receiver_id'));
  }
}

function statusOf(status: Json): Status {
  if (!isObject(status)) return 'pending';
  if (Object.hasOwn(status, 'SuccessValue')) return 'value';
  if (Object.hasOwn(status, 'SuccessReceiptId')) return 'receipt';
  return Object.hasOwn(status, 'Failure') ? 'failure' : 'pending';
}

function receiptTitle(receipt: Json): string {
  const actions = at(receipt, 'receipt', 'Action', 'actions');
  if (Array.isArray(actions)) return actionsTitle(actions);
  const body = at(receipt, 'receipt');
  return isObject(body) ? (Object.keys(body)[0] ?? 'receipt').toLowerCase() : 'receipt';
}

/** What actions do: the method that is called, else their names */
export function actionsTitle(actions: Json): string {
  const titles = list(actions).map(actionTitle);
  const method = list(actions).map((action) => text(at(action, 'FunctionCall', 'method_name'))).find((name) => name !== null);
  if (method !== undefined && method !== null) return `${method}()`;
  return titles.length > 1 ? `${titles[0]} +${titles.length - 1}` : (titles[0] ?? 'nothing');
}

/** What one action does */
export function actionTitle(action: Json): string {
  if (!isObject(action)) return words(text(action) ?? 'action');
  const [name] = Object.keys(action);
  if (name === undefined) return 'action';
  const deposit = integer(at(action, name, 'deposit'));
  if (name === 'Transfer' && deposit !== null) return `transfer ${near(deposit)}`;
  const method = text(at(action, name, 'method_name'));
  return method === null ? words(name) : `${method}()`;
}

/** `DeployContract` as `deploy contract` */
export function words(name: string): string {
  return name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, ' ').toLowerCase();
}

/** Marks the stops from which the result of the transaction comes */
function markResult(stops: Stop[]): void {
  const byId = new Map(stops.map((stop) => [stop.id, stop]));
  let current = stops[0];
  while (current !== undefined && !current.isResult) {
    current.isResult = true;
    const next: string | null = text(at(current.outcome, 'outcome', 'status', 'SuccessReceiptId'));
    current = next === null ? undefined : byId.get(next);
  }
}

/** Who sent a result to whom: a receipt names the data that it waits for, another whom it sends them to */
function dataLinks(stops: Stop[]): [Stop, Stop][] {
  const wanted = new Map<string, Stop>();
  for (const stop of stops) {
    for (const id of list(at(stop.receipt, 'receipt', 'Action', 'input_data_ids'))) {
      if (typeof id === 'string') wanted.set(id, stop);
    }
  }
  const links: [Stop, Stop][] = [];
  for (const stop of stops) {
    for (const receiver of list(at(stop.receipt, 'receipt', 'Action', 'output_data_receivers'))) {
      const to = wanted.get(text(at(receiver, 'data_id')) ?? '');
      if (to !== undefined && to !== stop) links.push([stop, to]);
    }
  }
  return links;
}
