// What Node.js loads: one file, so that all entries share their classes.

export * from "./core/index.js";
export { Client, connect } from "./client/index.js";
export { load as loadAnswerVerifier } from "./proof/index.js";
