// Our own version, in the one place from which every door shows it. package.json holds the same and a
// test compares them; nothing reads a file for it at run time, so that it survives bundling.

/** Version of this program. */
export const VERSION = "0.1.0";
