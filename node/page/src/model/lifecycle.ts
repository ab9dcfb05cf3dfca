// A transaction's lifecycle as a tree of steps: the transaction and its receipts, each below the
// one that created it. The response is not trusted: what is missing or has another type is left
// out, a receipt that is named twice occurs once, and the walk has a stack and a limit of its own.

import { at, integer, isObject, list, text, type Json } from "../exact";
import { near } from "../format";

export type Status = "value" | "receipt" | "failure" | "pending";

export interface Step {
  id: string;
  kind: "transaction" | "receipt" | "refund";
  parent: Step | null;
  children: Step[];
  depth: number;
  status: Status;
  /** What it does, as short text */
  title: string;
  /** The account that executes it */
  account: string | null;
  /** The block in which it was executed */
  block: string | null;
  gas: bigint | null;
  tokens: bigint | null;
  logs: string[];
  /** Whether it is on the path from the transaction to its result */
  isResult: boolean;
  outcome: Json;
  receipt: Json;
}

export interface Lifecycle {
  root: Step;
  /** Depth first */
  steps: Step[];
  /** Data sent from one receipt to another that waits for it */
  data: [from: Step, to: Step][];
  /** Number of steps that were left out because there are too many to draw */
  omitted: number;
}

/** Maximum number of steps that are drawn: more than a screen can show */
const MAX_STEPS = 600;

/** The lifecycle in the result of a response; `null` if it has no transaction */
export function readLifecycle(result: Json): Lifecycle | null {
  const transaction = at(result, "transaction");
  if (!isObject(transaction)) return null;
  const outcomes = byId(at(result, "receipts_outcome"), "id");
  const receipts = byId(at(result, "receipts"), "receipt_id");
  const rootOutcome = at(result, "transaction_outcome");
  const root = newStep(text(at(transaction, "hash")) ?? "", null, rootOutcome, null);
  root.account = text(at(transaction, "signer_id")) ?? root.account;
  root.title = actionsTitle(at(transaction, "actions"));
  const steps: Step[] = [];
  const seen = new Set([root.id]);
  let omitted = 0;
  const stack = [root];
  for (let current = stack.pop(); current !== undefined; current = stack.pop()) {
    steps.push(current);
    const ids = list(at(current.outcome, "outcome", "receipt_ids"))
      .map(text)
      .filter((id) => id !== null);
    for (const id of ids) {
      if (seen.has(id)) continue;
      if (seen.size >= MAX_STEPS) {
        omitted += 1;
        continue;
      }
      seen.add(id);
      const child = newStep(id, current, outcomes.get(id) ?? null, receipts.get(id) ?? null);
      if (child.receipt === null) completeLocalReceipt(child, transaction);
      current.children.push(child);
    }
    stack.push(...current.children.toReversed());
  }
  markResult(steps);
  return { root, steps, data: dataLinks(steps), omitted };
}

function byId(items: Json, name: string): Map<string, Json> {
  return new Map(list(items).map((item) => [text(at(item, name)) ?? "", item]));
}

function newStep(id: string, parent: Step | null, outcome: Json, receipt: Json): Step {
  const inner = at(outcome, "outcome");
  const status = statusOf(at(inner, "status"));
  const isRefund = text(at(receipt, "predecessor_id")) === "system";
  return {
    id,
    kind: parent === null ? "transaction" : isRefund ? "refund" : "receipt",
    parent,
    children: [],
    depth: parent === null ? 0 : parent.depth + 1,
    status,
    title: isRefund ? "refund" : receiptTitle(receipt),
    account: text(at(receipt, "receiver_id")) ?? text(at(inner, "executor_id")),
    // The block hash of an outcome that is not known yet is meaningless.
    block: status === "pending" ? null : text(at(outcome, "block_hash")),
    gas: integer(at(inner, "gas_burnt")),
    tokens: integer(at(inner, "tokens_burnt")),
    logs: list(at(inner, "logs")).map((log) => text(log) ?? String(log)),
    isResult: false,
    outcome,
    receipt,
  };
}

/** The response has no body for a local receipt: it takes its values from the transaction */
function completeLocalReceipt(step: Step, transaction: Json): void {
  const isFirst = step.depth === 1 && step.parent?.children.length === 0;
  if (isFirst && at(transaction, "signer_id") === at(transaction, "receiver_id")) {
    step.title = actionsTitle(at(transaction, "actions"));
    step.account ??= text(at(transaction, "receiver_id"));
  }
}

function statusOf(status: Json): Status {
  if (!isObject(status)) return "pending";
  if (Object.hasOwn(status, "SuccessValue")) return "value";
  if (Object.hasOwn(status, "SuccessReceiptId")) return "receipt";
  return Object.hasOwn(status, "Failure") ? "failure" : "pending";
}

function receiptTitle(receipt: Json): string {
  const actions = at(receipt, "receipt", "Action", "actions");
  if (Array.isArray(actions)) return actionsTitle(actions);
  const body = at(receipt, "receipt");
  return isObject(body) ? (Object.keys(body)[0] ?? "receipt").toLowerCase() : "receipt";
}

/** The method that the actions call, else their names; a delegated action has those in it */
export function actionsTitle(actions: Json): string {
  const titles = list(actions).map(actionTitle);
  const method = list(actions)
    .map((action) => text(at(action, "FunctionCall", "method_name")))
    .find((name) => name !== null);
  if (method !== undefined && method !== null) return `${method}()`;
  return titles.length > 1 ? `${titles[0]} +${titles.length - 1}` : (titles[0] ?? "nothing");
}

/** What an action does */
export function actionTitle(action: Json): string {
  if (!isObject(action)) return spacedWords(text(action) ?? "action");
  const [name] = Object.keys(action);
  if (name === undefined) return "action";
  const payload = at(action, name, "delegate_action");
  const delegated = list(at(payload, "actions") ?? at(payload, "V2", "actions"));
  if (delegated.length > 0) return actionsTitle(delegated);
  const deposit = integer(at(action, name, "deposit"));
  if (name === "Transfer" && deposit !== null) return `transfer ${near(deposit)}`;
  const method = text(at(action, name, "method_name"));
  return method === null ? spacedWords(name) : `${method}()`;
}

/** `DeployContract` as `deploy contract` */
export function spacedWords(name: string): string {
  return name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, " ").toLowerCase();
}

/** Marks the steps on the path to the result of the transaction */
function markResult(steps: Step[]): void {
  const byId = new Map(steps.map((step) => [step.id, step]));
  let current = steps[0];
  while (current !== undefined && !current.isResult) {
    current.isResult = true;
    const next: string | null = text(at(current.outcome, "outcome", "status", "SuccessReceiptId"));
    current = next === null ? undefined : byId.get(next);
  }
}

/** Pairs of receipts of which the first sends data that the second waits for */
function dataLinks(steps: Step[]): [Step, Step][] {
  const receivers = new Map<string, Step>();
  for (const step of steps) {
    for (const id of list(at(step.receipt, "receipt", "Action", "input_data_ids"))) {
      if (typeof id === "string") receivers.set(id, step);
    }
  }
  const links: [Step, Step][] = [];
  for (const step of steps) {
    for (const receiver of list(at(step.receipt, "receipt", "Action", "output_data_receivers"))) {
      const to = receivers.get(text(at(receiver, "data_id")) ?? "");
      if (to !== undefined && to !== step) links.push([step, to]);
    }
  }
  return links;
}
