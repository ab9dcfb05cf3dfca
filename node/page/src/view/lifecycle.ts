// Draws a lifecycle: lanes and edges in SVG, steps as buttons above them. For keyboards and screen
// readers the steps are a tree in depth-first order: up and down move through it, left to the
// parent, right to the first child, Enter selects. Redrawn for every response; the focus is kept.

import { h, replace, s, setBox } from "../dom";
import { plain, span, tera, timeElement } from "../format";
import type { Layout } from "../model/layout";
import type { Lifecycle, Status, Step } from "../model/lifecycle";
import { AXIS_HEIGHT, narrow, wide, type Geometry } from "./geometry";
import { proofSlot } from "./proof-slot";

/** Below this width in pixels the geometry is narrow */
const MIN_WIDE = 700;

const MARK_PATHS: Record<Status, string> = {
  value: "M-4 0.5L-1 3.5L4.5 -3",
  receipt: "M-4 0H4M0.8 -3.4L4.2 0L0.8 3.4",
  failure: "M-3.4 -3.4L3.4 3.4M3.4 -3.4L-3.4 3.4",
  pending: "",
};

export const STATUS_TEXT: Record<Status, string> = {
  value: "returned a value",
  receipt: "returned a receipt",
  failure: "failed",
  pending: "not executed yet",
};

export class LifecycleView {
  readonly element: HTMLElement;
  private readonly picture = h("div", { class: "picture" });
  private readonly viewport = h("div", { class: "viewport", role: "group", "aria-label": "Lifecycle" }, this.picture);
  private lifecycle: Lifecycle | null = null;
  private layout: Layout | null = null;
  private buttons = new Map<string, HTMLButtonElement>();
  private drawnStatuses = new Map<string, Status>();
  private focused: string | null = null;
  private selected: string | null = null;

  constructor(
    private readonly onSelect: (step: Step) => void,
    signal: AbortSignal,
  ) {
    this.element = h("figure", { class: "lifecycle" }, h("div", { class: "frame" }, this.viewport), legend());
    this.viewport.addEventListener("scroll", () => this.showOverflow());
    const resize = new ResizeObserver(() => this.draw(false));
    resize.observe(this.viewport);
    signal.addEventListener("abort", () => resize.disconnect());
  }

  show(lifecycle: Lifecycle, layout: Layout): void {
    [this.lifecycle, this.layout] = [lifecycle, layout];
    this.draw(true);
  }

  /** Marks the step whose details are shown; `null` for none */
  select(id: string | null): void {
    this.selected = id;
    for (const [name, button] of this.buttons) button.setAttribute("aria-selected", String(name === id));
  }

  /** Shows the start of a drawing that scrolled along while it grew */
  showStart(): void {
    this.viewport.scrollLeft = 0;
  }

  /** Focuses the step that had the focus last */
  focus(): void {
    if (this.focused !== null) this.buttons.get(this.focused)?.focus();
  }

  private draw(isNewer: boolean): void {
    const { lifecycle, layout } = this;
    const padding = 2 * Number.parseFloat(getComputedStyle(this.viewport).paddingLeft);
    const available = Math.floor(this.viewport.clientWidth - padding);
    if (lifecycle === null || layout === null || available <= 0) return;
    const geometry = available < MIN_WIDE ? narrow(lifecycle, layout, available) : wide(lifecycle, layout, available);
    const hadFocus = this.picture.contains(document.activeElement);
    const wasAtEnd = this.overflow() < 4;
    const isFirst = this.drawnStatuses.size === 0;
    if (this.focused === null || !lifecycle.steps.some((step) => step.id === this.focused))
      this.focused = lifecycle.root.id;
    setBox(this.picture, { x: 0, y: 0, width: geometry.width, height: geometry.height });
    this.picture.classList.toggle("is-wide", geometry.isWide);
    replace(
      this.picture,
      drawing(lifecycle, layout, geometry),
      captions(layout, geometry),
      this.tree(lifecycle, layout, geometry),
    );
    for (const step of lifecycle.steps) this.drawnStatuses.set(step.id, step.status);
    if (hadFocus) this.focus();
    // Scrolls with a growing lifecycle, unless the user scrolled back.
    else if (isNewer && wasAtEnd && !isFirst) this.viewport.scrollLeft = this.viewport.scrollWidth;
    this.showOverflow();
  }

  /** Width of the part of the picture beyond the right edge, in pixels */
  private overflow(): number {
    return this.viewport.scrollWidth - this.viewport.clientWidth - this.viewport.scrollLeft;
  }

