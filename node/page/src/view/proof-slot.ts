// Where it is shown whether an outcome, or the whole answer, is proven, and by which path. A place
// is not visible while it is empty.

import { h } from "../dom";

/** The place of the mark or of the path of this outcome; `answer` is the whole answer */
export function proofSlot(id: string, shown: "mark" | "path" = "mark"): HTMLElement {
  return h(shown === "mark" ? "span" : "section", { class: "proof-slot", "data-proof-of": id, "data-shows": shown });
}
