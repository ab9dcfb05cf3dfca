// The screen of a transaction: its milestones, its lifecycle, the details of one step, and the
// response as JSON. Follows the transaction until FINAL; a response is drawn when the heights of
// its blocks are loaded.

import { copyButton, h, replace, type Child } from "../dom";
import { at, text, type Json } from "../exact";
import { decoded, moment, near, plain, short, span, tera, timeElement } from "../format";
import { isLive, noteHeight, onChain, type Feed } from "../model/chain";
import { headline, reason } from "../model/failure";
import { ANY_ACCOUNT } from "../model/input";
import { layOut } from "../model/layout";
import { readLifecycle, type Lifecycle, type Step } from "../model/lifecycle";
import { Blocks, blocksOf, loadShards, type ShardOf } from "../model/locations";
import { next, type Milestone } from "../model/milestones";
import { watch } from "../model/watch";
import { ProofPanel } from "../proof/panel";
import type { RpcResponse } from "../rpc";
import { transactionFragment } from "../route";
import { Details } from "./details";
import { RawResponse } from "./json";
import { LifecycleView } from "./lifecycle";
import { Milestones } from "./milestones";
import { problem } from "./problem";
import { proofSlot } from "./proof-slot";

/** Shows a transaction; with the id of a receipt, its details too */
export function showTransaction(
  main: HTMLElement,
  route: { hash: string; signer: string | null; receipt: string | null },
  signal: AbortSignal,
): void {
  const screen = new Screen(route.hash, route.signer, route.receipt, signal);
  main.append(screen.element);
  const params = { tx_hash: route.hash, sender_account_id: route.signer ?? ANY_ACCOUNT };
  void watch(params, screen, signal);
}

class Screen {
  readonly element: HTMLElement;
  private readonly summary = h("div", { class: "summary" });
  private readonly progress = h("p", { class: "progress-text" });
  private readonly message = h("div", {});
  private readonly milestones = new Milestones();
  private readonly view: LifecycleView;
  private readonly details: Details;
  private readonly raw: RawResponse;
  private readonly proof: ProofPanel;
  private readonly content: HTMLElement;
  private readonly blocks = new Blocks();
  private shards: ShardOf | null = null;
  private result: Json = null;
  private lifecycle: Lifecycle | null = null;
  private body = "";
  private responseCount = 0;
  private awaited: Milestone[] = [];
  private isConnected = true;
  private feed: Feed = "followed";
  /** Whether the transaction was not final when it was drawn first */
  private hasGrown = false;

  constructor(
    private readonly hash: string,
    private readonly signer: string | null,
    private selected: string | null,
    private readonly signal: AbortSignal,
  ) {
    this.view = new LifecycleView((step) => this.select(step), signal);
    this.details = new Details(() => this.deselect());
    this.raw = new RawResponse(copyButton("the response", () => this.body));
    this.proof = new ProofPanel(hash, signal);
    this.content = h(
      "div",
      { class: "content", hidden: true },
      this.view.element,
      this.details.element,
      this.raw.element,
    );
    this.element = h(
      "div",
      { class: "transaction" },
      h(
        "div",
        { class: "heading" },
        h("h1", {}, h("small", {}, "Transaction"), h("code", { class: "hash" }, plain(hash))),
        copyButton("the hash", () => hash),
      ),
      this.message,
      h(
        "div",
        { class: "overview" },
        h("div", { class: "progress" }, this.milestones.element, this.progress),
        this.summary,
      ),
      this.content,
      this.proof.element,
    );
    replace(this.progress, "Loading…");
    this.title(null);
    onChain(({ feed }) => {
      if (this.feed === feed) return;
      this.feed = feed;
      if (this.isConnected && this.awaited.length > 0) this.waiting(this.awaited);
      this.showSummary();
    }, signal);
  }

  /** The tab names the transaction, and how far it is */
  private title(milestone: Milestone | null): void {
    document.title = `${short(this.hash)}${milestone === null ? "" : ` ${milestone}`} · Milepost`;
  }