  private showOverflow(): void {
    this.viewport.parentElement?.classList.toggle("has-more", this.overflow() >= 4);
  }

  private tree(lifecycle: Lifecycle, layout: Layout, geometry: Geometry): HTMLElement {
    const tree = h("div", {
      role: "tree",
      "aria-label": "Transaction and receipts",
      onkeydown: (event: KeyboardEvent) => this.handleKey(event, lifecycle),
    });
    this.buttons = new Map();
    for (const step of lifecycle.steps) {
      const isChanged = this.drawnStatuses.size > 0 && this.drawnStatuses.get(step.id) !== step.status;
      const button = this.button(step, layout, isChanged);
      const box = geometry.boxes.get(step);
      if (box !== undefined) setBox(button, box);
      this.buttons.set(step.id, button);
      tree.append(button);
    }
    return tree;
  }

  private button(step: Step, layout: Layout, isChanged: boolean): HTMLButtonElement {
    const siblings = step.parent?.children ?? [step];
    const cell = layout.cells.get(step);
    const column = layout.columns[cell?.column ?? 0]?.name ?? null;
    const position = column === null ? "" : layout.isTimed ? `, block ${column}` : `, level ${column}`;
    const shard = layout.lanes[cell?.lane ?? 0] ?? null;
    const kind = step.kind === "refund" ? "" : `${step.kind} `;
    const label = `${kind}${plain(step.title)}, ${plain(step.account ?? "account not known")}, ${STATUS_TEXT[step.status]}${position}${shard === null ? "" : `, shard ${shard}`}`;
    const classes = ["step", `is-${step.status}`, step.kind === "refund" && "is-refund", isChanged && "is-changed"];
    return h(
      "button",
      {
        type: "button",
        role: "treeitem",
        class: classes.filter(Boolean).join(" "),
        "data-id": step.id,
        "aria-label": label,
        title: `${plain(step.title)}\n${plain(step.account ?? "account not known")}`,
        "aria-level": step.depth + 1,
        "aria-posinset": siblings.indexOf(step) + 1,
        "aria-setsize": siblings.length,
        "aria-selected": String(step.id === this.selected),
        "aria-expanded": step.children.length > 0 && "true",
        tabindex: step.id === this.focused ? 0 : -1,
        onclick: () => (this.moveFocus(step.id), this.onSelect(step)),
      },
      h(
        "span",
        { class: "line" },
        h("span", { class: "title" }, plain(step.title)),
        proofSlot(step.id),
        h("span", { class: "status-text" }, { failure: "failed", pending: "pending" }[step.status as string] ?? ""),
      ),
      h(
        "span",
        { class: "line" },
        h("span", { class: "account" }, plain(step.account ?? "account not known")),
        icon(step.status, ""),
        h("span", { class: "gas" }, step.gas !== null && step.gas > 0n && tera(step.gas)),
      ),
    );
  }

