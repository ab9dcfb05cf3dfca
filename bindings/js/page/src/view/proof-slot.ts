// Where it is shown whether an outcome, or the whole answer, is proven. A place is not visible
// while it is empty.

import { h } from "../dom";

/** The place of the outcome of this id, or `answer` for the whole answer */
export function proofSlot(id: string): HTMLElement {
  return h("span", { class: "proof-slot", "data-proof-of": id });
}
