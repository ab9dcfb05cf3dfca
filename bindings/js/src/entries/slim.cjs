// The CommonJS entry without a loader: the user passes the source of the engine to `init`.

const { setLoader, ...exported } = require("./core.cjs");

module.exports = exported;
