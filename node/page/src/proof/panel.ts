// The panel that checks an answer in this browser: which block is trusted and where its hash is
// from, a verdict for the answer, and each outcome that is wrong or not proven. Verdicts of all
// outcomes are marks in the tree; the path of each is a picture in its details. The module that
// checks is loaded when it is asked for.

import "../style/proof.css";

import { h, replace } from "../dom";
import { at, integer, text, type Json } from "../exact";
import { plain, short } from "../format";
import { get } from "../rpc";
import type { Check, CheckedOutcome, VerificationResult } from "./check";

const VERDICTS: Record<VerificationResult, string> = {
  verified: "Verified in this browser",
  unverifiable: "Unverifiable",
  wrong: "Wrong",
};

const MARKS: Record<VerificationResult, string> = { verified: "✓", unverifiable: "?", wrong: "✗" };

/** What each member is called here */
const UNPROVABLE: Record<string, string> = {
  error: "the error of a failure",
  metadata: "gas profiles and other metadata",
  execution_block: "the block that executed an outcome",
  receipt_bodies: "the content of receipts",
  transaction_body: "the content of the transaction",
  final_execution_status: "the milestone",
};

export class ProofPanel {
  readonly element: HTMLElement;
  private readonly field = h("input", {
    id: "trusted-block",
    type: "text",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "the newest final block of this node",
  });
  private readonly button = h("button", { type: "submit" }, "Check in this browser");
  private readonly verdict = h("div", { role: "status" });
  private readonly outcomes = h("div", {});
  private result: Json = null;
  private answer: VerificationResult | null = null;
  private checked = new Map<string, CheckedOutcome>();
  /** Cancels a check when there is another answer */
  private current = new AbortController();

  constructor(
    private readonly hash: string,
    private readonly signal: AbortSignal,
  ) {
    this.element = h(
      "section",
      { class: "proof panel", "aria-labelledby": "proof-title", hidden: true },
      h("h2", { id: "proof-title" }, "Proof"),
      h(
        "p",
        { class: "soft" },
        "Your browser can check this answer against the hash of a block that you trust. You then need not trust the node.",
      ),
      h(
        "form",
        { onsubmit: (event: SubmitEvent) => (event.preventDefault(), void this.check()) },
        h("label", { for: "trusted-block" }, "Hash of a block that you trust"),
        h("div", { class: "row" }, this.field, this.button),
      ),
      this.verdict,
      this.outcomes,
    );
  }

  /** Takes another answer, about which nothing is known yet */
  show(result: Json): void {
    this.current.abort();
    this.result = result;
    this.element.hidden = at(result, "transaction_outcome") === null;
    const isFirst = this.verdict.childElementCount === 0;
    replace(this.verdict, !isFirst && h("p", { class: "soft" }, "The answer has changed since it was checked."));
    replace(this.outcomes);
    this.answer = null;
    this.checked.clear();
    this.mark();
  }

  /** Shows the verdicts beside the outcomes and the headline of the screen, and the path of the
   *  outcome whose details are shown */
  mark(): void {
    for (const place of document.querySelectorAll<HTMLElement>(".proof-slot")) {
      const { proofOf: id = "", shows } = place.dataset;
      const outcome = this.checked.get(id);
      const verdict = id === "answer" ? this.answer : (outcome?.verdict ?? null);
      const text = verdict && VERDICTS[verdict];
      const mark = () =>
        text &&
        h("span", { class: `mark is-${verdict}`, role: "img", "aria-label": text, title: text }, MARKS[verdict]);
      replace(place, shows === "mark" ? mark() : outcome !== undefined && [h("h3", {}, "Proof"), ...path(outcome)]);
    }
  }

  private async check(): Promise<void> {
    this.current.abort();
    this.current = new AbortController();
    const signal = AbortSignal.any([this.signal, this.current.signal]);
    this.button.disabled = true;
    replace(this.verdict, h("p", { class: "soft" }, "Checking…"));
    replace(this.outcomes);
    try {
      const trusted = await this.trusted(signal);
      const { check } = await import("./check");
      const found = await check(this.hash, this.result, trusted.hash, signal);
      if (!signal.aborted) this.report(found, trusted);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (!signal.aborted) replace(this.verdict, verdictLine("unverifiable", plain(message)));
    } finally {
      this.button.disabled = false;
    }
  }

