/** What things cost: list prices of us-east-1 in dollars, as they were published on that day. */
export const prices = {
  date: "2026-11-15",
  region: "us-east-1",
  /** Lambda on arm64. */
  lambdaGbSecond: 1.33334e-5,
  lambdaCall: 0.2e-6,
  standardCall: 0.4e-6,
  /** A standard queue whose messages carry a group, so that tenants are served fairly. */
  fairCall: 0.5e-6,
  fifoCall: 0.5e-6,
  schedule: 1e-6,
  /** Fargate on arm64. */
  vcpuHour: 0.03238,
  gbHour: 0.00356,
  ipv4Hour: 0.005,
  t4gSmallHour: 0.0168,
  diskGbMonth: 0.08,
  logGb: 0.5,
  metricMonth: 0.3,
  secretMonth: 0.4,
} as const;

/** How the parts are set up and what was assumed of them when the table of costs was made. None of it is measured in an account. */
const given = {
  hours: 720,
  functionGb: 0.5,
  reconcileSeconds: 0.25,
  keysPerRun: (perSecond: number) => Math.min(2.5, Math.max(1, perSecond / 4)),
  largestBatch: 10,
  relays: 2,
  relay: { vcpu: 0.25, gb: 0.5 },
  resyncMinutes: 30,
  metrics: 40,
  /** Queues that Lambda polls, by what a call costs: work, heartbeat, delay. */
  polled: [prices.fifoCall, prices.fairCall, prices.standardCall],
  pollers: 5,
  pollSeconds: 20,
} as const;

/**
 * What the table does not say, chosen so that it comes out: plausible numbers, fitted and not observed. Where a bill says otherwise,
 * these are the ones to change.
 */
const fitted = {
  /** The slowest of a message's clusters decides, and the most of n waits grows with the logarithm of n. */
  probeSeconds: (clusters: number) => 0.15 + 0.206 * Math.log(clusters),
  plannerSeconds: (clusters: number) => 0.3 + 0.0007 * clusters,
  forwardSeconds: 0.1,
  forwarderGb: 0.125,
  /** A relay sends what came within a fifth of a second in one call. */
  keysPerSend: (perSecond: number) => Math.min(10, Math.max(1, perSecond / 5)),
  /** A resync fills batches better: its keys come together. */
  resyncKeysPerRun: 5,
  relayLogGb: 0.8,
  /** What a run of a function writes, in bytes. */
  probeLogBytes: 2_000,
  reconcileLogBytes: 1_000,
} as const;

export type CostInput = Readonly<{
  clusters: number;
  /** Workloads that are on clusters: each resync looks at them all. @default 0 */
  workloads?: number;
  /** Changes that concern a reconciler, on average; a change of a workload counts for each look until it is ready, some five. */
  eventsPerSecond: number;
  heartbeatSeconds: number;
  /** Kubeconfigs that lie in Secrets Manager. */
  secrets: number;
  /** @default 50 */
  clustersPerMessage?: number;
}>;

/** A part of the bill for a month. */
export type CostPart = Readonly<{
  name: string;
  /** Calls that are paid for: of queues, functions and schedules. */
  calls: number;
  dollars: number;
}>;

export type CostEstimate = Readonly<{
  parts: readonly CostPart[];
  dollars: number;
  /** The same controller in processes that never end, without its logs and metrics. */
  alwaysOn: readonly CostPart[];
}>;

/**
 * Estimates what a month of the deployed form costs, and of its like that is always on; 30 days, free tiers left out. An estimate
 * for choosing between forms, not a bill.
 */
