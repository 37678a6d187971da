/** What every transport over a socket keeps to, unless it is told otherwise. */

/** Enough to keep a kube-apiserver busy; more connections gave no more requests per second. */
export const requestConnections = 16;

export const connectTimeoutMs = 5_000;

/** Below the 60 s after which load balancers drop an idle connection, and the 90 s of a Go server. */
export const idleTimeoutMs = 30_000;

/** Far above any page of a list; a server that goes on for ever must not take the process's memory. */
export const largestBodyBytes = 256 * 1024 * 1024;
