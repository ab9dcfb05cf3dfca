// All details of one step: status, gas and tokens, its logs, its actions with decoded arguments,
// and the JSON of its receipt and outcome. Hashes are shown in full, so that they can be copied.

import { copyButton, h, replace, type Child } from "../dom";
import { at, integer, list, text, type Json } from "../exact";
import { decoded, grouped, near, plain, span, tera, timeElement } from "../format";
import { receiptFragment } from "../route";
import { headline, reason } from "../model/failure";
import { actionTitle, type Step } from "../model/lifecycle";
import { jsonTree } from "./json";
import { STATUS_TEXT } from "./lifecycle";
import { proofSlot } from "./proof-slot";

const NAMES = { transaction: "Transaction", receipt: "Receipt", refund: "Refund" };

export interface Location {
  height: bigint | null;
  time: Date | null;
  /** The time of the block that includes the transaction */
  start: Date | null;
  shard: string | null;
}

export class Details {
  readonly element = h("section", { class: "details panel", "aria-labelledby": "details-title", hidden: true });
  private readonly title = h("h2", { id: "details-title", tabindex: -1 });
  private readonly body = h("div", { class: "body" });

  constructor(private readonly onClose: () => void) {
    const close = h("button", { type: "button", class: "quiet", onclick: () => this.close() }, "Close");
    this.element.append(h("div", { class: "bar" }, this.title, close), this.body);
    this.element.addEventListener("keydown", (event) => event.key === "Escape" && this.close());
  }

  /** Shows a step; `transaction` is the member of the result */
  show(step: Step, location: Location, transaction: Json): void {
    const subject = step.kind !== "refund" && h("span", { class: "subject" }, plain(step.title));
    replace(this.title, NAMES[step.kind], subject);
    replace(this.body, ...sections(step, location, transaction));
    this.element.hidden = false;
  }

  /** Moves the focus here and scrolls if necessary */
  focus(): void {
    this.title.focus({ preventScroll: true });
    const { top, bottom } = this.element.getBoundingClientRect();
    const isSmooth = !matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (top > innerHeight - 160 || bottom < 0) {
      this.element.scrollIntoView({ block: "start", behavior: isSmooth ? "smooth" : "auto" });
    }
  }

  private close(): void {
    this.element.hidden = true;
    this.onClose();
  }
}

