// Without a loader: the source of the engine is named by its user.

const { provide, ...shown } = require("./core.cjs");

module.exports = shown;