  private handleKey(event: KeyboardEvent, lifecycle: Lifecycle): void {
    const index = lifecycle.steps.findIndex((step) => step.id === this.focused);
    const step = lifecycle.steps[index];
    if (step === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    const targets: Record<string, Step | null | undefined> = {
      ArrowDown: lifecycle.steps[index + 1],
      ArrowUp: lifecycle.steps[index - 1],
      ArrowRight: step.children[0],
      ArrowLeft: step.parent,
      Home: lifecycle.root,
      End: lifecycle.steps.at(-1),
    };
    if (!(event.key in targets)) return;
    event.preventDefault();
    const target = targets[event.key];
    if (target) {
      this.moveFocus(target.id);
      this.focus();
    }
  }

  private moveFocus(id: string): void {
    if (this.focused !== null) this.buttons.get(this.focused)?.setAttribute("tabindex", "-1");
    this.focused = id;
    this.buttons.get(id)?.setAttribute("tabindex", "0");
  }
}

/** Lanes, edges and marks */
function drawing(lifecycle: Lifecycle, layout: Layout, geometry: Geometry): SVGElement {
  const svg = s("svg", { width: geometry.width, height: geometry.height, "aria-hidden": "true" });
  geometry.lanes.forEach(({ x, y, width, height }, index) => {
    // Where the shard is not known there is no lane.
    if (layout.lanes[index] === null) return;
    svg.append(
      geometry.isWide
        ? s("rect", { class: "lane", x, y, width, height, rx: 6 })
        : s("line", { class: "lane-line", x1: x, x2: x, y1: 6, y2: height - 6 }),
    );
  });
  if (geometry.isWide) {
    for (const { x, width, height } of geometry.columns) {
      svg.append(s("line", { class: "tick", x1: x + width / 2, x2: x + width / 2, y1: AXIS_HEIGHT - 4, y2: height }));
    }
  }
  for (const [from, to] of lifecycle.data) svg.append(s("path", { class: "edge is-data", d: geometry.path(from, to) }));
  const children = lifecycle.steps.filter((step) => step.parent !== null);
  // The edges of the result last, so that they are on top.
  for (const step of children.toSorted((a, b) => Number(a.isResult) - Number(b.isResult))) {
    const classes = [
      "edge",
      step.isResult && "is-result",
      step.kind === "refund" && "is-refund",
      step.status === "pending" && "is-pending",
    ];
    svg.append(s("path", { class: classes.filter(Boolean).join(" "), d: geometry.path(step.parent!, step) }));
  }
  if (!geometry.isWide) for (const step of lifecycle.steps) svg.append(mark(step, geometry));
  return svg;
}

function mark(step: Step, geometry: Geometry): SVGElement {
  const { x, y } = geometry.marks.get(step) ?? { x: 0, y: 0 };
  return s(
    "g",
    { class: `mark is-${step.status}${step.kind === "refund" ? " is-refund" : ""}`, transform: `translate(${x} ${y})` },
    s("circle", { r: 8.5 }),
    s("path", { d: MARK_PATHS[step.status] }),
  );
}

/** The names of columns and lanes */
function captions(layout: Layout, geometry: Geometry): HTMLElement {
  const container = h("div", { class: "captions", "aria-hidden": "true" });
  layout.columns.forEach((column, index) => {
    const { x, width } = geometry.columns[index] ?? { x: 0, width: 0 };
    const y = geometry.isWide ? 0 : (geometry.columns[index]?.y ?? 0);
    const name = column.name === null ? "not executed yet" : layout.isTimed ? column.name : `level ${column.name}`;
    const skipped =
      column.skipped > 0 && h("span", { class: "skipped", title: "Blocks in between" }, `+${column.skipped}`);
    const { time } = column;
    const first = layout.columns[0]?.time ?? null;
    const isFirst = index === 0 || first === null;
    const shown = time !== null && timeElement(time, isFirst ? undefined : `+${span(first, time)}`);
    const caption = h(
      "span",
      { class: "column" },
      skipped,
      !geometry.isWide && layout.isTimed && column.name !== null && h("span", { class: "unit" }, "block "),
      h("span", { class: "column-name" }, name),
      shown,
    );
    setBox(caption, { x, y, width });
    container.append(caption);
  });
  if (!geometry.isWide) return container;
  layout.lanes.forEach((lane, index) => {
    if (lane === null) return;
    const caption = h("span", { class: "shard" }, h("span", {}, `shard ${lane}`));
    const box = geometry.lanes[index];
    if (box !== undefined) setBox(caption, box);
    container.append(caption);
  });
  return container;
}

/** The mark of a status as an image of its own */
function icon(status: Status, classes: string): SVGElement {
  const mark = s(
    "g",
    { class: `mark is-${status} ${classes}` },
    s("circle", { r: 8.5 }),
    s("path", { d: MARK_PATHS[status] }),
  );
  return s("svg", { class: "icon", viewBox: "-10 -10 20 20", width: 16, height: 16, "aria-hidden": "true" }, mark);
}

function legend(): HTMLElement {
  const entries: [string, string][] = [
    ["is-value", STATUS_TEXT.value],
    ["is-receipt", STATUS_TEXT.receipt],
    ["is-failure", STATUS_TEXT.failure],
    ["is-pending", STATUS_TEXT.pending],
    ["is-value is-refund", "refund"],
  ];
  const items = entries.map(([classes, text]) => {
    const [status, ...more] = classes.split(" ");
    return h("li", {}, icon((status ?? "").slice(3) as Status, more.join(" ")), text);
  });
  const line = s(
    "svg",
    { viewBox: "0 0 28 10", width: 28, height: 10 },
    s("path", { class: "edge is-result", d: "M0 5H28" }),
  );
  const dots = s(
    "svg",
    { viewBox: "0 0 28 10", width: 28, height: 10 },
    s("path", { class: "edge is-data", d: "M0 5H28" }),
  );
  return h(
    "figcaption",
    {},
    h(
      "ul",
      { class: "legend", "aria-label": "Legend" },
      items,
      h("li", {}, line, "path to the result"),
      h("li", {}, dots, "data"),
    ),
  );
}
