// In place of the package in a build without it, so that the page can be built and tried by itself. It
// refuses to load, which the page takes as it takes any failure to load: the node checks alone.

const message = 'the engine is not part of this build';

export const version = '';

export function init(): Promise<never> {
  return Promise.reject(new Error(message));
}

export function validateRequest(): never {
  throw new Error(message);
}

export function parseJson(): never {
  throw new Error(message);
}
