// What `index.d.ts` and `slim.d.ts` say, against what the sources do: compiled, never run.
//
// The sources are checked against the generated declarations of the engine's module by the same run of the
// compiler, so a signature that changes in Rust shows here as well. A name that is missing on one side, another parameter,
// another result: each is an error at the line below that names it.

import type * as made from "../../src/core/index.js";
import type * as written from "../../index.js";
import type * as slim from "../../slim.js";

/** Whether two types are one, and not only assignable */
type Same<One, Other> =
  (<T>() => T extends One ? 1 : 2) extends <T>() => T extends Other ? 1 : 2 ? true : false;

/** Parameters and results of a function with up to three signatures; any other type as it is */
type Calls<F> = F extends {
  (...one: infer A): infer Ra;
  (...two: infer B): infer Rb;
  (...three: infer C): infer Rc;
}
  ? [A, Plain<Ra>, B, Plain<Rb>, C, Plain<Rc>]
  : Plain<F>;

/** The classes of the sources as they are written down: private members are nobody's affair */
type Plain<T> = T extends made.Engine
  ? written.Engine
  : T extends made.Answer
    ? written.Answer
    : T extends made.IndexedDbStorage
      ? written.IndexedDbStorage
      : T extends Promise<infer Inner>
        ? Promise<Plain<Inner>>
        : T;

/** Members of an object; `Symbol.dispose` is put on where the language has it, so sources do not name it */
type Members<T> = { [Name in keyof T as Exclude<Name, typeof Symbol.dispose>]: Calls<T[Name]> };

/** A class by its prototype and what stands on the class itself; `Error` has what its platform puts there */
type Shape<T> = T extends (...all: never) => unknown
  ? Calls<T>
  : T extends { prototype: infer Instance }
    ? [Members<Instance>, Members<Omit<T, "prototype" | keyof ErrorConstructor>>]
    : T;

/** The names whose shapes differ, or that only one side has */
type Different<One, Other> = {
  [Name in keyof One | keyof Other]: Name extends keyof One & keyof Other
    ? Same<Shape<One[Name]>, Shape<Other[Name]>> extends true
      ? never
      : Name
    : Name;
}[keyof One | keyof Other];

function none<Names extends never>(): Names | void {}

// The package has its own source of the engine, so its `init` takes none; and what entries are for is not shown.
none<Different<Omit<typeof written, "init">, Omit<typeof made, "init" | "initSync" | "provide">>>();
none<Different<typeof slim, Omit<typeof made, "provide">>>();
none<Same<typeof written.init, () => Promise<void>> extends true ? never : "init">();
