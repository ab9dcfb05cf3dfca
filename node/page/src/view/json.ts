// JSON as a tree of collapsible branches, with every digit of its numbers. A branch is filled when
// it is opened for the first time, so a large response costs little while it is closed.

import { h, replace, type Child } from "../dom";
import { isObject, Numeral, scalar, type Json } from "../exact";
import { breakable, grouped, plain } from "../format";

/** Number of members of a branch that are shown at a time */
const PAGE_SIZE = 200;

/** A tree of this value, open down to `depth` */
export function jsonTree(value: Json, depth: number): HTMLElement {
  return h("div", { class: "json" }, node(null, value, depth));
}

function node(name: string | null, value: Json, depth: number): HTMLElement {
  const label = name === null ? null : h("span", { class: "name" }, ...breakable(name));
  if (!isBranch(value)) return h("div", { class: "leaf" }, label, label && ": ", leaf(value));
  if (isShort(value)) {
    const items = value.flatMap((item, index) => [index > 0 && ", ", leaf(item)]);
    return h("div", { class: "leaf" }, label, label && ": ", "[", ...items, "]");
  }
  const count = Array.isArray(value) ? value.length : Object.keys(value).length;
  const body = h("div", { class: "branch" });
  const fill = () => {
    if (body.childElementCount === 0) appendMembers(body, value, 0, depth - 1);
  };
  if (depth > 0) fill();
  const details = h(
    "details",
    { open: depth > 0 },
    h(
      "summary",
      {},
      label ?? h("span", { class: "name" }, "result"),
      h("span", { class: "size" }, Array.isArray(value) ? `[${count}]` : `{${count}}`),
    ),
    body,
  );
  details.addEventListener("toggle", () => details.open && fill());
  return details;
}

function appendMembers(
  body: HTMLElement,
  value: Json[] | { [name: string]: Json },
  start: number,
  depth: number,
): void {
  const members: [string, Json][] = Array.isArray(value)
    ? value.map((item, index) => [String(index), item])
    : Object.entries(value);
  for (const [name, inner] of members.slice(start, start + PAGE_SIZE)) body.append(node(name, inner, depth));
  const remaining = members.length - start - PAGE_SIZE;
  if (remaining <= 0) return;
  const more = h(
    "button",
    { type: "button", class: "quiet" },
    `Show ${Math.min(remaining, PAGE_SIZE)} of ${remaining} more`,
  );
  more.addEventListener("click", () => (more.remove(), appendMembers(body, value, start + PAGE_SIZE, depth)));
  body.append(more);
}

/** A value without members, as JSON text */
export function leaf(value: Json): HTMLElement {
  const text = isBranch(value) ? (Array.isArray(value) ? "[]" : "{}") : scalar(value);
  const kind = value === null ? "null" : value instanceof Numeral ? "number" : typeof value;
  const digits = kind === "string" ? text.slice(1, -1) : text;
  const shown: Child[] = /^\d{5,}$/.test(digits) ? grouped(digits) : [plain(text)];
  const quote = kind === "string" && /^\d{5,}$/.test(digits);
  return h("span", { class: `value is-${kind}` }, quote && '"', ...shown, quote && '"');
}

/** Whether an array is short enough for one line, such as a fraction */
function isShort(value: Json[] | { [name: string]: Json }): value is Json[] {
  return (
    Array.isArray(value) && value.length <= 4 && value.every((item) => !isBranch(item) && scalar(item).length <= 24)
  );
}

function isBranch(value: Json): value is Json[] | { [name: string]: Json } {
  if (!Array.isArray(value) && !isObject(value)) return false;
  return Object.keys(value).length > 0;
}

/** The response as a tree, and its text to copy */
export class RawResponse {
  readonly element: HTMLElement;
  private readonly tree = h("div", {
    class: "scroll",
    tabindex: 0,
    role: "region",
    "aria-label": "Members of the response",
  });
  private readonly details: HTMLDetailsElement;
  private value: Json = null;
  private isOutdated = false;
  private openNames = new Set<string>();

  constructor(copy: HTMLElement) {
    this.details = h(
      "details",
      { class: "raw panel", open: matchMedia("(min-width: 1100px)").matches },
      h("summary", {}, h("h2", {}, "Response")),
      copy,
      this.tree,
    );
    this.element = this.details;
    this.details.addEventListener("toggle", () => this.draw());
  }

  show(value: Json): void {
    this.value = value;
    this.isOutdated = true;
    this.draw();
  }

  private draw(): void {
    if (!this.details.open || !this.isOutdated) return;
    this.isOutdated = false;
    // Branches that are open stay open.
    const branches = () => [...this.tree.querySelectorAll<HTMLDetailsElement>("details")];
    this.openNames = new Set(
      branches()
        .filter((branch) => branch.open)
        .map(pathOf),
    );
    const isFirst = this.tree.childElementCount === 0;
    const focused = pathOf(document.activeElement?.closest(".json details") ?? null);
    replace(this.tree, jsonTree(this.value, isFirst ? 1 : 0));
    if (isFirst) return;
    for (let candidates = branches(); candidates.length > 0; ) {
      const reopened = candidates.filter((branch) => !branch.open && this.openNames.has(pathOf(branch)));
      for (const branch of reopened) {
        branch.open = true;
        branch.dispatchEvent(new Event("toggle"));
      }
      candidates = reopened.length > 0 ? branches() : [];
    }
    if (focused !== "") {
      const branch = branches().find((candidate) => pathOf(candidate) === focused);
      branch?.querySelector("summary")?.focus({ preventScroll: true });
    }
  }
}

/** The path of names from the root to a branch */
function pathOf(branch: Element | null): string {
  const names: string[] = [];
  for (
    let ancestor = branch;
    ancestor !== null;
    ancestor = ancestor.parentElement?.closest("details:not(.raw)") ?? null
  ) {
    names.unshift(ancestor.querySelector(".name")?.textContent ?? "");
  }
  return names.join("/");
}
