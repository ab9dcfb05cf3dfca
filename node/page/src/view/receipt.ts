// A receipt by its id: the transaction that it comes from, with the receipt selected.

import { h, replace } from "../dom";
import { at, text } from "../exact";
import { plain } from "../format";
import { get } from "../rpc";
import { problem } from "./problem";
import { showTransaction } from "./transaction";

export async function showReceipt(main: HTMLElement, id: string, signal: AbortSignal): Promise<void> {
  replace(main, h("p", { class: "loading", role: "status" }, "Looking for the transaction of this receipt…"));
  try {
    const hash = text(at(await get(`/receipt/${encodeURIComponent(id)}`, signal), "transaction_hash"));
    if (signal.aborted) return;
    replace(main);
    if (hash !== null) return showTransaction(main, { hash, signer: null, receipt: id }, signal);
    replace(
      main,
      h("h1", {}, "Receipt"),
      h("p", {}, h("code", { class: "hash" }, plain(id))),
      h(
        "p",
        { class: "empty", role: "status" },
        "This node knows no transaction that created this receipt. It may have removed the block, or the id may be of something else.",
      ),
    );
  } catch (error) {
    if (!signal.aborted) replace(main, h("h1", {}, "Receipt"), problem("The receipt cannot be found", error));
  }
}

/** What is shown at an address that is none */
export function showNothing(main: HTMLElement, fragment: string): void {
  replace(
    main,
    h("h1", {}, "Nothing is here"),
    h(
      "p",
      { class: "empty", role: "status" },
      "This page has nothing at ",
      h("code", {}, plain(fragment)),
      ". ",
      h("a", { href: "#/" }, "Find a transaction"),
    ),
  );
}
