// The forms that find a transaction or a receipt: a large one with the signer, and one in the
// header of all other screens. The characters of the input are checked while it is typed; the node
// reads a signed transaction when the form is submitted.

import { h, replace } from "../dom";
import { at, text } from "../exact";
import { plain } from "../format";
import { ANY_ACCOUNT, inWords, readInput, type Input } from "../model/input";
import { get, NodeError, transactionStatus, type TransactionParams } from "../rpc";
import { receiptFragment, transactionFragment } from "../route";

const TEXT_INPUT = { spellcheck: "false", autocapitalize: "off", autocomplete: "off" };

/** The large form; `suggest` puts a transaction that exists into the empty boxes, as an example */
export function findForm(signal: AbortSignal): { element: HTMLElement; suggest(hash: string, signer: string): void } {
  const input = h("textarea", {
    ...TEXT_INPUT,
    id: "transaction",
    name: "transaction",
    rows: 1,
    required: true,
    "aria-describedby": "input-message",
  });
  const signer = h("input", {
    ...TEXT_INPUT,
    id: "signer",
    name: "signer",
    type: "text",
    "aria-describedby": "input-message",
  });
  const element = h(
    "form",
    { class: "find", novalidate: true },
    h(
      "div",
      { class: "field wide" },
      h("label", { for: "transaction" }, "Hash, or signed transaction in base64"),
      input,
    ),
    h("div", { class: "field" }, h("label", { for: "signer" }, "Signer ", h("small", {}, "optional")), signer),
    h("button", { type: "submit", class: "primary" }, "Follow"),
  );
  connect(element, input, signer, "input-message", signal);
  input.addEventListener("keydown", (event) => {
    // Enter submits the form, as in an input of one line.
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    element.requestSubmit();
  });
  return {
    element,
    suggest(hash, account) {
      input.placeholder = hash;
      signer.placeholder = account;
    },
  };
}

/** The form in the header */
export function searchForm(signal: AbortSignal): HTMLElement {
  const input = h("input", {
    ...TEXT_INPUT,
    id: "search",
    name: "search",
    type: "search",
    "aria-label": "Find a transaction or a receipt",
    placeholder: "Hash or receipt id",
    "aria-describedby": "search-message",
  });
  const element = h(
    "form",
    { class: "search", role: "search", novalidate: true },
    input,
    h("button", { type: "submit", class: "quiet" }, "Find"),
  );
  connect(element, input, null, "search-message", signal);
  return element;
}

/** Adds the message of a form, and checks and submits what is typed */
function connect(
  form: HTMLFormElement,
  input: HTMLInputElement | HTMLTextAreaElement,
  signer: HTMLInputElement | null,
  messageId: string,
  signal: AbortSignal,
): void {
  const message = h("p", { id: messageId, class: "message", role: "status" });
  form.append(message);
  const showMessage = (text: string, isError: boolean) => {
    message.classList.toggle("is-error", isError);
    input.setAttribute("aria-invalid", String(isError));
    replace(message, text);
  };
  const read = () => readInput(input.value, signer?.value ?? "");
  const check = () => {
    const typed = read();
    const problem = typed !== null && "problem" in typed ? typed.problem : "";
    showMessage(plain(problem), problem !== "");
  };
  for (const field of [input, signer]) field?.addEventListener("input", check);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void submit(read(), showMessage, signal);
  });
}

async function submit(
  typed: Input,
  showMessage: (text: string, isError: boolean) => void,
  signal: AbortSignal,
): Promise<void> {
  if (typed === null) return showMessage("Enter a hash or a signed transaction.", true);
  if ("problem" in typed) return showMessage(plain(typed.problem), true);
  try {
    const fragment = await fragmentOf(typed.params, signal);
    if (!signal.aborted) location.hash = fragment;
  } catch (error) {
    if (!signal.aborted) showMessage(plain(inWords((error as Error).message)), true);
  }
}

/** Where the transaction or the receipt is shown */
async function fragmentOf(params: TransactionParams, signal: AbortSignal): Promise<string> {
  const { tx_hash: hash, sender_account_id: sender } = params;
  if (hash === undefined) return signedFragment(params, signal);
  if (sender !== ANY_ACCOUNT) return transactionFragment(hash, sender ?? null);
  // A hash without a signer may be that of a receipt.
  const found = await get(`/receipt/${hash}`, signal).catch(() => null);
  return found === null ? transactionFragment(hash, null) : receiptFragment(hash);
}

/** Where a signed transaction is shown; the node names its hash even if it does not know it */
async function signedFragment(params: TransactionParams, signal: AbortSignal): Promise<string> {
  try {
    const { result } = await transactionStatus({ ...params, wait_until: "NONE" }, signal);
    const hash = text(at(result, "transaction", "hash"));
    if (hash === null) throw new Error("the response has no transaction hash");
    return transactionFragment(hash, text(at(result, "transaction", "signer_id")));
  } catch (error) {
    const response = error instanceof NodeError ? error.response : null;
    const hash = text(at(response, "error", "cause", "info", "requested_transaction_hash"));
    if (hash === null) throw error;
    return transactionFragment(hash, null);
  }
}