  updated(response: RpcResponse, milestone: Milestone): void {
    replace(this.message);
    this.milestones.show(milestone);
    this.title(milestone);
    this.hasGrown ||= milestone !== "FINAL";
    if (milestone !== "FINAL") this.milestones.wait(next(milestone));
    if (response.body === this.body) return;
    this.body = response.body;
    this.raw.show(response.result);
    this.proof.show(response.result);
    this.responseCount += 1;
    void this.draw(response.result, this.responseCount);
  }

  waiting(milestones: Milestone[]): void {
    this.awaited = milestones;
    this.milestones.wait(milestones);
    if (milestones.length === 0) return replace(this.progress, "The transaction is final. Its status will not change.");
    const names = milestones.flatMap((name, index) => [index > 0 && " or ", h("b", {}, name)]);
    const isGrowing = isLive(this.feed);
    this.milestones.element.classList.toggle("is-still", !isGrowing);
    if (isGrowing)
      return replace(
        this.progress,
        h("span", { class: "live", "aria-hidden": "true" }),
        "Live: waiting for ",
        ...names,
      );
    const why =
      this.feed === "behind"
        ? "This node is behind its feed, so this may be out of date."
        : "This node receives no blocks, so nothing will change here.";
    replace(this.progress, `${why} Not reached yet: `, ...names);
  }

  unknown(): void {
    this.milestones.show(null);
    this.title(null);
    this.content.hidden = true;
    this.proof.show(null);
    this.body = "";
    const message =
      "The node does not know this transaction. This page shows it as soon as a block includes it. If it is old, the node may have removed its block.";
    if (this.message.childElementCount === 0)
      replace(this.message, h("p", { class: "empty", role: "status" }, message));
  }

  connected(isOpen: boolean): void {
    if (isOpen === this.isConnected) return;
    this.isConnected = isOpen;
    if (isOpen) this.waiting(this.awaited);
    else replace(this.progress, "The connection to the node was lost. Connecting again…");
  }

  failed(error: unknown, willRetry: boolean): void {
    const title = willRetry ? "The request failed" : "This transaction cannot be followed";
    const back = h("a", { class: "button", href: "#/" }, "Find another transaction");
    replace(this.message, problem(title, error, !willRetry && back));
    replace(this.progress, willRetry ? "Trying again…" : "");
  }

  private async draw(result: Json, responseNumber: number): Promise<void> {
    const lifecycle = readLifecycle(result);
    if (lifecycle === null) return;
    await this.loadLocations(lifecycle);
    // A later response may have been drawn in the meantime.
    if (this.signal.aborted || responseNumber !== this.responseCount) return;
    const layout = layOut(lifecycle, this.blocks, this.shards ?? (() => null));
    const isFirst = this.lifecycle === null;
    [this.result, this.lifecycle] = [result, lifecycle];
    for (const block of blocksOf(lifecycle)) noteHeight(this.blocks.height(block));
    this.showSummary();
    this.milestones.showBlockTimes(...blockTimes(lifecycle, this.blocks));
    this.content.hidden = false;
    this.view.show(lifecycle, layout);
    this.proof.mark();
    if (this.hasGrown && this.awaited.length === 0) this.view.showStart();
    const selected = lifecycle.steps.find((step) => step.id === this.selected);
    if (selected === undefined) return;
    this.showDetails(selected);
    if (!isFirst) return;
    this.view.select(selected.id);
    this.details.focus();
  }

  private showSummary(): void {
    if (this.lifecycle === null) return;
    replace(this.summary, ...summary(this.result, this.lifecycle, this.blocks, isLive(this.feed)));
    this.proof.mark();
  }

  /** Loads heights and shards; without heights the lifecycle is drawn by levels */
  private async loadLocations(lifecycle: Lifecycle): Promise<void> {
    const blocks = blocksOf(lifecycle);
    const [first] = blocks;
    const loaded = this.blocks.load(blocks, this.signal).catch(() => undefined);
    if (this.shards === null && first !== undefined) {
      this.shards = await loadShards(first, this.signal).catch(() => null);
    }
    await loaded;
  }

