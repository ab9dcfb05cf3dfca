// The six milestones as a graph of their partial order. Those that are reached are filled, those
// that requests wait for are animated; a sentence below says what both mean. Times are those of
// blocks; of a milestone that no block has, the time at which this browser saw it, labelled so. For
// screen readers it is a list, and a new milestone is announced.

import { h, replace, s, type Child } from "../dom";
import { breakable, span, timeElement, timeOfDay } from "../format";
import { AWAITED, MEANING, MILESTONES, reaches, type Milestone } from "../model/milestones";

/** Positions: per cent of the width, pixels from the top */
const POSITIONS: Record<Milestone, [x: number, y: number]> = {
  NONE: [10, 84],
  INCLUDED: [30, 84],
  EXECUTED_OPTIMISTIC: [50, 48],
  INCLUDED_FINAL: [50, 120],
  EXECUTED: [70, 84],
  FINAL: [90, 84],
};

const EDGES: [Milestone, Milestone][] = [
  ["NONE", "INCLUDED"],
  ["INCLUDED", "EXECUTED_OPTIMISTIC"],
  ["INCLUDED", "INCLUDED_FINAL"],
  ["EXECUTED_OPTIMISTIC", "EXECUTED"],
  ["INCLUDED_FINAL", "EXECUTED"],
  ["EXECUTED", "FINAL"],
];

export class Milestones {
  readonly element: HTMLElement;
  private readonly announcement = h("p", { class: "visually-hidden", role: "status" });
  private readonly items = new Map<Milestone, HTMLElement>();
  private readonly lines = new Map<string, SVGElement>();
  private readonly meaning = h("p", { class: "meaning" });
  /** When this browser saw a milestone, where no block has a time for it */
  private readonly seen = new Map<Milestone, Date>();
  private blockTimes = new Map<Milestone, Date>();
  private awaited: Milestone[] = [];
  private reached: Milestone | null = null;

  constructor() {
    const lines = s("svg", { viewBox: "0 0 100 170", preserveAspectRatio: "none", "aria-hidden": "true" });
    for (const [from, to] of EDGES) {
      const [[x0, y0], [x1, y1]] = [POSITIONS[from], POSITIONS[to]];
      const middle = (x0 + x1) / 2;
      const line = s("path", { d: `M${x0} ${y0}C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}` });
      this.lines.set(to + from, line);
      lines.append(line);
    }
    const items = h("ol", {});
    for (const milestone of MILESTONES) {
      const item = h("li", { class: `at-${milestone.toLowerCase().replace("_", "-")}` });
      this.items.set(milestone, item);
      items.append(item);
    }
    this.element = h(
      "section",
      { "aria-label": "Milestones" },
      h("div", { class: "milestones" }, lines, items),
      this.announcement,
      this.meaning,
    );
    this.draw();
  }

  /** Shows the milestone of the transaction; `null` if the transaction is not known */
  show(reached: Milestone | null): void {
    if (reached !== null && this.reached !== null && reached !== this.reached) {
      for (const milestone of MILESTONES) {
        const isNew = reaches(reached, milestone) && !reaches(this.reached, milestone);
        if (isNew) this.seen.set(milestone, new Date());
      }
    }
    if (reached !== this.reached && reached !== null)
      replace(this.announcement, `Milestone ${reached}: ${MEANING[reached]}`);
    this.reached = reached;
    this.awaited = [];
    this.draw();
  }

  /** Shows the times of the blocks that include the transaction, and that executed the last of its
   *  receipts except refunds; `null` where that is not known */
  showBlockTimes(included: Date | null, executed: Date | null): void {
    this.blockTimes = new Map();
    if (included !== null) this.blockTimes.set("INCLUDED", included);
    if (executed !== null) this.blockTimes.set("EXECUTED_OPTIMISTIC", executed);
    this.draw();
  }

  /** Shows that requests wait for these milestones */
  wait(milestones: Milestone[]): void {
    this.awaited = milestones;
    this.draw();
  }

  private time(milestone: Milestone): Child {
    const [start, time, seen] = [
      this.blockTimes.get("INCLUDED"),
      this.blockTimes.get(milestone),
      this.seen.get(milestone),
    ];
    if (time !== undefined)
      return timeElement(time, start === undefined || time === start ? timeOfDay(time) : `+${span(start, time)}`);
    if (seen === undefined) return null;
    return h(
      "time",
      { class: "seen", datetime: seen.toISOString(), title: "By the clock of this browser" },
      `seen ${timeOfDay(seen)}`,
    );
  }

  /** What is reached, and what has to happen next */
  private sentence(): Child[] {
    const { reached, awaited } = this;
    const means = reached === null ? [] : [h("b", {}, reached), ` means: ${MEANING[reached]}. `];
    const waits = awaited.flatMap((milestone, index): Child[] => [
      index > 0 && ", and ",
      `${AWAITED[milestone]} (`,
      h("b", {}, milestone),
      ")",
    ]);
    const note =
      this.seen.size > 0 && " Times marked “seen” are by the clock of this browser. All others are block times.";
    return [...means, ...(waits.length > 0 ? ["It waits ", ...waits, "."] : []), note];
  }

  private draw(): void {
    const { awaited } = this;
    const isReached = (milestone: Milestone) => this.reached !== null && reaches(this.reached, milestone);
    for (const [milestone, item] of this.items) {
      const state = isReached(milestone) ? "is-reached" : awaited.includes(milestone) ? "is-awaited" : "";
      const stateName = isReached(milestone) ? "reached" : awaited.includes(milestone) ? "awaited" : "not reached";
      item.classList.remove("is-reached", "is-awaited");
      if (state !== "") item.classList.add(state);
      replace(
        item,
        h("span", { class: "marker", "aria-hidden": "true" }),
        h(
          "span",
          { class: "label" },
          ...breakable(milestone),
          h("span", { class: "visually-hidden" }, `, ${stateName}`),
        ),
        isReached(milestone) && this.time(milestone),
      );
    }
    for (const [from, to] of EDGES) {
      this.lines.get(to + from)?.classList.toggle("is-reached", isReached(to));
    }
    replace(this.meaning, ...this.sentence());
  }
}
