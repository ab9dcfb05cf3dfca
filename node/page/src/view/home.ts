// The home screen: the form to find a transaction, and the newest transactions, of the practice
// chain one of each kind, because the lifecycles of the kinds differ.

import { h, replace } from "../dom";
import { plain, short, timeElement } from "../format";
import { isLive, noteHeight, onChain } from "../model/chain";
import { recentTransactions, type Recent, type RecentTransaction } from "../model/recent";
import { transactionFragment } from "../route";
import { findForm } from "./find";
import { problem } from "./problem";

/** Milliseconds until an empty list is requested again */
const RETRY_DELAY = 1_000;

export function showHome(main: HTMLElement, signal: AbortSignal): void {
  const recent = h("div", { class: "recent" });
  const form = findForm(signal);
  replace(
    main,
    h(
      "section",
      { class: "intro" },
      h("h1", {}, "Follow a NEAR transaction"),
      h("p", { class: "lead" }, "See its milestones and its receipts, block by block."),
      form.element,
    ),
    recent,
  );
  const load = async () => {
    try {
      const found = await recentTransactions(signal);
      const [newest] = found.transactions;
      if (signal.aborted) return;
      if (newest === undefined) {
        replace(
          recent,
          h(
            "p",
            { class: "empty", role: "status" },
            "The newest blocks of this node have no transactions. This list fills as soon as a block has one.",
          ),
        );
        setTimeout(() => !signal.aborted && void load(), RETRY_DELAY);
        return;
      }
      form.suggest(newest.hash, newest.signer);
      noteHeight(newest.height);
      replace(recent, list(found, load, signal));
    } catch (error) {
      if (signal.aborted) return;
      const retry = h("button", { type: "button", onclick: () => void load() }, "Try again");
      replace(recent, problem("The recent transactions could not be loaded", error, retry));
    }
  };
  replace(recent, h("p", { class: "loading", role: "status" }, "Loading recent transactions…"));
  void load();
}

function list({ isPractice, transactions }: Recent, load: () => Promise<void>, signal: AbortSignal): HTMLElement {
  const kinds = new Set<string>();
  const isNew = ({ kind }: RecentTransaction) => !kinds.has(kind) && Boolean(kinds.add(kind));
  const shown = isPractice ? transactions.filter(isNew) : transactions;
  const watch = h(
    "button",
    { type: "button", class: "primary", hidden: true, onclick: () => void followNewest(signal) },
    "Watch the newest",
  );
  onChain(({ feed }) => (watch.hidden = !isLive(feed)), signal);
  const about = isPractice
    ? "The newest transactions of the practice chain, one of each kind."
    : "The transactions in the newest blocks of this node.";
  return h(
    "section",
    { "aria-labelledby": "recent-title" },
    h(
      "div",
      { class: "heading" },
      h("h2", { id: "recent-title" }, "Recent transactions"),
      h("p", {}, about),
      h(
        "div",
        { class: "buttons" },
        watch,
        h("button", { type: "button", class: "quiet", onclick: () => void load() }, "Refresh"),
      ),
    ),
    h("ul", { class: "cards" }, shown.map(card)),
  );
}

async function followNewest(signal: AbortSignal): Promise<void> {
  // Requested again, because transactions become final within seconds.
  const [newest] = (await recentTransactions(signal)).transactions;
  if (newest !== undefined) location.hash = fragment(newest);
}

function card(transaction: RecentTransaction): HTMLElement {
  const { hash, signer, receiver, kind, label, height, time } = transaction;
  return h(
    "li",
    {},
    h(
      "a",
      { href: fragment(transaction) },
      h("span", { class: kind.endsWith("()") ? "kind" : "kind is-name" }, plain(kind)),
      label !== "" && h("span", { class: "label" }, plain(label)),
      h("span", { class: "accounts" }, `${plain(signer)} → ${plain(receiver)}`),
      h(
        "span",
        { class: "block" },
        height !== null && `block ${height}`,
        time !== null && timeElement(time),
        h("code", {}, short(hash)),
      ),
    ),
  );
}

function fragment({ hash, signer }: RecentTransaction): string {
  return transactionFragment(hash, signer === "?" ? null : signer);
}