  private select(step: Step): void {
    this.selected = step.id;
    this.address();
    this.view.select(step.id);
    this.showDetails(step);
    this.details.focus();
  }

  /** Names the step whose details are shown in the address, in place of the one before */
  private address(): void {
    history.replaceState(null, "", transactionFragment(this.hash, this.signer, this.selected));
  }

  private showDetails(step: Step): void {
    const [height, time] = [this.blocks.height(step.block), this.blocks.time(step.block)];
    const start = this.blocks.time(this.lifecycle?.root.block ?? null);
    const shard = step.account === null ? null : (this.shards?.(step.account) ?? null);
    this.details.show(step, { height, time, start, shard }, at(this.result, "transaction"));
    this.proof.mark();
  }

  private deselect(): void {
    this.selected = null;
    this.address();
    this.view.select(null);
    this.view.focus();
  }
}

/** The times of the block that includes a transaction, and of the one that executed the last of its
 *  receipts except refunds, if all are executed */
function blockTimes({ root, steps }: Lifecycle, blocks: Blocks): [included: Date | null, executed: Date | null] {
  const times = steps.filter((step) => step.kind !== "refund").map((step) => blocks.time(step.block));
  const known = times.filter((time) => time !== null);
  const last = known.length < times.length ? null : known.reduce((a, b) => (a > b ? a : b));
  return [blocks.time(root.block), last];
}

/** Status, accounts, number of receipts, time, gas and tokens */
function summary(result: Json, lifecycle: Lifecycle, blocks: Blocks, isGrowing: boolean): HTMLElement[] {
  const { root, steps, omitted } = lifecycle;
  const status = at(result, "status");
  const path = reason(status);
  const cause = steps.findLast((step) => step.isResult && step.status === "failure");
  const failed = steps.find((step) => step.status === "failure");
  const value = text(at(status, "SuccessValue"));
  const [included, executed] = blockTimes(lifecycle, blocks);
  const total = (amounts: (bigint | null)[]) => amounts.reduce<bigint>((sum, amount) => sum + (amount ?? 0n), 0n);
  const [kind, statusText] =
    path !== null
      ? ["failure", headline(status, cause?.account ?? null) ?? "Failed"]
      : value !== null && failed !== undefined
        ? ["mixed", "Succeeded, but a receipt failed"]
        : value !== null
          ? ["value", "Succeeded"]
          : ["pending", isGrowing ? "In progress" : "Not complete in the blocks of this node"];
  const entry = (name: string, ...children: Child[]) => h("div", {}, h("dt", {}, name), h("dd", {}, ...children));
  return [
    h("p", { class: `status is-${kind}` }, statusText, proofSlot("answer")),
    ...(path === null ? [] : [h("p", { class: "path" }, h("code", {}, path))]),
    ...(path === null && failed !== undefined
      ? [h("p", { class: "reason" }, headline(at(failed.outcome, "outcome", "status"), failed.account) ?? "")]
      : []),
    h(
      "dl",
      {},
      ...(value === null ? [] : [entry("Result", h("code", {}, resultText(value)))]),
      ...(included === null
        ? []
        : [
            entry(
              "Time",
              timeElement(included, moment(included)),
              ...(executed === null ? [] : [`, executed ${span(included, executed)} later`]),
            ),
          ]),
      entry("From", plain(root.account ?? "?")),
      entry("To", plain(text(at(result, "transaction", "receiver_id")) ?? "?")),
      entry("Actions", plain(root.title)),
      entry("Receipts", String(steps.length - 1 + omitted), ...(omitted > 0 ? [` (${omitted} not drawn)`] : [])),
      entry("Gas burnt", tera(total(steps.map((step) => step.gas)))),
      entry("Tokens burnt", near(total(steps.map((step) => step.tokens)))),
    ),
  ];
}

/** The value of a result: its text, or its bytes */
function resultText(base64: string): string {
  const value = decoded(base64);
  return value === null ? "none" : value.length > 80 ? `${value.slice(0, 80)}…` : value;
}
