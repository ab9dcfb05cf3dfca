// What Node.js loads: one file, so that all entries share their classes.

export * from "./core/index.js";
export { Client, connect } from "./client/index.js";
export { loadAnswerVerifier, loadVerifier } from "./verifier/index.js";
