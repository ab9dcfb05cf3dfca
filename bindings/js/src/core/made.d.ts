// What `build.js` puts in.

/** The version of the package */
declare const __VERSION__: string;
