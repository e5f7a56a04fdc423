// Our own version, in one place for all the interfaces that show it. package.json holds the same
// version, and a test compares the two. No file is read for it at run time, so the version survives
// bundling.

/** Version of this program. */
export const VERSION = "0.1.0";
