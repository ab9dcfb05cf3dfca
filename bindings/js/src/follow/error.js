// Why following a feed ended.

/** @import { FollowErrorKind } from "../../follow.js" */

export class FollowError extends Error {
  /**
   * @param {FollowErrorKind} kind
   * @param {string} detail
   */
  constructor(kind, detail) {
    super(detail);
    /** @readonly */
    this.kind = kind;
  }

  // On the prototype, as for the errors of the language; a minifier changes `constructor.name`.
  get name() {
    return "FollowError";
  }
}
