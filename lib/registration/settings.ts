/** How often clusters are probed, and how many probes change Ready. */
export type RegistrationSettings = Readonly<{
  /** Interval of the probes. Unreachable clusters have the same interval: their probes cost no more. */
  intervalSeconds: number;
  /** Minimum interval between writes of `lastHeartbeat` while nothing else changes; each write triggers the watchers. */
  heartbeatWriteSeconds: number;
  /** Consecutive failed probes after which a Ready cluster loses Ready. */
  failuresToUnready: number;
  /** Consecutive successful probes after which it is Ready again. */
  successesToReady: number;
  /** Interval of the detection of version, APIs, nodes and storage. */
  detectEverySeconds: number;
  probeTimeoutMs: number;
  /** After this time the finalizer of a deleted registration is removed even if placements still use the cluster. */
  releaseAfterSeconds: number;
}>;

export const defaultRegistrationSettings: RegistrationSettings = {
  intervalSeconds: 30,
  heartbeatWriteSeconds: 60,
  failuresToUnready: 3,
  successesToReady: 2,
  detectEverySeconds: 600,
  probeTimeoutMs: 5_000,
  releaseAfterSeconds: 600,
};
