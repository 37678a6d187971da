/**
 * How long AWS's clients wait in a function. Two tries fit into an invocation: a connection that died while the process was
 * frozen answers nobody, and the SDK would wait for it longer than the function lives.
 */
export const requestHandler = { connectionTimeout: 2_000, requestTimeout: 5_000, throwOnRequestTimeout: true } as const;
