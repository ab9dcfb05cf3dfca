// An error message: the node's cause and message, and advice.

import { h, type Child } from "../dom";
import { plain } from "../format";
import { inWords } from "../model/input";
import { NodeError } from "../rpc";

const ADVICE: Record<string, string> = {
  UNKNOWN_TRANSACTION: "Check the hash. The node keeps only the newest blocks, so it may have removed this one.",
  UNREACHABLE: "Check that it is running. This page tries again by itself.",
  INVALID_RESPONSE: "Another program may listen at this address.",
};

/** A box with the error */
export function problem(title: string, error: unknown, ...more: Child[]): HTMLElement {
  const cause = error instanceof NodeError ? error.cause : null;
  const message = inWords(error instanceof Error ? error.message : String(error));
  return h(
    "section",
    { class: "problem", role: "alert" },
    h("h2", {}, title),
    h("p", { class: "message" }, cause !== null && h("code", {}, plain(cause)), plain(message)),
    cause !== null && ADVICE[cause] !== undefined && h("p", { class: "advice" }, ADVICE[cause]),
    ...more,
  );
}