function sections(step: Step, location: Location, transaction: Json): Child[] {
  const status = at(step.outcome, "outcome", "status");
  const failure = headline(status, text(at(step.outcome, "outcome", "executor_id")));
  const value = text(at(status, "SuccessValue"));
  const next = text(at(status, "SuccessReceiptId"));
  const source =
    step.kind === "transaction" || step.receipt === null ? transaction : at(step.receipt, "receipt", "Action");
  const executor = at(step.outcome, "outcome", "executor_id");
  const isLocal = step.kind === "receipt" && step.receipt === null;
  const entries: [string, Child[] | null][] = [
    ["Status", [h("span", { class: `badge is-${step.status}` }, STATUS_TEXT[step.status]), proofSlot(step.id)]],
    [
      "Reason",
      failure === null ? null : [h("span", { class: "reason" }, failure), h("code", { class: "path" }, reason(status))],
    ],
    ["Value", value === null ? null : [h("code", {}, decoded(value) ?? "empty")]],
    ["Result in", next === null ? null : [receiptLink(next)]],
    step.kind === "transaction"
      ? ["Hash", [h("code", {}, plain(step.id)), " ", copyButton("hash", () => step.id)]]
      : ["Receipt id", [receiptLink(step.id), " ", copyButton("receipt id", () => step.id)]],
    ["From", from(step, transaction)],
    [
      "To",
      plainText(
        at(step.receipt, "receiver_id") ?? (step.kind === "transaction" ? at(transaction, "receiver_id") : null),
      ),
    ],
    ["Executor", executor === step.account && step.receipt !== null ? null : plainText(executor)],
    [
      "Block",
      step.block === null
        ? null
        : [
            location.height !== null && h("span", {}, ...grouped(String(location.height)), " "),
            h("code", { class: "soft" }, plain(step.block)),
          ],
    ],
    [
      "Block time",
      location.time === null ? null : [timeElement(location.time), ...spanText(step, location.start, location.time)],
    ],
    ["Shard", location.shard === null ? null : [location.shard]],
    [
      "Gas burnt",
      step.gas === null || step.status === "pending"
        ? null
        : [tera(step.gas), h("span", { class: "exact" }, ...grouped(String(step.gas)))],
    ],
    [
      "Tokens burnt",
      step.tokens === null || step.status === "pending"
        ? null
        : [near(step.tokens), h("span", { class: "exact" }, ...grouped(String(step.tokens)))],
    ],
  ];
  const shown = entries.filter((entry): entry is [string, Child[]] => entry[1] !== null);
  const actions =
    step.kind === "receipt" && step.receipt === null && step.depth !== 1 ? [] : list(at(source, "actions"));
  return [
    h(
      "dl",
      { class: "properties" },
      ...shown.flatMap(([name, children]) => [h("dt", {}, name), h("dd", {}, ...children)]),
    ),
    step.logs.length > 0 &&
      section(
        `Logs (${step.logs.length})`,
        h(
          "ol",
          { class: "logs" },
          step.logs.map((log) => h("li", {}, plain(log))),
        ),
      ),
    actions.length > 0 &&
      section(isLocal ? "Actions of the transaction" : "Actions", h("ol", { class: "actions" }, actions.map(action))),
    proofSlot(step.id, "path"),
    step.receipt !== null && fold("Receipt (JSON)", step.receipt),
    step.outcome !== null && fold("Outcome (JSON)", step.outcome),
  ];
}

/** The address of a receipt */
function receiptLink(id: string): HTMLElement {
  return h("a", { href: receiptFragment(id) }, h("code", {}, plain(id)));
}

function spanText(step: Step, start: Date | null, time: Date): Child[] {
  return step.kind === "transaction" || start === null ? [] : [`, ${span(start, time)} after inclusion`];
}

function from(step: Step, transaction: Json): Child[] | null {
  if (step.kind === "transaction") return plainText(at(transaction, "signer_id"));
  return plainText(at(step.receipt, "predecessor_id"));
}

function plainText(value: Json): Child[] | null {
  const shown = text(value);
  return shown === null ? null : [plain(shown)];
}

function section(title: string, ...children: Child[]): HTMLElement {
  return h("section", {}, h("h3", {}, title), ...children);
}

function fold(title: string, value: Json): HTMLElement {
  const details = h("details", { class: "fold" }, h("summary", {}, title));
  details.addEventListener("toggle", () => details.childElementCount === 1 && details.append(jsonTree(value, 2)), {
    once: true,
  });
  return details;
}

function action(value: Json): HTMLElement {
  const call = at(value, "FunctionCall");
  const gas = integer(at(call, "gas"));
  const deposit = integer(at(call, "deposit"));
  const args = text(at(call, "args"));
  const parts = [
    gas !== null && `up to ${tera(gas)}`,
    deposit !== null && deposit > 0n && `deposit ${near(deposit)}`,
  ].filter((part) => part !== false);
  return h(
    "li",
    {},
    h("span", { class: "action" }, plain(actionTitle(value))),
    parts.length > 0 && h("span", { class: "soft" }, ` ${parts.join(", ")}`),
    args !== null && args !== "" && h("pre", { tabindex: 0, "aria-label": "Arguments" }, pretty(decoded(args) ?? "")),
  );
}

/** JSON with indentation; other text, and JSON with numbers that would be rounded, unchanged */
function pretty(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    const indented = JSON.stringify(value, null, 2);
    return JSON.stringify(value) === text.replace(/(?<=[,:])\s+/g, "") ? indented : text;
  } catch {
    return text;
  }
}
