/** How closely clusters are watched. */
export type RegistrationSettings = Readonly<{
  /** A cluster is probed about this often, a dead one too: it costs no more than a healthy one. */
  intervalSeconds: number;
  /** `lastHeartbeat` is written at most this often while nothing else changes; each write wakes the watchers. */
  heartbeatWriteSeconds: number;
  /** Failed probes in a row that make a Ready cluster not Ready. */
  failuresToUnready: number;
  /** Good probes in a row that make it Ready again. */
  successesToReady: number;
  /** Version, APIs, nodes and capabilities of a healthy cluster are looked at this often. */
  detectEverySeconds: number;
  probeTimeoutMs: number;
  /** A registration that is deleted goes after this time even when placements still name it. */
  releaseAfterSeconds: number;
}>;

/** What holds unless the operator says otherwise. */
export const defaultRegistrationSettings: RegistrationSettings = {
  intervalSeconds: 30,
  heartbeatWriteSeconds: 60,
  failuresToUnready: 3,
  successesToReady: 2,
  detectEverySeconds: 600,
  probeTimeoutMs: 5_000,
  releaseAfterSeconds: 600,
};
