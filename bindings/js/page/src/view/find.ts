// The forms that find a transaction or a receipt: a large one with the signer, and one in the
// header of all other screens. Input is checked while it is typed, by its characters and by the
// engine in the page; without the engine the node reads a signed transaction when it is submitted.

import { h, replace } from "../dom";
import { engine, type RequestedTransaction } from "../engine";
import { at, text } from "../exact";
import { plain } from "../format";
import { ANY_ACCOUNT, inputProblem, inWords, paramsOf } from "../model/input";
import { spacedWords } from "../model/lifecycle";
import { get, request, transactionStatus, type TransactionParams } from "../rpc";
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
  const values = (): [string, string] => [input.value, signer?.value ?? ""];
  const check = async () => {
    const typed = values();
    const problem = inputProblem(...typed);
    if (problem !== null) return showMessage(plain(problem), true);
    const params = paramsOf(...typed);
    const loaded = params === null ? null : await engine();
    if (signal.aborted || typed.join() !== values().join()) return;
    if (params === null || loaded === null) return showMessage("", false);
    try {
      const requested = loaded.readTransactionRequest(request("EXPERIMENTAL_tx_status", params));
      showMessage(requested.signed === null ? "" : describe(requested), requested.signed?.signatureValid === false);
    } catch (error) {
      showMessage(plain(inWords((error as Error).message)), true);
    }
  };
  for (const field of [input, signer]) field?.addEventListener("input", () => void check());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void submit(values(), showMessage, signal);
  });
}

async function submit(
  typed: [string, string],
  showMessage: (text: string, isError: boolean) => void,
  signal: AbortSignal,
): Promise<void> {
  const problem = inputProblem(...typed);
  const params = paramsOf(...typed);
  if (params === null) return showMessage("Enter a hash or a signed transaction.", true);
  if (problem !== null) return showMessage(plain(problem), true);
  try {
    const fragment = await fragmentOf(params, signal);
    if (!signal.aborted) location.hash = fragment;
  } catch (error) {
    if (!signal.aborted) showMessage(plain(inWords((error as Error).message)), true);
  }
}

/** Where the transaction or the receipt is shown */
async function fragmentOf(params: TransactionParams, signal: AbortSignal): Promise<string> {
  const loaded = await engine();
  const { tx_hash: hash, sender_account_id: sender } = params;
  if (hash === undefined) {
    const { hash, signer } =
      loaded === null
        ? await requestFromNode(params, signal)
        : loaded.readTransactionRequest(request("EXPERIMENTAL_tx_status", params));
    return transactionFragment(hash, signer);
  }
  loaded?.validate(request("EXPERIMENTAL_tx_status", params));
  if (sender !== ANY_ACCOUNT) return transactionFragment(hash, sender ?? null);
  // A hash without a signer may be that of a receipt.
  const found = await get(`/receipt/${hash}`, signal).catch(() => null);
  return found === null ? transactionFragment(hash, null) : receiptFragment(hash);
}

/** Without the engine: takes hash and signer from the node, if it knows the transaction */
async function requestFromNode(
  params: TransactionParams,
  signal: AbortSignal,
): Promise<Pick<RequestedTransaction, "hash" | "signer">> {
  const { result } = await transactionStatus({ ...params, wait_until: "NONE" }, signal);
  const transaction = at(result, "transaction");
  const hash = text(at(transaction, "hash"));
  if (hash === null) throw new Error("the response has no transaction hash");
  return { hash, signer: text(at(transaction, "signer_id")) ?? ANY_ACCOUNT };
}

function describe({ hash, signer, signed }: RequestedTransaction): string {
  if (signed === null) return "";
  const names = signed.actions.slice(0, 4).map(spacedWords).join(", ");
  const actions = signed.actions.length > 4 ? `${names} and ${signed.actions.length - 4} more` : names;
  const signature = signed.signatureValid === false ? "; the signature is invalid" : "";
  return `${hash}: ${signer} to ${signed.receiver}: ${actions}${signature}`;
}
