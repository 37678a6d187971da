/** Enough to keep a kube-apiserver busy; more connections gave no more requests per second. */
export const requestConnections = 16;

export const connectTimeoutMs = 5_000;

/** Below the 60 s after which load balancers drop an idle connection, and the 90 s of a Go server. */
export const idleTimeoutMs = 30_000;

/** Far above any page of a list; protects the memory of the process from an endless body. */
export const largestBodyBytes = 256 * 1024 * 1024;
