// The types of the platform that the package uses, so that it requires the declarations of neither
// pages nor Node.js, and no lib of a newer TypeScript.

/** The type that the platform's declarations have under this name; `never` if they have none, so
 *  that neither those of pages nor those of Node.js are required */
export type Platform<Name extends string> = typeof globalThis extends {
  [Key in Name]: { prototype: infer Instance };
}
  ? Instance
  : never;

/** Bytes in an `ArrayBuffer`: `Uint8Array<ArrayBuffer>` since TypeScript 5.7 */
export type Bytes = ReturnType<Uint8ArrayConstructor["of"]>;

/** What `using` requires, if `Symbol.dispose` is declared */
export type DisposableBy<Symbols> = Symbols extends { readonly dispose: infer Key extends symbol }
  ? { [Name in Key]: () => void }
  : {};
