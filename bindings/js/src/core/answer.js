// A finished answer.
//
// The bytes are the answer; text and objects are made of them when they are asked for.

import { parseJson } from "./json.js";

const decoder = new TextDecoder();

export class Answer {
  #text;

  constructor(bytes, kind) {
    this.bytes = bytes;
    this.class = kind;
  }

  get text() {
    this.#text ??= decoder.decode(this.bytes);
    return this.#text;
  }

  json(options) {
    return parseJson(this.text, options);
  }
}
