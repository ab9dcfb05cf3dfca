// The engine in the page, loaded once, when it is first needed. Until it is loaded, and if it
// cannot be loaded, only the node checks requests. Only this file, `feed/` and `proof/` use the
// package.

/** The transaction that a request is for */
export interface RequestedTransaction {
  hash: string;
  signer: string;
  /** The contents of the signed transaction, if the request has one */
  signed: { receiver: string; actions: string[]; signatureValid: boolean | null } | null;
}

/** The part of the engine that the page uses */
export interface Engine {
  version: string;
  /** Reads a request for a transaction; throws an error if it is invalid */
  readTransactionRequest(body: string): RequestedTransaction;
  /** Throws an error if a request is invalid */
  validate(body: string): void;
  /** Parses JSON with integers as `bigint` */
  parse(text: string): unknown;
}

let loading: Promise<Engine | null> | undefined;

/** The engine; `null` if it cannot be loaded */
export function engine(): Promise<Engine | null> {
  loading ??= load().catch(() => null);
  return loading;
}

async function load(): Promise<Engine> {
  const milepost = await import("milepost");
  await milepost.init();
  return {
    version: milepost.version,
    readTransactionRequest(body) {
      const request = milepost.validateRequest(body);
      if (request.method !== "transaction_status") throw new Error("the request is not for a transaction");
      const { hash, senderId, signed } = request;
      return {
        hash,
        signer: senderId,
        signed: signed && {
          receiver: signed.receiverId,
          actions: signed.actions.map((action) =>
            typeof action === "string" ? action : (Object.keys(action)[0] ?? ""),
          ),
          signatureValid: signed.signatureValid,
        },
      };
    },
    validate(body) {
      milepost.validateRequest(body);
    },
    parse: (text) => milepost.parseJson(text, { bigint: true }),
  };
}