export function estimateCost(input: CostInput): CostEstimate {
  const { clusters, workloads = 0, eventsPerSecond, heartbeatSeconds, secrets, clustersPerMessage = 50 } = input;
  const seconds = given.hours * 3600;
  const batch = given.largestBatch;
  const compute = (runs: number, runSeconds: number, gb: number = given.functionGb): number =>
    runs * (runSeconds * gb * prices.lambdaGbSecond + prices.lambdaCall);

  // A schedule comes once a minute at most; a planner that has to do more sends several waves.
  const planned = clusters > 0 ? seconds / Math.max(60, heartbeatSeconds) : 0;
  const perRound = Math.ceil(clusters / clustersPerMessage);
  const messages = (seconds / heartbeatSeconds) * perRound;
  const perMessage = perRound === 0 ? 1 : clusters / perRound;
  const probeSends = messages / Math.min(batch, Math.max(1, perRound));
  const heartbeat: CostPart = {
    name: "heartbeat",
    calls: planned * 2 + messages * 3 + probeSends,
    dollars:
      planned * prices.schedule +
      compute(planned, fitted.plannerSeconds(clusters)) +
      compute(messages, fitted.probeSeconds(perMessage)) +
      (messages * 2 + probeSends) * prices.fairCall,
  };

  const keys = eventsPerSecond * seconds;
  const runs = keys / given.keysPerRun(eventsPerSecond);
  // Every relay sends every key; the queue drops the doubles.
  const sends = (given.relays * keys) / fitted.keysPerSend(eventsPerSecond);
  const reconcile: CostPart = {
    name: "reconcile",
    calls: runs * 3 + sends,
    dollars: compute(runs, given.reconcileSeconds) + (sends + runs * 2) * prices.fifoCall,
  };

  const resyncKeys = ((clusters + workloads) * seconds) / (given.resyncMinutes * 60);
  const resyncRuns = resyncKeys / fitted.resyncKeysPerRun;
  const hops = resyncKeys / batch;
  const resync: CostPart = {
    name: "resync",
    calls: hops * 5 + resyncRuns * 3,
    dollars:
      hops * (3 * prices.standardCall + prices.fifoCall) +
      compute(hops, fitted.forwardSeconds, fitted.forwarderGb) +
      compute(resyncRuns, given.reconcileSeconds) +
      resyncRuns * 2 * prices.fifoCall,
  };

  const polls = (given.pollers * seconds) / given.pollSeconds;
  const logGb =
    ((messages + planned) * fitted.probeLogBytes + (runs + resyncRuns) * fitted.reconcileLogBytes) / 1e9 +
    given.relays * fitted.relayLogGb;
  const parts: readonly CostPart[] = [
    heartbeat,
    reconcile,
    { name: "relays", calls: 0, dollars: tasks(given.relay) },
    resync,
    {
      name: "idle polls",
      calls: polls * given.polled.length,
      dollars: given.polled.reduce((sum, call) => sum + polls * call, 0),
    },
    { name: "logs", calls: 0, dollars: logGb * prices.logGb },
    { name: "metrics", calls: 0, dollars: given.metrics * prices.metricMonth },
    { name: "secrets", calls: 0, dollars: secrets * prices.secretMonth },
  ];
  return { parts, dollars: sumOf(parts), alwaysOn: alwaysOn(clusters) };
}

/** Adds up what parts cost. */
export function sumOf(parts: readonly CostPart[]): number {
  return parts.reduce((sum, { dollars }) => sum + dollars, 0);
}

/** Two replicas, as large as that many clusters need. */
function alwaysOn(clusters: number): readonly CostPart[] {
  const size = clusters > 5_000 ? { vcpu: 1, gb: 2 } : { vcpu: 0.5, gb: 1 };
  const machine = (prices.t4gSmallHour + prices.ipv4Hour) * given.hours + 16 * prices.diskGbMonth;
  return [
    { name: `Fargate ${size.vcpu} vCPU, ${size.gb} GB, two`, calls: 0, dollars: tasks(size) },
    { name: "EC2 t4g.small, two", calls: 0, dollars: 2 * machine },
  ];
}

/** Two tasks on Fargate, each with an address. */
function tasks({ vcpu, gb }: Readonly<{ vcpu: number; gb: number }>): number {
  return 2 * (vcpu * prices.vcpuHour + gb * prices.gbHour + prices.ipv4Hour) * given.hours;
}
