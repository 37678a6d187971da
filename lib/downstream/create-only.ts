/**
 * No object ever has this version: a store's first write makes a later one. An apply that names it therefore creates or fails;
 * without it, an apply takes over whatever somebody else has made in the meantime.
 */
export const neverVersion = "1";
