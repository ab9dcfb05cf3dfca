// Constants that `build.js` defines.

/** The version of the package */
declare const __VERSION__: string;
