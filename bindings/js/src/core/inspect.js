// How objects of the package print in Node.js: under their names, with what is worth knowing.

import { MilepostError } from "./errors.js";

/** What `console.log` of Node.js calls; other platforms ignore it */
const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/**
 * Defines how instances of a class print: its name, and the members that `describe` returns
 *
 * @template T
 * @param {{ prototype: T & { readonly [Symbol.toStringTag]: string } }} Class
 * @param {(instance: T) => object} describe
 */
export function defineInspect(Class, describe) {
  Object.defineProperty(Class.prototype, INSPECT, {
    /**
     * @this {T & { readonly [Symbol.toStringTag]: string }}
     * @param {number} depth
     * @param {object} options
     * @param {(value: unknown, options: object) => string} inspect
     */
    value(depth, options, inspect) {
      const name = this[Symbol.toStringTag];
      if (depth < 0) return `[${name}]`;
      try {
        return `${name} ${inspect(describe(this), options)}`;
      } catch (error) {
        // It was disposed of, or was never created.
        return `${name} <${error instanceof MilepostError ? error.detail : "no instance"}>`;
      }
    },
    configurable: true,
    writable: true,
  });
}
