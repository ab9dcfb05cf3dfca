// Replaces the package in a build without it. Its `init` rejects, so the page works without the
// engine, as after any failure to load it.

const message = "the engine is not part of this build";

export const version = "";

export function init(): Promise<never> {
  return Promise.reject(new Error(message));
}

export const IndexedDbStorage = { open: init };

export function follow(): Promise<never> {
  return init();
}

export function loadAnswerVerifier(): Promise<never> {
  return init();
}

export function validateRequest(): never {
  throw new Error(message);
}

export function parseJson(): never {
  throw new Error(message);
}
