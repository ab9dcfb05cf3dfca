// Compares the handwritten types with the sources; compiled, never run.
//
// The same run of the compiler checks the sources against the generated declarations of the module,
// so a change of a signature in Rust is an error, too. A name that only one side has, or another
// parameter or result, is an error at one of the last lines.

import type * as archiveSources from "../../src/archive/index.js";
import type * as sources from "../../src/core/index.js";
import type * as followSources from "../../src/follow/index.js";
import type * as kitSources from "../../src/kit/index.js";
import type * as archive from "../../archive.js";
import type * as written from "../../index.js";
import type * as verifierSources from "../../src/verifier/index.js";
import type * as follow from "../../follow.js";
import type * as kit from "../../kit.js";
import type * as slim from "../../slim.js";
import type * as verifier from "../../verifier.js";
import type * as clientSources from "../../src/client/index.js";
import type * as client from "../../client.js";

/** Whether two types are identical, and not only assignable */
type Same<One, Other> = (<T>() => T extends One ? 1 : 2) extends <T>() => T extends Other ? 1 : 2 ? true : false;

/** Parameters and results of a function with up to three signatures; any other type as it is */
type Calls<F> = F extends {
  (...one: infer A): infer Ra;
  (...two: infer B): infer Rb;
  (...three: infer C): infer Rc;
}
  ? [A, Plain<Ra>, B, Plain<Rb>, C, Plain<Rc>]
  : Plain<F>;

/** Replaces classes of the sources by the handwritten ones, which lack private members */
type Plain<T> = T extends sources.Endpoint
  ? written.Endpoint
  : T extends sources.EndpointResponse<infer Result>
    ? written.EndpointResponse<Result>
    : T extends sources.IndexedDbStorage
      ? written.IndexedDbStorage
      : T extends archiveSources.IndexedDbArchive
        ? archive.IndexedDbArchive
        : T extends clientSources.Client
          ? client.Client
          : T extends Promise<infer Inner>
            ? Promise<Plain<Inner>>
            : T;

/** Members of an object, without `Symbol.dispose`, which the sources define at run time */
type Members<T> = { [Name in keyof T as Exclude<Name, typeof Symbol.dispose>]: Calls<T[Name]> };

/** The members and the static members of a class, without the static members of `Error` */
type Interface<T> = T extends (...all: never) => unknown
  ? Calls<T>
  : T extends { prototype: infer Instance }
    ? [Members<Instance>, Members<Omit<T, "prototype" | keyof ErrorConstructor>>]
    : T;

/** The names whose types differ, or that only one side has */
type Different<One, Other> = {
  [Name in keyof One | keyof Other]: Name extends keyof One & keyof Other
    ? Same<Interface<One[Name]>, Interface<Other[Name]>> extends true
      ? never
      : Name
    : Name;
}[keyof One | keyof Other];

function assertNone<Names extends never>(): Names | void {}

// `init` of the main entry takes no source; `setLoader` and `internal` are not exported.
type Internal = "setLoader" | "internal";
assertNone<Different<Omit<typeof written, "init">, Omit<typeof sources, "init" | "initSync" | Internal>>>();
assertNone<Different<typeof slim, Omit<typeof sources, Internal>>>();
assertNone<Different<typeof client, typeof clientSources>>();
assertNone<Different<typeof archive, typeof archiveSources>>();
assertNone<Different<typeof follow, Omit<typeof followSources, "setFollowLoader">>>();
assertNone<Different<typeof kit, Omit<typeof kitSources, "setKitLoader">>>();
type Loaded = Awaited<ReturnType<typeof verifierSources.loadVerifier>>;
assertNone<Same<Members<Loaded>, Members<written.Verifier>> extends true ? never : "Verifier">();
type LoadedAnswers = Awaited<ReturnType<typeof verifierSources.loadAnswerVerifier>>;
assertNone<Same<Members<LoadedAnswers>, Members<verifier.AnswerVerifier>> extends true ? never : "AnswerVerifier">();
assertNone<Same<typeof written.init, () => Promise<void>> extends true ? never : "init">();
