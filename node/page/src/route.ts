// Routes in the fragment of the URL, so that every screen can be linked to:
// `#/tx/<hash>/<signer>/<receipt>`, `#/receipt/<id>`, `#/config`, `#/config/<block>/<block>`.

export type Route =
  | { page: "home" }
  | { page: "transaction"; hash: string; signer: string | null; receipt: string | null }
  | { page: "receipt"; id: string }
  | { page: "config"; block: string; other: string | null }
  | { page: "nothing"; fragment: string };

/** The route of a fragment */
export function routeOf(fragment: string): Route {
  const parts = fragment.replace(/^#\/?/, "").split("/").map(decode);
  const [page, first, second, third] = parts;
  const isLong = parts.length > 3;
  if (page === "tx" && first && parts.length <= 4)
    return { page: "transaction", hash: first, signer: second || null, receipt: third || null };
  if (page === "receipt" && first && !second) return { page: "receipt", id: first };
  if (page === "config" && !isLong) return { page: "config", block: first || "final", other: second || null };
  return page === "" && parts.length === 1 ? { page: "home" } : { page: "nothing", fragment };
}

/** The fragment of a transaction, with a receipt that is opened */
export function transactionFragment(hash: string, signer: string | null, receipt: string | null = null): string {
  const parts = ["#/tx", hash, signer ?? "", receipt ?? ""].map((part, index) =>
    index === 0 ? part : encodeURIComponent(part),
  );
  return parts.join("/").replace(/\/+$/, "");
}

export function receiptFragment(id: string): string {
  return `#/receipt/${encodeURIComponent(id)}`;
}

export function configFragment(block: string, other: string | null): string {
  const blocks = other === null ? [block] : [block, other];
  return ["#/config", ...blocks.map(encodeURIComponent)].join("/");
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
