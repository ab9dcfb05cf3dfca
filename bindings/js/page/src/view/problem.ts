// An error message: the node's cause and message, and advice.

import { h, type Child } from "../dom";
import { plain } from "../format";
import { inWords } from "../model/input";
import { NodeError } from "../rpc";

const ADVICE: Record<string, string> = {
  UNKNOWN_TRANSACTION: "Check the hash. The node may also have removed the block: it retains only the newest ones.",
  UNREACHABLE: "Check that it is running. This page retries automatically.",
  INVALID_RESPONSE: "Another program may be listening at this address.",
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