  /** The block that is trusted: the one that was entered, or the newest final one of the node */
  private async trusted(signal: AbortSignal): Promise<Trusted> {
    const entered = this.field.value.trim();
    if (entered !== "") return { hash: entered, height: null, isEntered: true };
    const status = await get("/status", signal);
    const hash = text(at(status, "final", "hash"));
    if (hash === null) throw new Error("The node names no final block. Enter the hash of a block that you trust.");
    return { hash, height: integer(at(status, "final", "height")), isEntered: false };
  }

  private report(found: Check, trusted: Trusted): void {
    this.answer = found.verdict;
    this.checked = new Map(found.outcomes.map((outcome) => [outcome.id, outcome]));
    this.mark();
    const height = found.height ?? trusted.height;
    const source = trusted.isEntered
      ? "You entered this hash."
      : "This node names it as its newest final block. A dishonest node can name any block. For an independent check, enter a hash from another source.";
    const count = found.outcomes.length;
    const text =
      found.why === null
        ? `All ${count} outcomes and the final status are in the chain that ends in the trusted block.`
        : plain(found.why);
    const never = [...found.unprovable].map(([member, times]) =>
      h("li", {}, UNPROVABLE[member] ?? plain(member), times > 1 && h("small", {}, ` (${times})`)),
    );
    replace(
      this.verdict,
      verdictLine(found.verdict, text),
      h(
        "p",
        { class: "soft trusted" },
        "Trusted block ",
        height !== null && h("b", {}, String(height)),
        " ",
        h("code", { class: "hash" }, plain(trusted.hash)),
        ". ",
        source,
        " Signatures of validators are not checked.",
      ),
    );
    // Where no outcome has a verdict of its own, the one above is that of all.
    const named = found.height === null ? [] : found.outcomes.filter(({ verdict }) => verdict !== "verified");
    replace(
      this.outcomes,
      named.length > 0 && h("ul", { class: "checked" }, named.map(namedOutcome)),
      never.length > 0 &&
        h("details", { class: "fold" }, h("summary", {}, "What no block proves"), h("ul", { class: "never" }, never)),
    );
  }
}

interface Trusted {
  hash: string;
  height: bigint | null;
  isEntered: boolean;
}

function verdictLine(verdict: VerificationResult, message: string): HTMLElement {
  return h("p", { class: `verdict is-${verdict}` }, h("b", {}, VERDICTS[verdict]), ` ${message}`);
}

function namedOutcome(outcome: CheckedOutcome): HTMLElement {
  return h("li", {}, ...path(outcome));
}

/** The verdict of an outcome, why it is so, and a button that shows its path */
function path({ id, account, verdict, why, path }: CheckedOutcome): HTMLElement[] {
  const picture = h("figure", { hidden: true });
  const toggle = h(
    "button",
    { type: "button", class: "quiet", "aria-expanded": "false", "aria-label": `Path of ${short(id)}` },
    "Path",
  );
  toggle.addEventListener("click", () => void show());
  const show = async () => {
    const isOpen = picture.hidden;
    if (isOpen && path !== null && picture.childElementCount === 0) {
      const { drawPath } = await import("./path");
      replace(
        picture,
        drawPath(path),
        h(
          "figcaption",
          { class: "soft" },
          "A line joins two hashes to the hash of both. A block contains the hash of the block before it. So the trusted hash covers everything below it.",
        ),
      );
    }
    picture.hidden = !isOpen;
    toggle.setAttribute("aria-expanded", String(isOpen));
  };
  const row = h(
    "div",
    { class: "row" },
    h("span", { class: `badge is-${verdict}` }, VERDICTS[verdict]),
    h("code", { class: "hash", title: id }, short(id)),
    h("span", { class: "account" }, plain(account)),
    path !== null && toggle,
  );
  return [row, ...(why === null ? [] : [h("p", { class: "why" }, ...values(why))]), picture];
}

/** Both values of an error in lines of their own, or its text */
function values(why: string): (Node | string)[] {
  const found = /^expected the outcome root (\w+) of block (\w+), found (\w+)$/.exec(why);
  if (found === null) return [plain(why)];
  const [, root = "", block = "", leadsTo = ""] = found;
  const entry = (name: string, value: string) =>
    h("span", { class: "pair" }, name, h("code", { class: "hash" }, value));
  return [entry(`Block ${short(block)} has the root `, root), entry("This outcome leads to ", leadsTo)];
}
