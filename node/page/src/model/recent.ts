// The newest transactions: of the practice chain with what each of them is for, else those in the
// newest blocks.

import { at, integer, list, text, type Json } from "../exact";
import { get } from "../rpc";
import { knownChain } from "./chain";
import { spacedWords } from "./lifecycle";
import { timeOf } from "./locations";

export interface RecentTransaction {
  hash: string;
  signer: string;
  receiver: string;
  /** What it does, in one or two words */
  kind: string;
  label: string;
  height: bigint | null;
  time: Date | null;
}

export interface Recent {
  isPractice: boolean;
  transactions: RecentTransaction[];
}

/** Requests the newest transactions */
export async function recentTransactions(signal: AbortSignal): Promise<Recent> {
  if ((await knownChain()).feed === "practice") {
    const transactions = list(await get("/practice/recent", signal)).map((item) =>
      read(item, text(at(item, "kind")) ?? "", text(at(item, "label")) ?? ""),
    );
    return { isPractice: true, transactions };
  }
  const transactions = list(await get("/tx/recent", signal)).map((item) => read(item, ...actionsOf(item)));
  return { isPractice: false, transactions };
}

function read(item: Json, kind: string, label: string): RecentTransaction {
  const member = (name: string) => text(at(item, name)) ?? "?";
  return {
    hash: member("tx_hash"),
    signer: member("signer_id"),
    receiver: member("receiver_id"),
    kind,
    label,
    height: integer(at(item, "height")),
    time: timeOf(at(item, "timestamp_nanosec")),
  };
}

/** The method that is called, or the first action, and the others; a delegated action is named by
 *  those in it */
function actionsOf(item: Json): [kind: string, label: string] {
  const names = list(at(item, "actions")).map((name) => spacedWords(text(name) ?? "action"));
  const isDelegated = names.some((name) => name.startsWith("delegate"));
  const actions = names.filter((name) => !name.startsWith("delegate"));
  const method = text(at(item, "method_name"));
  const kind = method === null ? (actions[0] ?? names[0] ?? "no action") : `${method}()`;
  const all = actions.length > 1 ? [`${actions.length} actions: ${actions.join(", ")}`] : [];
  return [kind, [...(isDelegated ? ["delegated"] : []), ...all].join(", ")];
}
