// The engine in the page, loaded once and only when someone asks for it. The page works before it is
// there and without it: then requests are checked by the node alone. This is the one file that knows
// the package.

/** What is wrong with a request, and where */
export interface Problem {
  message: string;
}

/** What a request for a transaction asks about, as the engine reads it */
export interface Asked {
  hash: string;
  signer: string;
  /** What stands in the signed transaction, if the request has one */
  signed: { receiver: string; actions: string[]; signatureValid: boolean | null } | null;
}

/** The engine, as far as the page uses it */
export interface Engine {
  version: string;
  /** Reads the body of a request for a transaction; throws a `Problem` */
  read(body: string): Asked;
  /** Checks the body of any request; throws a `Problem` */
  check(body: string): void;
  /** JSON with integers as `bigint` */
  parse(text: string): unknown;
}

let loading: Promise<Engine | null> | undefined;

/** The engine; `null` when it cannot be loaded */
export function engine(): Promise<Engine | null> {
  loading ??= load().catch(() => null);
  return loading;
}

async function load(): Promise<Engine> {
  const milepost = await import('milepost');
  await milepost.init();
  return {
    version: milepost.version,
    read(body) {
      const request = milepost.validateRequest(body);
      if (request.operation !== 'transaction_status') throw new Error('the request is not for a transaction');
      const { hash, senderId, signed } = request;
      return {
        hash,
        signer: senderId,
        signed: signed && {
          receiver: signed.receiverId,
          actions: signed.actions.map((action) => (typeof action === 'string' ? action : (Object.keys(action)[0] ?? ''))),
          signatureValid: signed.signatureValid,
        },
      };
    },
    check(body) {
      milepost.validateRequest(body);
    },
    parse: (text) => milepost.parseJson(text, { bigint: true }),
  };
}
